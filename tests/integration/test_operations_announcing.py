"""The chats are told of long operations' ends: once, whatever dies in between."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from chatbridge.commands.operations.runner_client import How
from chatbridge.commands.tools.notifications import announce
from chatbridge.core.delivery.delivery import Delivery
from chatbridge.core.delivery.notices import MAX_NOTICES_PER_MINUTE, Notices
from chatbridge.core.model import Level, Notice
from chatbridge.core.operation import Operation, Stage
from chatbridge.store.sqlite.store import SqliteStore
from tests.fakes.clock import StillClock
from tests.fakes.disk import failing
from tests.fakes.operating import Operating, operating, until
from tests.fakes.runner import PretendRunner

AFTER = 60.0


@asynccontextmanager
async def announcing(
    folder: Path, runner: PretendRunner, clock: StillClock
) -> AsyncIterator[Operating]:
    store = await SqliteStore.open(folder / "chatbridge.db")
    notices = Notices(store, Delivery(store, clock=clock), clock=clock)
    try:
        tell = partial(announce, notices, after=AFTER)
        async with operating(folder, runner, clock=clock, announce=tell) as here:
            yield here
    finally:
        await store.close()


async def told(here: Operating) -> list[Notice]:
    return list(await here.store.notices(since=0.0, limit=100))


async def over(
    here: Operating,
    runner: PretendRunner,
    exit_code: int | None = None,
    *,
    seconds: float = 252.0,
    output: bytes = b"",
    how: How = "exited",
) -> Operation:
    begun = await here.begin()
    await until(lambda: begun.id in runner.running)
    here.clock.advance(seconds)
    runner.end(begun.id, exit_code, output=output, how=how)
    return await here.end_of(begun)


async def test_a_long_success_is_one_quiet_line(tmp_path: Path) -> None:
    clock = StillClock()
    runner = PretendRunner(clock)
    async with announcing(tmp_path, runner, clock) as here:
        ended = await over(here, runner, output=b"compiled\n")
        (notice,) = await told(here)
    assert (notice.level, notice.message) == (Level.INFO, "cargo build finished after 4 min 12 s")
    assert (notice.project, notice.agent) == (ended.project, ended.agent)
    end = notice.operation
    assert end is not None
    assert (end.id, end.title, end.succeeded, end.how) == (ended.id, "cargo build", True, "")
    assert (end.took, end.tail, end.whole) == (252.0, "", True)


async def test_a_long_failure_comes_with_its_last_lines(tmp_path: Path) -> None:
    clock = StillClock()
    runner = PretendRunner(clock)
    lines = [f"line {number}" for number in range(40)]
    async with announcing(tmp_path, runner, clock) as here:
        await over(here, runner, 1, output="\n".join([*lines, "", ""]).encode())
        (notice,) = await told(here)
    assert notice.level is Level.ERROR
    assert notice.message == "cargo build failed: exit 1 after 4 min 12 s"
    assert notice.operation is not None
    assert notice.operation.tail.split("\n") == lines[-12:]
    assert notice.operation.whole


async def test_what_is_told_as_a_whole_offers_no_more(tmp_path: Path) -> None:
    clock = StillClock()
    runner = PretendRunner(clock)
    async with announcing(tmp_path, runner, clock) as here:
        await over(here, runner, 1, output=b"no such file\n")
        await over(here, runner)
        silent, short = await told(here)
    assert short.operation is not None
    assert (short.operation.tail, short.operation.whole) == ("no such file", False)
    assert silent.operation is not None
    assert not silent.operation.whole


@pytest.mark.parametrize(
    ("how", "seconds", "said"),
    [
        ("timed_out", 600.0, "cargo build failed: timed out after 10 min"),
        ("lost", 600.0, "cargo build failed: interrupted after 10 min"),
        ("stopped", 600.0, None),
        ("exited", AFTER, None),
        ("exited", 0.0, None),
    ],
)
async def test_told_is_what_took_long_and_nobody_ended(
    tmp_path: Path, how: How, seconds: float, said: str | None
) -> None:
    clock = StillClock()
    runner = PretendRunner(clock)
    async with announcing(tmp_path, runner, clock) as here:
        code = 1 if how == "exited" else None
        await over(here, runner, code, seconds=seconds, how=how)
        assert [notice.message for notice in await told(here)] == ([said] if said else [])


async def test_a_hub_that_dies_before_or_after_it_has_told_does_not_make_it_two_or_none(
    tmp_path: Path,
) -> None:
    clock = StillClock()
    runner = PretendRunner(clock)
    async with announcing(tmp_path, runner, clock) as here:
        begun = await here.begin()
        await until(lambda: runner.running)
        clock.advance(252.0)
        async with failing(tmp_path, "operations"):
            runner.end(begun.id)
            async with asyncio.timeout(20):
                while not await told(here):  # noqa: ASYNC110 - a row
                    await asyncio.sleep(0.001)
            assert (await here.now(begun)).stage is Stage.RUNNING
    for _ in range(2):
        async with announcing(tmp_path, runner, clock) as here:
            assert (await here.end_of(begun)).stage is Stage.SUCCEEDED
            assert len(await told(here)) == 1


async def test_while_it_cannot_be_told_its_end_waits(tmp_path: Path) -> None:
    clock = StillClock()
    runner = PretendRunner(clock)
    async with announcing(tmp_path, runner, clock) as here:
        begun = await here.begin()
        await until(lambda: runner.running)
        clock.advance(252.0)
        async with failing(tmp_path, "notices"):
            runner.end(begun.id)
            await asyncio.wait_for(clock.until_asleep(1.0), 20)
            assert (await here.now(begun)).stage is Stage.RUNNING
        clock.advance(1.0)
        await here.end_of(begun)
        assert len(await told(here)) == 1


async def test_many_ends_at_once_are_all_told_and_take_no_notice_from_the_agent(
    tmp_path: Path,
) -> None:
    clock = StillClock()
    runner = PretendRunner(clock)
    number = MAX_NOTICES_PER_MINUTE + 5
    async with announcing(tmp_path, runner, clock) as here:
        for _ in range(number):
            await over(here, runner, seconds=AFTER + 0.01)
            clock.step(-AFTER)
        assert len(await told(here)) == number
        notices = Notices(here.store, Delivery(here.store, clock=clock), clock=clock)
        (any_one, *_) = await told(here)
        call = here.ended[0].call
        await notices.send(call, project=any_one.project, agent=any_one.agent, message="own words")
        assert len(await told(here)) == number + 1
