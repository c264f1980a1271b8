"""What nights mean for an ask, whatever the hours, the settings and the ask."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from math import inf
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.core.asks.deadlines import Due, all_due, apply_due
from chatbridge.core.model import Ask, Attention, Priority, QuestionType, QuietRule
from chatbridge.core.nights.hours import Period, Switch
from chatbridge.core.nights.nights import Nights
from chatbridge.core.nights.policy import (
    FILLING_IN_SECONDS,
    REMINDERS_APART_SECONDS,
    NightPolicy,
    Sound,
    is_let_through,
    reminder_times,
)
from chatbridge.core.nights.summary import latest_period, next_end
from chatbridge.core.policy import Policy
from tests.contract.asks import an_ask, answered

ZONES = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Tokyo"]
HOURS = [
    ("22:30-07:00",) * 7,
    ("22:30-07:00, 07:15-08:00, 12:00-13:00",) * 7,
    ("02:00-03:00",) * 7,
    ("00:00-23:00",) * 7,
    ("",) * 5 + ("00:00-24:00",) * 2,
    ("00:00-24:00",) * 6 + ("00:00-23:59",),
    ("",) * 7,
]
BEGINNING = datetime(2026, 3, 27, tzinfo=ZoneInfo("UTC"))  # two days before Berlin's clocks change
HOUR = 3600.0

rules = st.builds(
    QuietRule, hours=st.sampled_from(HOURS), zone=st.sampled_from(ZONES), hold=st.booleans()
)
moments = st.builds(
    lambda minutes: (BEGINNING + timedelta(minutes=minutes)).timestamp(),
    st.integers(0, 6 * 24 * 60),
)
spans = st.floats(1, 40 * HOUR)
policies = st.builds(
    NightPolicy,
    quiet=st.none() | rules,
    let_through=st.sets(st.sampled_from(["approval", "urgent"])).map(frozenset),
    extend_deadlines=st.booleans(),
    grace=st.sampled_from([60.0, 1800.0, 5 * HOUR, 20 * HOUR]),
    reminders=st.lists(st.floats(1, 30 * HOUR), max_size=5, unique=True).map(sorted).map(tuple),
    summary=st.booleans(),
    summary_at=st.none() | st.sampled_from([3 * 60, 7 * 60, 20 * 60]),
)


@st.composite
def nights(draw: st.DrawFn) -> Nights:
    start = draw(moments)
    switch = draw(
        st.none() | st.builds(Switch, st.booleans(), spans.map(lambda n: Period(start, start + n)))
    )
    return Nights(policy=draw(policies), switch=switch)


@st.composite
def asks(draw: st.DrawFn) -> Ask:
    created, ask = draw(moments), an_ask()
    if draw(st.integers(0, 3)) == 0:
        question = replace(ask.questions[0], type=QuestionType.APPROVAL)
        ask = replace(ask, questions=(question,))
    attention = Attention(priority=draw(st.sampled_from(Priority)), quiet=draw(st.none() | rules))
    deadline = draw(st.none() | spans.map(lambda n: created + n))
    return replace(ask, created_at=created, deadline=deadline, attention=attention)


@given(asks(), nights(), spans)
def test_a_deadline_is_never_earlier_nor_past_the_latest_nor_in_quiet_hours_unless_it_has_to(
    ask: Ask, nights: Nights, longest: float
) -> None:
    calendar, latest = nights.calendar_of(ask), ask.created_at + longest
    moved = nights.deadline_after_quiet(ask, latest=latest)
    if ask.deadline is None:
        assert moved is None
        return
    assert moved is not None
    assert moved >= ask.deadline
    assert moved <= max(ask.deadline, latest)
    fixed = not nights.policy.extend_deadlines or is_let_through(ask, nights.policy)
    if fixed or calendar.period_at(ask.deadline) is None:
        assert moved == ask.deadline
    elif moved < latest and ask.deadline < latest:
        assert calendar.period_at(moved) is None


@given(asks(), nights(), spans)
def test_moving_a_deadline_again_moves_it_no_further(
    ask: Ask, nights: Nights, longest: float
) -> None:
    latest = ask.created_at + longest
    once = replace(ask, deadline=nights.deadline_after_quiet(ask, latest=latest))
    assert nights.deadline_after_quiet(once, latest=latest) == once.deadline


@given(asks(), nights(), spans)
def test_nothing_is_held_past_its_deadline_nor_for_ever(
    ask: Ask, nights: Nights, later: float
) -> None:
    now = ask.created_at + later
    until = nights.held_until(ask, now=now)
    if until is None:
        return
    assert now < until
    assert ask.deadline is None or until < ask.deadline
    assert not is_let_through(ask, nights.policy)
    assert nights.held_until(ask, now=until) is None


@given(asks(), nights(), spans)
def test_only_what_is_let_through_rings_in_quiet_hours_and_what_is_low_never_does(
    ask: Ask, nights: Nights, later: float
) -> None:
    now = ask.created_at + later
    found = nights.sound(ask, now=now)
    if found in (Sound.ONCE, Sound.LOUD):
        assert ask.attention.priority is not Priority.LOW or ask.approval
        quiet = nights.calendar_of(ask).period_at(now) is not None
        assert not quiet or is_let_through(ask, nights.policy)
    if is_let_through(ask, nights.policy) and ask.attention.priority is not Priority.LOW:
        assert found is Sound.LOUD
    assert (found is Sound.HIDDEN) == (nights.held_until(ask, now=now) is not None)
    snoozed = replace(ask, attention=replace(ask.attention, snoozed_until=now + 1))
    assert nights.sound(snoozed, now=now) is Sound.HIDDEN


@given(asks(), nights())
def test_reminders_rise_well_apart_before_the_end_and_never_in_quiet_hours(
    ask: Ask, nights: Nights
) -> None:
    calendar = nights.calendar_of(ask)
    times = reminder_times(ask, calendar=calendar, policy=nights.policy)
    if ask.attention.priority is Priority.LOW:
        assert not times
    if not nights.policy.reminders:
        night = calendar.period_at(ask.created_at)
        assert set(times) <= {night.end if night else None}, "only what nobody has heard"
    for at in times:
        assert at > ask.created_at
        assert ask.deadline is None or at < ask.deadline
        assert calendar.period_at(at) is None
    for earlier, later in pairwise(times):
        assert later - earlier >= REMINDERS_APART_SECONDS


@given(asks(), nights(), st.lists(spans, min_size=12, max_size=12), st.floats(0, 2 * HOUR))
def test_reminders_end_whenever_the_hub_comes_to_give_them(
    ask: Ask, nights: Nights, late: list[float], touched: float
) -> None:
    """`late`: how long after its time each is given, by a machine that slept."""
    calendar = nights.calendar_of(ask)
    ask = replace(ask, attention=replace(ask.attention, touched_at=ask.created_at + touched))
    now, given_at = ask.created_at, list[float]()
    for delay in late:
        found = nights.next_reminder(ask, now=now)
        if found is None:
            break
        at, last = found
        assert at >= now
        assert calendar.period_at(at) is None
        assert ask.deadline is None or at < ask.deadline
        assert at >= ask.created_at + touched + FILLING_IN_SECONDS
        if given_at:
            assert at - given_at[-1] >= REMINDERS_APART_SECONDS
        # What has become due meanwhile waits while it is quiet.
        now = at + delay
        again = nights.next_reminder(ask, now=now)
        if again is None or again[0] > now:
            continue
        assert calendar.period_at(now) is None
        given_at.append(now)
        ask = replace(ask, attention=replace(ask.attention, reminded_at=now))
        if last:
            assert nights.next_reminder(ask, now=now) is None
    assert len(given_at) <= len(nights.policy.reminders) + 2


@given(asks(), nights(), st.none() | spans, st.none() | spans, st.sampled_from([0.0, 1.0, HOUR]))
def test_what_is_due_is_done_with_at_that_moment(
    ask: Ask, nights: Nights, snoozed: float | None, orphaned: float | None, late: float
) -> None:
    """Else the hub would do it again and again without a pause."""
    policy, now = Policy(max_timeout=30 * HOUR, nights=nights), ask.created_at
    attention = replace(ask.attention, snoozed_until=None if snoozed is None else now + snoozed)
    orphaned_since = None if orphaned is None else now + orphaned
    ask = replace(ask, attention=attention, orphaned_since=orphaned_since)
    waiting = set(all_due(ask, now=now, policy=policy))
    for _ in range(12):
        now, done = min(waiting, default=(now, None))[0] + late, list[Due]()
        while (first := min(waiting, default=None)) and first[0] <= now:
            waiting.remove(first)
            done.append(first[1])
            after = apply_due(first[1], ask, now=now, policy=policy)
            if after is not ask or (ask.open and first[1] in (Due.SHOW, Due.REMIND)):
                ask, waiting = after, set(all_due(after, now=now, policy=policy))
            assert len(done) == len(set(done))


@given(asks(), nights())
def test_what_quiet_hours_have_silenced_rings_before_its_end(ask: Ask, nights: Nights) -> None:
    night = nights.calendar_of(ask).period_at(ask.created_at)
    if night is None or ask.attention.priority is Priority.LOW:
        return
    deadline = ask.deadline or inf
    if deadline <= night.end or is_let_through(ask, nights.policy):
        return
    times = reminder_times(ask, calendar=nights.calendar_of(ask), policy=nights.policy)
    raised = replace(ask, attention=replace(ask.attention, raised=1))
    rings = any(nights.sound(raised, now=at) is Sound.ONCE for at in times)
    if nights.held_until(ask, now=ask.created_at) is not None:
        rings |= nights.sound(ask, now=night.end) is Sound.ONCE
        assert night.end not in times, "its card comes then"
    calendar, policy = nights.calendar, nights.policy
    summary = next_end(now=ask.created_at, calendar=calendar, policy=policy)
    if summary is not None and summary < deadline:
        about = latest_period(now=summary, calendar=calendar, policy=policy)
        told = about is not None and about.end == summary
        rings |= told and not nights.is_quiet(summary)
    assert rings


@given(asks(), nights(), spans)
def test_nobody_is_reminded_of_what_has_ended_or_is_snoozed(
    ask: Ask, nights: Nights, later: float
) -> None:
    now = ask.created_at + later
    assert nights.next_reminder(answered(ask), now=now) is None
    snoozed = replace(ask, attention=replace(ask.attention, snoozed_until=now + 1))
    assert nights.next_reminder(snoozed, now=now) is None


@given(asks(), nights(), spans)
def test_a_project_makes_things_quieter_and_never_louder(
    ask: Ask, nights: Nights, later: float
) -> None:
    now, alone = ask.created_at + later, replace(ask, attention=replace(ask.attention, quiet=None))
    order = [Sound.HIDDEN, Sound.SILENT, Sound.ONCE, Sound.LOUD]
    theirs, own = nights.sound(ask, now=now), nights.sound(alone, now=now)
    assert order.index(theirs) <= order.index(own)


# ── one night in Berlin, by the clock ─────────────────────────────────────────────────────────────

BERLIN = ZoneInfo("Europe/Berlin")
NIGHT = QuietRule(hours=("22:30-07:00, 07:15-07:45",) * 7, zone="Europe/Berlin", hold=True)
HOLD = Nights(policy=NightPolicy(quiet=NIGHT, reminders=(15 * 60.0, 3 * HOUR)))
WITHOUT_A_SUMMARY_THEN: list[dict[str, Any]] = [{"summary": False}, {"summary_at": 9 * 60}]


def at(text: str) -> float:
    """In the night from Thursday to Friday; times before noon are Friday's."""
    day = 20 if text < "12:00" else 19
    return datetime.fromisoformat(f"2026-11-{day} {text}").replace(tzinfo=BERLIN).timestamp()


