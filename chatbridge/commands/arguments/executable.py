"""Which file a command's program is.

A command runs in an agent's project, and a repository must not grant itself commands: relative and
empty entries of PATH mean that folder, so they are skipped. So are entries inside the project: the
hub may have been started by an agent's client, with that client's PATH, and a virtual environment
or `node_modules/.bin` in front of it would let the repository say what `git` is. Where that is
wanted the owner says so, in `commands.path` or with a whole path in the definition.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from chatbridge.commands.arguments.paths import is_in, owners
from chatbridge.core.errors import CommandUnusable

USUAL = "/usr/local/bin:/usr/bin:/bin"
"""Where programs are if nothing says so."""


def find(program: str, *, path: str, own: Sequence[Path] = (), not_in: Path | None = None) -> str:
    """The whole path of `program`. `own` are the owner's folders (`commands.path`), which come
    before those of `path` (a PATH) and may lie anywhere; those of `path` not in `not_in`.

    :raises CommandUnusable:
    """
    if "/" in program or program.startswith("~"):
        return _named(program)
    others = [each for each in entries(path) if not_in is None or not _lies_in(each, not_in)]
    searched = list(dict.fromkeys([*map(str, own), *others]))
    for folder in searched:
        if _runs(found := os.path.join(folder, program)):
            return found
    left_out = len(entries(path)) - len(others)
    beside = ", and not in those of PATH that lie in the project" if left_out else ""
    raise CommandUnusable(
        f"the program {program} was not found. Looked in {', '.join(searched) or 'no folder'}"
        f"{beside}. Nothing was started. Install it, or write its whole path in the command's "
        "definition, or add its folder to commands.path"
    )


def called(program: str) -> str:
    """What a program is told that its name is. Some look for their own files beside it, such as
    the Python of a virtual environment, and none knows whose home `~` is."""
    return os.path.expanduser(program) if program.startswith("~/") else program


def entries(path: str) -> list[str]:
    """The folders of a PATH that mean the same wherever a command runs."""
    return list(dict.fromkeys(each for each in path.split(os.pathsep) if os.path.isabs(each)))


def _named(program: str) -> str:
    file = owners(program)
    if file is None:
        raise CommandUnusable(
            f"the program {program} is looked up in no folder, as an agent's project could have "
            "one of that name. Nothing was started. Write its whole path in the definition"
        )
    if not _runs(str(file)):
        raise CommandUnusable(
            f"the program {file} is not there, or is no file that may be run. Nothing was started. "
            "Install it, or mend its path in the command's definition"
        )
    return str(file)


def _lies_in(folder: str, root: Path) -> bool:
    return is_in(Path(os.path.realpath(folder)), root)


def _runs(file: str) -> bool:
    return os.path.isfile(file) and os.access(file, os.X_OK)
