"""Callers that go, come back and never come back: nothing is asked twice, no answer is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from chatbridge.core.errors import AskEnded, CallCancelled, StoreError
from chatbridge.core.forms import form
from chatbridge.core.model import Status
from chatbridge.core.store_port import Transaction
from tests.fakes.core_env import BLUE, COLOUR, OWNER, PATIENCE, World, name, request, world
from tests.fakes.databases import Database

HALF_A_DAY = 12 * 3600.0


async def gone(hub: World, link: str = "link-1") -> None:
    await hub.broker.waiting_calls.link_closed(link)


async def test_asking_again_after_the_caller_went_waits_on_the_same_card(
    database: Database,
) -> None:
    async with world(database) as hub:
        first = await hub.ask(link="a", timeout=100.0)
        await gone(hub, "a")
        again = await hub.ask(link="b", timeout=200.0)
        assert again.id == first.id
        assert again.deadline == hub.clock.time() + 200
        assert len(await hub.inbox.open_asks()) == 1


async def test_a_link_that_is_back_before_its_old_connection_closes_still_waits(
    tmp_path: Path,
) -> None:
    async with world(tmp_path, withdraw_on_cancel=True) as hub:
        ask = await hub.ask()
        hub.broker.waiting_calls.link_opened("link-1")
        await gone(hub)
        assert (await hub.now(ask)).open
        await gone(hub)
        assert (await hub.now(ask)).status is Status.WITHDRAWN


async def test_the_later_of_two_deadlines_counts(tmp_path: Path) -> None:
    async with world(tmp_path) as hub:
        first = await hub.ask(link="a", timeout=1000.0)
        await gone(hub, "a")
        assert (await hub.ask(link="b", timeout=20.0)).deadline == first.deadline


async def test_a_link_that_closes_while_the_disk_is_full_counts_as_gone_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world(tmp_path) as hub:
        ask = await hub.ask(link="a", timeout=1800.0)
        works, faults = hub.store.write, [StoreError("the disk is full")]

        async def write(
            work: Callable[[Transaction], Awaitable[object]], *, then: Callable[[object], None]
        ) -> object:
            if faults:
                raise faults.pop()
            return await works(work, then=then)

        monkeypatch.setattr(hub.store, "write", write)
        closing = asyncio.ensure_future(gone(hub, "a"))
        while not closing.done():
            hub.clock.advance(0.01)  # in small steps, far from the ask's deadline
            await asyncio.sleep(0)
        await closing
        assert (await hub.ask(link="b")).id == ask.id


async def test_a_cancelled_call_leaves_its_ask_open_for_the_next_one(tmp_path: Path) -> None:
    async with world(tmp_path) as hub:
        first = await hub.ask(number=1)
        await hub.broker.waiting_calls.cancel(name())
        assert (await hub.now(first)).open
        assert (await hub.ask(number=2)).id == first.id


async def test_a_cancelled_call_withdraws_its_ask_where_the_owner_wants_that(
    database: Database,
) -> None:
    async with world(database, withdraw_on_cancel=True) as hub:
        ask = await hub.ask()
        await hub.broker.waiting_calls.cancel(name())
        assert (await hub.ended(ask)).status is Status.WITHDRAWN


async def test_a_call_that_was_cancelled_before_it_began_takes_no_kept_answer(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as hub:
        ask = await hub.ask(link="a")
        await gone(hub, "a")
        await hub.inbox.answer(ask.id, BLUE, person=OWNER)
        hub.broker.waiting_calls.link_opened("b")
        await hub.broker.waiting_calls.cancel(name("b", 1))  # it has overtaken its call
        with pytest.raises(CallCancelled):
            await hub.ask(link="b", number=1)
        assert (await hub.ask(link="b", number=2)).id == ask.id


async def test_a_repeated_call_that_is_cancelled_before_its_turn_leaves_the_answer_kept(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as hub:
        ask = await hub.ask(number=1)
        await hub.inbox.answer(ask.id, BLUE, person=OWNER)
        hub.broker.waiting_calls.clear_cancelled(name(number=1))  # to the next hub
        await hub.broker.waiting_calls.cancel(name(number=1))
        with pytest.raises(CallCancelled):
            await hub.ask(number=1)
        again, call = await hub.call(number=2)
        assert (again.id, call.late) == (ask.id, True)


async def test_the_id_of_a_cancelled_call_can_be_used_again(tmp_path: Path) -> None:
    async with world(tmp_path) as hub:
        hub.broker.waiting_calls.link_opened("link-1")
        await hub.broker.waiting_calls.cancel(name())
        hub.broker.waiting_calls.clear_cancelled(name())
        assert (await hub.ask()).open


async def test_the_card_says_after_two_minutes_that_nobody_waits_and_takes_it_back(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as hub:
        ask = await hub.ask(link="a")
        await gone(hub, "a")
        hub.clock.advance(119)
        assert not (await hub.now(ask)).orphaned
        hub.clock.advance(2)
        orphaned = await hub.until(lambda a: a.orphaned)
        assert orphaned.revision > ask.revision
        back = await hub.ask(link="b")
        assert not back.orphaned
        assert back.revision > orphaned.revision


async def test_an_answer_that_nobody_waits_for_is_kept_and_handed_over_once(
    database: Database,
) -> None:
    async with world(database) as hub:
        ask = await hub.ask(link="a")
        await gone(hub, "a")
        assert (await hub.inbox.answer(ask.id, BLUE, person=OWNER)).kept
        taken, call = await hub.call(link="b")
        assert taken.id == ask.id
        assert call.late
        await hub.broker.waiting_calls.delivered(name("b"))
        has_it = await hub.now(ask)
        assert has_it.delivered_at
        assert not has_it.kept
        assert (await hub.ask(link="c")).id != ask.id


async def test_a_kept_answer_is_not_shared_while_it_is_being_handed_over(
    database: Database,
) -> None:
    async with world(database) as hub:
        ask = await hub.ask(link="a")
        await gone(hub, "a")
        await hub.inbox.answer(ask.id, BLUE, person=OWNER)
        taken, other = await asyncio.gather(hub.ask(link="b"), hub.ask(link="c"))
        assert sorted((taken.id == ask.id, other.id == ask.id)) == [False, True]


async def test_a_kept_answer_whose_taker_dies_is_kept_again(database: Database) -> None:
    async with world(database) as hub:
        ask = await hub.ask(link="a")
        await gone(hub, "a")
        await hub.inbox.answer(ask.id, BLUE, person=OWNER)
        await hub.ask(link="b")
        await gone(hub, "b")
        assert (await hub.ask(link="c")).id == ask.id


async def test_a_kept_answer_is_forgotten_after_its_time(database: Database) -> None:
    async with world(database) as hub:
        ask = await hub.ask(link="a")
        await gone(hub, "a")
        await hub.inbox.answer(ask.id, BLUE, person=OWNER)
        hub.clock.advance(HALF_A_DAY + 1)
        assert (await hub.ask(link="b")).id != ask.id


async def test_a_discarded_answer_is_given_to_nobody(database: Database) -> None:
    async with world(database) as hub:
        ask = await hub.ask(link="a")
        await gone(hub, "a")
        await hub.inbox.answer(ask.id, BLUE, person=OWNER)
        assert (await hub.inbox.discard(ask.id, person=OWNER)).discarded
        assert (await hub.ask(link="b")).id != ask.id


async def test_an_answer_given_after_the_time_out_is_kept_once(database: Database) -> None:
    async with world(database) as hub:
        ask = await hub.ask(link="a", timeout=60.0)
        hub.clock.advance(61)
        await hub.ended(ask)
        await hub.broker.waiting_calls.delivered(name("a"))
        tap = form.Choose(step=0, option=1)
        with pytest.raises(AskEnded):
            await hub.inbox.put(ask.id, tap, person=OWNER)
        await hub.inbox.put(ask.id, form.AnswerAnyway(step=0), person=OWNER)
        await hub.inbox.put(ask.id, form.Choose(step=1, option=1), person=OWNER)
        late = await hub.now(ask)
        assert late.status is Status.TIMED_OUT
        assert late.late
        assert late.late.answers == BLUE
        with pytest.raises(AskEnded):
            await hub.inbox.answer(ask.id, BLUE, person=OWNER)
        taken, call = await hub.call(link="b")
        assert taken.id == ask.id
        assert call.late


async def test_a_time_outs_confirmation_does_not_pass_for_the_late_answers(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as hub:
        ask = await hub.ask(link="a", timeout=60.0)
        hub.clock.advance(61)
        await hub.ended(ask)
        await hub.inbox.answer(ask.id, BLUE, person=OWNER)
        await hub.broker.waiting_calls.delivered(name("a"))
        assert (await hub.ask(link="b")).id == ask.id


async def test_an_answer_that_is_not_confirmed_in_time_is_called_kept(tmp_path: Path) -> None:
    async with world(tmp_path) as hub:
        ask = await hub.ask()
        assert not (await hub.inbox.answer(ask.id, BLUE, person=OWNER)).kept
        hub.clock.advance(6)
        assert (await hub.until(lambda a: a.kept)).id == ask.id
        await hub.broker.waiting_calls.delivered(name())
        assert not (await hub.now(ask)).kept


async def test_a_ticket_counts_as_a_caller_and_its_holder_can_fetch_again_and_again(
    database: Database,
) -> None:
    async with world(database) as hub:
        ask = await hub.ask(link="a", number=1)
        await hub.broker.waiting_calls.ticket(name("a", 1))
        await hub.broker.waiting_calls.delivered(name("a", 1))
        assert (await hub.ask(link="b")).id != ask.id
        await hub.inbox.answer(ask.id, BLUE, person=OWNER)
        for number in (2, 3):
            fetched, _ = await hub.broker.follow(ask.id, name("a", number), project="/src/shop")
            assert fetched.status is Status.ANSWERED
            await hub.broker.waiting_calls.delivered(name("a", number))


async def test_who_goes_on_with_a_ticket_uses_it_up(tmp_path: Path) -> None:
    async with world(tmp_path) as hub:
        ask = await hub.ask(link="a")
        for number in range(1, 6):
            await hub.broker.waiting_calls.ticket(name("a", number))
            await hub.broker.waiting_calls.delivered(name("a", number))
            await hub.broker.follow(ask.id, name("a", number + 1), project="/src/shop")
        live = await hub.store.write(lambda tx: tx.live_calls(ask.id))
        assert [call.name for call in live] == [name("a", 6)]
        assert not (await hub.now(ask)).orphaned_since


async def test_a_ticket_is_fetched_under_the_ids_of_the_call_that_got_it(tmp_path: Path) -> None:
    async with world(tmp_path) as hub:
        ask = await hub.ask(link="a")
        await gone(hub, "a")
        await hub.ask(replace(COLOUR, id="mine"), link="b", number=1)
        await hub.broker.waiting_calls.ticket(name("b", 1))
        _, call = await hub.broker.follow(ask.id, name("b", 2), project="/src/shop")
        assert call.question_ids == ("mine",)


async def test_asking_again_instead_of_using_the_ticket_shows_no_second_card(
    database: Database,
) -> None:
    async with world(database) as hub:
        ask = await hub.ask(number=1)
        await hub.broker.waiting_calls.ticket(name(number=1))
        await hub.broker.waiting_calls.delivered(name(number=1))
        assert (await hub.ask(number=2)).id == ask.id


async def test_a_link_that_comes_back_after_a_restart_finds_its_ask(database: Database) -> None:
    async with world(database) as hub:
        ask = await hub.ask(link="a")
    async with world(database, hub.clock) as after:
        assert (await after.ask(link="a")).id == ask.id
        after.clock.advance(11)
        assert (await after.ask(link="b")).id != ask.id


async def test_a_link_that_does_not_come_back_counts_as_gone_after_ten_seconds(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as hub:
        ask = await hub.ask(link="a")
    async with world(tmp_path, hub.clock) as after:
        assert (await after.ask(link="b", number=1)).id != ask.id
        await asyncio.wait_for(
            after.clock.until_asleep(after.broker.policy.return_within), PATIENCE
        )
        after.clock.advance(11)
        await after.until(lambda a: a.id == ask.id and a.orphaned_since is not None)
        assert (await after.ask(link="c")).id == ask.id


@pytest.mark.parametrize("answered", [False, True])
async def test_an_agent_whose_link_has_just_left_goes_on_with_its_ask_over_another_one(
    database: Database, answered: bool
) -> None:
    async with world(database) as hub:
        calls = hub.broker.waiting_calls
        first = await hub.ask(link="a")
        if answered:
            await hub.inbox.answer(first.id, BLUE, person=OWNER)
        calls.link_left("a")  # a store that is slow keeps it from being closed
        await calls.wait_for_absent_callers(request(), name("b"))
        again, call = await hub.call(link="b")
        assert again.id == first.id
        await calls.link_closed("a")
        assert (await hub.now(again)).orphaned_since is None
        assert call.late is answered


async def test_what_a_link_waits_for_over_a_second_connection_is_its_own(
    database: Database,
) -> None:
    async with world(database) as hub:
        calls = hub.broker.waiting_calls
        first = await hub.ask(link="a")
        calls.link_opened("a")
        calls.link_left("a")
        await calls.wait_for_absent_callers(request(), name("b"))
        assert (await hub.ask(link="b")).id != first.id


async def test_an_answer_committed_before_a_crash_reaches_the_repeated_call(
    database: Database,
) -> None:
    async with world(database) as hub:
        ask = await hub.ask(link="a")
        await hub.inbox.answer(ask.id, BLUE, person=OWNER)
    async with world(database, hub.clock) as after:
        again, call = await after.call(link="a")
        assert (await after.ended(again)).outcome == (await after.now(ask)).outcome
        assert not call.late


async def test_a_confirmation_repeated_to_the_next_hub_counts(database: Database) -> None:
    async with world(database) as hub:
        ask = await hub.ask(link="a")
        await hub.inbox.answer(ask.id, BLUE, person=OWNER)
    async with world(database, hub.clock) as after:
        await after.broker.waiting_calls.delivered(name("a"))
        await after.broker.waiting_calls.delivered(name("a"))
        assert (await after.now(ask)).delivered_at
        assert (await after.ask(link="b")).id != ask.id
