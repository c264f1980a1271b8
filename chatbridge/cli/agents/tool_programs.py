"""Whether the programs of commands are found where a hub looks for them, and may be run."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from chatbridge import runtime_paths
from chatbridge.channels.checks import Finding, problem, remark
from chatbridge.cli.doctor.database import notes
from chatbridge.cli.ui.wording import shown
from chatbridge.commands.arguments.executable import Programs
from chatbridge.commands.definitions.command import Command
from chatbridge.core.errors import CommandUnusable
from chatbridge.hub.wiring import known_projects
from chatbridge.settings import Settings


def program_findings(name: str, commands: Iterable[Command], settings: Settings) -> list[Finding]:
    """What is wrong with the folders of `commands.path`, and with each program once."""
    noted = notes(settings.database(Path(runtime_paths.state_dir())), known_projects.CHANNEL)
    projects = known_projects.stored(noted.get(known_projects.KEY))
    programs = Programs(settings.commands.path, projects=lambda: projects)
    found = []
    for folder, refusal in programs.refused().items():
        which, why = shown(folder), refusal.why
        found.append(problem(name, f"{which} in commands.path is not used: {why}", refusal.mend))
    files: dict[str, list[str]] = {}
    for command in commands:
        named = files.setdefault(command.argv[0], [])
        named += [shown(command.file)] * (shown(command.file) not in named)
    for program, named in files.items():
        try:
            programs.find(program)
        except CommandUnusable as error:
            said, _, fix = str(error).partition(". Nothing was started. ")
            what = f"{said.partition('. Looked in ')[0]}: {', '.join(named)}"
            found.append(remark(name, what, fix, program=program, files=named))
    return found
