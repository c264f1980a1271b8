"""The commands that agents may run: the folders with definitions, each file, and its program."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence

from chatbridge.cli.doctor.finding import Finding, fine, problem, remark
from chatbridge.cli.doctor.situation import Situation
from chatbridge.cli.tools import library_of, told
from chatbridge.cli.wording import counted, shown
from chatbridge.commands.arguments.executable import USUAL, find
from chatbridge.commands.definitions.library import Library
from chatbridge.core.errors import CommandUnusable
from chatbridge.settings import Settings

NAME = "commands"
SHOWN_AT_MOST = 5
INSTALL = "install it, add its folder to commands.path, or set enabled to false there"
MEND = "put it there, mend its path in command, or set enabled to false there"


async def commands(situation: Situation) -> Sequence[Finding]:
    return await asyncio.to_thread(_commands, situation.settings)


def _commands(settings: Settings) -> list[Finding]:
    if not settings.commands.enabled:
        return [fine(NAME, "off")]
    library = library_of(settings)
    library.load()
    found = [*_problems(library), *_programs(library, settings)]
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


def _programs(library: Library, settings: Settings) -> list[Finding]:
    """Those that are nowhere, as seen from here: the hub's PATH may be another one."""
    files: dict[str, list[str]] = {}
    for command in library.commands.values():
        names = files.setdefault(command.argv[0], [])
        names += [shown(command.file)] * (shown(command.file) not in names)
    found = []
    for program, named in files.items():
        try:
            find(program, path=os.environ.get("PATH", USUAL), own=settings.commands.path)
        except CommandUnusable as error:
            what, _, _ = str(error).partition(". ")
            said = f"{what}: {', '.join(named)}"
            mend = MEND if "/" in program else INSTALL
            found.append(remark(NAME, said, mend, program=program, files=named))
    return found
