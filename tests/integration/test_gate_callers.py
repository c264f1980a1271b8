"""An approval lives as long as its agent's link: nobody allows what nobody wants any more, and
nothing is asked twice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from chatbridge.commands.operations.gate import WITHDRAWN, Gate
from chatbridge.core.model import Ask, Status
from chatbridge.core.operation import Operation
from tests.fakes.approving import allow
from tests.fakes.clock import StillClock
from tests.fakes.core_env import PATIENCE, World, world
from tests.fakes.gated import operation

LINK = "link-1"
OPERATION = operation()


def gate_of(hub: World) -> Gate:
    return Gate(hub.broker, store=hub.store.operations, clock=hub.clock, timeout=1_000.0)


async def asked(hub: World, op: Operation = OPERATION, *, delivered: bool = True) -> Ask:
    """`delivered`: the agent has been told that it is waiting."""
    ask = await hub.inbox.ask(await gate_of(hub).ask(op))
    if delivered:
        await hub.broker.waiting_calls.delivered(op.call)
    return ask


async def withdrawn(hub: World, ask: Ask) -> bool:
    found = await asyncio.wait_for(gate_of(hub).refusal(ask.id), PATIENCE)
    return found == WITHDRAWN


async def two_minutes_later(hub: World) -> None:
    """What was due by then has been done."""
    other = await hub.ask(link="another", timeout=125.0)
    hub.clock.advance(130.0)
    await hub.ended(other)


@pytest.fixture
async def hub(tmp_path: Path) -> AsyncIterator[World]:
    async with world(tmp_path) as it:
        it.broker.waiting_calls.link_opened(LINK)
        yield it


async def test_it_stays_open_after_the_agent_has_been_told_that_it_waits(hub: World) -> None:
    ask = await asked(hub)
    hub.clock.advance(900.0)
    assert (await hub.now(ask)).open
    await allow(hub, ask)
    assert await gate_of(hub).refusal(ask.id) is None


async def test_the_same_call_asks_once(hub: World) -> None:
    first = await asked(hub, delivered=False)
    assert (await asked(hub, delivered=False)).id == first.id
    assert len(await hub.inbox.open_asks()) == 1


async def test_the_same_command_asked_for_twice_is_two_cards_that_end_with_their_link(
    hub: World,
) -> None:
    one, two = [await asked(hub, operation(number=i)) for i in range(2)]
    assert one.id != two.id
    await hub.broker.waiting_calls.link_closed(LINK)
    hub.clock.advance(121.0)
    assert await withdrawn(hub, one)
    assert await withdrawn(hub, two)


async def test_it_is_withdrawn_two_minutes_after_the_link_has_gone(hub: World) -> None:
    ask = await asked(hub)
    await hub.broker.waiting_calls.link_closed(LINK)
    hub.clock.advance(119.0)
    assert (await hub.now(ask)).open
    hub.clock.advance(2.0)
    assert await withdrawn(hub, ask)


async def test_a_link_that_is_back_within_that_time_keeps_it(hub: World) -> None:
    ask = await asked(hub)
    await hub.broker.waiting_calls.link_closed(LINK)
    hub.clock.advance(60.0)
    hub.broker.waiting_calls.link_opened(LINK)
    await hub.broker.waiting_calls.resumed(LINK, repeated=set())
    assert (await hub.now(ask)).orphaned_since is None
    await two_minutes_later(hub)
    assert (await hub.now(ask)).open
    await hub.broker.waiting_calls.link_closed(LINK)
    hub.clock.advance(121.0)
    assert await withdrawn(hub, ask)


async def test_a_call_that_its_client_cancels_takes_its_approval_back(hub: World) -> None:
    ask = await asked(hub, delivered=False)
    await hub.broker.waiting_calls.cancel(OPERATION.call)
    assert await withdrawn(hub, ask)


async def test_a_call_that_was_answered_can_no_longer_be_cancelled(hub: World) -> None:
    ask = await asked(hub)
    await hub.broker.waiting_calls.cancel(OPERATION.call)
    assert (await hub.now(ask)).open


async def test_a_call_given_up_while_no_hub_was_there_takes_its_approval_back(
    hub: World,
) -> None:
    known, given_up = await asked(hub), await asked(hub, operation(number=2), delivered=False)
    await hub.broker.waiting_calls.resumed(LINK, repeated=set())
    assert await withdrawn(hub, given_up)
    assert (await hub.now(known)).open


async def test_a_call_that_is_repeated_goes_on_with_its_approval(hub: World) -> None:
    ask = await asked(hub, delivered=False)
    await hub.broker.waiting_calls.link_closed(LINK)
    hub.broker.waiting_calls.link_opened(LINK)
    assert (await asked(hub, delivered=False)).id == ask.id
    await hub.broker.waiting_calls.resumed(LINK, repeated={OPERATION.call.request})
    now = await hub.now(ask)
    assert now.status is Status.OPEN
    assert now.orphaned_since is None


# ── the next hub ──────────────────────────────────────────────────────────────────────────────────


async def _is_back(hub: World) -> None:
    hub.broker.waiting_calls.link_opened(LINK)
    await hub.broker.waiting_calls.resumed(LINK, repeated=set())


async def _is_back_late(hub: World) -> None:
    """After it counted as gone."""
    await _time_passes(hub, 11.0)
    await hub.until(lambda ask: ask.orphaned_since is not None)
    await _is_back(hub)


async def _never_is(hub: World) -> None:
    await _time_passes(hub, 11.0)
    await hub.until(lambda ask: ask.orphaned_since is not None)


async def _time_passes(hub: World, seconds: float) -> None:
    await hub.clock.until_asleep(hub.broker.policy.return_within)
    hub.clock.advance(seconds)


@pytest.mark.parametrize(
    ("link", "stays"), [(_is_back, True), (_is_back_late, True), (_never_is, False)]
)
async def test_over_a_restart_it_stays_for_a_link_that_comes_back(
    tmp_path: Path, link: Callable[[World], Awaitable[None]], stays: bool
) -> None:
    async with world(tmp_path) as before:
        before.broker.waiting_calls.link_opened(LINK)
        ask = await asked(before)
    async with world(tmp_path, StillClock(before.clock.time())) as hub:
        await link(hub)
        await two_minutes_later(hub)
        if stays:
            await allow(hub, ask)
        assert (await gate_of(hub).refusal(ask.id) is None) is stays
