"""A clock that stands still until a test moves it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from inspect import CORO_CLOSED, getcoroutinestate

START = 1_794_782_460.0  # 2026-11-15 22:41:00 UTC


class StillClock:
    def __init__(self, at: float = START) -> None:
        self._wall = at
        self._monotonic = 1000.0
        self._sleepers: list[tuple[float, asyncio.Future[None], Coroutine[None, None, None]]] = []
        self._fell_asleep = asyncio.Event()

    def time(self) -> float:
        return self._wall

    def monotonic(self) -> float:
        return self._monotonic

    def sleep(self, seconds: float) -> Coroutine[None, None, None]:
        """Asleep from the call on, not from the first await: a test may advance in between."""
        wakes: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        async def asleep() -> None:
            await wakes

        sleeper = asleep()
        self._sleepers.append((self._monotonic + seconds, wakes, sleeper))
        self._fell_asleep.set()
        if seconds <= 0:
            wakes.set_result(None)
        return sleeper

    @property
    def sleepers(self) -> int:
        """How many sleep now. Who was cancelled sleeps no more."""
        asleep = (getcoroutinestate(sleeper) != CORO_CLOSED for _, _, sleeper in self._sleepers)
        return sum(asleep)

    async def until_asleep(self, seconds: float) -> None:
        """Until somebody sleeps for so long from now on. Who was cancelled sleeps no more."""
        while not any(
            until == self._monotonic + seconds and getcoroutinestate(sleeper) != CORO_CLOSED
            for until, _, sleeper in self._sleepers
        ):
            self._fell_asleep.clear()
            await self._fell_asleep.wait()

    def advance(self, seconds: float) -> None:
        """Move both times on, and wake who slept until then."""
        self._wall += seconds
        self._monotonic += seconds
        for until, wakes, _ in self._sleepers:
            if until <= self._monotonic and not wakes.done():
                wakes.set_result(None)
        self._sleepers = [sleeper for sleeper in self._sleepers if not sleeper[1].done()]

    def step(self, seconds: float) -> None:
        """Set the wall clock, as a person, a time server or a suspended machine's resume does.
        Nobody who sleeps notices."""
        self._wall += seconds
