"""Deadlines against answers: what a person did in time counts, whatever happened meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from chatbridge.core.asks import transitions as asks
from chatbridge.core.errors import StoreError
from chatbridge.core.model import Ask, Status
from chatbridge.core.nights.policy import NightPolicy
from chatbridge.store.sqlite.store import SqliteStore
from tests.fakes.core_env import BLUE, OWNER, PATIENCE, World, world
from tests.fakes.databases import Database
from tests.fakes.inbox import more_time


def backlog(ask: Ask) -> Callable[[World], Awaitable[None]]:
    """A channel whose service has kept one answer for it."""

    async def drained(hub: World) -> None:
        await hub.inbox.answer(ask.id, BLUE, person=OWNER)

    return drained


async def never(_: World) -> None:
    await asyncio.Event().wait()


async def test_an_answer_given_while_the_hub_was_down_counts_though_the_deadline_passed(
    database: Database,
) -> None:
    async with world(database) as hub:
        ask = await hub.ask(timeout=60.0)
    hub.clock.advance(3600)
    async with world(database, hub.clock, drained=backlog(ask)) as after:
        assert (await after.ended(ask)).status is Status.ANSWERED


async def test_a_deadline_that_passed_while_the_hub_was_down_is_applied_after_the_backlog(
    database: Database,
) -> None:
    async with world(database) as hub:
        ask = await hub.ask(timeout=60.0)
    hub.clock.advance(3600)
    async with world(database, hub.clock) as after:
        assert (await after.ended(ask)).status is Status.TIMED_OUT


async def test_a_channel_that_never_drains_holds_deadlines_for_a_minute_at_most(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as hub:
        ask = await hub.ask(timeout=60.0)
    hub.clock.advance(3600)
    async with world(tmp_path, hub.clock, drained=never) as after:
        waiting = asyncio.ensure_future(after.ended(ask))
        await asyncio.wait_for(after.clock.until_asleep(60.0), 20)
        await after.ask(link="b")  # the new hub works meanwhile
        after.clock.advance(59)
        assert (await after.now(ask)).open
        after.clock.advance(2)
        assert (await waiting).status is Status.TIMED_OUT


async def test_a_clock_that_steps_forward_lets_the_backlog_in_before_the_deadline(
    tmp_path: Path,
) -> None:
    kept: list[Ask] = []

    async def drained(hub: World) -> None:
        for ask in kept:
            await hub.inbox.answer(ask.id, BLUE, person=OWNER)

    async with world(tmp_path, drained=drained) as hub:
        kept.append(await hub.ask(timeout=600.0))
        hub.clock.step(3600)
        hub.clock.advance(30)  # the next look at the wall clock
        assert (await hub.ended(kept[0])).status is Status.ANSWERED


async def test_a_suspended_machine_does_not_skip_a_deadline(tmp_path: Path) -> None:
    async with world(tmp_path) as hub:
        ask = await hub.ask(timeout=600.0)
        hub.clock.step(3600)  # asleep: monotonic time stood still
        hub.clock.advance(30)
        assert (await hub.ended(ask)).status is Status.TIMED_OUT


async def test_a_clock_that_steps_back_leaves_the_ask_open_until_its_deadline(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as hub:
        ask = await hub.ask(timeout=600.0)
        hub.clock.step(-3600)
        hub.clock.advance(630)
        assert (await hub.now(ask)).open
        waiting = asyncio.ensure_future(hub.ended(ask))
        while not waiting.done():
            hub.clock.advance(30)
            await asyncio.sleep(0)
        assert (await waiting).status is Status.TIMED_OUT
        assert hub.clock.time() >= (ask.deadline or 0)


async def test_a_nearer_deadline_is_not_slept_over(tmp_path: Path) -> None:
    async with world(tmp_path) as hub:
        await hub.ask(timeout=1800.0, number=1, link="a")
        near = await hub.ask(timeout=10.0, number=2, link="b")
        hub.clock.advance(11)
        assert (await hub.ended(near)).status is Status.TIMED_OUT


async def test_many_deadlines_at_once_are_all_applied(tmp_path: Path) -> None:
    async with world(tmp_path, max_open_asks=1000) as hub:
        asks = [await hub.ask(timeout=60.0, link=f"l{i}") for i in range(450)]
        hub.clock.advance(61)
        ended = await asyncio.gather(*(hub.ended(ask) for ask in asks))
        assert {ask.status for ask in ended} == {Status.TIMED_OUT}


async def test_a_store_that_fails_at_the_start_only_delays_the_deadlines(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world(tmp_path) as hub:
        ask = await hub.ask(timeout=60.0)
    works = SqliteStore.open_asks
    faults = [StoreError("the disk is full")]

    async def open_asks(store: SqliteStore) -> Sequence[Ask]:
        if faults:
            raise faults.pop()
        return await works(store)

    monkeypatch.setattr(SqliteStore, "open_asks", open_asks)
    hub.clock.advance(61)
    async with world(tmp_path, hub.clock, starting=True) as after:
        waiting = asyncio.ensure_future(after.ended(ask))
        while not waiting.done():
            after.clock.advance(1)
            await asyncio.sleep(0)
        assert (await waiting).status is Status.TIMED_OUT
    assert "deadlines are not known yet" in caplog.text


async def test_what_changes_while_the_starting_hub_reads_its_asks_comes_due(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    works = SqliteStore.open_asks
    asked, read, changed = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def open_asks(store: SqliteStore) -> Sequence[Ask]:
        await asked.wait()
        found = await works(store)
        read.set()
        await changed.wait()
        return found

    monkeypatch.setattr(SqliteStore, "open_asks", open_asks)
    async with world(tmp_path, starting=True) as hub:
        await hub.ask()
        asked.set()
        await asyncio.wait_for(read.wait(), PATIENCE)
        await hub.broker.waiting_calls.link_closed("link-1")
        changed.set()
        await asyncio.wait_for(hub.clock.until_asleep(30.0), PATIENCE)
        hub.clock.advance(121)
        await hub.until(lambda ask: ask.orphaned)


async def test_a_card_is_drawn_anew_when_its_time_runs_out_and_each_time_only_once(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as hub:
        ask = await hub.ask(timeout=1800.0)
        assert ask.deadline
        for number, left in enumerate((15, 6), start=1):  # reminded, and soon
            hub.clock.advance(ask.deadline - left * 60 - hub.clock.time())
            await hub.until(lambda seen, n=number: seen.revision == ask.revision + n)  # type: ignore[misc]
        hub.clock.advance(300)
        assert (await hub.now(ask)).revision == ask.revision + 2


async def test_a_card_whose_time_ran_out_while_the_hub_was_down_is_drawn_anew(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as hub:
        ask = await hub.ask(timeout=1800.0)
    hub.clock.advance(1500)
    async with world(tmp_path, hub.clock) as after:
        await after.until(lambda seen: seen.revision == ask.revision + 1)


async def test_more_time_takes_the_old_turns_back(tmp_path: Path) -> None:
    async with world(tmp_path, max_timeout=7200.0) as hub:
        hub.broker.policy.nights.policy = NightPolicy(reminders=())
        ask = await hub.ask(timeout=1200.0)
        hub.clock.advance(30)
        later = await more_time(hub.inbox, ask.id, person=OWNER)
        assert ask.deadline
        hub.clock.advance(ask.deadline - 3 * 60 - hub.clock.time())
        assert await hub.now(ask) == later


async def test_who_ends_an_ask_and_is_cancelled_in_the_middle_of_it_has_ended_it_for_all(
    database: Database,
) -> None:
    async with world(database) as hub:
        ask = await hub.ask()
        waiting = asyncio.ensure_future(hub.ended(ask))
        leaving: asyncio.Task[Ask]

        def ended(ask: Ask) -> Ask:
            leaving.cancel()
            return asks.time_out(ask, now=hub.clock.time(), policy=hub.broker.policy)

        leaving = asyncio.ensure_future(hub.broker.change(ask.id, ended))
        with pytest.raises(asyncio.CancelledError):
            await leaving
        assert (await waiting).status is Status.TIMED_OUT
        await hub.until(lambda change: change.status is Status.TIMED_OUT)


async def test_an_ask_that_has_ended_is_on_the_agenda_no_longer(tmp_path: Path) -> None:
    async with world(tmp_path, max_timeout=1e9) as hub:
        for number in range(300):
            ask, call = await hub.call(number=number, timeout=1e6)
            await hub.inbox.answer(ask.id, BLUE, person=OWNER)
            await hub.broker.waiting_calls.delivered(call.name)
        assert not len(hub.broker._scheduler)
