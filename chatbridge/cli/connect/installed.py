"""The clients on this machine: which have chatbridge, how long they let a call wait, and what they
still lack before nobody is at the computer. Only reads."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chatbridge.cli.connect import files
from chatbridge.cli.connect.catalogue import CATALOGUE, PLUGIN_SECONDS, Client
from chatbridge.cli.connect.document import loaded
from chatbridge.cli.connect.editing import Unparsable, is_number, value_at
from chatbridge.cli.connect.hooks import OFF, waiting
from chatbridge.cli.connect.machine import UserFolders, user_folders
from chatbridge.cli.connect.plans import LOCAL, PERMISSIONS
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
    gone: str | None = None
    """The program that the entry names, if it is not there any more."""

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
        gone=_gone(entry) if there else None,
    )


def _gone(entry: dict[str, Any]) -> str | None:
    command = entry.get("command") or entry.get("cmd")
    program = command[0] if isinstance(command, list) and command else command
    if not isinstance(program, str) or not os.path.isabs(program) or os.path.exists(program):
        return None
    return program


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """None: this client has no such thing. What is in a file that cannot be read is missing."""

    permission: bool | None
    """Whether agents may use our tools without being asked first."""
    hooks: bool | None
    """Whether the client's own questions and permissions come to chatbridge."""
    hook_timeout: float | None
    """How many seconds they wait there; None: there are no such hooks."""


def readiness(found: InstalledClient, environ: Mapping[str, str] | None = None) -> Readiness:
    """:raises ChatbridgeError: nobody knows where the home folder is."""
    client, here = found.client, user_folders(environ)
    settings = {}
    if client.settings is not None:
        settings = _tree("json", client.folder(here) / client.settings)
    if found.plugin and not found.twice:
        runs = settings.get(OFF) is not True
        seconds = PLUGIN_SECONDS if runs else None
        return Readiness(permission=runs, hooks=runs, hook_timeout=seconds)
    asking = [hook for hook in client.hooks if hook.asks]
    waits = waiting(asking, settings) if asking else None
    return Readiness(
        permission=_permission(found, client, settings),
        hooks=None if not asking else waits is not None,
        hook_timeout=waits,
    )


def _permission(found: InstalledClient, client: Client, settings: dict[str, Any]) -> bool | None:
    if client.allow is not None:
        local = found.file.parent / LOCAL
        if found.project and PERMISSIONS.holds(_tree("json", local)):
            return True
        return client.allow.holds(settings)
    if client.permission is None:
        return None
    said = value_at(_tree(client.format, found.file), (*client.keys, client.permission))
    wanted = client.first[client.permission]
    if isinstance(wanted, list):
        return isinstance(said, list) and all(word in said for word in wanted)
    return bool(said == wanted)


def _tree(format_name: str, path: Path) -> dict[str, Any]:
    try:
        return loaded(format_name, files.read(path))
    except (ChatbridgeError, Unparsable, RecursionError):
        return {}
