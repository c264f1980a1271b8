"""What commands printed: one file for each operation, in a folder of the hub.

The runner writes these files. Beside each it records that the command runs and how it ended, until
the hub has stored that.
"""

from __future__ import annotations

import asyncio
import codecs
import logging
import os
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import BinaryIO

from chatbridge.commands.runner.records import END, RUNNING
from chatbridge.core.errors import StoreError
from chatbridge.core.operation import OperationStore, Result
from chatbridge.core.ports import Clock

log = logging.getLogger(__name__)

SWEEP_EVERY_SECONDS = 3600.0
MEGABYTE = 1_000_000
MAX_KEPT = 10_000
"""Operations that are kept, however young: each has up to 16 KB of its output in the database."""
ROWS_AT_ONCE = 200
"""Rows in one transaction: an answer can pass between two of them."""
HEAD, TAIL = 4_000, 12_000
"""How many characters of an output's beginning and end are kept with its result."""
UTF8_BYTES = 4
_ID = re.compile(r"[0-9a-z]+(?:-[0-9a-z]+)*")
_BESIDE = ("", RUNNING, END, f"{END}.new")
_OURS = re.compile(rf"({_ID.pattern})\.txt({'|'.join(map(re.escape, _BESIDE))})")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredOutput:
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
        """Whether its output exists. It is made before the process."""
        return await asyncio.to_thread(os.path.lexists, self.path(operation_id))

    async def printed(self, operation_id: str) -> Result:
        """Both ends, without reading what is between them."""
        return await asyncio.to_thread(_printed, self.path(operation_id))

    async def whole(self, operation_id: str) -> bytes | None:
        """All that was kept of it, whatever somebody gives as an id; None if there is nothing."""

        def read() -> bytes | None:
            try:
                with _open(self.path(operation_id)) as file:
                    return file.read()
            except (OSError, ValueError):
                return None

        return await asyncio.to_thread(read)

    async def kept(self) -> list[StoredOutput]:
        return await asyncio.to_thread(_kept, self.folder)

    async def remove(self, operation_id: str) -> None:
        def remove() -> None:
            for suffix in _BESIDE:
                Path(f"{self.path(operation_id)}{suffix}").unlink(missing_ok=True)

        await asyncio.to_thread(remove)


def _open(path: Path) -> BinaryIO:
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    return open(os.open(path, flags), "rb")


def _printed(path: Path) -> Result:
    """Empty if the output is missing or unreadable: the end must be stored all the same."""
    try:
        with _open(path) as file:
            return _both_ends(file)
    except OSError:
        return Result()


def _both_ends(file: BinaryIO) -> Result:
    size = os.fstat(file.fileno()).st_size
    if size > (HEAD + TAIL) * UTF8_BYTES:
        beginning = file.read(HEAD * UTF8_BYTES)
        file.seek(size - TAIL * UTF8_BYTES)
        end = file.read(TAIL * UTF8_BYTES)
        # Without characters that are cut, at the end of the one and the beginning of the other.
        head = codecs.getincrementaldecoder("utf-8")("replace").decode(beginning)
        cut = next((i for i, byte in enumerate(end[:UTF8_BYTES]) if byte & 0xC0 != 0x80), 0)
        tail = end[cut:].decode("utf-8", "replace")
        return Result(head=head[:HEAD], tail=tail[-TAIL:], size=size)
    text = file.read().decode("utf-8", "replace")
    if len(text) > HEAD + TAIL:
        return Result(head=text[:HEAD], tail=text[-TAIL:], size=size)
    return Result(head=text, size=size)


def _kept(folder: Path) -> list[StoredOutput]:
    found: dict[str, tuple[int, float]] = {}
    with os.scandir(folder) as entries:
        for entry in entries:
            if (ours := _OURS.fullmatch(entry.name)) is None:
                continue
            with suppress(FileNotFoundError):  # forgotten at this moment
                status = entry.stat(follow_symlinks=False)
                size, changed_at = found.get(ours[1], (0, 0.0))
                found[ours[1]] = (size + status.st_size, max(changed_at, status.st_mtime))
    kept = [StoredOutput(id=it, size=size, changed_at=at) for it, (size, at) in found.items()]
    return sorted(kept, key=lambda each: each.changed_at)


@dataclass(eq=False, slots=True)
class OutputSweeper:
    store: OperationStore
    outputs: Outputs
    _: KW_ONLY
    clock: Clock
    retention: float
    """Seconds."""
    max_disk: int
    """Megabytes of all outputs together."""
    on_the_way: Callable[[str], bool]
    strays_looked_for: bool = False

    async def run(self) -> None:
        """Now and every hour, until cancelled."""
        while True:
            try:
                await self.sweep()
            except (StoreError, OSError) as error:
                log.warning("operations were not swept, the next try is in an hour: %s", error)
            await self.clock.sleep(SWEEP_EVERY_SECONDS)

    async def sweep(self) -> None:
        """:raises StoreError: :raises OSError: it can be tried again at any time."""
        rows = await self._remove_old()
        kept = await self.outputs.kept()
        if not self.strays_looked_for:
            kept = await self._remove_strays(kept)
            self.strays_looked_for = True
        outputs = await self._remove_beyond(kept)
        if rows or outputs:
            log.info("swept %d ended operations, and %d outputs for room", rows, outputs)

    async def _remove_old(self) -> int:
        before, number = self.clock.time() - self.retention, 0
        while ids := await self.store.remove(before=before, keep=MAX_KEPT, limit=ROWS_AT_ONCE):
            for operation_id in ids:
                await self.outputs.remove(operation_id)
            number += len(ids)
        return number

    async def _remove_strays(self, kept: list[StoredOutput]) -> list[StoredOutput]:
        """Outputs whose row a hub removed that died then. Rows are there before their outputs."""
        stored, with_row = await self.store.stored_ids(each.id for each in kept), []
        for each in kept:
            if each.id in stored or self.on_the_way(each.id):
                with_row.append(each)
            else:
                await self.outputs.remove(each.id)
        return with_row

    async def _remove_beyond(self, kept: list[StoredOutput]) -> int:
        """The oldest first, until the rest has room."""
        size, number = sum(each.size for each in kept), 0
        for each in kept:
            if size <= self.max_disk * MEGABYTE:
                break
            if not self.on_the_way(each.id):
                await self.outputs.remove(each.id)
                size -= each.size
                number += 1
        return number
