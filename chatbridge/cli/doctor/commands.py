"""The commands that agents may run: the folders with definitions, each file, and its program."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from chatbridge.cli.agents.tool_programs import program_findings
from chatbridge.cli.agents.tools import library_of, told
from chatbridge.cli.doctor.context import Situation
from chatbridge.cli.doctor.finding import Finding, fine, problem
from chatbridge.cli.ui.wording import counted, shown
from chatbridge.commands.definitions.library import Library
from chatbridge.settings import Settings

NAME = "commands"
SHOWN_AT_MOST = 5


async def commands(situation: Situation) -> Sequence[Finding]:
    return await asyncio.to_thread(_commands, situation.settings)


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
