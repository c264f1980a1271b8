"""A timer for all asks: their entries, and one sleeping task.

Works in wall-clock time and detects a resumed machine and a stepped clock. An entry only makes the
broker check the ask.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from heapq import heapify, heappop, heappush

from chatbridge.core.asks.deadlines import Due
from chatbridge.core.ports import Clock
from chatbridge.core.tasks import race

CLOCK_CHECK_SECONDS = 30.0  # A sleep does not count the time of a suspended machine
CLOCK_STEP_SECONDS = 5.0  # Difference between wall and monotonic time that counts as a clock step
MAX_BATCH = 200
MAX_REPLACED = 1000  # Entries that no longer count and may lie among the others
_Entry = tuple[float, Due, str]


class Scheduler:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._entries: dict[str, set[tuple[float, Due]]] = {}  # By ask
        self._by_time: list[_Entry] = []  # A heap; also has entries that were replaced
        self._count = 0  # Of the entries that were not
        self._changed = asyncio.Event()
        self._sleeping_until = 0.0

    def __len__(self) -> int:
        """Number of asks with entries."""
        return len(self._entries)

    def add(self, when: float, due: Due, ask_id: str) -> None:
        entries = self._entries.setdefault(ask_id, set())
        if (when, due) not in entries:
            entries.add((when, due))
            self._count += 1
            self._push((when, due, ask_id))
        if when < self._sleeping_until:
            self._changed.set()

    def _push(self, entry: _Entry) -> None:
        heappush(self._by_time, entry)
        if len(self._by_time) > 2 * self._count + MAX_REPLACED:
            every = self._entries.items()
            self._by_time = [(*each, ask_id) for ask_id, entries in every for each in entries]
            heapify(self._by_time)

    def replace(self, ask_id: str, entries: Iterable[tuple[float, Due]]) -> None:
        """Replace all entries of this ask."""
        self._count -= len(self._entries.pop(ask_id, ()))
        for when, due in entries:
            self.add(when, due, ask_id)

    def has(self, ask_id: str, due: Due) -> bool:
        return any(kind is due for _, kind in self._entries.get(ask_id, ()))

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

    def _pop_due(self) -> list[_Entry]:
        now, due = self._clock.time(), list[_Entry]()
        while len(due) < MAX_BATCH and self._earliest() <= now:
            when, kind, ask_id = heappop(self._by_time)
            due.append((when, kind, ask_id))
            self._count -= 1
            self._entries[ask_id].discard((when, kind))
            if not self._entries[ask_id]:
                del self._entries[ask_id]
        return due

    def _earliest(self) -> float:
        """When the first entry is due; those before it that no longer count are dropped."""
        while self._by_time:
            when, due, ask_id = self._by_time[0]
            if (when, due) in self._entries.get(ask_id, ()):
                return when
            heappop(self._by_time)
        return float("inf")

    async def _sleep(self) -> None:
        """Sleep until the next entry, an earlier one that is added, or the next clock check."""
        self._changed.clear()
        if not self._entries:
            self._sleeping_until = float("inf")
            await self._changed.wait()
            return
        self._sleeping_until = self._earliest()
        pause = min(max(self._sleeping_until - self._clock.time(), 0.0), CLOCK_CHECK_SECONDS)
        await race(self._clock.sleep(pause), self._changed.wait())
