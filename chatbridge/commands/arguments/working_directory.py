"""Where a command runs: the project, a folder in it that the agent names, or the owner's choice."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from chatbridge.commands.arguments.paths import inside, owners
from chatbridge.commands.arguments.values import invalid, plain_text
from chatbridge.commands.definitions.command import ARGUMENT, PROJECT, WORKING_DIRECTORY, Command
from chatbridge.core.errors import CommandUnusable


def project_folder(*, project_key: str, started_in: str | None) -> Path:
    """The root of the agent's project; without one the folder where the agent was started.

    :raises CommandUnusable: there is neither.
    """
    where = project_key if os.path.isabs(project_key) else started_in
    if where is None or not os.path.isabs(where):
        raise CommandUnusable(
            "this command runs in the agent's project, and it is not known where that is. Nothing "
            "was started. Start the agent in a folder of this machine"
        )
    return _existing(Path(where), "the agent's folder")


def folder_of(
    command: Command, given: Mapping[str, object], *, project_key: str, started_in: str | None
) -> Path:
    """The folder that a command runs in; it exists.

    :raises ToolInputError: the agent named one that cannot be.
    :raises CommandUnusable:
    """
    rule = command.working_directory
    if rule not in (PROJECT, ARGUMENT):
        chosen = owners(rule)
        if chosen is None:
            raise CommandUnusable(
                f"the working directory {rule} of this command is no whole path. Nothing was "
                "started. Mend workingDirectory in its definition"
            )
        return _existing(chosen, "this command's working directory")
    project = project_folder(project_key=project_key, started_in=started_in)
    if rule == PROJECT or WORKING_DIRECTORY not in given:
        return project
    return _named(given[WORKING_DIRECTORY], project)


def _named(value: object, project: Path) -> Path:
    text = plain_text(value, WORKING_DIRECTORY)
    found = inside(text, base=project, roots=[project]) if text else None
    if found is None:
        raise invalid(
            WORKING_DIRECTORY, text, "a folder in the project, after all links are followed"
        )
    if not os.path.isdir(found):
        raise invalid(WORKING_DIRECTORY, text, f"a folder that exists; there is no folder {found}")
    return found


def _existing(folder: Path, what: str) -> Path:
    if not os.path.isdir(folder):
        raise CommandUnusable(f"{what} {folder} is not there. Nothing was started")
    return folder
