"""Quiet hours by hand: what a person says to switch them, and the words for how they are.

The broker applies a switch, and keeps it as a note that survives a restart.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from itertools import groupby

from chatbridge.core.cards.phrases import format_time
from chatbridge.core.errors import ChatbridgeError
from chatbridge.core.forms.typed_times import SAY_QUIET, read_duration, read_until
from chatbridge.core.model import ChannelState
from chatbridge.core.nights.hours import DAY, HOUR, WEEK_SECONDS, WEEKDAYS, Period, Switch
from chatbridge.core.nights.nights import Nights
from chatbridge.core.stored_json import reader

CHANNEL, KEY = "nights", "switch"
"""Of the note."""
USUAL_SECONDS = 8 * HOUR
"""How long it stays quiet if nobody says, and there are no quiet hours that would end it."""
LONGEST_SECONDS = WEEK_SECONDS

from_text = reader(Switch)


def to_note(switch: Switch, *, at: float) -> ChannelState:
    return ChannelState(channel=CHANNEL, key=KEY, value=json.dumps(asdict(switch)), at=at)


def read_switch(words: str, *, nights: Nights, now: float) -> Switch | None:
    """What the words mean now: `on`, `2h`, `on 2h`, `until 08:00`, `off`. None: it is so already.
    :raises ChatbridgeError: they mean nothing, or too long a time."""
    said = " ".join(words.casefold().split())
    if said == "off":
        return _off(nights, now=now)
    until = _until(said.removeprefix("on").strip(), nights, now) if said else None
    if until is None:
        raise ChatbridgeError(SAY_QUIET)
    if not 0 < until - now <= LONGEST_SECONDS:
        raise ChatbridgeError("It can stay quiet for up to 7 days.")
    switch = nights.switch
    running = switch is not None and switch.on and now in switch.period
    # One night, however often it is said: its urgent questions are counted from its beginning.
    return Switch(True, Period(switch.period.start if switch and running else now, until))


def _until(said: str, nights: Nights, now: float) -> float | None:
    if not said:
        usual = nights.regular.end_after(now)
        return usual if usual is not None and usual - now <= DAY else now + USUAL_SECONDS
    if seconds := read_duration(said):
        return now + seconds
    minute = read_until(said)
    return None if minute is None else nights.hours.next_time(minute, after=now)


def _off(nights: Nights, *, now: float) -> Switch | None:
    regular, switch = nights.regular.period_at(now), nights.switch
    if not nights.is_quiet(now):
        return None
    if regular is not None:
        return Switch(False, Period(now, regular.end))
    assert switch is not None, "nothing else is quiet"
    return Switch(True, Period(switch.period.start, now))


# ── words ─────────────────────────────────────────────────────────────────────────────────────────


def format_state(nights: Nights, *, now: float) -> str:
    """Whether it is quiet now, as a sentence."""
    if period := nights.calendar.period_at(now):
        return f"Quiet until {format_time(period.end, now=now)}."
    return "Quiet hours are off."


def format_quiet(nights: Nights, *, now: float) -> str:
    """The quiet hours and how they are now: `Quiet hours 22:30–07:00. Now: off.`"""
    hours = format_hours(nights)
    said = f"Quiet hours {hours}." if hours else "No regular quiet hours."
    return f"{said} Now: {format_now(nights, now=now)}."


def format_now(nights: Nights, *, now: float) -> str:
    """`on until 07:00`, `off until 07:00` by hand, or `off`."""
    if period := nights.calendar.period_at(now):
        return f"on until {format_time(period.end, now=now)}"
    if switch := nights.switch_at(now):
        return f"off until {format_time(switch.period.end, now=now)}"
    return "off"


def format_hours(nights: Nights) -> str:
    """`22:30–07:00`, or by weekday; empty: none are set."""
    days = [_day(windows) for windows in nights.hours.windows]
    if len({*days}) == 1:
        return days[0]
    parts = []
    for text, group in groupby(zip(WEEKDAYS, days, strict=True), key=lambda pair: pair[1]):
        names = [name.capitalize() for name, _ in group]
        if text:
            parts.append(f"{'–'.join(dict.fromkeys((names[0], names[-1])))} {text}")
    return ", ".join(parts)


def _day(windows: tuple[tuple[int, int], ...]) -> str:
    return " and ".join(f"{_clock(start)}–{_clock(end)}" for start, end in windows)


def _clock(minute: int) -> str:
    return f"{minute // 60:02}:{minute % 60:02}"


def offered(nights: Nights, *, now: float) -> list[tuple[str, str]]:
    """What to offer as buttons: what each says, and the words that it stands for."""
    period = nights.calendar.period_at(now)
    end = nights.morning(now, nights.regular)
    until = f"{nights.hours.wall_time(end):%H:%M}"
    found = [("Quiet for 2 h", "2h"), (f"Quiet until {until}", f"until {until}"), ("Off", "off")]
    useless = {"off"} if period is None else {f"until {until}"} if period.end == end else set()
    return [choice for choice in found if choice[1] not in useless]
