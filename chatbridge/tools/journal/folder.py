"""A folder of the journal on the disk: no symbolic link is followed, no file is ever overwritten.

A project's content is not its owner's word: a repository could bring a link to anywhere along.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import PurePosixPath

MAX_FILE = 1_000_000
MAX_FOLDER = 30_000_000
"""Bytes that are read of the newest files: a repository can bring along what it likes."""
SUFFIXES = 1_000
_STEP = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LAST = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(slots=True)
class Found:
    """Content of a folder: texts by name, and what was skipped and why."""

    texts: dict[str, tuple[str, float]] = field(default_factory=dict)
    """With the time at which each file was changed last."""
    skipped: list[tuple[str, str]] = field(default_factory=list)


@contextmanager
def opened(root: str, folder: str, *, make: bool = False) -> Iterator[int]:
    """A descriptor of `root`/`folder`. Only what is below the root is made.

    :raises OSError: it is not there, not ours to use, or a link is on the way to it.
    """
    below = PurePosixPath(folder).parts
    above = PurePosixPath(root).parts[1:]
    here = os.open("/", _STEP)
    try:
        for i, part in enumerate((*above, *below), start=1):
            last = i == len(above) + len(below)
            here = _into(here, part, flags=_LAST if last else _STEP, make=make and i > len(above))
        yield here
    finally:
        os.close(here)


def _into(parent: int, part: str, *, flags: int, make: bool) -> int:
    """Open a part below, and close its parent."""
    made = False
    if make:
        with suppress(FileExistsError):
            os.mkdir(part, dir_fd=parent)
            made = True
    try:
        below = os.open(part, flags, dir_fd=parent)
    except OSError as error:
        if error.errno in (errno.ENOTDIR, errno.ELOOP) and _is_link(parent, part):
            raise OSError(errno.ELOOP, f"{part} is a symbolic link") from None
        raise
    os.close(parent)
    if made and flags == _LAST:
        with suppress(OSError):  # the answer is worth more than a tidy repository
            _create(below, ".gitignore", b"*\n")
    return below


def _is_link(parent: int, part: str) -> bool:
    try:
        return stat.S_ISLNK(os.stat(part, dir_fd=parent, follow_symlinks=False).st_mode)
    except OSError:
        return False


def create(folder: int, stem: str, content: bytes) -> str:
    """A new file for this second; its name. :raises OSError:"""
    for number in range(1, SUFFIXES + 1):
        name = f"{stem}_question.yaml" if number == 1 else f"{stem}_{number}_question.yaml"
        try:
            _create(folder, name, content)
        except FileExistsError:
            continue
        os.fsync(folder)
        return name
    raise OSError(errno.EEXIST, f"there are {SUFFIXES} files of this second")


def _create(folder: int, name: str, content: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    file = os.open(name, flags, 0o666, dir_fd=folder)
    try:
        with open(file, "wb", buffering=0) as out:
            left = memoryview(content)
            while left:
                left = left[out.write(left) :]
            os.fsync(file)
    except OSError:
        os.unlink(name, dir_fd=folder)  # half a file would be a corrupt one
        raise


def names(folder: int) -> list[str]:
    return sorted(name for name in os.listdir(folder) if name.endswith((".yaml", ".yml")))


def read(folder: int) -> Found:
    """All YAML files of the folder."""
    found, room = Found(), MAX_FOLDER
    for name in reversed(names(folder)):
        if room <= 0:
            found.skipped.append((name, "too much in this folder"))
            continue
        try:
            found.texts[name] = read_file(folder, name)
            room -= len(found.texts[name][0])
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            problem = error.strerror if isinstance(error, OSError) else str(error)
            found.skipped.append((name, problem or "cannot be read"))
    return found


def read_file(folder: int, name: str) -> tuple[str, float]:
    """:raises OSError: :raises ValueError: it is too large, no file, or no text."""
    # Not to wait for the other end of a named pipe.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        file = os.open(name, flags, dir_fd=folder)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise ValueError("a symbolic link") from None
        raise
    about = os.fstat(file)
    if not stat.S_ISREG(about.st_mode):
        os.close(file)
        raise ValueError("not a file")
    with open(file, "rb") as content:
        data = content.read(MAX_FILE + 1)
    if len(data) > MAX_FILE:
        raise ValueError("larger than 1 MB")
    try:
        return data.decode(), about.st_mtime
    except UnicodeDecodeError:
        raise ValueError("not UTF-8") from None
