"""A timer for all asks: their entries, and one sleeping task.

Works in wall-clock time and detects a resumed machine and a stepped clock. An entry only makes the
broker check the ask. There are few enough to look at all of them at every wake.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable

from chatbridge.core.asks.deadlines import Due
from chatbridge.core.ports import Clock
from chatbridge.core.tasks import race

CLOCK_CHECK_SECONDS = 30.0  # A sleep does not count the time of a suspended machine
CLOCK_STEP_SECONDS = 5.0  # Difference between wall and monotonic time that counts as a clock step
MAX_BATCH = 200


class Scheduler:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._entries: dict[str, set[tuple[float, Due]]] = {}  # By ask
        self._changed = asyncio.Event()
        self._sleeping_until = 0.0

    def __len__(self) -> int:
        """Number of asks with entries."""
        return len(self._entries)

    def add(self, when: float, due: Due, ask_id: str) -> None:
        self._entries.setdefault(ask_id, set()).add((when, due))
        if when < self._sleeping_until:
            self._changed.set()

    def replace(self, ask_id: str, entries: Iterable[tuple[float, Due]]) -> None:
        """Replace all entries of this ask."""
        self._entries.pop(ask_id, None)
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

    def _pop_due(self) -> list[tuple[float, Due, str]]:
        now, every = self._clock.time(), self._entries.items()
        due = [(*each, ask_id) for ask_id, entries in every for each in entries if each[0] <= now]
        due = sorted(due)[:MAX_BATCH]
        for when, kind, ask_id in due:
            self._entries[ask_id].discard((when, kind))
            if not self._entries[ask_id]:
                del self._entries[ask_id]
        return due

    async def _sleep(self) -> None:
        """Sleep until the next entry, an earlier one that is added, or the next clock check."""
        self._changed.clear()
        if not self._entries:
            self._sleeping_until = float("inf")
            await self._changed.wait()
            return
        self._sleeping_until = min(min(entries)[0] for entries in self._entries.values())
        pause = min(max(self._sleeping_until - self._clock.time(), 0.0), CLOCK_CHECK_SECONDS)
        await race(self._clock.sleep(pause), self._changed.wait())
