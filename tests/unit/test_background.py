"""Work beside the sessions: what ends though it should not is noticed, and begun again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from chatbridge.core.errors import StoreError
from chatbridge.core.tasks import MAX_PAUSE_SECONDS
from chatbridge.hub.process.background import Background, Faults
from tests.fakes.clock import StillClock

PATIENCE = 20.0


class Hub:
    def __init__(self) -> None:
        self.clock = StillClock()
        self.faults = Faults(clock=self.clock)
        self.background = Background(clock=self.clock, faults=self.faults)


@asynccontextmanager
async def running() -> AsyncIterator[Hub]:
    hub = Hub()
    try:
        yield hub
    finally:
        await hub.background.close()


@pytest.mark.parametrize("how", ["raises", "returns"])
async def test_what_should_go_on_is_begun_again_less_and_less_often_and_said(
    how: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with running() as hub:

        async def work() -> None:
            if how == "raises":
                raise KeyError("a secret")

        hub.background.keep("deadlines", work)
        for pause in (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, MAX_PAUSE_SECONDS, MAX_PAUSE_SECONDS):
            await asyncio.wait_for(hub.clock.until_asleep(pause), PATIENCE)
            hub.clock.advance(pause)
        (fault,) = hub.faults.listed()
    assert fault.startswith("A part of the hub failed and was started again: deadlines (")
    assert "a secret" not in fault
    said = [record for record in caplog.records if record.levelname == "ERROR"]
    assert 0 < len(said) < 5
    assert (said[0].exc_info is not None) == (how == "raises")


async def test_one_that_works_again_goes_on() -> None:
    begun: list[str] = []
    works = asyncio.Event()
    async with running() as hub:

        async def work() -> None:
            begun.append("again")
            if len(begun) == 1:
                raise OSError
            works.set()
            await asyncio.Event().wait()

        hub.background.keep("channels", work)
        await asyncio.wait_for(hub.clock.until_asleep(1.0), PATIENCE)
        hub.clock.advance(1.0)
        await asyncio.wait_for(works.wait(), PATIENCE)
        assert "OSError, once" in hub.faults.listed()[0]


async def test_what_a_full_disk_prevents_is_no_fault_of_the_hub(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with running() as hub:

        async def fails() -> None:
            raise StoreError("the disk is full")

        hub.background.spawn(fails())
        async with asyncio.timeout(PATIENCE):
            while "the disk is full" not in caplog.text:  # noqa: ASYNC110 - the log tells nobody
                await asyncio.sleep(0)
        assert not hub.faults.listed()


async def test_something_that_fails_once_is_said_and_costs_nothing_else() -> None:
    async with running() as hub:
        done = asyncio.Event()

        async def fails() -> None:
            raise ValueError

        async def works() -> None:
            done.set()

        hub.background.spawn(fails())
        hub.background.spawn(works())
        async with asyncio.timeout(PATIENCE):
            await done.wait()
        assert "fails (ValueError, once" in hub.faults.listed()[0]
