"""Operations: recorded first, run in turn, and their ends stored, told and logged once."""

from __future__ import annotations

import asyncio
import logging
from itertools import zip_longest
from pathlib import Path

import pytest

from chatbridge.commands.operations import execution
from chatbridge.commands.operations.runner_client import How, Order
from chatbridge.core.errors import StoreError, TooManyOperations, UnknownOperation
from chatbridge.core.operation import Stage
from tests.fakes.clock import StillClock
from tests.fakes.disk import failing
from tests.fakes.operating import BROKEN, operating, operation, until
from tests.fakes.runner import PretendRunner


async def test_what_is_begun_runs_and_its_end_is_stored_and_told_once(tmp_path: Path) -> None:
    clock = StillClock()
    runner = PretendRunner(clock)
    async with operating(tmp_path, runner, clock=clock) as here:
        begun = await here.begin("cargo", "build", "--release")
        assert begun.stage is Stage.QUEUED
        await here.at(begun, Stage.RUNNING)
        await until(lambda: runner.running)
        (order,) = runner.handed
        assert (order.argv, order.folder) == (("cargo", "build", "--release"), "/src/shop")
        assert order.environment == {"PATH": "/usr/bin:/bin"}
        clock.advance(12)
        runner.end(begun.id, output=b"compiled\n")
        ended = await here.end_of(begun)
        await until(lambda: not runner.ends)
        assert here.ended == [ended]
    assert (ended.stage, ended.result.exit_code) == (Stage.SUCCEEDED, 0)
    assert (ended.result.head, ended.result.tail, ended.result.size) == ("compiled\n", "", 9)
    assert ended.took(0.0) == 12.0


@pytest.mark.parametrize(
    ("how", "code", "error", "stage", "reason"),
    [
        ("exited", 1, None, Stage.FAILED, None),
        ("timed_out", None, None, Stage.TIMED_OUT, None),
        ("not_started", None, "no such folder", Stage.FAILED, "no such folder"),
        ("stopped", None, None, Stage.CANCELLED, None),
        ("stopped", None, "the runner was stopped", Stage.INTERRUPTED, "the runner was stopped"),
        ("lost", None, "it died", Stage.INTERRUPTED, "it died"),
    ],
)
async def test_every_way_to_end_has_its_stage_and_keeps_what_was_printed(
    tmp_path: Path, how: How, code: int | None, error: str | None, stage: Stage, reason: str | None
) -> None:
    clock = StillClock()
    runner = PretendRunner(clock)
    async with operating(tmp_path, runner, clock=clock) as here:
        begun = await here.begin()
        await until(lambda: runner.running)
        runner.end(begun.id, code, how=how, output=b"so far", error=error)
        ended = await here.end_of(begun)
    assert (ended.stage, ended.result.reason) == (stage, reason)
    assert (ended.result.exit_code, ended.result.head) == (code, "so far")
    assert ended.ended_at == clock.time()


async def test_the_runner_gets_an_order_only_when_it_is_stored_that_it_may_have_it(
    tmp_path: Path,
) -> None:
    clock = StillClock()
    stages: list[Stage] = []

    class Looking(PretendRunner):
        async def start(self, order: Order) -> None:
            row = await here.store.operations.get(order.id)
            assert row is not None
            stages.append(row.stage)
            await super().start(order)

    runner = Looking(clock)
    async with operating(tmp_path, runner, clock=clock) as here:
        await here.begin()
        await until(lambda: runner.running)
    assert stages == [Stage.RUNNING]


async def test_a_repeated_call_is_the_same_operation_until_its_response_has_arrived(
    tmp_path: Path,
) -> None:
    clock = StillClock()
    runner = PretendRunner(clock)
    async with operating(tmp_path, runner, clock=clock) as here:
        again = [here.operations.begin(operation(request="7")) for _ in range(5)]
        first, *others = await asyncio.gather(*again)
        assert {each.id for each in others} == {first.id}
        await until(lambda: runner.running)
        runner.end(first.id)
        await here.end_of(first)
        assert (await here.begin(request="7")).id == first.id
        await here.operations.delivered(first.call)
        other = await here.begin(request="7")
        await until(lambda: runner.running)
    assert [order.id for order in runner.handed] == [first.id, other.id]


async def test_no_more_run_at_once_than_allowed_and_the_next_follows(tmp_path: Path) -> None:
    clock = StillClock()
    runner = PretendRunner(clock)
    async with operating(tmp_path, runner, clock=clock, concurrency=2) as here:
        begun = [await here.begin() for _ in range(5)]
        for each, following in zip_longest(begun, begun[1:]):
            expected = {one.id for one in (each, following) if one is not None}
            await until(lambda expected=expected: expected <= set(runner.running))  # type: ignore[misc]
            runner.end(each.id)
        for each in begun:
            assert (await here.end_of(each)).stage is Stage.SUCCEEDED
    assert runner.most == 2


