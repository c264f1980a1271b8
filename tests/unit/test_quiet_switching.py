"""What people say to switch quiet hours, and how these are put into words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.core.cards.phrases import use_zone
from chatbridge.core.errors import ChatbridgeError
from chatbridge.core.model import QuietRule
from chatbridge.core.nights.hours import Period, Switch
from chatbridge.core.nights.nights import Nights
from chatbridge.core.nights.policy import NightPolicy
from chatbridge.core.nights.switching import (
    LONGEST_SECONDS,
    format_hours,
    format_quiet,
    format_state,
    from_text,
    offered,
    read_switch,
    to_note,
)

BERLIN = ZoneInfo("Europe/Berlin")
RULE = QuietRule(hours=("22:30-07:00",) * 7, zone="Europe/Berlin")
HOUR = 3600.0


@pytest.fixture(autouse=True)
def in_berlin() -> Iterator[None]:
    use_zone(BERLIN)
    yield
    use_zone(None)


def at(text: str, day: int = 19) -> float:
    return datetime.fromisoformat(f"2026-11-{day} {text}").replace(tzinfo=BERLIN).timestamp()


def nights(switch: Switch | None = None, rule: QuietRule | None = RULE) -> Nights:
    return Nights(policy=NightPolicy(quiet=rule), switch=switch)


@pytest.mark.parametrize(
    ("words", "until"),
    [
        ("2h", "16:00"),
        ("on 2h", "16:00"),
        ("ON  for 90 min", "15:30"),
        ("1.5h", "15:30"),
        ("0.25min", "14:00:15"),
        ("until 18:30", "18:30"),
        ("on until 9", "09:00"),
        ("until 14:00", "14:00"),
        ("on", "07:00"),
    ],
)
def test_words_say_until_when(words: str, until: str) -> None:
    now = at("14:00")
    switch = read_switch(words, nights=nights(), now=now)
    assert switch == Switch(True, Period(now, at(until, 20 if until <= "14:00" else 19)))


def test_without_quiet_hours_on_means_eight_hours() -> None:
    now = at("14:00")
    switch = read_switch("on", nights=nights(rule=None), now=now)
    assert switch == Switch(True, Period(now, now + 8 * HOUR))


def test_until_a_time_is_that_time_on_the_wall_also_when_the_clocks_change() -> None:
    now = datetime(2026, 10, 24, 22, 0, tzinfo=BERLIN).timestamp()
    switch = read_switch("until 08:00", nights=nights(), now=now)
    assert switch == read_switch("08:00", nights=nights(), now=now)
    assert switch == Switch(True, Period(now, now + 11 * HOUR))


@pytest.mark.parametrize(
    "words",
    ["", " ", "maybe", "on soon", "2 weeks", "until noon", "until 25:00", "until 8:61", "-2h", "0h",
     "8:61", "8d", "1e3h", "on off", "99999999h", "2", "until ٨:00", "until 08:00:00"],
)  # fmt: skip
def test_words_that_say_nothing_are_answered_with_what_to_say(words: str) -> None:
    with pytest.raises(ChatbridgeError, match=r"such as 2h|up to 7 days"):
        read_switch(words, nights=nights(), now=at("14:00"))


@given(st.text(st.characters() | st.sampled_from("0123456789hdmin: until on for")))
def test_any_words_switch_for_a_week_at_most_or_are_refused_in_words(words: str) -> None:
    with suppress(ChatbridgeError):
        switch = read_switch(words, nights=nights(), now=at("14:00"))
        assert switch is None or 0 < switch.period.end - switch.period.start <= LONGEST_SECONDS


def test_saying_it_again_keeps_the_beginning() -> None:
    running = nights(Switch(True, Period(at("14:00"), at("15:00"))))
    switch = read_switch("2h", nights=running, now=at("14:30"))
    assert switch == Switch(True, Period(at("14:00"), at("16:30")))


def test_off_ends_what_was_switched_on() -> None:
    running = nights(Switch(True, Period(at("14:00"), at("16:00"))))
    switch = read_switch("off", nights=running, now=at("15:00"))
    assert switch == Switch(True, Period(at("14:00"), at("15:00")))
    running.switch = switch
    assert not running.is_quiet(at("15:00"))


def test_off_ends_the_running_quiet_hours_and_not_the_next() -> None:
    mine = nights()
    mine.switch = read_switch("off", nights=mine, now=at("23:00"))
    assert not mine.is_quiet(at("23:00"))
    assert not mine.is_quiet(at("06:59", 20))
    assert mine.is_quiet(at("22:30", 20))


def test_off_where_nothing_is_on_changes_nothing() -> None:
    assert read_switch("off", nights=nights(), now=at("14:00")) is None
    off = nights(Switch(False, Period(at("23:00"), at("07:00", 20))))
    assert read_switch("off", nights=off, now=at("23:30")) is None


def test_on_after_off_brings_the_quiet_hours_back() -> None:
    off = nights(Switch(False, Period(at("23:00"), at("07:00", 20))))
    off.switch = read_switch("1h", nights=off, now=at("23:30"))
    assert format_state(off, now=at("23:30")) == "Quiet until 07:00."


def test_a_switch_is_kept_as_a_note_and_read_again() -> None:
    switch = Switch(True, Period(at("14:00"), at("16:00")))
    note = to_note(switch, at=at("14:00"))
    assert from_text(note.value) == switch
    assert from_text("[]") is None


def test_the_words_for_how_it_is() -> None:
    on = Switch(True, Period(at("14:00"), at("16:00")))
    off = Switch(False, Period(at("23:00"), at("07:00", 20)))
    assert format_quiet(nights(), now=at("14:00")) == "Quiet hours 22:30–07:00. Now: off."
    assert format_quiet(nights(on), now=at("14:00")).endswith("Now: on until 16:00.")
    assert format_quiet(nights(), now=at("23:00")).endswith("Now: on until 07:00.")
    assert format_quiet(nights(off), now=at("23:00")).endswith("Now: off until 07:00.")
    none = nights(rule=None)
    assert format_quiet(none, now=at("14:00")) == "No regular quiet hours. Now: off."
    assert format_state(nights(), now=at("14:00")) == "Quiet hours are off."


def test_hours_by_weekday_are_said_by_weekday() -> None:
    week = ("22:30-07:00",) * 4 + ("23:30-9:00", "00:00-09:30, 13:00-14:00", "")
    mine = nights(rule=QuietRule(hours=week))
    assert format_hours(mine) == (
        "Mon–Thu 22:30–07:00, Fri 23:30–09:00, Sat 00:00–09:30 and 13:00–14:00"
    )


@pytest.mark.parametrize(
    ("now", "switch", "labels"),
    [
        ("14:00", None, ["Quiet for 2 h", "Quiet until 07:00"]),
        ("23:00", None, ["Quiet for 2 h", "Off"]),
        (
            "14:00",
            Switch(True, Period(at("13:00"), at("15:00"))),
            ["Quiet for 2 h", "Quiet until 07:00", "Off"],
        ),
    ],
)
def test_what_is_offered_can_be_said_and_makes_a_difference(
    now: str, switch: Switch | None, labels: list[str]
) -> None:
    mine = nights(switch)
    choices = offered(mine, now=at(now))
    assert [label for label, _ in choices] == labels
    for _, words in choices:
        assert read_switch(words, nights=mine, now=at(now)) not in (None, switch)


def test_without_quiet_hours_the_morning_is_offered() -> None:
    choices = offered(nights(rule=QuietRule(hours=("",) * 7, zone="Asia/Tokyo")), now=at("14:00"))
    assert choices[1] == ("Quiet until 08:00", "until 08:00")
