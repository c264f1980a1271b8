"""`chatbridge tools`: checks and lists the owner's definition files, and adds examples.

Reads the files as the hub does. It needs no hub, and starts none.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from chatbridge import runtime_paths
from chatbridge.channels.checks import Finding, Mark, fine, problem, remark
from chatbridge.cli.database import database_of, notes
from chatbridge.cli.doctor.screen import draw
from chatbridge.cli.ui import tables
from chatbridge.cli.ui.running import FAILED, WrongUsage, say
from chatbridge.cli.ui.tables import Column, Table
from chatbridge.cli.ui.wording import cell, counted, display_path
from chatbridge.commands.arguments.executable import Programs
from chatbridge.commands.definitions.definition import Command, published
from chatbridge.commands.definitions.library import DefinitionFile, Library, is_definition
from chatbridge.commands.definitions.problems import Problem
from chatbridge.core.errors import CommandUnusable
from chatbridge.core.text import did_you_mean, encodable
from chatbridge.hub.wiring import known_projects
from chatbridge.settings import Settings, load

Json = dict[str, Any]

ENDING = ".json"
SCHEMA = ".tools.schema.json"
"""What editors check files with, beside the copies: the examples' own is not where those are."""
_SCHEMA_OF_EXAMPLES = "../tools.schema.json"
_EXAMPLES = os.path.join(
    os.path.dirname(__file__), "..", "..", "commands", "definitions", "examples"
)


def library_of(settings: Settings) -> Library:
    """The hub's own, not yet loaded."""
    return Library(
        settings.commands.dirs,
        may_be_missing="dirs" not in settings.commands.model_fields_set,
    )


def tools(given: argparse.Namespace) -> int:
    if given.do == "check":
        return _check(given.file, as_json=given.json)
    if given.do == "list":
        return _list(as_json=given.json)
    known = example_names()
    if unknown := [name for name in given.name if name not in known]:
        near = did_you_mean(unknown[0], known, before=", ") or f"; there are: {', '.join(known)}"
        raise WrongUsage(f"there is no example {unknown[0]!r}{near}")
    return _add(given.name)


def _check(paths: Sequence[str], *, as_json: bool) -> int:
    settings = load()
    if paths:
        library = Library(())
        library.load_files(map(Path, paths))
    else:
        library = library_of(settings)
        library.load()
        if not library.files and not as_json:
            print(_no_definitions(settings.commands.dirs))
            return 0
    programs = program_findings("programs", library.commands.values(), settings)
    ok = not library.problems and all(found.mark is not Mark.PROBLEM for found in programs)
    if as_json:
        files = [
            {
                "file": encodable(str(file.file)),
                "tools": [command.tool for command in file.commands],
                "problems": [problem.as_json() for problem in file.problems],
                "remarks": [remark.as_json() for remark in file.remarks],
            }
            for file in library.files
        ]
        report = {"ok": ok, "files": files, "programs": [finding.json() for finding in programs]}
        print(json.dumps(report, indent=2))
    else:
        draw([*findings(library.files), *programs])
        said = "All is well."
        if library.problems:
            said = f"{counted(len(library.problems), 'problem')}. "
            said += "A file with a problem has no tools; the others do."
        elif programs:
            said = "The files are fine, but not every program can be run."
        print(f"\n{said}")
    return 0 if ok else FAILED


def findings(files: Sequence[DefinitionFile]) -> list[Finding]:
    """A line for each file that is as it should be, and one for each problem of the others."""
    names = [file.file.name for file in files]
    found: list[Finding] = []
    for file in files:
        name = file.file.name
        if names.count(name) > 1 or not is_definition(name):
            name = display_path(file.file)
        for each in file.problems:
            what = f"{summary_of(each)} [{each.kind}] (accepted: {each.accepted})"
            found.append(problem(name, what, each.mend))
        for each in file.remarks:
            what = f"{summary_of(each)} [{each.kind}] ({each.accepted})"
            found.append(remark(name, what, each.mend))
        if file.commands and not file.problems:
            found.append(fine(name, counted(len(file.commands), "tool")))
        elif not file.problems:
            found.append(remark(name, "no tools: nothing in it is enabled"))
    return found


def summary_of(problem: Problem) -> str:
    """What it is, in one line, without the file, and without what would be accepted."""
    line = f"line {problem.line}" if problem.line else ""
    place = ", ".join(filter(None, (line, problem.path)))
    return f"{place}: {problem.found}" if place else problem.found


