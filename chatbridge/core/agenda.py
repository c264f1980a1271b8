"""What is due when: one heap and one sleeper for all asks.

Owns wall-clock time: it notices a resumed machine and a stepped clock. What is due is decided by
the broker when it is told; an entry here is only a reason to look.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Awaitable, Callable, Sequence

from chatbridge.core.due import Due
from chatbridge.core.ports import Clock

LOOK_EVERY = 30.0
"""A suspended machine's sleep goes on where it stopped: look at the wall clock this often."""
STEP = 5.0
"""By how much wall time may run apart from monotonic time before it counts as a step."""
AT_ONCE = 200


class Agenda:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._entries: list[tuple[float, Due, str]] = []
        self._known: set[tuple[float, Due, str]] = set()
        self._changed = asyncio.Event()
        self._sleeping_until = 0.0

    def add(self, when: float, due: Due, ask_id: str) -> None:
        entry = (when, due, ask_id)
        if entry in self._known:
            return
        self._known.add(entry)
        heapq.heappush(self._entries, entry)
        if when < self._sleeping_until:
            self._changed.set()

    async def run(
        self,
        act: Callable[[Due, str], Awaitable[None]],
        *,
        stepped: Callable[[], Awaitable[None]],
    ) -> None:
        """Call `act` for what is due, until cancelled; first `stepped`, and after every step."""
        apart = self._apart()
        await stepped()
        while True:
            await self._sleep()
            if abs(self._apart() - apart) > STEP:
                await stepped()
            apart = self._apart()
            while due := self._take_due():
                await asyncio.gather(*(act(kind, ask_id) for _, kind, ask_id in due))

    def _apart(self) -> float:
        return self._clock.time() - self._clock.monotonic()

    def _take_due(self) -> Sequence[tuple[float, Due, str]]:
        now = self._clock.time()
        due: list[tuple[float, Due, str]] = []
        while self._entries and self._entries[0][0] <= now and len(due) < AT_ONCE:
            due.append(heapq.heappop(self._entries))
        self._known.difference_update(due)
        return due

    async def _sleep(self) -> None:
        """Until the next entry, a nearer one that is added, or the next look at the clock."""
        self._changed.clear()
        if not self._entries:
            self._sleeping_until = float("inf")
            await self._changed.wait()
            return
        pause = min(max(self._entries[0][0] - self._clock.time(), 0.0), LOOK_EVERY)
        self._sleeping_until = self._entries[0][0]
        changed = asyncio.ensure_future(self._changed.wait())
        asleep = asyncio.ensure_future(self._clock.sleep(pause))
        try:
            await asyncio.wait({changed, asleep}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            changed.cancel()
            asleep.cancel()
