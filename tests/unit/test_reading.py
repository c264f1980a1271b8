"""The rounds of a channel that reads from a service: pauses, and who waits for what."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import cast

import pytest

from chatbridge.channels.chat.poll_loop import LONGEST_PAUSE, PollLoop
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.errors import ChatbridgeError, RetryLater, StoreError, TokenRejected
from chatbridge.core.tasks import race
from tests.fakes.clock import StillClock

PATIENCE = 20.0


class Watched(StillClock):
    """Knows how long somebody meant to sleep."""

    def __init__(self) -> None:
        super().__init__()
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> Coroutine[None, None, None]:
        self.slept.append(seconds)
        return super().sleep(seconds)


class Service(PollLoop[bool]):
    """What is read from: each round takes what the test put there, or waits for it."""

    channel = "chat"

    def __init__(self) -> None:
        self.clock = Watched()
        super().__init__(cast("AskActions", None), clock=self.clock, cursor_key="cursor")
        self.began = 0
        self.fails: list[Exception] = []
        self.news = asyncio.Event()

    async def read(self, *, wait: bool) -> bool:
        self.began += 1
        if self.fails:
            raise self.fails.pop(0)
        if wait:
            await self.news.wait()
            self.news.clear()
        return True

    async def deal_with(self, batch: bool) -> bool:
        return False


@asynccontextmanager
async def running(
    service: Service,
) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(service.run())
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait({task})


async def until(fits: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not fits():  # noqa: ASYNC110 - it is about what others do in between
            await asyncio.sleep(0)


async def drained(service: Service) -> None:
    await asyncio.wait_for(service.drain(), PATIENCE)


async def test_who_waits_gets_a_reading_of_their_own_and_not_the_end_of_a_long_one() -> None:
    service = Service()
    async with running(service):
        for _ in range(3):  # a long reading never ends here
            await drained(service)


async def test_a_reading_that_had_begun_before_counts_for_nobody_who_came_later() -> None:
    entered, leave = asyncio.Event(), asyncio.Event()

    class Slow(Service):
        async def read(self, *, wait: bool) -> bool:
            self.began += 1
            return True

        async def deal_with(self, batch: bool) -> bool:
            entered.set()
            await leave.wait()
            leave.clear()
            return False

    service = Slow()
    async with running(service):
        leave.set()  # the first one, which is for everybody
        await until(lambda: service.began == 2)
        entered.clear()
        late = asyncio.ensure_future(service.drain())
        await asyncio.sleep(0)
        leave.set()
        await asyncio.wait_for(entered.wait(), PATIENCE)
        assert not late.done()
        leave.set()
        await asyncio.wait_for(late, PATIENCE)


async def test_pauses_double_up_to_a_minute_and_begin_anew_when_it_works() -> None:
    service = Service()
    service.fails = [RetryLater("away") for _ in range(9)]
    async with running(service):
        while service.fails or service.trouble:
            service.clock.advance(LONGEST_PAUSE)
            await asyncio.sleep(0)
        service.fails = [RetryLater("away")]
        service.news.set()
        await until(lambda: service.trouble and len(service.clock.slept) == 10)
    longest = LONGEST_PAUSE
    assert service.clock.slept == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, longest, longest, longest, 1.0]


async def test_a_pause_that_is_asked_for_is_kept_unless_somebody_waits() -> None:
    service = Service()
    service.fails = [RetryLater("slower", after=500.0), RetryLater("slower", after=500.0)]
    async with running(service):
        await until(lambda: len(service.clock.slept) == 1)
        service.clock.advance(499.0)
        for _ in range(20):
            await asyncio.sleep(0)
        assert service.began == 1
        service.clock.advance(1.0)
        await until(lambda: len(service.clock.slept) == 2)
        await drained(service)
        assert service.trouble is None
    assert service.clock.slept == [500.0, 500.0]


async def test_trouble_is_one_line_however_long_it_lasts(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    service = Service()
    service.fails = [RetryLater("away")] * 3 + [StoreError("full")] * 2 + [ChatbridgeError("odd")]
    async with running(service):
        while service.fails or service.trouble:
            service.clock.advance(LONGEST_PAUSE)
            await asyncio.sleep(0)
    said = [record.getMessage() for record in caplog.records]
    assert said == ["away", "chat: nothing is read: full", "chat: odd", "chat works again"]


async def test_when_nothing_is_read_any_more_nobody_waits_in_vain() -> None:
    service = Service()
    service.fails = [RetryLater("away")]
    async with running(service) as task:
        await until(lambda: service.trouble)
        service.fails = [TokenRejected("no such token")]
        await drained(service)
        with pytest.raises(TokenRejected):
            await task
        await drained(service)


async def test_what_loses_the_race_is_ended_before_the_winner_returns() -> None:
    ended: list[str] = []

    async def slow(name: str) -> str:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(name)
        return name

    async def quick() -> str:
        await asyncio.sleep(0)
        return "quick"

    assert await race(quick(), slow("end")) == "quick"
    assert await race(slow("work"), quick()) is None
    assert ended == ["end", "work"]
