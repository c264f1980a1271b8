"""Paths that agents name: what they mean once every link and `..` is followed, and where that is.

The command gets the path that was looked at, not the one that was given. Whoever can change folders
in between can still lead it elsewhere; that is a program that runs as the owner.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

from chatbridge.commands.arguments import values
from chatbridge.commands.definitions.command import ARGUMENT, PROJECT, WORKING_DIRECTORY, Command
from chatbridge.core.errors import CommandUnusable

LONGEST = 4095
"""Bytes. Linux opens no longer one."""


def owners(text: str) -> Path | None:
    """A whole path that the owner wrote, where `~` is their home; None if it is none."""
    path = os.path.expanduser(text)
    return Path(path) if os.path.isabs(path) else None


def inside(text: str, *, base: Path, roots: Sequence[Path]) -> Path | None:
    """The whole path that `text` means in the folder `base`, if it lies in one of `roots`. What
    does not exist yet lies where its nearest ancestor does. `~` is a name like any other."""
    real = _real(os.path.join(base, text))
    return real if real and any(is_in(real, root) for root in roots) else None


def is_in(real: Path, root: Path) -> bool:
    """Whether a path without links is `root` or lies in it."""
    return real.is_relative_to(os.path.realpath(root))


def _real(text: str) -> Path | None:
    if len(os.fsencode(text)) > LONGEST:
        return None
    try:
        if _endless(text):
            return None
        real = Path(os.path.realpath(text))
    except (RecursionError, RuntimeError, OSError):
        return None
    return None if any(_doubtful(part) for part in (real, *real.parents)) else real


def _endless(text: str) -> bool:
    """More links than the system follows, which Python may follow all the same."""
    try:
        os.stat(text)
    except OSError as error:
        return error.errno == errno.ELOOP
    return False


def _doubtful(part: Path) -> bool:
    """A link that could not be followed, such as one to itself, or what may not be looked at."""
    try:
        return stat.S_ISLNK(os.lstat(part).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True


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
    text = values.plain_text(value, WORKING_DIRECTORY)
    found = inside(text, base=project, roots=[project]) if text else None
    if found is None:
        raise values.invalid(
            WORKING_DIRECTORY, text, "a folder in the project, after all links are followed"
        )
    if not os.path.isdir(found):
        raise values.invalid(
            WORKING_DIRECTORY, text, f"a folder that exists; there is no folder {found}"
        )
    return found


def _existing(folder: Path, what: str) -> Path:
    if not os.path.isdir(folder):
        raise CommandUnusable(f"{what} {folder} is not there. Nothing was started")
    return folder
