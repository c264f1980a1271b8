"""Whether a connected client needs anything more before nobody is at the computer: a permission
or a hook. It only reads; `chatbridge connect` writes what is missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chatbridge.cli.connect import files
from chatbridge.cli.connect.catalogue import PLUGIN_SECONDS, Client
from chatbridge.cli.connect.document import loaded
from chatbridge.cli.connect.editing import Unparsable, value_at
from chatbridge.cli.connect.hooks import OFF, waiting
from chatbridge.cli.connect.installed import InstalledClient
from chatbridge.cli.connect.machine import user_folders
from chatbridge.cli.connect.plans import LOCAL, PERMISSIONS
from chatbridge.core.errors import ChatbridgeError


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
