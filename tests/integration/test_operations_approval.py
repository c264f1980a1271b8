"""An operation that needs a word from its owner does nothing before it, and nothing against it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from chatbridge.commands.operations.execution import RETRY_AFTER_SECONDS
from chatbridge.commands.operations.gate import TOO_OLD, Gate
from chatbridge.commands.operations.operations import UNASKED
from chatbridge.core.errors import ChatbridgeError, StoreError, TooManyOpenAsks
from chatbridge.core.operation import Operation, Stage
from tests.fakes.approving import allow, deny
from tests.fakes.clock import StillClock
from tests.fakes.core_env import World, world
from tests.fakes.operating import Operating, PretendGate, operating, operation, until
from tests.fakes.runner import PretendRunner

AWAITING = Stage.AWAITING_APPROVAL


async def asked(here: Operating, gate: PretendGate, **details: str) -> tuple[Operation, str]:
    begun = await here.begin(stage=AWAITING, **details)
    assert begun.ask_id is not None
    assert gate.asks[begun.ask_id] == begun.call
    return begun, begun.ask_id


async def test_what_is_allowed_runs_and_the_approval_is_kept_with_it(tmp_path: Path) -> None:
    clock, gate = StillClock(), PretendGate()
    runner = PretendRunner(clock)
    async with operating(tmp_path, runner, gate, clock=clock) as here:
        begun, ask_id = await asked(here, gate)
        assert (await here.now(begun)).ask_id == ask_id
        assert not runner.handed
        gate.say(ask_id, None)
        await until(lambda: runner.running)
        runner.end(begun.id)
        ended = await here.end_of(begun)
    assert (ended.stage, ended.approved, ended.ask_id) == (Stage.SUCCEEDED, True, ask_id)


async def test_what_is_denied_never_reaches_the_runner_and_says_why(tmp_path: Path) -> None:
    clock, gate = StillClock(), PretendGate()
    runner = PretendRunner(clock)
    async with operating(tmp_path, runner, gate, clock=clock) as here:
        begun, ask_id = await asked(here, gate)
        gate.say(ask_id, "Denied: not on a Friday")
        ended = await here.end_of(begun)
        assert here.ended == [ended]
    assert (ended.stage, ended.result.reason) == (Stage.DENIED, "Denied: not on a Friday")
    assert (ended.approved, ended.started_at, runner.handed) == (False, None, [])


async def test_a_repeated_call_asks_once(tmp_path: Path) -> None:
    clock, gate = StillClock(), PretendGate()
    runner = PretendRunner(clock)
    async with operating(tmp_path, runner, gate, clock=clock) as here:
        first, _ = await asked(here, gate, request="7")
        again = await here.begin(request="7", stage=AWAITING)
        assert (again.id, len(gate.asks)) == (first.id, 1)


async def test_cancelled_while_it_waits_its_card_is_withdrawn_and_a_late_word_changes_nothing(
    tmp_path: Path,
) -> None:
    clock, gate = StillClock(), PretendGate()
    runner = PretendRunner(clock)
    async with operating(tmp_path, runner, gate, clock=clock) as here:
        begun, ask_id = await asked(here, gate)
        ended, cancelled = await here.operations.cancel(
            begun.id, project="/src/shop", reason="not needed"
        )
        gate.say(ask_id, None)
        assert (cancelled, ended.stage, ended.result.reason) == (
            True,
            Stage.CANCELLED,
            "not needed",
        )
        assert gate.withdrawn == {ask_id}
        next_one = await here.begin()
        await until(lambda: next_one.id in runner.running)
        assert (await here.now(begun)).stage is Stage.CANCELLED
        assert begun.id not in runner.running
        assert len(here.ended) == 1


async def test_where_nobody_can_be_asked_it_fails_and_says_why(tmp_path: Path) -> None:
    clock = StillClock()
    gate = PretendGate(error=TooManyOpenAsks(limit=3, open_asks=()))
    runner = PretendRunner(clock)
    async with operating(tmp_path, runner, gate, clock=clock) as here:
        ended = await here.begin(stage=AWAITING)
    assert ended.stage is Stage.FAILED
    assert "3 open questions" in (ended.result.reason or "")
    assert not runner.handed


@pytest.mark.parametrize("restart", [False, True])
async def test_where_the_store_fails_its_owner_is_asked_later(
    tmp_path: Path, restart: bool
) -> None:
    clock = StillClock()
    gate = PretendGate(error=StoreError("the disk is full"))
    runner = PretendRunner(clock)
    async with operating(tmp_path, runner, gate, clock=clock) as here:
        begun = await here.begin(stage=AWAITING)
        assert (begun.stage, begun.ask_id) == (AWAITING, None)
        await asyncio.wait_for(clock.until_asleep(RETRY_AFTER_SECONDS), 20)
        if not restart:
            gate.error = None
            clock.advance(RETRY_AFTER_SECONDS)
            await until(lambda: gate.asks)
    gate.error = None
    async with operating(tmp_path, runner, gate, clock=clock) as here:
        await until(lambda: gate.asks)
        gate.say("ask-0", None)
        await until(lambda: runner.running)
    assert [order.id for order in runner.handed] == [begun.id]


async def test_a_word_that_was_given_while_no_hub_was_there_counts_for_the_next(
    tmp_path: Path,
) -> None:
    clock, gate = StillClock(), PretendGate()
    runner = PretendRunner(clock)
    async with operating(tmp_path, runner, gate, clock=clock) as here:
        allowed, allowing = await asked(here, gate)
        denied, denying = await asked(here, gate)
    gate.say(allowing, None)
    gate.say(denying, "Denied")
    async with operating(tmp_path, runner, gate, clock=clock) as here:
        assert (await here.end_of(denied)).stage is Stage.DENIED
        await until(lambda: runner.running)
        assert (await here.now(allowed)).approved
    assert (list(runner.running), len(gate.asks)) == ([allowed.id], 2)


async def test_one_that_is_cancelled_while_its_card_is_made_has_none_in_the_end(
    tmp_path: Path,
) -> None:
    clock = StillClock()
    runner = PretendRunner(clock)

    class Slow(PretendGate):
        async def ask(self, operation: Operation) -> str:
            await here.operations.cancel(operation.id, project="/src/shop")
            return await super().ask(operation)

    gate = Slow()
    async with operating(tmp_path, runner, gate, clock=clock) as here:
        begun = await here.operations.begin(operation(stage=AWAITING))
        assert begun.stage is Stage.CANCELLED
        assert gate.withdrawn == {"ask-0"}


@pytest.mark.parametrize(
    ("error", "reason"),
    [(ChatbridgeError("it cannot be said"), "it cannot be said"), (KeyError("bug"), UNASKED)],
)
async def test_a_gate_that_fails_lets_nothing_pass(
    tmp_path: Path, error: Exception, reason: str
) -> None:
    clock = StillClock()
    runner = PretendRunner(clock)

    class Broken(PretendGate):
        async def refusal(self, ask_id: str) -> str | None:
            raise error

    gate = Broken()
    async with operating(tmp_path, runner, gate, clock=clock) as here:
        begun, _ = await asked(here, gate)
        ended = await here.end_of(begun)
        assert (ended.stage, ended.result.reason) == (Stage.DENIED, reason)
        gate.error = error
        unasked = await here.begin(stage=AWAITING)
        assert (unasked.stage, unasked.result.reason) == (Stage.FAILED, reason)
    assert not runner.handed


@pytest.mark.parametrize("allowed", [True, False])
async def test_with_the_real_gate_a_card_outlives_the_hub_and_its_answer_decides(
    tmp_path: Path, allowed: bool
) -> None:
    clock = StillClock()
    runner = PretendRunner(clock)
    async with gated(tmp_path, runner, clock) as (_, here):
        begun = await here.begin(stage=AWAITING)
        assert begun.ask_id is not None
        await here.operations.delivered(begun.call)
    async with gated(tmp_path, runner, clock) as (hub, here):
        card = await hub.inbox.ask(begun.ask_id)
        await (allow if allowed else deny)(hub, card)
        if allowed:
            await until(lambda: runner.running)
            runner.end(begun.id)
        ended = await here.end_of(begun)
    assert ended.stage is (Stage.SUCCEEDED if allowed else Stage.DENIED)
    assert (ended.approved, len(runner.handed)) == (allowed, int(allowed))


@asynccontextmanager
async def gated(
    folder: Path, runner: PretendRunner, clock: StillClock
) -> AsyncIterator[tuple[World, Operating]]:
    async with world(folder, clock) as hub:
        hub.broker.waiting_calls.link_opened("link-1")
        gate = Gate(hub.broker, store=hub.store.operations, clock=clock, timeout=300.0)
        async with operating(folder, runner, gate, clock=clock) as here:
            yield hub, here


@pytest.mark.parametrize("still", [True, False])
async def test_what_was_allowed_and_waited_for_its_turn_runs_after_a_restart_unless_that_is_too_old(
    tmp_path: Path, still: bool
) -> None:
    clock, gate = StillClock(), PretendGate()
    runner = PretendRunner(clock)
    async with operating(tmp_path, runner, gate, clock=clock, concurrency=1) as here:
        first = await here.begin()
        await until(lambda: runner.running)
        begun, ask_id = await asked(here, gate)
        gate.say(ask_id, None)
        await here.at(begun, Stage.QUEUED)
    if not still:
        gate.words[ask_id] = TOO_OLD
    async with operating(tmp_path, runner, gate, clock=clock, concurrency=1) as here:
        runner.end(first.id)
        if still:
            await until(lambda: begun.id in runner.running)
            runner.end(begun.id)
        ended = await here.end_of(begun)
        assert (await here.end_of(first)).stage is Stage.SUCCEEDED
    assert [order.id for order in runner.handed] == [first.id, begun.id][: 1 + still]
    assert ended.stage is (Stage.SUCCEEDED if still else Stage.DENIED)
    assert ended.result.reason == (None if still else TOO_OLD)
