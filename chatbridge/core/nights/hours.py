"""Quiet hours as periods of time: which one a moment is in, and when it is over. Pure.

Windows are written in the wall time of a zone. Where the clock is set back, the earlier start and
the later end count. A time that it skips is the one to which it skips.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from chatbridge.core.model import QuietRule
from chatbridge.core.text import did_you_mean, one_line, shortened

MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0
MINUTES_OF_A_DAY = 24 * 60
BRIEF_SECONDS = 15 * MINUTE
WEEK_SECONDS = 7 * DAY
DAYS_AROUND = 9
"""How far to look: a period is no longer than a week."""
WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
NO_HOURS = ("",) * len(WEEKDAYS)
MAX_WINDOWS = 4
"""Of a day. Who writes a project's file must not make the hub count for seconds."""
MAX_KEY = 20
"""Characters of a weekday that is none, in what is said about it."""
_CLOCK = re.compile(r"\s*(\d{1,2}):(\d{2})(?::00)?\s*", re.ASCII)
_WINDOW = re.compile(r"\s*(\d{1,2}):(\d{2})\s*[-–]\s*(\d{1,2}):(\d{2})\s*", re.ASCII)
WRITE_WINDOW = 'write a time such as "22:30-07:00"'

Window = tuple[int, int]
"""Minutes of the day. One that does not end after its start ends on the next day."""


@dataclass(frozen=True, slots=True, order=True)
class Period:
    start: float
    end: float

    def __contains__(self, at: float) -> bool:
        return self.start <= at < self.end


@dataclass(frozen=True, slots=True)
class Switch:
    """Quiet hours by hand: on, or off, for this period."""

    on: bool
    period: Period


@dataclass(frozen=True, slots=True)
class QuietHours:
    """The windows that begin on each weekday from Monday on. Without a zone: local time."""

    windows: tuple[tuple[Window, ...], ...]
    zone: ZoneInfo | None = None

    @property
    def longest(self) -> float:
        """The seconds of the longest one; 0: there is none."""
        windows = [window for day in self.windows for window in day]
        minutes = ((end - start - 1) % MINUTES_OF_A_DAY + 1 for start, end in windows)
        return max(minutes, default=0) * 60.0

    def around(self, at: float) -> Iterator[Period]:
        today = datetime.fromtimestamp(at, self.zone).date()
        for days in range(-DAYS_AROUND, DAYS_AROUND + 1):
            day = today + timedelta(days=days)
            for start, end in self.windows[day.weekday()]:
                until = end if end > start else end + MINUTES_OF_A_DAY
                last = time_on(day, until, self.zone, end=True)
                period = Period(time_on(day, start, self.zone), last)
                if period.start < period.end:  # the clock may skip all of it
                    yield period

    def next_time(self, minute: int, *, after: float) -> float:
        """When it is this minute of the day in this zone for the next time."""
        today = datetime.fromtimestamp(after, self.zone).date()
        days = (today + timedelta(days=days) for days in range(3))
        return next(at for day in days if (at := time_on(day, minute, self.zone)) > after)

    def wall_time(self, at: float) -> datetime:
        """What the clocks of the zone show then."""
        return _wall_time(at, self.zone)


