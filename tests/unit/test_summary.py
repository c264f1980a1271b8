"""What a morning summary is about, when it is due, and what it says."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.channels.chat import runs
from chatbridge.channels.chat.callback_data import Show, Tap, decode
from chatbridge.channels.chat.capabilities import Seen
from chatbridge.channels.chat.summary import LISTED_AT_MOST, draw_summary, numbered
from chatbridge.core.cards.phrases import use_zone
from chatbridge.core.model import Ask, Attention, Project, QuietRule, Status
from chatbridge.core.nights.hours import DAY, HOUR, Calendar, Period, Switch, parse_rule
from chatbridge.core.nights.policy import NightPolicy, Sound, sound
from chatbridge.core.nights.summary import (
    Sent,
    Summary,
    Tally,
    latest_period,
    next_end,
    period_until,
)
from tests.contract.asks import an_ask, timed_out

NIGHTLY = Calendar((parse_rule(QuietRule(hours=("22:30-07:00",) * 7, zone="UTC")),))
NIGHTS = NightPolicy()
NEVER = NightPolicy(summary=False)
MORNING = 7 * HOUR


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


NIGHT = Period(at("2026-11-15 22:30"), at("2026-11-16 07:00"))


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def summary(*waiting: Ask, **tally: int) -> Summary:
    return Summary(period=NIGHT, at=NIGHT.end, waiting=waiting, tally=Tally(**tally))


# ── when ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("now", ["2026-11-16 07:00", "2026-11-16 12:00", "2026-11-16 22:31"])
def test_it_is_about_the_quiet_hours_that_ended_last(now: str) -> None:
    assert latest_period(now=at(now), calendar=NIGHTLY, policy=NIGHTS) == NIGHT


def test_quiet_hours_by_hand_have_one_as_well() -> None:
    nap = Period(at("2026-11-16 13:00"), at("2026-11-16 15:00"))
    calendar = replace(NIGHTLY, switch=Switch(on=True, period=nap))
    now = at("2026-11-16 15:00")
    assert latest_period(now=now, calendar=calendar, policy=NIGHTS) == nap
    assert next_end(now=now - 1, calendar=calendar, policy=NIGHTS) == nap.end


def test_who_ends_quiet_hours_gets_it_then() -> None:
    rest = Period(at("2026-11-16 05:00"), at("2026-11-16 07:00"))
    calendar = replace(NIGHTLY, switch=Switch(on=False, period=rest))
    found = latest_period(now=rest.start, calendar=calendar, policy=NIGHTS)
    assert found == Period(NIGHT.start, rest.start)


def test_quiet_hours_that_end_as_they_begin_have_none() -> None:
    now = NIGHT.end + HOUR
    calendar = replace(NIGHTLY, switch=Switch(on=True, period=Period(now, now)))
    assert latest_period(now=now + 5, calendar=calendar, policy=NIGHTS) == NIGHT


@pytest.mark.parametrize("on", [True, False])
def test_who_switches_them_off_again_soon_gets_none_and_what_was_held_rings(on: bool) -> None:
    start = at("2026-11-16 07:10") if on else NIGHT.start + DAY
    end = start + 14 * 60.0
    rest = Period(start, end) if on else Period(end, NIGHT.end + DAY)
    calendar = replace(NIGHTLY, switch=Switch(on=on, period=rest))
    assert latest_period(now=end + 5, calendar=calendar, policy=NIGHTS) == NIGHT
    assert period_until(end + 5, calendar=calendar) == Period(NIGHT.start, end + 5)
    held = replace(an_ask(), created_at=start + 60, deadline=None)
    assert sound(held, now=end + 5, calendar=calendar, policy=NIGHTS) is Sound.ONCE


def test_without_quiet_hours_and_without_a_time_there_is_none() -> None:
    for calendar, policy in ((Calendar(), NIGHTS), (NIGHTLY, NEVER)):
        assert latest_period(now=NIGHT.end, calendar=calendar, policy=policy) is None
        assert next_end(now=NIGHT.end, calendar=calendar, policy=policy) is None


def test_at_a_set_time_it_is_about_the_night_until_then() -> None:
    policy = NightPolicy(summary_at=8 * 60)
    eight = at("2026-11-16 08:00")
    assert next_end(now=NIGHT.end, calendar=NIGHTLY, policy=policy) == eight
    found = latest_period(now=eight, calendar=NIGHTLY, policy=policy)
    assert found == Period(NIGHT.start, eight)


def test_at_a_set_time_without_quiet_hours_it_is_about_one_day() -> None:
    policy = NightPolicy(summary_at=8 * 60)
    eight = at("2026-11-16 08:00")
    found = latest_period(now=eight + HOUR, calendar=Calendar(), policy=policy)
    assert found == Period(eight - DAY, eight)


@given(st.integers(0, 24 * 60), st.floats(at("2026-01-01"), at("2027-01-01")))
def test_a_summary_at_a_set_time_is_due_once_a_day(minute: int, now: float) -> None:
    policy = NightPolicy(summary_at=minute)
    found = latest_period(now=now, calendar=NIGHTLY, policy=policy)
    due = next_end(now=now, calendar=NIGHTLY, policy=policy)
    assert found
    assert due
    assert found.end <= now < due
    assert due - found.end == DAY  # in UTC
    assert 0 < found.end - found.start <= DAY
    assert latest_period(now=due, calendar=NIGHTLY, policy=policy).end == due  # type: ignore[union-attr]


@given(st.integers(0, 24 * 60 - 1), st.floats(at("2026-01-01"), at("2027-01-01")))
def test_a_set_time_is_that_of_the_owners_clock(minute: int, now: float) -> None:
    berlin = ZoneInfo("Europe/Berlin")
    use_zone(berlin)
    try:
        due = next_end(now=now, calendar=Calendar(), policy=NightPolicy(summary_at=minute))
    finally:
        use_zone(None)
    assert due
    assert now < due <= now + DAY + HOUR
    local = datetime.fromtimestamp(due, berlin)
    skipped = local.date().isoformat() == "2026-03-29" and minute // 60 == 2
    assert local.hour * 60 + local.minute == minute + 60 * skipped


@given(st.floats(at("2026-01-01"), at("2027-01-01")))
def test_the_next_one_is_about_the_period_that_ends_then(now: float) -> None:
    hours = parse_rule(QuietRule(hours=("22:30-07:00",) * 7, zone="Europe/Berlin"))
    calendar = Calendar((hours,))
    due = next_end(now=now, calendar=calendar, policy=NIGHTS)
    assert due
    found = latest_period(now=due, calendar=calendar, policy=NIGHTS)
    assert found
    assert found.end == due
    local = datetime.fromtimestamp(due, ZoneInfo("Europe/Berlin"))
    assert (local.hour, local.minute) == (7, 0)


def test_who_asks_without_a_time_hears_of_the_last_night_or_else_of_twelve_hours() -> None:
    now = NIGHT.end + HOUR
    assert period_until(now, calendar=NIGHTLY) == Period(NIGHT.start, now)
    assert period_until(now, calendar=Calendar()) == Period(now - DAY / 2, now)
    asleep = NIGHT.end - HOUR
    assert period_until(asleep, calendar=NIGHTLY).start == NIGHT.start


# ── once ──────────────────────────────────────────────────────────────────────────────────────────


def test_a_period_is_dealt_with_once_also_after_a_step_of_the_clock() -> None:
    before = Period(NIGHT.start - DAY, NIGHT.end - DAY)
    future = Period(NIGHT.start + 100 * DAY, NIGHT.end + 100 * DAY)
    sent = Sent().with_period(NIGHT, at=NIGHT.end, trying=True)
    assert sent.is_about(NIGHT)
    assert sent.knows(NIGHT, now=NIGHT.end)
    assert sent.knows(before, now=NIGHT.end)
    later = sent.with_period(future, at=future.end, trying=False)
    assert later.knows(NIGHT, now=NIGHT.end)
    tomorrow = Period(NIGHT.start + DAY, NIGHT.end + DAY)
    assert not later.knows(tomorrow, now=tomorrow.end)


# ── what it says ──────────────────────────────────────────────────────────────────────────────────


def test_it_says_how_many_of_what() -> None:
    several = summary(an_ask(), an_ask(), an_ask(), timed_out=2, late=1, notices=5, failed=1)
    assert several.heading == "While you were away, 22:30–07:00"
    assert several.counts == (
        "3 questions are waiting · 2 timed out · 1 late answer was picked up",
        "5 notices · 1 command failed",
    )


def test_one_of_each_is_said_in_the_singular() -> None:
    assert summary(an_ask(), late=2, notices=1, failed=2).counts == (
        "1 question is waiting · 2 late answers were picked up",
        "1 notice · 2 commands failed",
    )


def test_what_is_not_there_is_not_said() -> None:
    assert summary(timed_out=1).counts == ("1 question timed out",)
    assert summary(failed=1).counts == ("1 command failed",)
    assert not summary().says_something
    assert summary(notices=1).says_something


# ── its message ───────────────────────────────────────────────────────────────────────────────────


def drawn(made: Summary, *listed: Ask, buttons: bool = True) -> tuple[str, list[str]]:
    """The text as it is written, without isolation, and the labels of its buttons."""
    message = draw_summary(made, listed, Seen(now=NIGHT.end), buttons=buttons)
    text = "".join(run.text for run in runs.write(message.document, now=NIGHT.end))
    for mark in "\u2068\u2069":
        text = text.replace(mark, "")
    return text, [key.text for row in message.rows for key in row]


def asked(project: str, text: str, **changes: Any) -> Ask:
    changes = {"deadline": at("2026-11-16 09:00"), **changes}
    return an_ask(text=text, project=Project(key=f"/{project}", name=project), **changes)


def test_a_message_lists_what_waits_with_a_button_for_each() -> None:
    shop = asked("shop-api", "Which database?")
    free = asked("billing", "Which packages?", deadline=None)
    later = Attention(snoozed_until=at("2026-11-16 08:15"))
    snoozed = asked("infra", "Delete the bucket?", attention=later)
    made = replace(summary(shop, free, snoozed), inbox="https://inbox.example.org")
    text, labels = drawn(made, shop, free, snoozed)
    assert text.splitlines() == [
        "☀️ While you were away, 22:30–07:00",
        "3 questions are waiting",
        "",
        "1. shop-api: Which database? · ends 09:00",
        "2. billing: Which packages? · no limit",
        "3. infra: Delete the bucket? · snoozed until 08:15",
    ]
    assert labels == ["1", "2", "3", "Open the inbox"]


def test_its_buttons_show_the_cards() -> None:
    asks = [asked("a", "One?"), asked("b", "Two?")]
    message = draw_summary(summary(*asks), asks, Seen(now=0.0), buttons=True)
    taps = [decode(key.data) for row in message.rows for key in row]
    assert taps == [Tap(ask_id=ask.id, question=0, action=Show()) for ask in asks]


def test_what_has_ended_keeps_its_number_and_loses_its_button() -> None:
    ended, waiting = timed_out(asked("a", "One?")), asked("b", "Two?")
    text, labels = drawn(summary(waiting), ended, waiting)
    assert "1. ⌛ a: One? · timed out\n2. b: Two? · ends 09:00" in text
    assert labels == ["2"]


def test_without_buttons_it_says_how_and_where() -> None:
    waiting = asked("a", "One?")
    made = replace(summary(waiting), inbox="https://inbox.example.org")
    text, labels = drawn(made, waiting, buttons=False)
    assert text.endswith(
        "React with a number to bring its card down here.\nOpen the inbox: https://inbox.example.org"
    )
    assert not labels


def test_many_are_counted_and_not_listed() -> None:
    asks = [asked("a", f"Number {n}?") for n in range(LISTED_AT_MOST + 12)]
    listed = numbered((), asks)
    assert listed == tuple(ask.id for ask in asks[:LISTED_AT_MOST])
    text, labels = drawn(summary(*asks), *asks[:LISTED_AT_MOST])
    assert "22 questions are waiting" in text
    assert text.endswith("and 12 more")
    assert len(labels) == LISTED_AT_MOST


def test_tricks_of_an_agent_stay_in_their_line() -> None:
    hostile = asked("x\u202e<b>\n9. y", "Safe?\n\n2. infra: *all* `fine` <i>\u200b" + "long " * 500)
    text, _ = drawn(summary(hostile), hostile)
    assert "\u202e" not in text
    assert "\u200b" not in text
    assert sum(line[:1].isdigit() and ". " in line[:4] for line in text.splitlines()) == 1
    assert len(text) < 400


IDS = st.lists(st.sampled_from([f"ask-{n}" for n in range(20)]), unique=True, max_size=14)


@given(IDS, IDS)
def test_numbers_stay_with_their_asks_while_these_are_open(
    before: list[str], now: list[str]
) -> None:
    def opened(ids: list[str]) -> list[Ask]:
        return [replace(an_ask(), id=each, status=Status.OPEN) for each in ids]

    known = numbered((), opened(before))
    found = numbered(known, opened(now))
    assert len(found) == len(set(found)) <= LISTED_AT_MOST
    for number, ask_id in enumerate(known):
        if ask_id in now:
            assert found[number] == ask_id
    listed = sum(ask_id in now for ask_id in found)
    assert listed == min(len(now), LISTED_AT_MOST)
    assert all(ask_id in now or ask_id in known for ask_id in found)
