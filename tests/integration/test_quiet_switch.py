"""Quiet hours in force: switched by hand, kept over restarts, and urgent questions within them."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from chatbridge.core.asks.deadlines import Due, apply_due
from chatbridge.core.errors import ChatbridgeError
from chatbridge.core.forms import form
from chatbridge.core.model import (
    Ask,
    AskRequest,
    ChannelState,
    Person,
    Priority,
    QuietRule,
    Status,
)
from chatbridge.core.nights.nights import Nights
from chatbridge.core.nights.policy import NightPolicy, Sound
from tests.fakes.core_env import COLOUR, World, name, request, world

ADA = Person(name="Ada", channel="web")
MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
NIGHT = NightPolicy(quiet=QuietRule(hours=("22:30-07:00",) * 7, zone="UTC"))
"""The clock begins at 22:41 UTC."""
HOLD = NightPolicy(quiet=QuietRule(hours=("22:30-07:00",) * 7, zone="UTC", hold=True))


def nights_of(hub: World) -> Nights:
    return hub.broker.policy.nights


async def asked(hub: World, given: AskRequest, number: int = 1, link: str = "link-1") -> Ask:
    hub.broker.waiting_calls.link_opened(link)
    return (await hub.broker.ask(given, name(link, number)))[0]


def questions(count: int, priority: Priority, project: str = "/src/shop") -> list[AskRequest]:
    return [
        request(replace(COLOUR, text=f"Which colour has {n}?"), priority=priority, project=project)
        for n in range(count)
    ]


# ── the switch ────────────────────────────────────────────────────────────────────────────────────


async def test_switching_on_moves_deadlines_that_are_quiet_now(tmp_path: Path) -> None:
    async with world(tmp_path, max_timeout=DAY) as hub:
        soon = await hub.ask(timeout=HOUR)
        late = await hub.ask(replace(COLOUR, text="Which one?"), number=2, timeout=5 * HOUR)
        await hub.inbox.switch_quiet("2h", person=ADA)
        end = hub.clock.time() + 2 * HOUR
        assert (await hub.now(soon)).deadline == end + 30 * MINUTE
        assert (await hub.now(late)).deadline == late.deadline
        assert (
            await hub.until(lambda ask: ask.id == soon.id and ask.revision > soon.revision)
        ).open


async def test_a_moved_deadline_is_the_one_that_ends_it(tmp_path: Path) -> None:
    async with world(tmp_path, max_timeout=DAY) as hub:
        ask = await hub.ask(timeout=HOUR)
        await hub.inbox.switch_quiet("2h", person=ADA)
        hub.clock.advance(HOUR + 1)
        assert (await hub.now(ask)).open
        hub.clock.advance(1.5 * HOUR)
        assert (await hub.ended(ask)).status is Status.TIMED_OUT


async def test_switching_off_lets_be_seen_what_was_held(tmp_path: Path) -> None:
    async with world(tmp_path, nights=HOLD, max_timeout=DAY) as hub:
        ask = await hub.ask(timeout=HOUR)
        assert nights_of(hub).sound(ask, now=hub.clock.time()) is Sound.HIDDEN
        await hub.inbox.switch_quiet("off", person=ADA)

        def is_shown(each: Ask) -> bool:
            sound = nights_of(hub).sound(each, now=hub.clock.time())
            return each.id == ask.id and sound is not Sound.HIDDEN

        await hub.until(is_shown)  # delivery looks again


async def test_a_switch_and_its_cursor_survive_a_kill(tmp_path: Path) -> None:
    cursor = ChannelState(channel="telegram", key="offset", value="7", at=1.0)
    async with world(tmp_path) as hub:
        await hub.inbox.switch_quiet("2h", cursor=cursor, person=ADA)
        switch = nights_of(hub).switch
    async with world(tmp_path, hub.clock) as after:
        assert nights_of(after).switch == switch
        assert nights_of(after).is_quiet(after.clock.time())
        assert await after.store.note("telegram", "offset") == cursor
        await after.inbox.switch_quiet("off", person=ADA)
    after.clock.advance(1)
    async with world(tmp_path, after.clock) as last:
        assert not nights_of(last).is_quiet(last.clock.time())


async def test_a_switch_that_is_over_changes_nothing_after_a_restart(tmp_path: Path) -> None:
    async with world(tmp_path) as hub:
        await hub.inbox.switch_quiet("2h", person=ADA)
    hub.clock.advance(3 * HOUR)
    async with world(tmp_path, hub.clock) as after:
        assert not nights_of(after).is_quiet(after.clock.time())


async def test_words_that_mean_nothing_change_nothing(tmp_path: Path) -> None:
    async with world(tmp_path) as hub:
        with pytest.raises(ChatbridgeError, match="such as 2h"):
            await hub.inbox.switch_quiet("for ever", person=ADA)
        assert nights_of(hub).switch is None


async def test_an_ask_that_comes_while_it_is_switched_is_moved_as_well(tmp_path: Path) -> None:
    async with world(tmp_path, max_timeout=DAY) as hub:
        asks, _ = await asyncio.gather(
            asyncio.gather(
                *(asked(hub, each, n) for n, each in enumerate(questions(8, Priority.NORMAL)))
            ),
            hub.inbox.switch_quiet("2h", person=ADA),
        )
        for ask in asks:
            deadline = (await hub.now(ask)).deadline
            assert nights_of(hub).calendar.period_at(deadline or 0.0) is None


# ── clocks that step, machines that sleep ─────────────────────────────────────────────────────────


async def test_a_question_of_the_night_waits_until_after_it(tmp_path: Path) -> None:
    async with world(tmp_path, nights=NIGHT, max_timeout=DAY) as hub:
        ask = await hub.ask(timeout=HOUR)
        hub.clock.step(7 * HOUR)  # asleep until 05:41
        hub.clock.advance(30)
        assert (await hub.now(ask)).open
        hub.clock.step(2 * HOUR)  # until 07:41
        hub.clock.advance(30)
        assert (await hub.ended(ask)).status is Status.TIMED_OUT


@pytest.mark.parametrize("restarted", [False, True])
async def test_what_was_held_does_not_time_out_unseen_while_the_machine_sleeps(
    tmp_path: Path, restarted: bool
) -> None:
    async with world(tmp_path, nights=HOLD, max_timeout=DAY) as hub:
        ask = await hub.ask(timeout=HOUR)
        assert ask.deadline
        if not restarted:
            hub.clock.step(11 * HOUR)  # until 09:41
            hub.clock.advance(30)
            moved = await hub.until(lambda each: (each.deadline or 0.0) > hub.clock.time())
    if restarted:
        hub.clock.step(11 * HOUR)
    async with world(tmp_path, hub.clock, nights=HOLD, max_timeout=DAY) as after:
        if restarted:
            moved = await after.until(lambda each: (each.deadline or 0.0) > after.clock.time())
        assert moved.deadline == after.clock.time() + 10 * MINUTE
        assert nights_of(after).sound(moved, now=after.clock.time()) is not Sound.HIDDEN
        after.clock.advance(10 * MINUTE + 1)
        assert (await after.ended(ask)).status is Status.TIMED_OUT


async def test_what_was_snoozed_comes_back_with_time_to_answer_it(tmp_path: Path) -> None:
    async with world(tmp_path, max_timeout=DAY) as hub:
        ask = await hub.ask(timeout=HOUR)
        await hub.inbox.put(ask.id, form.Snooze(minutes=60), person=ADA)
        hub.clock.step(3 * HOUR)
        hub.clock.advance(30)
        back = await hub.until(lambda each: each.attention.raised == 1)
        assert back.deadline == hub.clock.time() + 15 * MINUTE
        assert (await hub.now(ask)).open


async def test_a_deadline_that_is_applied_before_the_end_of_a_snooze_ends_nothing(
    tmp_path: Path,
) -> None:
    async with world(tmp_path, max_timeout=DAY) as hub:
        ask = await hub.ask(timeout=HOUR)
        await hub.inbox.put(ask.id, form.Snooze(minutes=60), person=ADA)
        snoozed, policy = await hub.now(ask), hub.broker.policy
        now = hub.clock.time() + 3 * HOUR
        back = apply_due(Due.DEADLINE, snoozed, now=now, policy=policy)
        assert (back.open, back.deadline) == (True, now + 15 * MINUTE)
        assert back.attention.raised == 1
        assert apply_due(Due.WAKE, back, now=now, policy=policy) is back


async def test_more_time_does_not_end_a_snooze(tmp_path: Path) -> None:
    async with world(tmp_path, max_timeout=DAY) as hub:
        ask = await hub.ask(timeout=HOUR)
        await hub.inbox.put(ask.id, form.Snooze(minutes=60), person=ADA)
        snoozed = await hub.now(ask)
        await hub.inbox.put(ask.id, form.Extend(minutes=15), person=ADA)
        extended = await hub.now(ask)
        assert extended.attention.snoozed_until == hub.clock.time() + HOUR
        assert extended.deadline == (snoozed.deadline or 0.0) + 15 * MINUTE


async def test_a_snooze_into_the_night_does_not_end_there(tmp_path: Path) -> None:
    async with world(tmp_path, nights=NIGHT, max_timeout=DAY) as hub:
        hub.clock.step(-HOUR)  # 21:41
        ask = await hub.ask(timeout=30 * MINUTE)
        await hub.inbox.put(ask.id, form.Snooze(minutes=60), person=ADA)
        night = nights_of(hub).calendar.period_at(hub.clock.time() + HOUR)
        assert night
        assert (await hub.now(ask)).deadline == night.end + 30 * MINUTE


async def test_a_reminder_that_a_machine_slept_over_into_the_night_comes_in_the_morning(
    tmp_path: Path,
) -> None:
    async with world(tmp_path, nights=NIGHT, max_timeout=DAY) as hub:
        hub.clock.step(-HOUR)  # 21:41
        ask = await hub.ask(timeout=20 * HOUR)
        hub.clock.step(HOUR)
        hub.clock.advance(30)  # the reminder of 21:56 is overdue, and it is quiet
        await asyncio.wait_for(hub.clock.until_asleep(30.0), 20)
        assert (await hub.now(ask)).attention.reminded_at is None
        hub.clock.step(8.25 * HOUR)  # 06:56
        hub.clock.advance(30)
        await asyncio.wait_for(hub.clock.until_asleep(30.0), 20)
        assert (await hub.now(ask)).attention.reminded_at is None
        hub.clock.advance(5 * MINUTE)
        reminded = await hub.until(lambda each: each.attention.reminded_at is not None)
        assert reminded.attention.raised == 1


async def test_a_clock_that_steps_back_into_the_night_reminds_nobody(tmp_path: Path) -> None:
    async with world(tmp_path, nights=NIGHT, max_timeout=DAY) as hub:
        hub.clock.step(10 * HOUR)  # 08:41
        ask = await hub.ask(timeout=20 * HOUR)
        hub.clock.step(-4 * HOUR)  # 04:41
        hub.clock.advance(20 * MINUTE)
        await asyncio.wait_for(hub.clock.until_asleep(30.0), 20)
        assert (await hub.now(ask)).attention.reminded_at is None


# ── urgent questions ──────────────────────────────────────────────────────────────────────────────


async def test_an_agent_that_marks_everything_urgent_rings_three_times_a_night(
    tmp_path: Path,
) -> None:
    async with world(tmp_path, nights=NIGHT, max_timeout=DAY) as hub:
        urgent = questions(6, Priority.URGENT)
        asks = [await asked(hub, each, n) for n, each in enumerate(urgent)]
        now = hub.clock.time()
        loud = [nights_of(hub).sound(ask, now=now) is Sound.LOUD for ask in asks]
        assert loud == [True] * 3 + [False] * 3
        assert [ask.attention.over_budget for ask in asks] == [None] * 3 + [3] * 3
        assert {ask.attention.priority for ask in asks[3:]} == {Priority.NORMAL}
        # What rings keeps its end, and what does not is moved like any other.
        assert asks[0].deadline == now + 5 * MINUTE
        assert asks[3].deadline == now + 8 * HOUR + 49 * MINUTE  # 07:30


async def test_answers_and_restarts_do_not_make_room_for_more(tmp_path: Path) -> None:
    urgent = questions(5, Priority.URGENT)
    async with world(tmp_path, nights=NIGHT) as hub:
        for n, each in enumerate(urgent[:3]):
            await hub.broker.time_out((await asked(hub, each, n)).id)
    async with world(tmp_path, hub.clock, nights=NIGHT) as after:
        assert (await asked(after, urgent[3], 3)).attention.over_budget == 3
        after.clock.advance(24 * HOUR)  # another night
        assert (await asked(after, urgent[4], 4)).attention.over_budget is None


async def test_each_project_has_a_budget_of_its_own_and_the_day_has_none(tmp_path: Path) -> None:
    async with world(tmp_path, nights=replace(NIGHT, max_urgent=1)) as hub:
        first, second = questions(2, Priority.URGENT)
        assert (await asked(hub, first, 1)).attention.over_budget is None
        assert (await asked(hub, second, 2)).attention.over_budget == 1
        (elsewhere,) = questions(1, Priority.URGENT, project="/src/docs")
        assert (await asked(hub, elsewhere, 3)).attention.over_budget is None
        hub.clock.advance(10 * HOUR)
        for n, each in enumerate(questions(7, Priority.URGENT)[2:], 10):  # in other words
            assert (await asked(hub, each, n)).attention.priority is Priority.URGENT


async def test_where_urgent_does_not_ring_nothing_is_counted(tmp_path: Path) -> None:
    silent = replace(NIGHT, let_through=frozenset(), max_urgent=0)
    async with world(tmp_path, nights=silent) as hub:
        (urgent,) = questions(1, Priority.URGENT)
        ask = await asked(hub, urgent)
        assert ask.attention.over_budget is None
        assert nights_of(hub).sound(ask, now=hub.clock.time()) is Sound.SILENT


async def test_the_same_question_with_another_priority_stays_as_loud_as_it_was(
    tmp_path: Path,
) -> None:
    async with world(tmp_path, nights=NIGHT) as hub:
        (calm,), (urgent,) = questions(1, Priority.LOW), questions(1, Priority.URGENT)
        assert calm.fingerprint == urgent.fingerprint
        ask = await asked(hub, calm, 1)
        again = await asked(hub, urgent, 2)
        assert (again.id, again.attention) == (ask.id, ask.attention)


# ── a project's own quiet hours ───────────────────────────────────────────────────────────────────

PROJECTS = QuietRule(hours=("22:00-09:00",) * 7, zone="UTC", hold=True)


@pytest.mark.parametrize("extend", [True, False])
@pytest.mark.parametrize("timeout", [MINUTE, HOUR, 10 * HOUR, 12 * HOUR])
async def test_a_project_cannot_hide_a_question_until_it_times_out(
    tmp_path: Path, timeout: float, extend: bool
) -> None:
    nights = NightPolicy(extend_deadlines=extend)
    async with world(tmp_path, nights=nights, max_timeout=12 * HOUR) as hub:
        ask = await asked(hub, replace(request(timeout=timeout), quiet=PROJECTS))
        held = nights_of(hub).held_until(ask, now=hub.clock.time())
        assert ask.deadline is not None
        assert held is None or ask.deadline - held >= 10 * MINUTE
        if held is None:
            assert nights_of(hub).sound(ask, now=hub.clock.time()) is Sound.SILENT
        else:
            hub.clock.advance(held - hub.clock.time())
            shown = await hub.until(lambda each: each.revision > ask.revision)
            assert nights_of(hub).sound(shown, now=hub.clock.time()) is Sound.ONCE