def asked(text: str, *, ends: str | None = None, priority: Priority = Priority.NORMAL) -> Ask:
    deadline = at(ends) if ends else None
    attention = Attention(priority=priority)
    return replace(an_ask(), created_at=at(text), deadline=deadline, attention=attention)


@pytest.mark.parametrize(
    ("ends", "held"),
    [(None, True), ("11:00", True), ("07:10", True), ("07:09", False), ("03:00", False)],
)
def test_a_card_is_held_unless_it_would_end_before_anybody_sees_it(
    ends: str | None, held: bool
) -> None:
    ask = asked("23:00", ends=ends)
    assert HOLD.held_until(ask, now=at("23:00")) == (at("07:00") if held else None)
    assert HOLD.sound(ask, now=at("23:00")) is (Sound.HIDDEN if held else Sound.SILENT)
    snoozed = replace(ask, attention=replace(ask.attention, snoozed_until=at("01:00")))
    assert HOLD.held_until(snoozed, now=at("23:00")) is None, "it comes back at its own time"


def test_the_night_is_silent_its_end_too_and_the_day_rings() -> None:
    assert HOLD.sound(asked("22:00"), now=at("22:00")) is Sound.LOUD
    assert HOLD.sound(asked("23:00"), now=at("07:00")) is Sound.SILENT  # the summary rings
    assert HOLD.sound(asked("08:00"), now=at("08:00")) is Sound.LOUD
    for without in WITHOUT_A_SUMMARY_THEN:
        nights = Nights(policy=replace(HOLD.policy, **without))
        assert nights.sound(asked("23:00"), now=at("07:00")) is Sound.ONCE


