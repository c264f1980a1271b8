"""Which changes ring on open pages: those that would ring in a chat, and each of them once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from chatbridge.channels.web.events import PageBell
from chatbridge.core.model import Ask, Priority, QuietRule, Status
from chatbridge.core.nights.hours import Period, Switch
from chatbridge.core.nights.nights import Nights
from chatbridge.core.nights.policy import ONE_RING_SECONDS, NightPolicy
from chatbridge.core.people.routes import Route
from chatbridge.core.people.team import Team
from tests.contract.asks import an_ask
from tests.fakes.clock import StillClock

HOUR = 3600.0


def with_attention(ask: Ask, **changes: Any) -> Ask:
    return replace(ask, attention=replace(ask.attention, **changes))


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture
def bell(clock: StillClock) -> PageBell:
    return PageBell(nights=Nights(), clock=clock)


def new(clock: StillClock, **attention: Any) -> Ask:
    now = clock.time()
    return with_attention(an_ask(created_at=now, deadline=now + 8 * HOUR), **attention)


def quieten(bell: PageBell, clock: StillClock) -> None:
    now = clock.time()
    bell.nights.switch = Switch(on=True, period=Period(now, now + HOUR))


def test_a_new_question_rings_once_however_often_it_changes(
    bell: PageBell, clock: StillClock
) -> None:
    ask = new(clock)
    assert [bell.rings(ask), bell.rings(replace(ask, revision=7))] == [True, False]
    assert not bell.rings(replace(ask, status=Status.ANSWERED))


def test_a_question_rings_again_where_pages_are_the_second_line(
    bell: PageBell, clock: StillClock
) -> None:
    route = Route(to=("web",), second=("web",), after=60.0)
    bell.nights.team = Team(routes=(route,), surfaces=frozenset({"web"}))
    ask = new(clock)
    called = with_attention(ask, second_line_at=clock.time())
    assert [bell.rings(it) for it in (ask, called, called)] == [True, True, False]


def test_a_question_of_low_priority_never_rings(bell: PageBell, clock: StillClock) -> None:
    assert not bell.rings(new(clock, priority=Priority.LOW))


def test_quiet_hours_count_and_urgent_questions_ring_in_them(
    bell: PageBell, clock: StillClock
) -> None:
    quieten(bell, clock)
    ask = new(clock)
    assert not bell.rings(ask)
    assert bell.rings(new(clock, priority=Priority.URGENT))
    clock.advance(2 * HOUR)
    assert not bell.rings(replace(ask, revision=2)), "it was there already"
    assert bell.rings(with_attention(ask, raised=1, reminded_at=clock.time()))


def test_what_is_held_rings_when_it_comes(bell: PageBell, clock: StillClock) -> None:
    rule = QuietRule(hours=("",) * 7, hold=True)
    bell.nights.policy = NightPolicy(quiet=rule, summary=False)
    quieten(bell, clock)
    ask = new(clock)
    assert not bell.rings(ask)
    clock.advance(2 * HOUR)
    assert bell.rings(ask)


def test_of_reminders_that_come_together_one_rings(bell: PageBell, clock: StillClock) -> None:
    reminded = [new(clock, raised=1, reminded_at=clock.time()) for _ in range(2)]
    assert [bell.rings(ask) for ask in reminded] == [True, False]
    clock.advance(ONE_RING_SECONDS)
    assert bell.rings(with_attention(reminded[1], raised=2, reminded_at=clock.time()))


def test_a_page_that_is_back_rings_only_for_what_would_ring_now(
    bell: PageBell, clock: StillClock
) -> None:
    ask = new(clock)
    clock.advance(60)
    later = PageBell(nights=bell.nights, clock=clock, since=clock.time())
    assert later.missed(ask, away=61), "also if it came before this hub had pages"
    assert not later.missed(ask, away=57)
    assert not later.missed(with_attention(ask, snoozed_until=clock.time() + HOUR), away=61)
    quieten(later, clock)
    assert not later.missed(ask, away=61)


def test_what_came_to_an_earlier_hub_does_not_ring_again_before_its_reminder(
    bell: PageBell, clock: StillClock
) -> None:
    ask = new(clock)
    clock.advance(HOUR)
    later = PageBell(nights=bell.nights, clock=clock, since=clock.time())
    assert not later.rings(replace(ask, revision=2))
    assert later.rings(with_attention(ask, raised=1, reminded_at=clock.time()))
