"""The agenda: what is due is told in its order, and what was replaced takes no room."""

from __future__ import annotations

import asyncio
import tracemalloc

from chatbridge.core.asks.deadlines import Due
from chatbridge.core.asks.scheduler import Scheduler
from tests.fakes.clock import StillClock

PATIENCE = 20.0


async def nothing() -> None:
    return None


class Running:
    """An agenda that runs, and what it has told."""

    def __init__(self) -> None:
        self.clock = StillClock()
        self.agenda = Scheduler(self.clock)
        self.told: list[tuple[Due, str]] = []

    async def __aenter__(self) -> Running:
        self._task = asyncio.ensure_future(self.agenda.run(self._act, on_clock_step=nothing))
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        await asyncio.wait({self._task})

    async def _act(self, due: Due, ask_id: str) -> None:
        self.told.append((due, ask_id))

    async def until_told(self, count: int) -> None:
        async with asyncio.timeout(PATIENCE):
            while len(self.told) < count:
                self.clock.advance(1.0)
                await asyncio.sleep(0)


async def test_only_what_still_counts_is_told_and_the_nearest_first() -> None:
    async with Running() as it:
        now = it.clock.time()
        it.agenda.replace("one", [(now + 50, Due.DEADLINE), (now + 10, Due.REDRAW)])
        it.agenda.replace("two", [(now + 20, Due.DEADLINE)])
        it.agenda.replace("three", [(now + 30, Due.DEADLINE)])
        it.agenda.replace("one", [(now + 40, Due.DEADLINE)])
        it.agenda.replace("two", [])
        it.agenda.replace("two", [(now + 20, Due.DEADLINE)])
        it.agenda.replace("three", [])
        it.agenda.add(now + 60, Due.DEADLINE, "last")
        await it.until_told(3)
    assert it.told == [(Due.DEADLINE, "two"), (Due.DEADLINE, "one"), (Due.DEADLINE, "last")]


async def test_what_was_replaced_takes_no_room() -> None:
    agenda = Scheduler(StillClock())
    agenda.replace("one", [(1e12, Due.DEADLINE), (1e12, Due.REDRAW)])
    agenda.replace("two", [(1e12, Due.DEADLINE)])
    agenda.replace("one", [])
    assert len(agenda) == 1
    assert agenda.has("two", Due.DEADLINE)
    assert not agenda.has("one", Due.DEADLINE)


async def test_what_is_replaced_again_and_again_takes_no_more_room() -> None:
    agenda = Scheduler(StillClock())
    tracemalloc.start()
    try:
        for number in range(20_000):
            agenda.replace("one", [(1e12 + number, Due.DEADLINE)])
        grown, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert grown < 400_000
