"""Copies of what a person sent, in the agent's project, where the owner wants them there.

The project's folders may be anybody's work, so that no link in them is followed. Git is told to
leave the copies alone. They stay until the owner removes them.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

FOLDERS = (".chatbridge", "received")
TEMPORARY = ".new-"
STALE_SECONDS = 3600.0
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def copy_into_project(stored: Path, *, root: str, now: float) -> str:
    """Copy a stored file into the project at `root`; its path there.
    :raises OSError: it cannot be, or a link is in the way."""
    name = stored.name
    with _opened(os.path.realpath(root), FOLDERS) as folder:
        _remove_stale(folder, before=now - STALE_SECONDS)
        with suppress(FileExistsError), _writing(".gitignore", folder) as file:
            os.write(file, b"*\n")
        beside = f"{TEMPORARY}{os.urandom(8).hex()}"
        try:
            with open(stored, "rb") as source, _writing(beside, folder) as file:
                with open(file, "wb", closefd=False) as target:
                    shutil.copyfileobj(source, target)
                os.fsync(file)
            os.rename(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(beside, dir_fd=folder)
            raise
    return os.path.join(os.path.realpath(root), *FOLDERS, name)


@contextmanager
def _opened(root: str, names: tuple[str, ...]) -> Iterator[int]:
    """The folder at the end, each made in the one before."""
    folder = os.open(root, _DIRECTORY)
    try:
        for name in names:
            with suppress(FileExistsError):
                os.mkdir(name, mode=0o700, dir_fd=folder)
            inner = os.open(name, _DIRECTORY, dir_fd=folder)
            os.close(folder)
            folder = inner
        yield folder
    finally:
        os.close(folder)


@contextmanager
def _writing(name: str, folder: int) -> Iterator[int]:
    file = os.open(name, _NEW, 0o600, dir_fd=folder)
    try:
        yield file
    finally:
        os.close(file)


def _remove_stale(folder: int, *, before: float) -> None:
    """What a crash has left."""
    for name in os.listdir(folder):
        if name.startswith(TEMPORARY):
            with suppress(OSError):
                if os.stat(name, dir_fd=folder, follow_symlinks=False).st_mtime < before:
                    os.unlink(name, dir_fd=folder)