def test_a_deadline_of_the_night_is_moved_past_all_quiet_hours_of_the_morning() -> None:
    moved = HOLD.deadline_after_quiet(asked("23:00", ends="05:00"), latest=at("11:00"))
    assert moved == at("08:15")  # half an hour after 07:00 it is quiet again
    assert HOLD.deadline_after_quiet(asked("23:00", ends="05:00"), latest=at("06:00")) == at(
        "06:00"
    )
    urgent = asked("23:00", ends="05:00", priority=Priority.URGENT)
    assert HOLD.deadline_after_quiet(urgent, latest=at("11:00")) == at("05:00")


def reminders(policy: NightPolicy, ask: Ask) -> tuple[float, ...]:
    calendar = Nights(policy=policy).calendar_of(ask)
    return reminder_times(ask, calendar=calendar, policy=policy)


def test_the_summary_is_the_reminder_of_the_night_and_the_last_one_comes_after_it() -> None:
    ask = asked("21:00")
    assert HOLD.next_reminder(ask, now=at("21:00")) == (at("21:15"), False)
    reminded = replace(ask, attention=Attention(reminded_at=at("21:15")))
    assert HOLD.next_reminder(reminded, now=at("21:15")) == (at("10:00"), True)
    assert reminders(HOLD.policy, asked("22:20")) == (at("10:00"),)
    assert reminders(HOLD.policy, asked("23:00")) == (at("10:00"),)
    assert reminders(HOLD.policy, asked("23:00", ends="08:15")) == (at("08:05"),)
    assert reminders(HOLD.policy, asked("05:00")) == (at("08:00"),)


