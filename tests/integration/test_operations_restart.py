"""A hub's death: nothing runs twice, nothing is forgotten, every end is told once."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from mcp_types import LoggingLevel

from chatbridge.commands.operations.execution import (
    ASK_AGAIN_SECONDS,
    CLOSE_WITHIN_SECONDS,
    OVERDUE_AFTER_SECONDS,
)
from chatbridge.commands.operations.operations import BACK_WITHIN_SECONDS, GONE
from chatbridge.commands.operations.runner_client import NotHandedOver, Order
from chatbridge.commands.tools.notifications import Pushes
from chatbridge.core.errors import RunnerUnavailable
from chatbridge.core.model import Project
from chatbridge.core.operation import Stage
from tests.fakes.clock import StillClock
from tests.fakes.disk import failing
from tests.fakes.operating import PATIENCE, operating, until
from tests.fakes.runner import PretendRunner

Json = dict[str, Any]


class Connected:
    """An agent's session, as far as it can be told something."""

    project = Project(key="/src/shop", name="shop")
    folder: str | None = None
    level: LoggingLevel = "debug"

    def __init__(self, link: str) -> None:
        self.link = link

    async def push(self, method: str, params: Json | None = None) -> None:
        raise AssertionError("nothing is pushed here")


async def test_what_runs_goes_on_and_ends_for_the_next_hub(tmp_path: Path) -> None:
    clock = StillClock()
    runner = PretendRunner(clock)
    async with operating(tmp_path, runner, clock=clock) as here:
        begun = await here.begin()
        await until(lambda: runner.running)
    async with operating(tmp_path, runner, clock=clock) as here:
        waiting = asyncio.ensure_future(here.end_of(begun))
        assert (await here.now(begun)).stage is Stage.RUNNING
        runner.end(begun.id, output=b"done")
        ended = await waiting
        assert here.ended == [ended]
    assert (ended.stage, ended.result.head, len(runner.handed)) == (Stage.SUCCEEDED, "done", 1)


async def test_what_ended_while_no_hub_was_there_has_its_end(tmp_path: Path) -> None:
    clock = StillClock()
    runner = PretendRunner(clock)
    async with operating(tmp_path, runner, clock=clock) as here:
        begun = await here.begin()
        await until(lambda: runner.running)
    runner.end(begun.id, 4)
    async with operating(tmp_path, runner, clock=clock) as here:
        ended = await here.end_of(begun)
        await until(lambda: not runner.ends)
    assert (ended.stage, ended.result.exit_code) == (Stage.FAILED, 4)


async def test_what_was_queued_runs_in_the_same_order(tmp_path: Path) -> None:
    clock = StillClock()
    runner = PretendRunner(clock)
    async with operating(tmp_path, runner, clock=clock, concurrency=1) as here:
        begun = [await here.begin() for _ in range(4)]
        await until(lambda: runner.running)
    async with operating(tmp_path, runner, clock=clock, concurrency=1) as here:
        for each in begun:
            await until(lambda each=each: each.id in runner.running)  # type: ignore[misc]
            assert len(runner.running) == 1
            runner.end(each.id)
        for each in begun:
            await here.end_of(each)
    assert [order.id for order in runner.handed] == [each.id for each in begun]


async def test_what_was_queued_is_not_run_for_an_agent_that_does_not_come_back(
    tmp_path: Path,
) -> None:
    clock = StillClock()
    runner = PretendRunner(clock)
    async with operating(tmp_path, runner, clock=clock, concurrency=1) as here:
        runs, gone = [await here.begin(link="link-1") for _ in range(2)]
        back = await here.begin(link="link-2")
        await until(lambda: runner.running)
    runner.end(runs.id)
    links = Pushes()
    async with (
        operating(tmp_path, runner, clock=clock, links=links) as here,
        links.to(Connected("link-2")),
    ):
        await until(lambda: back.id in runner.running)
        assert (await here.now(gone)).stage is Stage.QUEUED
        await clock.until_asleep(BACK_WITHIN_SECONDS)
        clock.advance(BACK_WITHIN_SECONDS)
        ended = await here.end_of(gone)
        assert (ended.stage, ended.result.reason) == (Stage.INTERRUPTED, GONE)
    assert [order.id for order in runner.handed] == [runs.id, back.id]


