"""Sweeps what is kept of ended operations: results after a while, outputs also when they are many.

What is on the way is never touched.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from chatbridge.commands.operations.outputs import Kept, Outputs
from chatbridge.core.errors import StoreError
from chatbridge.core.operation import OperationStore
from chatbridge.core.ports import Clock

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