@pytest.mark.parametrize("without", WITHOUT_A_SUMMARY_THEN)
def test_without_a_summary_what_nobody_has_heard_comes_again_when_the_night_ends(
    without: dict[str, Any],
) -> None:
    held = replace(HOLD.policy, **without)
    silent = replace(held, quiet=replace(NIGHT, hold=False))
    for policy in (held, silent):
        assert reminders(policy, asked("22:20")) == (at("07:00"), at("10:00"))
        urgent = asked("23:00", priority=Priority.URGENT)
        assert reminders(policy, urgent) == (at("07:00"), at("10:00")), "of its first reminder"
    assert reminders(held, asked("23:00")) == (at("10:00"),), "its card comes then"
    assert reminders(silent, asked("23:00")) == (at("07:00"), at("10:00"))
    none = replace(silent, reminders=())
    assert reminders(none, asked("23:00", ends="07:10")) == (at("07:00"),)
    assert reminders(none, asked("23:00", priority=Priority.LOW)) == ()
    assert reminders(none, asked("23:00", priority=Priority.URGENT)) == ()
    assert reminders(none, asked("21:00")) == ()


def test_a_reminder_that_was_slept_over_comes_when_the_night_ends() -> None:
    assert HOLD.next_reminder(asked("22:00"), now=at("22:45")) == (at("07:00"), False)
