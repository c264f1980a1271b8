"""A timer for all asks: one heap of entries and one sleeping task.

Works in wall-clock time and detects a resumed machine and a stepped clock. An entry only makes the
broker check the ask. Replaced entries stay in the heap until they are more than half of it.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Awaitable, Callable, Iterable, Sequence

from chatbridge.core.asks.deadlines import Due
from chatbridge.core.ports import Clock
from chatbridge.core.tasks import race

CLOCK_CHECK_SECONDS = 30.0  # A sleep does not count the time of a suspended machine
CLOCK_STEP_SECONDS = 5.0  # Difference between wall and monotonic time that counts as a clock step
MAX_BATCH = 200
MAX_STALE_ENTRIES = 100  # Replaced entries that are tolerated before the heap is rebuilt


class Scheduler:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._entries: list[tuple[float, Due, str]] = []
        self._live: dict[str, set[tuple[float, Due]]] = {}  # Valid entries of each ask
        self._count = 0  # Number of valid entries
        self._changed = asyncio.Event()
        self._sleeping_until = 0.0

    def __len__(self) -> int:
        """Number of entries in the heap, valid or not."""
        return len(self._entries)

    def add(self, when: float, due: Due, ask_id: str) -> None:
        live = self._live.setdefault(ask_id, set())
        if (when, due) in live:
            return
        live.add((when, due))
        self._count += 1
        heapq.heappush(self._entries, (when, due, ask_id))
        if when < self._sleeping_until:
            self._changed.set()

    def replace(self, ask_id: str, entries: Iterable[tuple[float, Due]]) -> None:
        """Replace all entries of this ask."""
        wanted = set(entries)
        live = self._live.get(ask_id, set())
        self._count -= len(live - wanted)
        live &= wanted
        if not wanted:
            self._live.pop(ask_id, None)
        for when, due in wanted:
            self.add(when, due, ask_id)
        if not self._count or len(self._entries) > 2 * self._count + MAX_STALE_ENTRIES:
            self._entries = [
                (when, due, each) for each, live in self._live.items() for when, due in live
            ]
            heapq.heapify(self._entries)

    def has(self, ask_id: str, due: Due) -> bool:
        return any(kind is due for _, kind in self._live.get(ask_id, ()))

    async def run(
        self,
        on_due: Callable[[Due, str], Awaitable[None]],
        *,
        on_clock_step: Callable[[], Awaitable[None]],
        on_wake: Callable[[], None] = lambda: None,
    ) -> None:
        """Call `on_due` for each due entry, until cancelled. `on_clock_step` is called first and
        after every clock step, `on_wake` at every clock check."""
        offset = self._clock_offset()
        await on_clock_step()
        while True:
            await self._sleep()
            on_wake()
            if abs(self._clock_offset() - offset) > CLOCK_STEP_SECONDS:
                await on_clock_step()
            offset = self._clock_offset()
            while due := self._pop_due():
                await asyncio.gather(*(on_due(kind, ask_id) for _, kind, ask_id in due))

    def _clock_offset(self) -> float:
        return self._clock.time() - self._clock.monotonic()

    def _pop_due(self) -> Sequence[tuple[float, Due, str]]:
        now = self._clock.time()
        due: list[tuple[float, Due, str]] = []
        while self._entries and self._entries[0][0] <= now and len(due) < MAX_BATCH:
            when, kind, ask_id = heapq.heappop(self._entries)
            live = self._live.get(ask_id, set())
            if (when, kind) in live:
                due.append((when, kind, ask_id))
                live.discard((when, kind))
                self._count -= 1
                if not live:
                    del self._live[ask_id]
        return due

    async def _sleep(self) -> None:
        """Sleep until the next entry, an earlier one that is added, or the next clock check."""
        self._changed.clear()
        if not self._entries:
            self._sleeping_until = float("inf")
            await self._changed.wait()
            return
        pause = min(max(self._entries[0][0] - self._clock.time(), 0.0), CLOCK_CHECK_SECONDS)
        self._sleeping_until = self._entries[0][0]
        await race(self._clock.sleep(pause), self._changed.wait())
