"""Operations with everything real but time: processes, the runner, the database."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from chatbridge.core.operation import Operation, Stage
from tests.fakes.clock import StillClock
from tests.fakes.operating import PATIENCE, Operating, operating, operation
from tests.fakes.runner_desk import Desk, desk, end_runner, eventually, gone, open_gate

MANY = 300
PLACES = 4
PRINTS = "echo begun; read -r _ < gate; echo over; exit 3"


@pytest.fixture
async def state(state: str) -> AsyncIterator[str]:
    os.mkfifo(Path(state, "gate"), 0o600)
    yield state
    await end_runner(state)


@asynccontextmanager
async def hub(state: str) -> AsyncIterator[tuple[Operating, Desk]]:
    async with (
        desk(state) as runner,
        operating(Path(state), runner.line, clock=StillClock(), concurrency=PLACES) as here,
    ):
        yield here, runner


def shell(state: str, script: str, **details: str) -> Operation:
    argv = ("sh", "-c", script)
    return operation(*argv, executable="/bin/sh", folder=state, **details)  # type: ignore[arg-type]


async def printed(here: Operating, begun: Operation) -> bytes:
    """What it has printed, once it has."""
    path = here.outputs.path(begun.id)
    await eventually(lambda: path.exists() and path.stat().st_size)
    return path.read_bytes()


async def test_a_command_runs_with_its_environment_and_its_output_is_kept(state: str) -> None:
    async with hub(state) as (here, _):
        begun = await here.operations.begin(shell(state, "echo $PATH; echo wrong >&2; exit 3"))
        ended = await here.end_of(begun)
    assert (ended.stage, ended.result.exit_code) == (Stage.FAILED, 3)
    assert ended.result.head == "/usr/bin:/bin\nwrong\n"


async def test_a_folder_that_is_gone_by_its_turn_is_a_failure_with_a_reason(state: str) -> None:
    async with hub(state) as (here, _):
        begun = await here.operations.begin(shell(f"{state}/gone", "echo"))
        ended = await here.end_of(begun)
    assert (ended.stage, ended.result.exit_code) == (Stage.FAILED, None)
    assert "gone" in (ended.result.reason or "")


async def test_a_cancelled_one_ends_with_all_that_it_has_started(state: str) -> None:
    async with hub(state) as (here, _):
        begun = await here.operations.begin(shell(state, "sleep 600 & echo $!; wait"))
        child = int(await printed(here, begun))
        ended, cancelled = await here.operations.cancel(begun.id, project="/src/shop")
        assert (cancelled, ended.stage) == (True, Stage.CANCELLED)
        await gone(child)


async def test_a_hub_that_dies_leaves_its_commands_to_the_next(state: str) -> None:
    async with hub(state) as (here, _):
        goes_on = await here.operations.begin(shell(state, PRINTS))
        ends_alone = await here.operations.begin(shell(state, "echo begun > ended; exit 5"))
        await printed(here, goes_on)
        await here.end_of(ends_alone)
    async with hub(state) as (here, _):
        assert (await here.now(goes_on)).stage is Stage.RUNNING
        open_gate(state)
        ended = await here.end_of(goes_on)
        assert (await here.now(ends_alone)).result.exit_code == 5
        assert here.ended == [ended]
    assert (ended.stage, ended.result.exit_code) == (Stage.FAILED, 3)
    assert ended.result.head == "begun\nover\n"


@pytest.mark.parametrize("with_the_hub", [False, True])
async def test_what_dies_with_the_runner_is_interrupted_with_its_output_so_far(
    state: str, with_the_hub: bool
) -> None:
    async with hub(state) as (here, runner):
        begun = await here.operations.begin(shell(state, PRINTS))
        await printed(here, begun)
        if not with_the_hub:
            os.kill(runner.pid, signal.SIGKILL)
            ended = await here.end_of(begun)
    if with_the_hub:
        os.kill(runner.pid, signal.SIGKILL)
        async with hub(state) as (here, _):
            ended = await here.end_of(begun)
    assert (ended.stage, ended.result.head) == (Stage.INTERRUPTED, "begun\n")
    async with hub(state) as (here, _):
        again = await here.operations.begin(shell(state, "echo fine"))
        assert (await here.end_of(again)).stage is Stage.SUCCEEDED


def resident() -> int:
    """This process's memory, in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


async def test_hundreds_at_once_all_end_within_bounds(state: str) -> None:
    async with hub(state) as (here, _):
        blocking = [await here.operations.begin(shell(state, PRINTS)) for _ in range(PLACES)]
        tasks, memory = len(asyncio.all_tasks()), resident()
        wanted = [
            shell(state, f"echo {number}; exit {number % 2}", link=f"link-{number % 5}")
            for number in range(MANY)
        ]
        begun = await asyncio.gather(*map(here.operations.begin, wanted))
        most = len(asyncio.all_tasks())
        for each in blocking:
            await here.operations.cancel(each.id, project="/src/shop")
        for each in begun:
            most = max(most, len(asyncio.all_tasks()))
            await asyncio.wait_for(here.operations.ended(each.id), PATIENCE)
        assert most <= tasks + 20 * PLACES  # those that wait for their turn need none
        assert resident() - memory < 20_000_000
        rows = await here.store.operations.of_project(project="/src/shop", limit=2 * MANY)
        assert not await here.store.operations.unended()
    assert sorted(each.id for each in here.ended) == sorted(row.id for row in rows)
    by_id = {row.id: row for row in rows}
    for number, each in enumerate(begun):
        row = by_id[each.id]
        assert (row.result.exit_code, row.result.head) == (number % 2, f"{number}\n")