async def test_too_many_are_refused_with_nothing_recorded_and_a_repeated_call_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execution, "MAX_OF_A_LINK", 2)
    monkeypatch.setattr(execution, "MAX_OPERATIONS", 3)
    clock = StillClock()
    runner = PretendRunner(clock)
    async with operating(tmp_path, runner, clock=clock) as here:
        first = await here.begin(request="1")
        await here.begin()
        with pytest.raises(TooManyOperations, match="this agent has 2"):
            await here.begin()
        assert (await here.begin(request="1")).id == first.id
        await here.begin(link="link-2")
        with pytest.raises(TooManyOperations, match="agents have 3"):
            await here.begin(link="link-3")
        assert len(await here.store.operations.unended()) == 3
        await until(lambda: first.id in runner.running)
        runner.end(first.id)
        await here.end_of(first)
        await here.begin(link="link-3")


async def test_what_cannot_be_recorded_does_not_run(tmp_path: Path) -> None:
    clock = StillClock()
    runner = PretendRunner(clock)
    async with operating(tmp_path, runner, clock=clock) as here:
        async with failing(tmp_path, "operations"):
            with pytest.raises(StoreError):
                await here.begin(request="1")
        fine = await here.begin(request="1")
        await until(lambda: runner.running)
    assert [order.id for order in runner.handed] == [fine.id]


async def test_an_end_that_cannot_be_stored_is_kept_by_the_runner_until_it_is(
    tmp_path: Path,
) -> None:
    clock = StillClock()
    runner = PretendRunner(clock)
    async with operating(tmp_path, runner, clock=clock) as here:
        begun = await here.begin()
        await until(lambda: runner.running)
        async with failing(tmp_path, "operations"):
            runner.end(begun.id, output=b"done")
            await asyncio.wait_for(clock.until_asleep(execution.RETRY_AFTER_SECONDS), 20)
            assert (runner.ends, here.ended) == ({begun.id: runner.ends[begun.id]}, [])
        clock.advance(execution.RETRY_AFTER_SECONDS)
        assert (await here.end_of(begun)).result.head == "done"
        await until(lambda: not runner.ends)
    assert len(here.ended) == 1


async def test_a_caller_that_goes_while_it_is_recorded_leaves_it_running(tmp_path: Path) -> None:
    clock = StillClock()
    runner = PretendRunner(clock)
    async with operating(tmp_path, runner, clock=clock) as here:
        await until(lambda: not here.operations.on_the_way("none"))
        wanted = operation()
        begin = asyncio.ensure_future(here.operations.begin(wanted))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        begin.cancel()
        await asyncio.gather(begin, return_exceptions=True)
        await until(lambda: runner.running)
        runner.end(wanted.id)
        assert (await here.end_of(wanted)).stage is Stage.SUCCEEDED


async def test_one_that_cannot_be_prepared_fails_and_keeps_no_place(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock = StillClock()
    runner = PretendRunner(clock)
    async with operating(tmp_path, runner, clock=clock, concurrency=1) as here:
        odd = await here.begin(environment=(BROKEN,))
        fine = await here.begin()
        await until(lambda: fine.id in runner.running)
        found = await here.end_of(odd)
    assert (found.stage, found.started_at) == (Stage.FAILED, None)
    assert "could not be prepared" in (found.result.reason or "")
    assert "the environment cannot be read" in caplog.text


async def test_ids_count_within_their_project_and_may_be_shortened(tmp_path: Path) -> None:
    clock = StillClock()
    runner = PretendRunner(clock)
    async with operating(tmp_path, runner, clock=clock) as here:
        begun = await here.begin()
        assert (await here.operations.find(begun.id[:8], project="/src/shop")).id == begun.id
        for wrong, project in ((begun.id[:7], "/src/shop"), ("", "/src/shop"), (begun.id, "/else")):
            with pytest.raises(UnknownOperation):
                await here.operations.find(wrong, project=project)
        with pytest.raises(UnknownOperation):
            await here.operations.ended("none")
        assert [each.id for each in await here.operations.listed(project="/src/shop", limit=5)] == [
            begun.id
        ]


async def test_the_log_has_one_line_for_an_operation_without_pieces_of_arguments(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="chatbridge")
    clock = StillClock()
    runner = PretendRunner(clock)
    async with operating(tmp_path, runner, clock=clock) as here:
        begun = await here.begin("cargo", "run", "two\nlines", "x" * 5000, *["word"] * 500)
        await until(lambda: runner.running)
        clock.advance(3)
        runner.end(begun.id, 2)
        await here.end_of(begun)
    (line,) = (each for each in caplog.messages if each.startswith(f"operation {begun.id} failed"))
    assert "exit=2 seconds=3.0 argv=cargo run 'two lines' [5000 characters] word" in line
    assert line.endswith("more]")
    assert "\n" not in line
    assert len(line) < 1000
