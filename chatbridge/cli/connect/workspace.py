"""Claude Code in many folders: `.mcp.json` and, beside it, the permission to use our tools.

For launchers that run agents in folders of their own. Claude Code reads MCP servers from
`.mcp.json` only, and asks before it uses one, unless the folder's local settings allow it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from chatbridge import projects
from chatbridge.cli.connect import files
from chatbridge.cli.connect.catalogue import ASK_TOOLS, NAME, client_of
from chatbridge.cli.connect.document import loaded
from chatbridge.cli.connect.editing import Unparsable, at
from chatbridge.cli.connect.parts import Part, Words
from chatbridge.cli.connect.places import Program, places
from chatbridge.cli.connect.plans import LEAST, Plan, change_in, entry_of
from chatbridge.core.errors import ChatbridgeError
from chatbridge.link.root import find_root

CLIENT = "claude-code"
SERVERS, SETTINGS = ".mcp.json", ".claude/settings.local.json"
WHOLE = f"mcp__{NAME}"
PERMISSIONS = Words(
    keys=("permissions", "allow"),
    words=[f"{WHOLE}__{tool}" for tool in ASK_TOOLS],
    covered_by=frozenset({WHOLE, f"{WHOLE}__*"}),
)
ENABLED = Words(keys=("enabledMcpjsonServers",), words=[NAME])


def folder_of(given: str) -> Path:
    """:raises ChatbridgeError: there is no such folder."""
    folder = Path(os.path.abspath(given))
    if not folder.is_dir():
        raise ChatbridgeError("there is no such folder")
    return folder


def is_off(folder: Path) -> bool:
    """Whether the project says that its agents are not to ask."""
    return not projects.settings_of(find_root(str(folder)) or str(folder)).enabled


def plan_folder(
    folder: Path,
    *,
    wait: float = LEAST,
    removal: bool,
    start: Program | None = None,
    environ: Mapping[str, str] | None = None,
) -> Plan:
    """What has to be written in one folder.

    :raises ChatbridgeError:
    """
    client, here = client_of(CLIENT), places(environ)
    servers, settings = folder / SERVERS, folder / SETTINGS
    if not removal:
        files.check_inside(settings, folder)
        _check_not_refused(settings)
    wanted: dict[Path, list[Part]] = {
        servers: [entry_of(client, wait, start)],
        settings: [PERMISSIONS, ENABLED],
    }
    changes = [
        change_in(path, client, here, parts, project=folder, removal=removal)
        for path, parts in wanted.items()
    ]
    return Plan(
        shown=client.shown,
        changes=tuple(change for change in changes if change is not None),
        restart=client.restart,
    )


def _check_not_refused(settings: Path) -> None:
    try:
        refused = at(loaded("json", files.read(settings)), ("disabledMcpjsonServers",))
    except Unparsable:
        return  # which is said where it is to be changed
    if isinstance(refused, list) and NAME in refused:
        raise ChatbridgeError(
            f"{settings} refuses {NAME} (disabledMcpjsonServers). Take it out there first."
        )
