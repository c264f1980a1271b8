"""Sweeping: results and outputs go when they are old or too many, never of what is on its way."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from chatbridge.commands.operations.outputs import MEGABYTE, SWEEP_EVERY_SECONDS, OutputSweeper
from chatbridge.core.operation import Operation
from tests.fakes.clock import StillClock
from tests.fakes.operating import PATIENCE, Operating, operating, until
from tests.fakes.runner import PretendRunner

DAY = 86_400.0


def sweeping(here: Operating, *, retention: float = 7 * DAY, max_disk: int = 500) -> OutputSweeper:
    return OutputSweeper(
        here.store.operations,
        here.outputs,
        clock=here.clock,
        retention=retention,
        max_disk=max_disk,
        on_the_way=here.operations.on_the_way,
    )


async def ended(here: Operating, runner: PretendRunner, output: bytes = b"words") -> Operation:
    begun = await here.begin()
    await until(lambda: begun.id in runner.running)
    runner.end(begun.id, output=output)
    return await here.end_of(begun)


def make_older(here: Operating, operation: Operation, by: float) -> None:
    path = here.outputs.path(operation.id)
    at = path.stat().st_mtime - by
    os.utime(path, (at, at))


async def test_what_ended_long_ago_goes_with_its_output(tmp_path: Path) -> None:
    clock = StillClock()
    runner = PretendRunner(clock)
    async with operating(tmp_path, runner, clock=clock) as here:
        running = await here.begin()
        await until(lambda: running.id in runner.running)
        runner.prints(running.id, b"still at it")
        old = await ended(here, runner)
        clock.advance(7 * DAY)
        new = await ended(here, runner)
        clock.advance(1)
        await sweeping(here).sweep()
        assert await here.store.operations.get(old.id) is None
        assert await here.outputs.whole(old.id) is None
        assert await here.outputs.whole(new.id) == b"words"
        assert await here.outputs.whole(running.id) == b"still at it"


async def test_with_too_much_on_disk_the_oldest_outputs_go_and_their_results_stay(
    tmp_path: Path,
) -> None:
    clock = StillClock()
    runner = PretendRunner(clock)
    half = b"x" * (MEGABYTE // 2)
    async with operating(tmp_path, runner, clock=clock) as here:
        running = await here.begin()
        await until(lambda: running.id in runner.running)
        runner.prints(running.id, half)
        make_older(here, running, 1000)
        first, second, third = [await ended(here, runner, half) for _ in range(3)]
        for operation, age in ((first, 30), (second, 20), (third, 10)):
            make_older(here, operation, age)
        await sweeping(here, max_disk=1).sweep()
        left = [await here.outputs.whole(each.id) for each in (running, first, second, third)]
        assert left == [half, None, None, half]
        assert (await here.now(first)).result.head.startswith("xxx")


async def test_outputs_without_a_row_are_found_at_the_start(tmp_path: Path) -> None:
    clock = StillClock()
    runner = PretendRunner(clock)
    async with operating(tmp_path, runner, clock=clock) as here:
        kept = await ended(here, runner)
        stray = here.outputs.path("00000000-dead-4000-8000-000000000000")
        stray.write_bytes(b"left behind")
        await sweeping(here).sweep()
        assert not stray.exists()
        assert await here.outputs.whole(kept.id) == b"words"


async def test_the_output_of_what_this_version_cannot_read_stays(tmp_path: Path) -> None:
    clock = StillClock()
    runner = PretendRunner(clock)
    async with operating(tmp_path, runner, clock=clock) as here:
        kept = await ended(here, runner)
        newer = "UPDATE operations SET result = '7'"
        await here.store.write(lambda tx: tx.change(newer, ()))
        assert await here.store.operations.get(kept.id) is None
        await sweeping(here).sweep()
        assert await here.outputs.whole(kept.id) == b"words"


async def test_before_it_is_known_what_runs_nothing_of_it_is_swept(tmp_path: Path) -> None:
    clock = StillClock()
    runner = PretendRunner(clock)
    async with operating(tmp_path, runner, clock=clock) as here:
        running = await here.begin()
        await until(lambda: running.id in runner.running)
        runner.prints(running.id, b"x" * (2 * MEGABYTE))
    async with operating(tmp_path, runner, clock=clock) as here:
        await sweeping(here, max_disk=1).sweep()  # nothing else has had a turn yet
        assert await here.outputs.whole(running.id) is not None


async def test_it_sweeps_every_hour_and_a_failure_does_not_end_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock = StillClock()
    runner = PretendRunner(clock)
    async with operating(tmp_path, runner, clock=clock) as here:
        stray = here.outputs.path("00000000-dead-4000-8000-000000000000")
        (tmp_path / "operations").rename(tmp_path / "elsewhere")
        running = asyncio.ensure_future(sweeping(here).run())
        try:
            for _ in range(2):
                await asyncio.wait_for(clock.until_asleep(SWEEP_EVERY_SECONDS), PATIENCE)
                assert caplog.text.count("were not swept") == 1
                if (tmp_path / "elsewhere").exists():
                    (tmp_path / "elsewhere").rename(tmp_path / "operations")
                    stray.write_bytes(b"left behind")
                clock.advance(SWEEP_EVERY_SECONDS)
            await asyncio.wait_for(clock.until_asleep(SWEEP_EVERY_SECONDS), PATIENCE)
            assert not stray.exists()
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
