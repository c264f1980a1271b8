"""A folder of ours with a quota: its files are written whole or not at all, counted, and removed.

Everything is written to a temporary name first, so that a crash leaves nothing else behind, and the
next start removes that. All of it blocks: use it in threads.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

from chatbridge.attachments.content_type import inspect, safe_name
from chatbridge.core.cards.attached import format_size
from chatbridge.core.model import Attachment
from chatbridge.core.ports import Clock

GRACE_SECONDS = 3600.0
"""A file is stored before its ask is."""
TEMPORARY = ".new-"


class TooLarge(Exception):
    def __init__(self, limit: int) -> None:
        self.limit = format_size(limit)


class NoRoom(Exception):
    pass


class Empty(Exception):
    pass


class Room:
    """How many bytes are there, of those that may be."""

    def __init__(self, quota: int) -> None:
        self.quota, self.used = quota, 0
        self._lock = threading.Lock()

    def take(self, size: int) -> None:
        """:raises NoRoom:"""
        with self._lock:
            if self.used + size > self.quota:
                raise NoRoom
            self.used += size

    def count(self, size: int) -> None:
        """What is there already, or no longer, or is ours."""
        with self._lock:
            self.used += size


class QuotaFolder:
    def __init__(self, path: Path, quota: int, clock: Clock) -> None:
        self.path, self.room, self._clock = path, Room(quota), clock
        self._lock = threading.Lock()
        """A file is not removed while another call finds that it is there already."""

    def open(self) -> None:
        """Remove what a crash has left, and count the rest. :raises OSError:"""
        for entry in walk(self.path):
            if entry.name.startswith("."):
                os.unlink(entry)
            else:
                self.room.count(entry.stat(follow_symlinks=False).st_size)

    def new(self, limit: int) -> NewFile:
        """:raises OSError:"""
        _make_private(self.path)
        return NewFile(self, limit)

    def keep(self, temporary: str, target: Path, *, size: int, known: bool = False) -> None:
        """Give the file its name, unless there is one already. `known`: it has its room.
        :raises NoRoom: :raises OSError:"""
        if target.parent != self.path:
            _make_private(target.parent)
        now = self._clock.time()
        with self._lock:
            if not target.is_file():
                (self.room.count if known else self.room.take)(size)
                try:
                    os.rename(temporary, target)
                except OSError:
                    self.room.count(-size)
                    raise
            os.utime(target, (now, now))  # its time of grace begins
        _sync(target.parent)

    def names(self) -> list[str]:
        with suppress(FileNotFoundError):
            return os.listdir(self.path)
        return []

    def sweep(self, digests: Collection[str], inside: str = "") -> int:
        """Remove all but these, and what is new; the number of files."""
        before, count = self._clock.time() - GRACE_SECONDS, 0
        for entry in walk(self.path / inside):
            if entry.name.partition(".")[0] in digests:
                continue
            with self._lock, suppress(FileNotFoundError):
                found = os.stat(entry, follow_symlinks=False)
                if found.st_mtime < before:
                    os.unlink(entry)
                    if not entry.name.startswith("."):  # temporary files are not counted
                        self.room.count(-found.st_size)
                    count += 1
        if inside:
            with suppress(OSError):  # something in it is new
                os.rmdir(self.path / inside)
        return count


class NewFile:
    """A file that is being written. Closed without having been kept, it is gone."""

    def __init__(self, folder: QuotaFolder, limit: int) -> None:
        self._folder, self._limit = folder, limit
        self._path = str(folder.path / f"{TEMPORARY}{os.urandom(8).hex()}")
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        self._file = open(os.open(self._path, flags, 0o600), "w+b")  # noqa: SIM115
        self._digest = hashlib.sha256()
        self._size = 0
        self._lock = threading.Lock()
        """A call that is cancelled closes the file while its thread still writes."""

    def __enter__(self) -> NewFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def write(self, piece: bytes) -> None:
        """:raises TooLarge: :raises OSError:"""
        with self._lock:
            self._size += len(piece)
            if self._size > self._limit:
                raise TooLarge(self._limit)
            self._digest.update(piece)
            self._file.write(piece)

    def described(
        self, name: str | None, *, caption: str | None = None, ask_id: str | None = None
    ) -> Attachment:
        """Bring it to the disk, and say what it is. :raises Empty: :raises OSError:"""
        with self._lock:
            if not self._size:
                raise Empty
            self._sync()
            found = inspect(self._file)
        return Attachment(
            digest=self._digest.hexdigest(),
            name=safe_name(name, type=found.type),
            type=found.type,
            size=self._size,
            kind=found.kind,
            caption=caption,
            width=found.width,
            height=found.height,
            excerpt=found.excerpt,
            ask_id=ask_id,
        )

    def synced(self) -> str:
        """Bring it to the disk. Its digest. :raises OSError:"""
        with self._lock:
            self._sync()
            return self._digest.hexdigest()

    def _sync(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())

    def keep(self, target: Path, *, known: bool = False) -> None:
        """:raises NoRoom: :raises OSError:"""
        with self._lock:
            self._folder.keep(self._path, target, size=self._size, known=known)

    def close(self) -> None:
        with self._lock:
            try:
                self._file.close()
            except OSError:
                pass  # what could not be written is not kept
            with suppress(FileNotFoundError):
                os.unlink(self._path)


def stored_bytes(folder: Path) -> int:
    """How much of its quota is used. :raises OSError:"""
    total = 0
    for entry in walk(folder):
        with suppress(FileNotFoundError):  # the hub has just removed it
            total += entry.stat(follow_symlinks=False).st_size
    return total


def walk(folder: Path) -> Iterator[os.DirEntry[str]]:
    """The files of the folder and of those in it."""
    try:
        entries = os.scandir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return
    with entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from walk(Path(entry))
            else:
                yield entry


def _make_private(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def _sync(folder: Path) -> None:
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