async def test_what_runs_counts_before_older_ones_that_wait_are_started(tmp_path: Path) -> None:
    clock = StillClock()
    runner = PretendRunner(clock)
    async with operating(tmp_path, runner, clock=clock, concurrency=1) as here:
        *earlier, waits = [await here.begin(link="link-1") for _ in range(3)]
        runs = await here.begin(link="link-2")
        for each in earlier:
            await until(lambda each=each: each.id in runner.running)  # type: ignore[misc]
            runner.end(each.id)
        await until(lambda: runs.id in runner.running)
    async with operating(tmp_path, runner, clock=clock, concurrency=1) as here:
        # It is queued when its link is back, and what is begun before that is no later than it.
        await until(lambda: waits.id in here.operations.turns._waiting)
        later = await here.begin(link="link-2")
        for each in (runs, waits, later):
            await until(lambda each=each: each.id in runner.running)  # type: ignore[misc]
            runner.end(each.id)
        await here.end_of(later)
    assert runner.most == 1


async def test_what_died_with_the_runner_is_interrupted_with_its_output_so_far(
    tmp_path: Path,
) -> None:
    clock = StillClock()
    runner = PretendRunner(clock)
    async with operating(tmp_path, runner, clock=clock) as here:
        begun = await here.begin()
        await until(lambda: runner.running)
        runner.prints(begun.id, b"compiling 3 of 40")
    runner.die()
    async with operating(tmp_path, runner, clock=clock) as here:
        ended = await here.end_of(begun)
    assert (ended.stage, ended.result.head) == (Stage.INTERRUPTED, "compiling 3 of 40")
    assert ended.result.size == 17
    assert "nobody knows" in (ended.result.reason or "")
    assert len(runner.handed) == 1


async def test_a_hub_that_dies_before_the_end_is_forgotten_leaves_nothing_behind(
    tmp_path: Path,
) -> None:
    clock = StillClock()

    class Deaf(PretendRunner):
        async def forget(self, operation_id: str) -> None:
            await asyncio.Event().wait()

    deaf = Deaf(clock)
    async with operating(tmp_path, deaf, clock=clock) as here:
        first, second = await here.begin(), await here.begin()
        await until(lambda: len(deaf.running) == 2)
        deaf.end(first.id)
        await here.end_of(first)
    runner = PretendRunner(clock)
    runner.running, runner.ends = deaf.running, deaf.ends
    async with operating(tmp_path, runner, clock=clock) as here:
        await until(lambda: not runner.ends)
        assert here.ended == []
        assert (await here.now(first)).stage is Stage.SUCCEEDED
        assert (await here.now(second)).stage is Stage.RUNNING


async def test_an_order_whose_arrival_was_not_confirmed_is_not_given_twice(tmp_path: Path) -> None:
    clock = StillClock()
    runner = PretendRunner(clock)
    runner.loses_confirmations = True
    async with operating(tmp_path, runner, clock=clock) as here:
        begun = await here.begin()
        await until(lambda: runner.running)
        runner.end(begun.id)
        assert (await here.end_of(begun)).stage is Stage.SUCCEEDED
    assert len(runner.handed) == 1


async def test_an_order_that_did_not_reach_the_runner_is_a_failure_with_a_reason(
    tmp_path: Path,
) -> None:
    clock = StillClock()
    runner = PretendRunner(clock)
    runner.loses_orders = True
    async with operating(tmp_path, runner, clock=clock) as here:
        ended = await here.end_of(await here.begin())
        runner.loses_orders = False
        fine = await here.begin()
        await until(lambda: fine.id in runner.running)
    assert (ended.stage, ended.started_at) == (Stage.FAILED, None)
    assert "Commands cannot be run now" in (ended.result.reason or "")


async def test_an_order_that_cannot_be_given_is_a_failure_at_once(tmp_path: Path) -> None:
    """Nobody waits until the runner can be asked about it."""
    clock = StillClock()

    class Absent(PretendRunner):
        async def start(self, order: Order) -> None:
            raise NotHandedOver("the process that runs commands cannot be reached")

    runner = Absent(clock)
    runner.reachable = False
    async with operating(tmp_path, runner, clock=clock) as here:
        ended = await here.end_of(await here.begin())
    assert (ended.stage, ended.started_at) == (Stage.FAILED, None)
    assert ended.result.reason == "the process that runs commands cannot be reached"


class Slow(PretendRunner):
    """Takes an order when a test says so."""

    def __init__(self, clock: StillClock) -> None:
        super().__init__(clock)
        self.asked, self.takes = asyncio.Event(), asyncio.Event()

    async def start(self, order: Order) -> None:
        self.asked.set()
        await self.takes.wait()
        await super().start(order)


