"""Clients that give a call up without a word: what is written to them later reaches nobody."""

from __future__ import annotations

from pathlib import Path

from chatbridge.core.model import Ask
from tests.fakes.core_env import BLUE, OWNER, World, name, request, world


async def silent(hub: World, number: int, link: str = "a") -> Ask:
    """A call of a client that gives up after a minute, and does not say so."""
    hub.broker.waiting_calls.link_opened(link)
    asked = await hub.broker.ask(request(timeout=1800.0), name(link, number), counts_for=60.0)
    return asked[0]


async def test_a_response_written_after_a_silent_clients_limit_does_not_count_as_delivered(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as hub:
        ask = await silent(hub, 1)
        hub.clock.advance(59)
        await hub.inbox.answer(ask.id, BLUE, person=OWNER)
        hub.clock.advance(2)
        await hub.broker.waiting_calls.delivered(name("a", 1))
        assert (await hub.now(ask)).kept
        taken, call = await hub.call(link="a", number=2)
        assert taken.id == ask.id
        assert call.late
        await hub.broker.waiting_calls.delivered(name("a", 2))
        assert not (await hub.now(ask)).kept
        assert (await hub.ask(link="a", number=3)).id != ask.id


async def test_a_response_written_before_the_limit_counts_whatever_comes_later(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as hub:
        ask = await silent(hub, 1)
        hub.clock.advance(59)
        await hub.inbox.answer(ask.id, BLUE, person=OWNER)
        await hub.broker.waiting_calls.delivered(name("a", 1))
        hub.clock.advance(100)
        await hub.broker.waiting_calls.delivered(name("a", 1))
        assert (await hub.now(ask)).delivered_at
        assert (await silent(hub, 2)).id != ask.id


async def test_asking_again_before_or_after_a_silent_limit_goes_on_with_the_same_card(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as hub:
        ask = await silent(hub, 1)
        hub.clock.advance(59)
        assert (await silent(hub, 2)).id == ask.id
        hub.clock.advance(2)
        assert (await silent(hub, 3)).id == ask.id


async def test_a_call_that_is_repeated_to_the_next_hub_after_its_limit_has_no_caller(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as hub:
        ask = await silent(hub, 1)
    hub.clock.advance(61)
    async with world(tmp_path, hub.clock) as after:
        assert (await silent(after, 1)).orphaned_since
        assert (await silent(after, 2)).id == ask.id
        assert (await after.now(ask)).orphaned_since is None


async def test_a_call_that_was_answered_with_an_error_has_left_its_ask_alone(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as hub:
        ask = await hub.ask(link="a")
        await hub.broker.waiting_calls.delivered(name("a"))
        assert (await hub.now(ask)).orphaned_since
        assert (await hub.ask(link="b")).id == ask.id
