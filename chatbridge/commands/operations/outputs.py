"""What commands printed: one file for each operation, in a folder of the hub's own.

Owns the folder and the names in it. The runner writes the files, and beside one whether
the command runs and how it ended, until that is stored.
"""

from __future__ import annotations

import asyncio
import codecs
import logging
import os
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from chatbridge.commands.runner.records import END, RUNNING
from chatbridge.core.errors import StoreError
from chatbridge.core.operation import OperationStore
from chatbridge.core.ports import Clock

HEAD, TAIL = 4_000, 12_000
"""How many characters of an output's beginning and end are kept with its result."""
LARGEST_CHARACTER = 4
"""Bytes of one in UTF-8."""
_ID = re.compile(r"[0-9a-z]+(?:-[0-9a-z]+)*")
_BESIDE = ("", RUNNING, END, f"{END}.new")
_OURS = re.compile(rf"({_ID.pattern})\.txt({'|'.join(map(re.escape, _BESIDE))})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """Both ends of an output; all of it is in `head` if `tail` is empty."""

    head: str = ""
    tail: str = ""
    size: int = 0
    """Bytes in the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What the folder has of one operation."""

    id: str
    size: int
    changed_at: float


class Outputs:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)

    def path(self, operation_id: str) -> Path:
        """:raises ValueError: no operation has such an id."""
        if not _ID.fullmatch(operation_id):
            raise ValueError("this is no operation's id")
        return self.folder / f"{operation_id}.txt"

    async def begun(self, operation_id: str) -> bool:
        """Whether it was ever about to be run: its file is made before its process."""
        return await asyncio.to_thread(os.path.lexists, self.path(operation_id))

    async def printed(self, operation_id: str) -> Printed:
        """Both ends, without reading what is between them."""
        return await asyncio.to_thread(_printed, self.path(operation_id))

    async def whole(self, operation_id: str) -> bytes | None:
        """All that was kept of it; None if there is nothing, or nothing any more. For any text
        that somebody gives as an id."""
        if not _ID.fullmatch(operation_id):
            return None
        return await asyncio.to_thread(_read, self.path(operation_id))

    async def kept(self) -> list[Kept]:
        """What there is, of whomever, oldest first."""
        return await asyncio.to_thread(_kept, self.folder)

    async def remove(self, operation_id: str) -> None:
        """Whatever there is of it."""
        await asyncio.to_thread(_remove, self.path(operation_id))


def _open(path: Path) -> BinaryIO:
    """:raises OSError:"""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    return open(os.open(path, flags), "rb")


def _read(path: Path) -> bytes | None:
    try:
        with _open(path) as file:
            return file.read()
    except OSError:
        return None


def _printed(path: Path) -> Printed:
    """Nothing, if there is nothing or it cannot be read: how it ended is worth more."""
    try:
        with _open(path) as file:
            return _both_ends(file)
    except OSError:
        return Printed()


def _both_ends(file: BinaryIO) -> Printed:
    size = os.fstat(file.fileno()).st_size
    if size > (HEAD + TAIL) * LARGEST_CHARACTER:
        beginning = file.read(HEAD * LARGEST_CHARACTER)
        file.seek(size - TAIL * LARGEST_CHARACTER)
        end = file.read(TAIL * LARGEST_CHARACTER)
        return Printed(head=_text(beginning)[:HEAD], tail=_whole_characters(end)[-TAIL:], size=size)
    text = file.read().decode("utf-8", "replace")
    if len(text) > HEAD + TAIL:
        return Printed(head=text[:HEAD], tail=text[-TAIL:], size=size)
    return Printed(head=text, size=size)


def _text(beginning: bytes) -> str:
    """Without the character that the cut went through."""
    return codecs.getincrementaldecoder("utf-8")("replace").decode(beginning)


def _whole_characters(end: bytes) -> str:
    """The same for a cut before it: what continues a character has lost its beginning."""
    cut = next((at for at, byte in enumerate(end[:LARGEST_CHARACTER]) if byte & 0xC0 != 0x80), 0)
    return end[cut:].decode("utf-8", "replace")


def _kept(folder: Path) -> list[Kept]:
    found: dict[str, tuple[int, float]] = {}
    with os.scandir(folder) as entries:
        for entry in entries:
            if (ours := _OURS.fullmatch(entry.name)) is None:
                continue
            with suppress(FileNotFoundError):  # forgotten at this moment
                status = entry.stat(follow_symlinks=False)
                size, changed_at = found.get(ours[1], (0, 0.0))
                found[ours[1]] = (size + status.st_size, max(changed_at, status.st_mtime))
    kept = [
        Kept(id=operation_id, size=size, changed_at=changed_at)
        for operation_id, (size, changed_at) in found.items()
    ]
    return sorted(kept, key=lambda each: each.changed_at)


def _remove(path: Path) -> None:
    for suffix in _BESIDE:
        Path(f"{path}{suffix}").unlink(missing_ok=True)


log = logging.getLogger(__name__)

EVERY = 3600.0
MEGABYTE = 1_000_000
MOST = 10_000
"""Operations that are kept, however young: each has up to 16 KB of its output in the database."""
AT_ONCE = 200
"""Rows in one transaction: an answer can pass between two of them."""


class Sweeping:
    def __init__(
        self,
        store: OperationStore,
        outputs: Outputs,
        *,
        clock: Clock,
        retention: float,
        max_disk: int,
        on_the_way: Callable[[str], bool],
    ) -> None:
        """`retention` in seconds, `max_disk` in megabytes of all outputs together."""
        self._store = store
        self._outputs = outputs
        self._clock = clock
        self._retention = retention
        self._max_disk = max_disk * MEGABYTE
        self._on_the_way = on_the_way
        self._strays_looked_for = False

    async def run(self) -> None:
        """Now and every hour, until cancelled."""
        while True:
            try:
                await self.sweep()
            except (StoreError, OSError) as error:
                log.warning("operations were not swept, the next try is in an hour: %s", error)
            await self._clock.sleep(EVERY)

    async def sweep(self) -> None:
        """:raises StoreError: :raises OSError: it can be tried again at any time."""
        rows = await self._remove_old()
        kept = await self._outputs.kept()
        if not self._strays_looked_for:
            kept = await self._remove_strays(kept)
            self._strays_looked_for = True
        outputs = await self._remove_beyond(kept)
        if rows or outputs:
            log.info("swept %d ended operations, and %d outputs for room", rows, outputs)

    async def _remove_old(self) -> int:
        before, number = self._clock.time() - self._retention, 0
        while ids := await self._store.remove(before=before, keep=MOST, limit=AT_ONCE):
            for operation_id in ids:
                await self._outputs.remove(operation_id)
            number += len(ids)
        return number

    async def _remove_strays(self, kept: list[Kept]) -> list[Kept]:
        """Outputs whose row was removed by a hub that died then. A row is there before its output,
        so there are no others."""
        with_row = []
        for each in kept:
            if self._on_the_way(each.id) or await self._store.get(each.id) is not None:
                with_row.append(each)
            else:
                await self._outputs.remove(each.id)
        return with_row

    async def _remove_beyond(self, kept: list[Kept]) -> int:
        """The oldest first, until the rest has room."""
        size, number = sum(each.size for each in kept), 0
        for each in kept:
            if size <= self._max_disk:
                break
            if not self._on_the_way(each.id):
                await self._outputs.remove(each.id)
                size -= each.size
                number += 1
        return number
