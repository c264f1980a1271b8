"""Cancelling has three answers: it is cancelled, it had ended, there is none."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from chatbridge.commands.operations.execution import RETRY_AFTER_SECONDS
from chatbridge.commands.operations.runner_client import Order
from chatbridge.core.errors import UnknownOperation
from chatbridge.core.operation import Operation, Stage
from tests.fakes.clock import StillClock
from tests.fakes.disk import failing
from tests.fakes.operating import PATIENCE, Operating, operating, until
from tests.fakes.runner import PretendRunner


async def cancel(here: Operating, begun: Operation) -> tuple[Operation, bool]:
    asking = here.operations.cancel(begun.id, project="/src/shop", reason="a typo")
    return await asyncio.wait_for(asking, PATIENCE)


async def test_a_running_one_is_stopped_and_keeps_what_it_printed(tmp_path: Path) -> None:
    clock = StillClock()
    runner = PretendRunner(clock)
    async with operating(tmp_path, runner, clock=clock) as here:
        begun = await here.begin()
        await until(lambda: runner.running)
        runner.prints(begun.id, b"half of it")
        ended, cancelled = await cancel(here, begun)
        assert here.ended == [ended]
    assert (cancelled, ended.stage, ended.result.reason) == (True, Stage.CANCELLED, "a typo")
    assert (ended.result.head, runner.running) == ("half of it", {})


async def test_a_queued_one_is_never_started(tmp_path: Path) -> None:
    clock = StillClock()
    runner = PretendRunner(clock)
    async with operating(tmp_path, runner, clock=clock, concurrency=1) as here:
        first, second, third = [await here.begin() for _ in range(3)]
        await until(lambda: runner.running)
        ended, cancelled = await cancel(here, second)
        assert (cancelled, ended.stage, ended.started_at) == (True, Stage.CANCELLED, None)
        runner.end(first.id)
        await until(lambda: third.id in runner.running)
    assert [order.id for order in runner.handed] == [first.id, third.id]


async def test_one_that_has_ended_stays_as_it_ended(tmp_path: Path) -> None:
    clock = StillClock()
    runner = PretendRunner(clock)
    async with operating(tmp_path, runner, clock=clock) as here:
        begun = await here.begin()
        await until(lambda: runner.running)
        runner.end(begun.id, 3)
        await here.end_of(begun)
        ended, cancelled = await cancel(here, begun)
    assert (cancelled, ended.stage, ended.result.exit_code) == (False, Stage.FAILED, 3)


async def test_one_that_ends_by_itself_first_had_ended(tmp_path: Path) -> None:
    clock = StillClock()
    runner = PretendRunner(clock)
    async with operating(tmp_path, runner, clock=clock) as here:
        begun = await here.begin()
        await until(lambda: runner.running)
        runner.unstoppable.add(begun.id)
        cancelling = asyncio.ensure_future(cancel(here, begun))
        await asyncio.sleep(0)
        assert not cancelling.done()
        runner.end(begun.id)
        ended, cancelled = await cancelling
    assert (cancelled, ended.stage) == (False, Stage.SUCCEEDED)


async def test_another_projects_is_not_there(tmp_path: Path) -> None:
    clock = StillClock()
    runner = PretendRunner(clock)
    async with operating(tmp_path, runner, clock=clock) as here:
        begun = await here.begin()
        await until(lambda: runner.running)
        with pytest.raises(UnknownOperation):
            await here.operations.cancel(begun.id, project="/src/else")
        with pytest.raises(UnknownOperation, match=begun.id):
            await here.operations.cancel("no-such-id", project="/src/shop")
        assert begun.id in runner.running


async def test_one_that_is_just_handed_over_is_stopped_as_soon_as_the_runner_has_it(
    tmp_path: Path,
) -> None:
    clock = StillClock()
    asked, may_start = asyncio.Event(), asyncio.Event()

    class Slow(PretendRunner):
        async def start(self, order: Order) -> None:
            asked.set()
            await may_start.wait()
            await super().start(order)

    runner = Slow(clock)
    async with operating(tmp_path, runner, clock=clock) as here:
        begun = await here.begin()
        await asyncio.wait_for(asked.wait(), PATIENCE)
        cancelling = asyncio.ensure_future(cancel(here, begun))
        for _ in range(20):  # it has said so by then: it reads the same way, and came first
            await here.now(begun)
        may_start.set()
        ended, cancelled = await cancelling
    assert (cancelled, ended.stage) == (True, Stage.CANCELLED)


async def test_whoever_cancels_may_go_and_it_is_stopped_when_the_runner_can_be_reached(
    tmp_path: Path,
) -> None:
    clock = StillClock()
    runner = PretendRunner(clock)
    async with operating(tmp_path, runner, clock=clock) as here:
        begun = await here.begin()
        await until(lambda: runner.running)
        runner.reachable = False
        cancelling = asyncio.ensure_future(cancel(here, begun))
        await asyncio.wait_for(clock.until_asleep(RETRY_AFTER_SECONDS), PATIENCE)
        cancelling.cancel()
        await asyncio.gather(cancelling, return_exceptions=True)
        runner.reachable = True
        clock.advance(RETRY_AFTER_SECONDS)
        assert (await here.end_of(begun)).stage is Stage.CANCELLED


async def test_two_that_cancel_at_once_get_the_same_end(tmp_path: Path) -> None:
    clock = StillClock()
    runner = PretendRunner(clock)
    async with operating(tmp_path, runner, clock=clock, concurrency=1) as here:
        begun = [await here.begin() for _ in range(2)]
        await until(lambda: runner.running)
        for each in begun:
            first, second = await asyncio.gather(cancel(here, each), cancel(here, each))
            assert first[0] == second[0]
            assert first[0].stage is Stage.CANCELLED
            assert True in (first[1], second[1])
        assert len(here.ended) == 2


async def test_whoever_cancels_a_queued_one_may_go_before_that_is_stored(tmp_path: Path) -> None:
    clock = StillClock()
    runner = PretendRunner(clock)
    async with operating(tmp_path, runner, clock=clock, concurrency=1) as here:
        first, second = await here.begin(), await here.begin()
        await until(lambda: first.id in runner.running)
        async with failing(tmp_path, "operations"):
            cancelling = asyncio.ensure_future(cancel(here, second))
            await asyncio.wait_for(clock.until_asleep(RETRY_AFTER_SECONDS), PATIENCE)
            cancelling.cancel()
            await asyncio.gather(cancelling, return_exceptions=True)
        clock.advance(RETRY_AFTER_SECONDS)
        assert (await here.end_of(second)).stage is Stage.CANCELLED
    assert [each.id for each in here.ended] == [second.id]