async def test_a_hub_that_is_stopped_hands_over_what_it_has_begun_to_and_no_more(
    tmp_path: Path,
) -> None:
    clock = StillClock()
    runner = Slow(clock)
    async with operating(tmp_path, runner, clock=clock, concurrency=1) as here:
        first, second = await here.begin(), await here.begin()
        await asyncio.wait_for(runner.asked.wait(), PATIENCE)
        closing = asyncio.ensure_future(here.operations.close())
        await asyncio.wait_for(clock.until_asleep(CLOSE_WITHIN_SECONDS), PATIENCE)
        runner.takes.set()
        await asyncio.wait_for(closing, PATIENCE)
        runner.end(first.id)
        await here.end_of(first)
        assert (await here.now(second)).stage is Stage.QUEUED
    async with operating(tmp_path, runner, clock=clock) as here:
        await until(lambda: second.id in runner.running)
    assert [order.id for order in runner.handed] == [first.id, second.id]


async def test_a_hub_that_is_stopped_does_not_wait_for_ever(tmp_path: Path) -> None:
    clock = StillClock()
    runner = Slow(clock)
    async with operating(tmp_path, runner, clock=clock) as here:
        await here.begin()
        await asyncio.wait_for(runner.asked.wait(), PATIENCE)
        closing = asyncio.ensure_future(here.operations.close())
        await asyncio.wait_for(clock.until_asleep(CLOSE_WITHIN_SECONDS), PATIENCE)
        clock.advance(CLOSE_WITHIN_SECONDS)
        await asyncio.wait_for(closing, PATIENCE)
    assert runner.handed == []


async def test_an_order_that_was_lost_with_the_runner_is_interrupted_and_not_given_again(
    tmp_path: Path,
) -> None:
    clock = StillClock()

    class Dying(PretendRunner):
        async def start(self, order: Order) -> None:
            await super().start(order)
            self.die()
            raise RunnerUnavailable

    runner = Dying(clock)
    async with operating(tmp_path, runner, clock=clock) as here:
        ended = await here.end_of(await here.begin())
    assert (ended.stage, len(runner.handed)) == (Stage.INTERRUPTED, 1)


async def test_while_the_runner_cannot_be_asked_nothing_is_decided(tmp_path: Path) -> None:
    clock = StillClock()
    runner = PretendRunner(clock)
    async with operating(tmp_path, runner, clock=clock) as here:
        begun = await here.begin()
        await until(lambda: runner.running)
    runner.reachable = False
    async with operating(tmp_path, runner, clock=clock) as here:
        for pause in (ASK_AGAIN_SECONDS, 2 * ASK_AGAIN_SECONDS):
            await asyncio.wait_for(clock.until_asleep(pause), PATIENCE)
            assert (await here.now(begun)).stage is Stage.RUNNING
            clock.advance(pause)
        await asyncio.wait_for(clock.until_asleep(4 * ASK_AGAIN_SECONDS), PATIENCE)
        runner.end(begun.id)
        runner.reachable = True
        clock.advance(4 * ASK_AGAIN_SECONDS)
        assert (await here.end_of(begun)).stage is Stage.SUCCEEDED


async def test_a_command_that_nobody_knows_of_is_ended(tmp_path: Path) -> None:
    clock = StillClock()
    runner = PretendRunner(clock)
    async with operating(tmp_path, runner, clock=clock) as here:
        begun = await here.begin()
        await until(lambda: runner.running)
        runner.running["stray"] = runner.handed[0]
    async with operating(tmp_path, runner, clock=clock) as here:
        await until(lambda: "stray" not in runner.running)
        await until(lambda: "stray" not in runner.ends)
        assert begun.id in runner.running


async def test_one_without_news_long_after_its_time_out_is_looked_for(tmp_path: Path) -> None:
    clock = StillClock()
    runner = PretendRunner(clock)
    async with operating(tmp_path, runner, clock=clock) as here:
        begun = await here.begin(timeout=600.0)
        await asyncio.wait_for(clock.until_asleep(600.0 + OVERDUE_AFTER_SECONDS), PATIENCE)
        runner.die()
        clock.advance(600.0 + OVERDUE_AFTER_SECONDS)
        assert (await here.end_of(begun)).stage is Stage.INTERRUPTED


async def test_an_end_that_the_dead_hub_could_not_store_is_stored_by_the_next(
    tmp_path: Path,
) -> None:
    clock = StillClock()
    runner = PretendRunner(clock)
    async with operating(tmp_path, runner, clock=clock, concurrency=1) as here:
        first, second = await here.begin(), await here.begin()
        await until(lambda: runner.running)
        async with failing(tmp_path, "operations"):
            runner.end(first.id)
            await asyncio.wait_for(clock.until_asleep(ASK_AGAIN_SECONDS), PATIENCE)
    async with operating(tmp_path, runner, clock=clock, concurrency=1) as here:
        assert (await here.end_of(first)).stage is Stage.SUCCEEDED
        await until(lambda: second.id in runner.running)
    assert [order.id for order in runner.handed] == [first.id, second.id]
