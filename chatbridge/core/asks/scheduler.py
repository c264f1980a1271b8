"""What is due when: one heap and one sleeper for all asks.

Owns wall-clock time: it notices a resumed machine and a stepped clock. What is due is decided by
the broker when it is told; an entry here is only a reason to look. Entries that were replaced stay
in the heap until they are more than half of it.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Awaitable, Callable, Iterable, Sequence

from chatbridge.core.asks.deadlines import Due
from chatbridge.core.ports import Clock

CLOCK_CHECK_SECONDS = 30.0
"""A suspended machine's sleep goes on where it stopped: look at the wall clock this often."""
CLOCK_STEP_SECONDS = 5.0
"""By how much wall time may run apart from monotonic time before it counts as a step."""
MAX_BATCH = 200
MAX_STALE_ENTRIES = 100
"""So many replaced entries cost nothing."""


class Scheduler:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._entries: list[tuple[float, Due, str]] = []
        self._live: dict[str, set[tuple[float, Due]]] = {}
        """Of each ask, the entries that count."""
        self._count = 0
        """How many these are."""
        self._changed = asyncio.Event()
        self._sleeping_until = 0.0

    def __len__(self) -> int:
        """How many entries the heap has."""
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
        """Nothing but these is due for this ask."""
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
        act: Callable[[Due, str], Awaitable[None]],
        *,
        stepped: Callable[[], Awaitable[None]],
        look: Callable[[], None] = lambda: None,
    ) -> None:
        """Call `act` for what is due, until cancelled; first `stepped`, and after every step;
        `look` whenever it looks at the clock."""
        apart = self._apart()
        await stepped()
        while True:
            await self._sleep()
            look()
            if abs(self._apart() - apart) > CLOCK_STEP_SECONDS:
                await stepped()
            apart = self._apart()
            while due := self._take_due():
                await asyncio.gather(*(act(kind, ask_id) for _, kind, ask_id in due))

    def _apart(self) -> float:
        return self._clock.time() - self._clock.monotonic()

    def _take_due(self) -> Sequence[tuple[float, Due, str]]:
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
        """Until the next entry, a nearer one that is added, or the next look at the clock."""
        self._changed.clear()
        if not self._entries:
            self._sleeping_until = float("inf")
            await self._changed.wait()
            return
        pause = min(max(self._entries[0][0] - self._clock.time(), 0.0), CLOCK_CHECK_SECONDS)
        self._sleeping_until = self._entries[0][0]
        changed = asyncio.ensure_future(self._changed.wait())
        asleep = asyncio.ensure_future(self._clock.sleep(pause))
        try:
            await asyncio.wait({changed, asleep}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            changed.cancel()
            asleep.cancel()