def time_on(day: date, minute: int, zone: tzinfo | None, *, end: bool = False) -> float:
    """When it is this minute of that day, which may be one of the next. `end`: the later one, where
    the clock shows it twice."""
    day += timedelta(days=minute // MINUTES_OF_A_DAY)
    hour, minute = divmod(minute % MINUTES_OF_A_DAY, 60)
    wall = datetime(day.year, day.month, day.day, hour, minute)  # noqa: DTZ001 - of the zone
    first, second = (wall.replace(tzinfo=zone, fold=fold).timestamp() for fold in (0, 1))
    if first <= second:
        return second if end else first
    # The clock skips this time: the next one counts.
    around = range(int(second), int(first) + 1)
    return float(around[bisect_left(around, wall, key=lambda at: _wall_time(at, zone))])


def _wall_time(at: float, zone: tzinfo | None) -> datetime:
    return datetime.fromtimestamp(at, zone).replace(tzinfo=None)


@dataclass(frozen=True, slots=True)
class Calendar:
    """All quiet hours that count for an ask. A switch does not end those of a project, or of the
    person in whose chat it is shown."""

    hours: tuple[QuietHours, ...] = ()
    switch: Switch | None = None
    project: QuietHours | None = None
    person: QuietHours | None = None

    def period_at(self, at: float) -> Period | None:
        """The quiet period of this moment. Periods that touch are one."""
        return next((period for period in self._periods(at) if at in period), None)

    def last(self, at: float) -> Period | None:
        """The latest period that was over by then."""
        return max((each for each in self._periods(at) if each.end <= at), default=None)

    def end_after(self, at: float) -> float | None:
        """When the present period ends or, outside of one, the next."""
        return min((each.end for each in self._periods(at) if each.end > at), default=None)

    def is_brief(self, period: Period) -> bool:
        """Whether it was ended by hand soon after it began: nobody was away."""
        switch = self.switch
        if switch is None or period.end - period.start >= BRIEF_SECONDS:
            return False
        return period.end == (switch.period.end if switch.on else switch.period.start)

    def _periods(self, at: float) -> tuple[Period, ...]:
        if not self.hours and self.switch is None and not (self.project or self.person):
            return ()
        return _periods(self, int(at // 3600))


@lru_cache(maxsize=256)
def _periods(calendar: Calendar, hour: int) -> tuple[Period, ...]:
    found = [period for hours in calendar.hours for period in hours.around(hour * 3600.0)]
    switch = calendar.switch
    if switch is not None and switch.on:
        found += [switch.period] if switch.period.start < switch.period.end else []
    elif switch is not None:
        found = [piece for period in found for piece in _without(period, switch.period)]
    own = tuple(_joined(found))
    for other in filter(None, (calendar.project, calendar.person)):
        both = tuple(_joined((*own, *other.around(hour * 3600.0))))
        # Each leaves some time of the week. Both together must, too: what is held must come.
        own = own if any(period.end - period.start > WEEK_SECONDS for period in both) else both
    return own


def _without(period: Period, gap: Period) -> Iterator[Period]:
    for piece in (
        Period(period.start, min(period.end, gap.start)),
        Period(max(period.start, gap.end), period.end),
    ):
        if piece.start < piece.end:
            yield piece


def _joined(periods: Iterable[Period]) -> Iterator[Period]:
    last: Period | None = None
    for period in sorted(periods):
        if last is not None and period.start <= last.end:
            last = Period(last.start, max(last.end, period.end))
            continue
        if last is not None:
            yield last
        last = period
    if last is not None:
        yield last


@lru_cache(maxsize=256)
def parse_rule(rule: QuietRule) -> QuietHours:
    """:raises ValueError: it says nothing, or is quiet all week long."""
    hours = QuietHours(tuple(map(_windows, rule.hours)), find_zone(rule.zone))
    quiet = {
        (day * MINUTES_OF_A_DAY + minute) % (7 * MINUTES_OF_A_DAY)
        for day, windows in enumerate(hours.windows)
        for start, end in windows
        for minute in range(start, end if end > start else end + MINUTES_OF_A_DAY)
    }
    if len(quiet) == 7 * MINUTES_OF_A_DAY:
        raise ValueError("that is quiet all week long; leave a time for questions")
    return hours


def read_hours(value: object) -> tuple[str, ...] | None:
    """The hours of `QuietRule`, from a text for every day or a table by weekday; None: none.
    :raises ValueError:"""
    if isinstance(value, Mapping):
        hours = _by_weekday(value)
    elif value is None or isinstance(value, str):
        hours = (value or "",) * len(WEEKDAYS)
    else:
        raise ValueError(f"{WRITE_WINDOW}, or a table by weekday")
    parse_rule(QuietRule(hours=hours))
    return hours if any(map(str.strip, hours)) else None


def _by_weekday(table: Mapping[object, object]) -> tuple[str, ...]:
    hours: dict[str, str] = {}
    for key, text in table.items():
        try:
            _windows(text)
            days = _days(str(key))
            if twice := [day for day in days if day in hours]:
                raise ValueError(f"{twice[0]} is there twice")
        except ValueError as error:
            raise ValueError(f"{shortened(one_line(str(key)), MAX_KEY)}: {error}") from None
        hours |= dict.fromkeys(days, str(text))
    return tuple(hours.get(day, "") for day in WEEKDAYS)


def _days(key: str) -> tuple[str, ...]:
    """`mon`, or from one day to another: `mon-fri`, `sat-mon`."""
    first, dash, last = (part.strip().lower() for part in key.partition("-"))
    if first not in WEEKDAYS or (last if dash else first) not in WEEKDAYS:
        raise ValueError(
            f"the days are {', '.join(WEEKDAYS)}, or from one to another such as mon-fri"
        )
    start = WEEKDAYS.index(first)
    days = (WEEKDAYS.index(last) - start) % len(WEEKDAYS) if dash else 0
    return tuple(WEEKDAYS[(start + n) % len(WEEKDAYS)] for n in range(days + 1))


def _windows(text: object) -> tuple[Window, ...]:
    if not isinstance(text, str):
        raise ValueError(WRITE_WINDOW)
    parts = [part for part in text.split(",") if part.strip()]
    if len(parts) > MAX_WINDOWS:
        raise ValueError(f"accepted: at most {MAX_WINDOWS} times a day")
    return tuple(map(parse_window, parts))


def parse_window(text: str) -> Window:
    """:raises ValueError:"""
    found = _WINDOW.fullmatch(text)
    if found is None:
        raise ValueError(WRITE_WINDOW)
    start, end = parse_minute(found[1], found[2]), parse_minute(found[3], found[4])
    if start in (end, MINUTES_OF_A_DAY):
        raise ValueError(f"it has to end at another time than it begins; {WRITE_WINDOW}")
    return start, end


def parse_clock(text: str) -> int:
    """The minute of the day, of a text such as `08:00`. :raises ValueError:"""
    found = _CLOCK.fullmatch(text)
    if found is None:
        raise ValueError('write a time such as "08:00"')
    return parse_minute(found[1], found[2])


def parse_minute(hour: str, minute: str) -> int:
    """The minute of the day; 24:00 is its end. :raises ValueError:"""
    found = int(hour) * 60 + int(minute)
    if int(minute) > 59 or found > MINUTES_OF_A_DAY:
        raise ValueError(f"there is no time {hour}:{minute}")
    return found


def find_zone(name: str | None) -> ZoneInfo | None:
    """:raises ValueError:"""
    if name is None:
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        known = available_timezones()
    if not known:
        raise ValueError("this computer knows no time zones; install its package tzdata")
    near = did_you_mean(name, known, before="; ")
    raise ValueError(f'write a time zone such as "Europe/Berlin"{near}')
