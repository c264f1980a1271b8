"""The clients on this machine: which have chatbridge, and how long they let a call wait."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chatbridge.cli.connect import files
from chatbridge.cli.connect.catalogue import CATALOGUE, Client
from chatbridge.cli.connect.document import loaded
from chatbridge.cli.connect.editing import Unparsable, is_number, value_at
from chatbridge.cli.connect.machine import UserFolders, user_folders
from chatbridge.core.errors import ChatbridgeError


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledClient:
    client: Client
    file: Path
    """Where its MCP servers are. It need not exist."""
    connected: bool
    timeout: float | None
    """Seconds that one call may take, as the file says; None: it does not say."""
    problem: str | None = None
    """Why the file cannot be read, a sentence."""
    project: bool = False
    """Whether the file is that of one project."""
    plugin: bool = False
    """Whether the client has our plug-in, and is connected by it."""
    twice: bool = False
    """Whether the file has an entry beside that plug-in."""

    @property
    def gives_up(self) -> float | None:
        """After how many seconds it gives a call up; None: never, as far as is known."""
        return self.client.default if self.timeout is None else self.timeout


def installed_clients(environ: Mapping[str, str] | None = None) -> list[InstalledClient]:
    """Those whose folder or file exists. Without a home folder: none."""

    def is_here(client: Client) -> bool:
        try:
            return client.folder(here).exists() or client.file(here).exists()
        except OSError:
            return False

    try:
        here = user_folders(environ)
    except ChatbridgeError:
        return []
    return [_looked_at(it, here, it.file(here)) for it in CATALOGUE.values() if is_here(it)]


def connected_in(project: Path, environ: Mapping[str, str] | None = None) -> list[InstalledClient]:
    """Those that are connected for this project alone. In the home folder some clients' file is
    the one for every project."""
    try:
        here = user_folders(environ)
    except ChatbridgeError:
        return []
    found = [
        _looked_at(client, here, path, project=True)
        for client in CATALOGUE.values()
        for path in (project / name for name in client.project)
        if path.is_file() and os.path.realpath(path) != os.path.realpath(client.file(here))
    ]
    return [it for it in found if it.connected]


def _looked_at(
    client: Client, here: UserFolders, path: Path, *, project: bool = False
) -> InstalledClient:
    problem = None
    tree: dict[str, Any] = {}
    try:
        tree = loaded(client.format, files.read(path))
    except ChatbridgeError as error:
        problem = str(error)
    except Unparsable as error:
        problem = f"{error.sentence(here.display_path(path))}."
    entry = value_at(tree, client.keys)
    there = isinstance(entry, dict)
    if there and client.on is not None:
        there = entry.get(client.on[0], client.on[1]) is client.on[1]
    plugin = not project and has_plugin(client, here)
    return InstalledClient(
        client=client,
        file=path,
        connected=there or plugin,
        plugin=plugin,
        twice=there and plugin,
        timeout=_timeout(client, tree, entry) if there else None,
        problem=problem,
        project=project,
    )


def has_plugin(client: Client, here: UserFolders) -> bool:
    if client.plugin is None or client.settings is None:
        return False
    try:
        settings = loaded("json", files.read(client.folder(here) / client.settings))
    except (ChatbridgeError, Unparsable, RecursionError):
        return False
    return value_at(settings, client.plugin) is True


def _timeout(client: Client, tree: dict[str, Any], entry: dict[str, Any]) -> float | None:
    if client.timeout is None:
        return None
    said = entry.get(client.timeout)
    if said is None and client.timeout_of_all is not None:
        said = tree.get(client.timeout_of_all)
    if not is_number(said):
        return None
    seconds = said / client.unit
    return seconds if client.ceiling is None else min(seconds, client.ceiling)
