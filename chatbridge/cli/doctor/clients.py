"""The MCP clients on this machine: whether they have chatbridge, and how long they wait."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from chatbridge.channels.checks import Finding, fine, problem, remark
from chatbridge.cli.agents.tool_programs import program_findings
from chatbridge.cli.agents.tools import library_of, told
from chatbridge.cli.connect import Found, found_clients
from chatbridge.cli.connect.catalogue import CATALOGUE
from chatbridge.cli.connect.found import connected_in
from chatbridge.cli.doctor.context import DoctorContext
from chatbridge.cli.ui.wording import HOUR, counted, duration, shown
from chatbridge.commands.definitions.library import Library
from chatbridge.settings import Settings

WAIT_WITH_PROGRESS = ("opencode",)
"""Their limit is one of silence, and a waiting call is never silent."""


async def clients(context: DoctorContext) -> Sequence[Finding]:
    found = await asyncio.to_thread(found_clients)
    connected = [client for client in found if client.connected or client.problem]
    connected += await asyncio.to_thread(_in_this_folder)
    if not connected:
        names = ", ".join(client.shown for client in found)
        what = f"none is connected, but here: {names}" if names else "none is connected"
        example = found[0].client if found else "claude-code"
        return [remark("agents", what, f"chatbridge connect {example}")]
    return [_client(client, context.settings.max_timeout) for client in connected]


def _in_this_folder() -> list[Found]:
    try:
        return connected_in(Path.cwd())
    except OSError:  # it has gone, or is closed to us
        return []


def _client(client: Found, longest: float) -> Finding:
    name, limit = client.client, client.gives_up
    details = {"file": str(client.file), "givesUpAfter": limit, "questionsMayWait": longest}
    if client.problem is not None:
        return remark(name, client.problem, **details)
    possible = _possible(name, max(longest, HOUR))
    if limit is None or limit >= min(longest, possible or limit) or name in WAIT_WITH_PROGRESS:
        return fine(name, f"connected in {shown(client.file)}", **details)
    again = f"chatbridge connect {name}{' --project' if client.project else ''}"
    return remark(
        name,
        f"gives up after {limit:.0f} s; your questions may wait {duration(longest)}",
        f"{again}    (sets it to {possible:.0f})",
        **details,
    )


def _possible(name: str, wait: float) -> float | None:
    """What connecting would set, in seconds; None where there is nothing to set."""
    client = CATALOGUE[name]
    if client.timeout is None:
        return None
    return client.numbers(wait)[client.timeout] / client.unit


NAME = "commands"
SHOWN_AT_MOST = 5


async def commands(context: DoctorContext) -> Sequence[Finding]:
    return await asyncio.to_thread(_commands, context.settings)


def _commands(settings: Settings) -> list[Finding]:
    if not settings.commands.enabled:
        return [fine(NAME, "off")]
    library = library_of(settings)
    library.load()
    found = [*_problems(library), *program_findings(NAME, library.commands.values(), settings)]
    if not found:
        found.append(_fine(library, settings))
    return found


def _fine(library: Library, settings: Settings) -> Finding:
    folders = ", ".join(map(shown, settings.commands.dirs)) or "no folder (commands.dirs is empty)"
    details = {
        "folders": [str(folder) for folder in settings.commands.dirs],
        "files": [str(file.file) for file in library.files],
        "tools": list(library.commands),
    }
    if not library.commands:
        return fine(NAME, f"none defined in {folders}", **details)
    files = counted(sum(bool(file.commands) for file in library.files), "file")
    return fine(NAME, f"{counted(len(library.commands), 'tool')} in {files}: {folders}", **details)


def _problems(library: Library) -> list[Finding]:
    problems = library.problems
    found = [
        problem(NAME, f"{shown(each.file)}: {told(each)}", each.mend, **each.as_json())
        for each in problems[:SHOWN_AT_MOST]
    ]
    if more := len(problems) - len(found):
        found.append(problem(NAME, counted(more, "more problem"), "chatbridge tools check"))
    return found
