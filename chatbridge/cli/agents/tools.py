"""`chatbridge tools`: the commands that agents may run, as the owner's files define them.

Looks at the files itself, with the hub's own eyes: it needs no hub, and starts none.
"""

from __future__ import annotations

import argparse
import sys
from itertools import chain
from typing import TYPE_CHECKING, Any

from chatbridge.cli.agents import tool_examples
from chatbridge.cli.ui.running import FAILED, ScriptsParser, new_parser, run, say
from chatbridge.cli.ui.wording import counted, shown

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from chatbridge.channels.checks import Finding
    from chatbridge.cli.ui.tables import Table
    from chatbridge.commands.definitions.command import Command
    from chatbridge.commands.definitions.library import DefinitionFile, Library
    from chatbridge.commands.definitions.problems import Problem
    from chatbridge.settings import Settings

Json = dict[str, Any]

USAGE = """\
chatbridge tools check [FILE ...] [--json]
       chatbridge tools list [--json]
       chatbridge tools add [NAME ...]"""
DESCRIPTION = """\
Commands that your agents may run, as you define them in JSON files. They are in
~/.config/chatbridge/tools, or in the folders that commands.dirs names.
"""
EPILOG = """\
exit codes: 0 all is well, 1 a problem was found, 64 wrong usage
"""
CHECK = (
    "Looks at definition files as the hub does, without one, and says everything that is wrong: "
    "the line, what was found, what is accepted, and how to mend it."
)
LIST = "Lists the tools that the files define, and which of them need your approval."
ADD = "Copies an example into the first of your folders. A file that is there stays as it is."
OFF = "Commands are off: commands.enabled is false in your configuration."
YOURS = "Look through it: what agents may run, and what needs your approval, is for you to say."


def parser() -> argparse.ArgumentParser:
    found = new_parser("tools", DESCRIPTION, usage=USAGE, epilog=EPILOG, kind=ScriptsParser)
    does = found.add_subparsers(
        dest="do", required=True, metavar="check | list | add", prog="chatbridge tools"
    )
    check = does.add_parser("check", help="look at files, and say what to mend", description=CHECK)
    check.add_argument("file", nargs="*", metavar="FILE", help="default: all in your folders")
    check.add_argument("--json", action="store_true", help="all details, for programs")
    shown = does.add_parser("list", help="the tools that agents have", description=LIST)
    shown.add_argument("--json", action="store_true", help="all details, for programs")
    add = does.add_parser("add", help="copy an example into your folder", description=ADD)
    add.add_argument("name", nargs="*", metavar="NAME", help="default: say which there are")
    return found


def main(argv: list[str]) -> int:
    command = parser()
    given = command.parse_args(argv)
    if given.do == "check":
        return run(lambda: _check(given.file, as_json=given.json))
    if given.do == "list":
        return run(lambda: _list(as_json=given.json))
    known = tool_examples.names()
    if unknown := [name for name in given.name if name not in known]:
        command.error(f"there is no example {unknown[0]!r}; there are: {', '.join(known)}")
    return run(lambda: _add(given.name))


def library_of(settings: Settings) -> Library:
    """The hub's own, not yet loaded."""
    from chatbridge.commands.definitions.library import Library
    from chatbridge.settings import TOOLS

    return Library(
        settings.commands.dirs,
        reserved=frozenset(TOOLS),
        may_be_missing="dirs" not in settings.commands.model_fields_set,
    )


def _settings() -> Settings:
    """:raises SettingsError:"""
    from chatbridge.settings import load

    return load()


# ── check ─────────────────────────────────────────────────────────────────────────────────────────


def _check(names: Sequence[str], *, as_json: bool) -> int:
    from chatbridge.channels.checks import Mark
    from chatbridge.cli.agents.tool_programs import program_findings

    settings = _settings()
    if names:
        library = _library_of_files(names)
    else:
        library = library_of(settings)
        library.load()
        if not library.files and not as_json:
            print(_nothing(settings.commands.dirs))
            return 0
    programs = program_findings("programs", library.commands.values(), settings)
    ok = not library.problems and all(found.mark is not Mark.PROBLEM for found in programs)
    if as_json:
        _print_json(
            {
                "ok": ok,
                "files": [_file_object(file) for file in library.files],
                "programs": [finding.json() for finding in programs],
            }
        )
    else:
        _draw(findings(library.files), programs)
        print(f"\n{_summed_up(len(library.problems), programs=len(programs))}")
    return 0 if ok else FAILED


def _library_of_files(names: Sequence[str]) -> Library:
    from pathlib import Path

    from chatbridge.commands.definitions.library import Library
    from chatbridge.settings import TOOLS

    library = Library((), reserved=frozenset(TOOLS))
    library.load_files([Path(name) for name in names])
    return library


def _file_object(file: DefinitionFile) -> Json:
    from chatbridge.core.text import encodable

    return {
        "file": encodable(str(file.file)),
        "tools": [command.tool for command in file.commands],
        "problems": [problem.as_json() for problem in file.problems],
        "remarks": [remark.as_json() for remark in file.remarks],
    }


