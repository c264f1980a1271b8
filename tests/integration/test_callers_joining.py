"""A link that asks again what it waits for already: one card, and an answer counts as delivered
only if the newest call was served. Its client may have given the others up without a word."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from chatbridge.core.errors import CallCancelled
from chatbridge.core.model import Ask
from chatbridge.core.store_port import Transaction
from tests.fakes.core_env import BLUE, COLOUR, OWNER, World, name, request, world
from tests.fakes.databases import Database
from tests.telegram_asks import approval

# ── one card ──────────────────────────────────────────────────────────────────────────────────────


async def test_the_same_words_on_one_link_are_one_ask_with_the_later_deadline(
    database: Database,
) -> None:
    async with world(database) as hub:
        first = await hub.ask(link="a", number=1, timeout=100.0)
        again = await hub.ask(link="a", number=2, timeout=200.0)
        assert again.id == first.id
        assert again.deadline == hub.clock.time() + 200
        sooner = await hub.ask(link="a", number=3, timeout=20.0)
        assert (sooner.deadline, sooner.revision) == (again.deadline, again.revision)
        assert len(await hub.inbox.open_asks()) == 1


async def test_every_call_of_the_link_gets_the_answer_under_its_own_ids(database: Database) -> None:
    async with world(database) as hub:
        first, older = await hub.call(link="a", number=1)
        _, newer = await hub.call(replace(COLOUR, id="mine"), link="a", number=2)
        waiting = [asyncio.ensure_future(hub.ended(first)) for _ in range(2)]
        await hub.inbox.answer(first.id, BLUE, person=OWNER)
        for call in waiting:
            outcome = (await call).outcome
            assert outcome
            assert outcome.answers == BLUE
        assert (older.question_ids, newer.question_ids) == (("colour",), ("mine",))


async def test_two_approvals_in_the_same_words_are_two_also_on_one_link(tmp_path: Path) -> None:
    async with world(tmp_path) as hub:
        first = await hub.ask(approval(), link="a", number=1)
        assert (await hub.ask(approval(), link="a", number=2)).id != first.id


async def test_a_link_that_several_agents_use_does_not_mix_their_questions(tmp_path: Path) -> None:
    async with world(tmp_path) as hub:
        hub.broker.waiting_calls.link_opened("a")
        asked = [
            await hub.broker.ask(request(), name("a", number), shared_link=True)
            for number in (1, 2)
        ]
        assert asked[0][0].id != asked[1][0].id


async def test_a_call_joins_the_ask_of_its_link_and_not_a_newer_one_that_nobody_waits_for(
    database: Database,
) -> None:
    async with world(database) as hub:
        mine = await hub.ask(link="a", number=1)
        await hub.broker.waiting_calls.ticket(name("a", 1))
        await hub.broker.waiting_calls.delivered(name("a", 1))
        other = await hub.ask(link="b")
        await hub.broker.waiting_calls.link_closed("b")
        assert other.id != mine.id
        assert (await hub.ask(link="a", number=2)).id == mine.id


# ── delivered ─────────────────────────────────────────────────────────────────────────────────────


async def joined(hub: World) -> Ask:
    """An ask that two calls of a link wait for, answered."""
    ask = await hub.ask(link="a", number=1)
    await hub.ask(link="a", number=2)
    await hub.inbox.answer(ask.id, BLUE, person=OWNER)
    return ask


@pytest.mark.parametrize("order", [(1, 2), (2, 1), (2,)])
async def test_an_answer_that_the_newest_call_got_is_delivered(
    tmp_path: Path, order: tuple[int, ...]
) -> None:
    async with world(tmp_path) as hub:
        ask = await joined(hub)
        for number in order:
            await hub.broker.waiting_calls.delivered(name("a", number))
        assert (await hub.now(ask)).delivered_at
        assert (await hub.ask(link="a", number=3)).id != ask.id


async def test_an_answer_that_only_a_superseded_call_got_is_kept_for_the_next(
    database: Database,
) -> None:
    async with world(database) as hub:
        ask = await joined(hub)
        await hub.broker.waiting_calls.delivered(name("a", 1))
        assert (await hub.now(ask)).delivered_at is None
        await hub.broker.waiting_calls.link_closed("a")
        await hub.broker.waiting_calls.link_closed("a")
        assert (await hub.now(ask)).kept
        taken, call = await hub.call(link="b")
        assert (taken.id, call.late) == (ask.id, True)


async def test_an_answer_to_the_one_call_that_was_not_cancelled_is_delivered(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as hub:
        ask = await hub.ask(link="a", number=1)
        await hub.ask(link="a", number=2)
        await hub.broker.waiting_calls.cancel(name("a", 2))
        await hub.inbox.answer(ask.id, BLUE, person=OWNER)
        await hub.broker.waiting_calls.delivered(name("a", 1))
        assert (await hub.now(ask)).delivered_at
        assert (await hub.ask(link="a", number=3)).id != ask.id


async def test_an_answer_is_kept_if_the_newest_call_was_given_up_in_silence(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as hub:
        ask = await hub.ask(link="a", number=1)
        await hub.ask(link="a", number=2)
        now = hub.clock.time()
        await hub.broker.waiting_calls.set_counts_until(name("a", 2), now + 5, began=now)
        await hub.broker.waiting_calls.cancel(name("a", 2))
        await hub.inbox.answer(ask.id, BLUE, person=OWNER)
        await hub.broker.waiting_calls.delivered(name("a", 1))
        assert (await hub.now(ask)).delivered_at is None
        assert (await hub.call(link="a", number=3))[1].late


async def test_an_answer_is_not_delivered_while_the_newest_call_has_but_a_ticket(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as hub:
        ask = await hub.ask(link="a", number=1)
        await hub.ask(link="a", number=2)
        await hub.broker.waiting_calls.ticket(name("a", 2))
        await hub.broker.waiting_calls.delivered(name("a", 2))
        await hub.inbox.answer(ask.id, BLUE, person=OWNER)
        await hub.broker.waiting_calls.delivered(name("a", 1))
        assert (await hub.now(ask)).delivered_at is None
        await hub.broker.follow(ask.id, name("a", 3), project="/src/shop")
        await hub.broker.waiting_calls.delivered(name("a", 3))
        assert (await hub.now(ask)).delivered_at


# ── what a link's calls show of its client's limit ────────────────────────────────────────────────


async def test_a_call_that_was_asked_again_shows_its_clients_limit(tmp_path: Path) -> None:
    async with world(tmp_path) as hub:
        await hub.ask(link="a", number=1)
        hub.clock.advance(7)
        await hub.ask(link="a", number=2)
        learned = hub.broker.waiting_calls.learned_limit("a")
        assert learned
        assert learned.seconds == pytest.approx(7)
        assert not learned.cancels
        hub.clock.advance(60)
        await hub.ask(link="a", number=3)
        assert hub.broker.waiting_calls.learned_limit("a") == learned, (
            "a longer time says nothing new"
        )
        assert hub.broker.waiting_calls.learned_limit("b") is None


async def test_a_wait_that_was_begun_again_shows_it_too_but_not_one_that_had_its_ticket(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as hub:
        ask = await hub.ask(link="a", number=1)
        await hub.broker.waiting_calls.ticket(name("a", 1))
        await hub.broker.waiting_calls.delivered(name("a", 1))
        for number in (2, 3):
            hub.clock.advance(7)
            assert hub.broker.waiting_calls.learned_limit("a") is None
            await hub.broker.follow(ask.id, name("a", number), project="/src/shop")
        assert hub.broker.waiting_calls.learned_limit("a")


@pytest.mark.parametrize("timed_out", [True, False])
async def test_a_call_that_was_cancelled_shows_it_only_if_its_time_was_over(
    tmp_path: Path, timed_out: bool
) -> None:
    async with world(tmp_path) as hub:
        await hub.ask(link="a", number=1)
        hub.clock.advance(30)
        await hub.broker.waiting_calls.cancel(name("a", 1), timed_out=timed_out)
        learned = hub.broker.waiting_calls.learned_limit("a")
        assert (learned is not None) is timed_out
        if learned is not None:
            assert learned.seconds == pytest.approx(30)
            assert learned.cancels


@pytest.mark.parametrize(("ages", "learned"), [((20, 90), None), ((20,), None), ((30, 30.5), 30.5)])
async def test_cancelling_without_a_reason_shows_it_only_if_it_comes_twice_after_the_same_time(
    tmp_path: Path, ages: tuple[float, ...], learned: float | None
) -> None:
    async with world(tmp_path) as hub:
        for number, age in enumerate(ages, 1):
            await hub.ask(link="a", number=number)
            hub.clock.advance(age)
            await hub.broker.waiting_calls.cancel(name("a", number), timed_out=None)
        limit = hub.broker.waiting_calls.learned_limit("a")
        assert (limit.seconds if limit else None) == (learned and pytest.approx(learned))


async def test_calls_that_are_stopped_together_without_a_reason_show_nothing(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as hub:
        for number in (1, 2):
            await hub.ask(replace(COLOUR, text=f"Which {number}?"), link="a", number=number)
        hub.clock.advance(17)
        for number in (1, 2):
            await hub.broker.waiting_calls.cancel(name("a", number), timed_out=None)
        assert hub.broker.waiting_calls.learned_limit("a") is None


async def test_calls_in_parallel_and_unused_tickets_show_nothing(tmp_path: Path) -> None:
    async with world(tmp_path) as hub:
        for number in (1, 2):
            await hub.ask(link="a", number=number)
        await hub.ask(link="b", number=1)
        await hub.broker.waiting_calls.ticket(name("b", 1))
        hub.clock.advance(20)
        await hub.broker.waiting_calls.delivered(name("b", 1))
        await hub.ask(link="b", number=2)
        assert hub.broker.waiting_calls.learned_limit("a") is None
        assert hub.broker.waiting_calls.learned_limit("b") is None


async def test_a_ticket_that_nobody_used_came_too_late_where_a_limit_is_known_to_be_near(
    tmp_path: Path,
) -> None:
    """What is learned at first includes the time in which the model thought."""
    async with world(tmp_path) as hub:
        await hub.ask(link="a", number=1)
        hub.clock.advance(9)
        await hub.ask(link="a", number=2)
        hub.clock.advance(7)
        await hub.broker.waiting_calls.ticket(name("a", 2))
        await hub.broker.waiting_calls.delivered(name("a", 2))
        hub.clock.advance(2)
        await hub.ask(link="a", number=3)
        learned = hub.broker.waiting_calls.learned_limit("a")
        assert learned
        assert learned.seconds == pytest.approx(7)


async def test_what_was_learned_of_a_link_goes_with_it(tmp_path: Path) -> None:
    async with world(tmp_path) as hub:
        for number in (1, 2):
            await hub.ask(link="a", number=number)
            hub.clock.advance(7)
        await hub.broker.waiting_calls.cancel(name("a", 2), timed_out=True)
        assert hub.broker.waiting_calls.learned_limit("a")
        for _ in range(2):
            await hub.broker.waiting_calls.link_closed("a")
        assert hub.broker.waiting_calls.learned_limit("a") is None


# ── works that are run again ──────────────────────────────────────────────────────────────────────


async def in_one_commit_that_fails_at_first(hub: World, *works: object) -> None:
    """All works share a commit; another one spoils it, so that each is run again by itself."""

    async def spoil(tx: Transaction) -> None:
        await tx.drop_note(channel="x", key="x")
        raise OSError("spoiled")

    await asyncio.gather(*works, hub.store.write(spoil), return_exceptions=True)  # type: ignore[call-overload]


async def test_a_late_cancellation_whose_commit_was_run_again_forbids_nothing(
    database: Database,
) -> None:
    """Only in the commit that counts the response has reached the client."""
    async with world(database) as hub:
        ask, call = await hub.call(link="a", number=1)
        runs = 0

        async def confirmed(tx: Transaction) -> None:
            nonlocal runs
            runs += 1
            if runs == 2:
                now = hub.clock.time()
                await tx.save_call(replace(call, delivered_at=now, ended_at=now))

        waiting_calls = hub.broker.waiting_calls
        await in_one_commit_that_fails_at_first(
            hub, hub.store.write(confirmed), waiting_calls.cancel(name("a", 1))
        )
        assert runs == 2
        waiting_calls.check_not_cancelled(name("a", 1))
        assert (await hub.now(ask)).open


async def test_a_call_in_the_same_commit_as_its_cancellation_does_not_begin(
    database: Database,
) -> None:
    async with world(database) as hub:
        waiting_calls = hub.broker.waiting_calls
        waiting_calls.link_opened("a")
        left, asked = await asyncio.gather(
            waiting_calls.cancel(name("a", 1)),
            hub.broker.ask(request(), name("a", 1)),
            return_exceptions=True,
        )
        assert left is None
        assert isinstance(asked, CallCancelled)
        assert not await hub.inbox.open_asks()


async def test_a_limit_is_learned_once_though_its_commit_is_run_again(database: Database) -> None:
    async with world(database) as hub:
        await hub.ask(link="a", number=1)
        hub.clock.advance(7)
        await in_one_commit_that_fails_at_first(hub, hub.ask(link="a", number=2))
        learned = hub.broker.waiting_calls.learned_limit("a")
        assert learned
        assert learned.seconds == pytest.approx(7)
        assert len(await hub.inbox.open_asks()) == 1
