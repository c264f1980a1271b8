"""A client's file on the disk: read whole, replaced in one step, with a copy beside it.

A link is followed to its file. A file that has changed since it was read, that is read-only, or
that belongs to somebody else is left alone.
"""

from __future__ import annotations

import os
import re
import shlex
import stat
from itertools import chain, count
from pathlib import Path

from chatbridge.atomic_write import write_atomically
from chatbridge.core.errors import ChatbridgeError

MAX_FILE_BYTES = 100 * 1024 * 1024
PRIVATE, SHARED = 0o600, 0o644
NOT_A_FILE = "{} is not a file. Move it away, and try again."


def read(path: Path) -> bytes | None:
    """What is in the file; None if there is none. :raises ChatbridgeError:"""
    try:
        # Without O_NONBLOCK a named pipe would never open.
        with open(path, "rb", opener=lambda it, how: os.open(it, how | os.O_NONBLOCK)) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise ChatbridgeError(NOT_A_FILE.format(path))
            if status.st_size > MAX_FILE_BYTES:
                raise ChatbridgeError(f"{path} is larger than {MAX_FILE_BYTES // 1024 // 1024} MB.")
            return file.read()
    except FileNotFoundError:
        return None
    except IsADirectoryError:
        raise ChatbridgeError(NOT_A_FILE.format(path)) from None
    except OSError as error:
        raise ChatbridgeError(
            f"{path} cannot be read: {error.strerror}. Check the path and its permissions."
        ) from None


def check_inside(path: Path, folder: Path) -> None:
    """A project's file must not be a link to somewhere else: what is there may be none of its
    agents' business, and the copy would lie in the project. :raises ChatbridgeError:"""
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder)):
        raise ChatbridgeError(f"{path} leads out of its project. Nothing was written.")


def backups(path: Path) -> list[Path]:
    """The copies beside a file, the newest first."""
    escaped = re.sub(r"([*?[])", r"[\1]", path.name)
    numbered = [it for it in path.parent.glob(f"{escaped}.bak.*") if _number(it) > 0]
    plain = path.with_name(f"{path.name}.bak")
    return sorted([it for it in (plain, *numbered) if it.is_file()], key=_number, reverse=True)


def next_backup(path: Path, content: bytes) -> Path:
    """Where a copy of this content is, or would go. An older copy that differs is kept."""
    for copy in backups(path):
        if copy.stat().st_size == len(content) and read(copy) == content:
            return copy
    endings = chain([""], (f".{number}" for number in count(1)))
    candidates = (path.with_name(f"{path.name}.bak{ending}") for ending in endings)
    return next(it for it in candidates if not os.path.lexists(it))


def check(path: Path, *, before: bytes | None) -> None:
    """Whether the file is as it was, and ours to change. :raises ChatbridgeError:"""
    if read(path) != before:
        raise ChatbridgeError(
            f"{path} has been changed by another program in the meantime. "
            "Nothing was written to it. Try again."
        )
    if before is not None:
        _allowed(Path(os.path.realpath(path)))


def replace(path: Path, *, before: bytes | None, after: bytes | None, private: bool) -> None:
    """Give the file its new content, with a copy of the old one beside it; or remove it.
    :raises ChatbridgeError: nothing was changed."""
    real = Path(os.path.realpath(path))

    def unchanged() -> None:
        check(path, before=before)

    unchanged()
    try:
        if before is None:
            assert after is not None
            for folder in (real.parent, *real.parent.parents)[::-1]:
                if not folder.exists():
                    folder.mkdir(mode=0o700 if private else 0o755, exist_ok=True)
            mask = os.umask(0o077)  # it can be learnt only by setting it
            os.umask(mask)
            mode = PRIVATE if private else SHARED & ~mask
            write_atomically(real, after, mode=mode, check=unchanged)
            return
        status = real.stat()
        if after is None:
            real.unlink()
            return
        mode = stat.S_IMODE(status.st_mode)
        owner = (status.st_uid, status.st_gid) if os.geteuid() == 0 else None
        copy = next_backup(path, before)
        if not copy.exists():
            write_atomically(copy, before, mode=mode, owner=owner, overwrite=False)
        write_atomically(real, after, mode=mode, owner=owner, check=unchanged)
    except OSError as error:
        raise ChatbridgeError(
            f"{path} cannot be written: {error.strerror}. Nothing was changed there."
        ) from None


def _allowed(real: Path) -> None:
    """:raises ChatbridgeError: a file that is not ours to change."""
    status = real.stat()
    if not status.st_mode & 0o222:
        raise ChatbridgeError(
            f"{real} is read-only; something else may look after it. Change it there, or allow "
            f"yourself to write: chmod u+w {shlex.quote(str(real))}"
        )
    if os.geteuid() not in (0, status.st_uid):
        raise ChatbridgeError(f"{real} belongs to another user. Run this again as that user.")


def _number(path: Path) -> int:
    ending = path.name.rpartition(".bak.")[2]
    return int(ending) if ".bak." in path.name and ending.isascii() and ending.isdigit() else 0