def _draw(*found: Sequence[Finding]) -> None:
    import shutil

    from chatbridge.cli.doctor.screen import drawn
    from chatbridge.cli.ui.running import colourful

    width = shutil.get_terminal_size((80, 24)).columns
    for finding in chain(*found):
        sys.stdout.write(drawn(finding, width=width, colour=colourful()))


def findings(files: Sequence[DefinitionFile]) -> list[Finding]:
    """A line for each file that is as it should be, and one for each problem of the others."""
    from chatbridge.channels.checks import fine, problem, remark
    from chatbridge.commands.definitions.folders import is_definition

    names = [file.file.name for file in files]
    found: list[Finding] = []
    for file in files:
        name = file.file.name
        if names.count(name) > 1 or not is_definition(name):
            name = shown(file.file)
        for each in file.problems:
            what = f"{told(each)} [{each.kind}] (accepted: {each.accepted})"
            found.append(problem(name, what, each.mend))
        for each in file.remarks:
            what = f"{told(each)} [{each.kind}] ({each.accepted})"
            found.append(remark(name, what, each.mend))
        if file.problems:
            continue
        if file.commands:
            found.append(fine(name, counted(len(file.commands), "tool")))
        else:
            found.append(remark(name, "no tools: nothing in it is enabled"))
    return found


def told(problem: Problem) -> str:
    """What it is, in one line, without the file, and without what would be accepted."""
    line = f"line {problem.line}" if problem.line else ""
    place = ", ".join(filter(None, (line, problem.path)))
    return f"{place}: {problem.found}" if place else problem.found


def _summed_up(problems: int, *, programs: int) -> str:
    if not problems and programs:
        return "The files are right, but not every program can be run."
    if not problems:
        return "All is well."
    return f"{counted(problems, 'problem')}. A file with a problem has no tools; the others have."


def _nothing(dirs: Sequence[Path]) -> str:
    folders = ", ".join(map(shown, dirs)) or "commands.dirs"
    return f"No definitions in {folders}. An example to begin with: chatbridge tools add git"


# ── list ──────────────────────────────────────────────────────────────────────────────────────────


def _list(*, as_json: bool) -> int:
    from chatbridge.cli.ui import tables

    settings = _settings()
    library = library_of(settings)
    library.load()
    if not settings.commands.enabled:
        say(OFF)
    if as_json:
        _print_json([_tool_object(command) for command in library.commands.values()])
    elif library.commands:
        tables.write(screen(list(library.commands.values())))
    elif not library.problems:
        print(_nothing(settings.commands.dirs))
    if library.problems:
        say(f"{counted(len(library.problems), 'problem')} in your files: chatbridge tools check")
    return 0


def screen(commands: Sequence[Command]) -> Table:
    from chatbridge.cli.ui.tables import Column, Table, cell

    rows = [
        (
            cell(command.tool),
            command.approve,
            "synchronous" if command.synchronous else "asynchronous",
            cell(command.file.name),
        )
        for command in commands
    ]
    return Table(
        columns=(
            Column(title="TOOL", strong=True, gives_way=True),
            Column(title="APPROVE"),
            Column(title="RUNS"),
            Column(title="FILE", gives_way=True),
        ),
        rows=rows,
    )


def _tool_object(command: Command) -> Json:
    from chatbridge.core.text import encodable

    return {
        "tool": command.tool,
        "argv": list(command.argv),
        "description": command.description,
        "approve": command.approve,
        "synchronous": command.synchronous,
        "destructive": command.destructive,
        "readOnly": command.read_only,
        "file": encodable(str(command.file)),
    }


# ── add ───────────────────────────────────────────────────────────────────────────────────────────


def _add(names: Sequence[str]) -> int:
    settings = _settings()
    if not names:
        _print_examples()
        return 0
    if not settings.commands.dirs:
        say("commands.dirs names no folder.", "Add one to it, or leave the setting out.")
        return FAILED
    folder, added, refused = settings.commands.dirs[0], [], False
    for name in dict.fromkeys(names):
        try:
            path = tool_examples.copy(name, folder)
        except FileExistsError as error:
            say(f"{shown(error.filename)} is there already, and stays as it is.")
            refused = True
            continue
        added.append(path)
        print(f"Added {shown(path)}")
    if not added:
        return FAILED
    library = library_of(settings)
    library.load()
    wrong = [file for file in library.files if file.problems and file.file in (folder, *added)]
    _draw(findings(wrong))
    if not wrong:
        print(YOURS)
    return FAILED if wrong or refused else 0


def _print_examples() -> None:
    from chatbridge.cli.ui.tables import Column, Table, cell, write

    rows = [(cell(name), cell(about)) for name, about in tool_examples.described().items()]
    columns = (Column(title="NAME", strong=True), Column(title="FOR", gives_way=True))
    write(Table(columns=columns, rows=rows), "", "To use one: chatbridge tools add NAME")


def _print_json(value: object) -> None:
    import json

    print(json.dumps(value, indent=2))
