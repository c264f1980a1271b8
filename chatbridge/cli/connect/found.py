"""The clients on this machine: whether they are connected, and how long they wait."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from chatbridge.cli.connect import files
from chatbridge.cli.connect.catalogue import CATALOGUE, Client, Places, places
from chatbridge.cli.connect.document import loaded
from chatbridge.cli.connect.editing import Unparsable, at
from chatbridge.core.errors import ChatbridgeError


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    client: str
    """`codex`."""
    shown: str
    """`Codex`."""
    file: Path
    """Where its MCP servers are. It need not exist."""
    connected: bool
    timeout: float | None
    """Seconds that one call may take, as the file says; None: it does not say."""
    default: float | None
    """Seconds without that; None: no limit, or none is known."""
    problem: str | None = None
    """Why the file cannot be read, a sentence."""
    project: bool = False
    """Whether the file is that of one project."""

    @property
    def gives_up(self) -> float | None:
        """After how many seconds it gives a call up; None: never, as far as is known."""
        return self.default if self.timeout is None else self.timeout


def found_clients(environ: Mapping[str, str] | None = None) -> list[Found]:
    """Those whose folder or file exists. Without a home folder: none."""
    try:
        here = places(environ)
    except ChatbridgeError:
        return []
    return [_found(it, here, it.file(here)) for it in CATALOGUE.values() if _is_here(it, here)]


def connected_in(project: Path, environ: Mapping[str, str] | None = None) -> list[Found]:
    """Those that are connected for this project alone. In the home folder some clients' file is
    the one for every project."""
    try:
        here = places(environ)
    except ChatbridgeError:
        return []
    files_there = [
        (client, path)
        for client in CATALOGUE.values()
        for path in (project / name for name in client.project)
        if path.is_file() and os.path.realpath(path) != os.path.realpath(client.file(here))
    ]
    found = [replace(_found(client, here, path), project=True) for client, path in files_there]
    return [it for it in found if it.connected]


def _is_here(client: Client, here: Places) -> bool:
    try:
        return client.folder(here).exists() or client.file(here).exists()
    except OSError:
        return False


def _found(client: Client, here: Places, path: Path) -> Found:
    problem = None
    tree: dict[str, Any] = {}
    try:
        tree = loaded(client.format, files.read(path))
    except ChatbridgeError as error:
        problem = str(error)
    except Unparsable as error:
        where = f", line {error.line}" if error.line else ""
        problem = f"{here.shown(path)}{where} cannot be understood: {error.reason}."
    entry = at(tree, client.keys)
    there = isinstance(entry, dict) and not _is_off(client, entry)
    return Found(
        client=client.name,
        shown=client.shown,
        file=path,
        connected=there,
        timeout=_timeout(client, tree, entry) if there else None,
        default=client.default,
        problem=problem,
    )


def _is_off(client: Client, entry: dict[str, Any]) -> bool:
    return client.on is not None and entry.get(client.on[0], client.on[1]) is not client.on[1]


def _timeout(client: Client, tree: dict[str, Any], entry: dict[str, Any]) -> float | None:
    if client.timeout is None:
        return None
    said = entry.get(client.timeout)
    if said is None and client.timeout_of_all is not None:
        said = tree.get(client.timeout_of_all)
    if isinstance(said, bool) or not isinstance(said, int | float):
        return None
    seconds = said / client.unit
    return seconds if client.ceiling is None else min(seconds, client.ceiling)
