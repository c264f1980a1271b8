"""Definition files as they lie in the owner's folders: which there are, what is in them, and
whether somebody else could have written it. What it means is up to `check`."""

from __future__ import annotations

import os
import shlex
import stat
from dataclasses import dataclass
from pathlib import Path

from chatbridge.commands.definitions.positions import LARGEST
from chatbridge.commands.definitions.problems import Problem, safe

ENDING = ".json"
_OTHERS_CAN_WRITE = 0o022
_OPEN = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A file with its text, or a file or folder with why it is not used."""

    file: Path
    text: str = ""
    problem: Problem | None = None


class _NotUsed(Exception):
    def __init__(self, kind: str, found: str, accepted: str, mend: str) -> None:
        super().__init__(found)
        self.kind, self.found, self.accepted, self.mend = kind, found, accepted, mend


def is_definition(name: str) -> bool:
    return name.endswith(ENDING) and not name.startswith(".")


def files_in(folder: Path, *, may_be_missing: bool) -> list[Found]:
    """In the order of their names. Folders in it are not looked into."""
    try:
        own = _opened(folder, os.O_DIRECTORY)
    except FileNotFoundError:
        if may_be_missing:
            return []
        mend = f"make it (mkdir -p {_quoted(folder)}), or take it out of commands.dirs"
        missing = _NotUsed("missing", "there is no such folder", "a folder", mend)
        return [_refused(folder, missing)]
    except OSError as error:
        return [_refused(folder, _unreadable(error, "a folder that you can read"))]
    try:
        _only_the_owners(folder, os.fstat(own))
        names = sorted(filter(is_definition, os.listdir(own)))
        return [_file(folder / name, name, own) for name in names]
    except _NotUsed as why:
        return [_refused(folder, why)]
    except OSError as error:
        return [_refused(folder, _unreadable(error, "a folder that you can read"))]
    finally:
        os.close(own)


def file_at(path: Path) -> Found:
    """One that the owner has named just now, wherever it lies and whoever can write to it."""
    return _file(path, str(path), None)


def _file(path: Path, name: str, folder: int | None) -> Found:
    """`folder`: open, so that nothing else takes its place meanwhile, and a trusted one."""
    try:
        own = _opened(name, folder=folder)
        with os.fdopen(own, "rb") as file:
            about = os.fstat(own)
            if not stat.S_ISREG(about.st_mode):
                raise _NotUsed("file", "it is not a file", "a file", "take it away from here")
            if folder is not None:
                _only_the_owners(path, about)
            data = file.read(LARGEST + 1)
        if len(data) > LARGEST:
            found, accepted = "more than a megabyte", "a file of at most 1 MB"
            raise _NotUsed("too_large", found, accepted, "make several files of it")
        return Found(file=path, text=data.decode("utf-8"))
    except UnicodeDecodeError as error:
        found = f"byte {error.start + 1:,} is not UTF-8"
        why = _NotUsed("encoding", found, "a text in UTF-8", "save it as UTF-8")
        return _refused(path, why)
    except OSError as error:
        return _refused(path, _unreadable(error, "a file that you can read"))
    except _NotUsed as why:
        return _refused(path, why)


def _opened(path: Path | str, kind: int = 0, *, folder: int | None = None) -> int:
    """A pipe or a terminal is opened as well, and holds nobody up."""
    return os.open(path, _OPEN | kind, dir_fd=folder)


def _only_the_owners(path: Path, about: os.stat_result) -> None:
    """What runs commands in the owner's name is written by nobody else; as with ssh's files."""
    if about.st_uid not in (0, os.geteuid()):
        found = f"it belongs to another user (uid {about.st_uid})"
        mend = "copy what is in it to one of your own, or take it out"
        raise _NotUsed("owner", found, "what is yours or root's", mend)
    if about.st_mode & _OTHERS_CAN_WRITE:
        found = f"others can write to it (mode {stat.S_IMODE(about.st_mode):04o})"
        accepted = "what only its owner can write to"
        raise _NotUsed("writable", found, accepted, f"chmod go-w {_quoted(path)}")


def _unreadable(error: OSError, accepted: str) -> _NotUsed:
    found = f"it cannot be read ({error.strerror})"
    return _NotUsed("unreadable", found, accepted, "look at its path, its owner and its mode")


def _refused(path: Path, why: _NotUsed) -> Found:
    problem = Problem(
        file=path,
        line=None,
        path="",
        kind=why.kind,
        found=safe(why.found),
        accepted=why.accepted,
        mend=safe(why.mend),
    )
    return Found(file=path, problem=problem)


def _quoted(path: Path) -> str:
    return shlex.quote(str(path))