def _no_definitions(dirs: Sequence[Path]) -> str:
    folders = ", ".join(map(display_path, dirs)) or "commands.dirs"
    return f"No definitions in {folders}. An example to begin with: chatbridge tools add git"


def _list(*, as_json: bool) -> int:
    settings = load()
    library = library_of(settings)
    library.load()
    if not settings.commands.enabled:
        say("Commands are off: commands.enabled is false in your configuration.")
    commands = library.commands.values()
    if as_json:
        print(json.dumps([_tool_object(it) for it in commands], indent=2))
    elif commands:
        columns = (
            Column(title="TOOL", gives_way=True),
            Column(title="APPROVE"),
            Column(title="RUNS"),
            Column(title="FILE", gives_way=True),
        )
        rows = [
            (
                cell(it.tool),
                it.approve,
                "synchronous" if it.synchronous else "asynchronous",
                cell(it.file.name),
            )
            for it in commands
        ]
        tables.write(Table(columns=columns, rows=rows))
    elif not library.problems:
        print(_no_definitions(settings.commands.dirs))
    if library.problems:
        say(f"{counted(len(library.problems), 'problem')} in your files: chatbridge tools check")
    return 0


def _tool_object(command: Command) -> Json:
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


def _add(given: Sequence[str]) -> int:
    settings = load()
    if not given:
        abouts = [(it, str(json.loads(_example(it))["description"])) for it in example_names()]
        rows = [(cell(it), cell(about.partition(". ")[0].rstrip("."))) for it, about in abouts]
        columns = (Column(title="NAME"), Column(title="FOR", gives_way=True))
        tables.write(Table(columns=columns, rows=rows), "", "To use one: chatbridge tools add NAME")
        return 0
    if not settings.commands.dirs:
        say("commands.dirs names no folder.", "Add one to it, or leave the setting out.")
        return FAILED
    folder, added, refused = settings.commands.dirs[0], [], False
    for name in dict.fromkeys(given):
        try:
            path = copy_example(name, folder)
        except FileExistsError as error:
            say(f"{display_path(error.filename)} already exists and was not changed.")
            refused = True
            continue
        added.append(path)
        print(f"Added {display_path(path)}")
    if not added:
        return FAILED
    library = library_of(settings)
    library.load()
    wrong = [file for file in library.files if file.problems and file.file in (folder, *added)]
    draw(findings(wrong))
    if not wrong:
        print("Look through it: you decide what agents may run, and what needs your approval.")
    return FAILED if wrong or refused else 0


def example_names() -> list[str]:
    found = (name for name in os.listdir(_EXAMPLES) if name.endswith(ENDING))
    return sorted(name.removesuffix(ENDING) for name in found)


def copy_example(name: str, folder: Path) -> Path:
    """:raises FileExistsError: a file of this name is there, and stays as it is."""
    content, path = _example(name), folder / f"{name}{ENDING}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    own = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(own, "w", encoding="utf-8") as file:
        file.write(content.replace(f'"{_SCHEMA_OF_EXAMPLES}"', f'"./{SCHEMA}"', 1))
    (folder / SCHEMA).write_text(published(), encoding="utf-8")
    return path


def _example(name: str) -> str:
    return Path(_EXAMPLES, f"{name}{ENDING}").read_text(encoding="utf-8")


def program_findings(name: str, commands: Iterable[Command], settings: Settings) -> list[Finding]:
    """What is wrong with the folders of `commands.path`, and with each program once."""
    database = database_of(settings, Path(runtime_paths.state_dir()))
    noted = notes(database, known_projects.CHANNEL)
    projects = known_projects.stored(noted.get(known_projects.KEY))
    programs = Programs(settings.commands.path, projects=lambda: projects)
    found = []
    for folder, refusal in programs.refused().items():
        what = f"{display_path(folder)} in commands.path is not used: {refusal.why}"
        found.append(problem(name, what, refusal.mend))
    files: dict[str, dict[str, None]] = {}
    for command in commands:
        files.setdefault(command.argv[0], {})[display_path(command.file)] = None
    for program, named in files.items():
        try:
            programs.find(program)
        except CommandUnusable as error:
            said, _, fix = str(error).partition(". Nothing was started. ")
            what = f"{said.partition('. Looked in ')[0]}: {', '.join(named)}"
            found.append(remark(name, what, fix, program=program, files=[*named]))
    return found
