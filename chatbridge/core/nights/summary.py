"""The morning summary: the period that it is about, and what it says. Pure.

Channels, the command line and the inbox draw the same `Summary`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from zoneinfo import ZoneInfo

from chatbridge.core.cards.phrases import clock_time, format_time, local_time
from chatbridge.core.model import Ask
from chatbridge.core.nights.hours import DAY, HOUR, Calendar, Period, time_on
from chatbridge.core.nights.policy import NightPolicy
from chatbridge.core.stored_json import reader

SEND_WITHIN_SECONDS = 6 * HOUR
"""After its period. Later nobody wants to know."""
EDIT_WITHIN_SECONDS = HOUR
"""After it was sent."""
USUAL_SECONDS = 12 * HOUR
"""What a summary is about that somebody asks for, where there are no quiet hours."""
GLYPH = "☀️"
REMEMBERED_ENDS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """What has happened in a period."""

    timed_out: int = 0
    late: int = 0  # Kept answers that an agent has picked up
    notices: int = 0  # Of agents
    failed: int = 0  # Commands that nobody waited for


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    period: Period
    at: float  # When it was made
    waiting: tuple[Ask, ...] = ()  # What is open then
    tally: Tally = Tally()
    inbox: str | None = None  # Where the inbox can be opened from elsewhere

    @property
    def says_something(self) -> bool:
        return bool(self.waiting) or self.tally != Tally()

    @property
    def heading(self) -> str:
        return format_heading(self.period)

    @property
    def counts(self) -> tuple[str, ...]:
        return format_counts(len(self.waiting), self.tally)


BuildSummary = Callable[[Period], Awaitable[Summary]]
"""Says how things are now."""


def format_heading(period: Period) -> str:
    since = format_time(period.start, now=period.end)
    return f"While you were away, {since}–{clock_time(period.end)}"


def format_counts(waiting: int, tally: Tally) -> tuple[str, ...]:
    """What there is, in one or two lines."""
    questions = [
        _count(waiting, "{} question is waiting", "{} questions are waiting"),
        _count(tally.timed_out, "{} timed out", "{} timed out")
        if waiting
        else _count(tally.timed_out, "{} question timed out", "{} questions timed out"),
        _count(tally.late, "{} late answer was picked up", "{} late answers were picked up"),
    ]
    others = [
        _count(tally.notices, "{} notice", "{} notices"),
        _count(tally.failed, "{} command failed", "{} commands failed"),
    ]
    lines = (" · ".join(filter(None, each)) for each in (questions, others))
    return tuple(filter(None, lines)) or ("Nothing is waiting.",)


def _count(number: int, one: str, many: str) -> str:
    return (one if number == 1 else many).format(number) if number else ""


def by_urgency(asks: tuple[Ask, ...]) -> tuple[Ask, ...]:
    """In their order, those that a person has put off last."""
    return tuple(sorted(asks, key=lambda ask: ask.attention.snoozed_until is not None))


# ── when ──────────────────────────────────────────────────────────────────────────────────────────


def latest_period(*, now: float, calendar: Calendar, policy: NightPolicy) -> Period | None:
    """What the latest summary is about, whether or not it was sent."""
    if not policy.summary:
        return None
    if policy.summary_at is None:
        return _last_away(now, calendar)
    before, at, _ = _times_of_day(policy.summary_at, now)
    start = max(before, at - DAY)
    quiet = calendar.period_at(at) or calendar.last(at)
    if quiet is not None:
        start = max(start, quiet.start)
    return Period(start, at)


def next_end(*, now: float, calendar: Calendar, policy: NightPolicy) -> float | None:
    """When the next summary is due; None: there is none."""
    if not policy.summary:
        return None
    if policy.summary_at is None:
        return calendar.end_after(now)
    return _times_of_day(policy.summary_at, now)[-1]


def period_until(now: float, *, calendar: Calendar, since: float | None = None) -> Period:
    """What a summary is about that somebody asks for. Without a time it begins with the last quiet
    hours."""
    if since is not None:
        return Period(min(max(since, 0.0), now), now)
    quiet = calendar.period_at(now) or _last_away(now, calendar)
    recent = quiet is not None and now - quiet.end < DAY
    return Period(quiet.start if quiet and recent else now - USUAL_SECONDS, now)


def _last_away(now: float, calendar: Calendar) -> Period | None:
    """The quiet hours that ended last, but not brief ones."""
    last = calendar.last(now)
    return calendar.last(last.start) if last is not None and calendar.is_brief(last) else last


def last_time(minute: int, *, now: float) -> float:
    """The latest moment at which it was this minute of the day."""
    return _times_of_day(minute, now)[1]


def _times_of_day(minute: int, now: float) -> tuple[float, float, float]:
    """The last but one moment at this minute of the day, the last one, and the next."""
    here = local_time(now)
    zone = here.tzinfo if isinstance(here.tzinfo, ZoneInfo) else None
    times = [time_on(here.date() + timedelta(days=days), minute, zone) for days in range(-3, 3)]
    past = [at for at in times if at <= now]
    return past[-2], past[-1], times[len(past)]


# ── what is stored of it ──────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """Which summaries a surface has dealt with, and where the newest one is."""

    ends: tuple[float, ...] = ()  # The ends of the last periods, the newest last
    at: float = 0.0
    trying: bool = False  # It may have been sent, or not
    place: str | None = None  # None: nothing was said, or it is gone

    def is_about(self, period: Period) -> bool:
        return self.ends[-1:] == (period.end,)

    def knows(self, period: Period, *, now: float) -> bool:
        """Whether this period, or a later one, was dealt with. One after `now` is from a clock that
        was set back."""
        return any(period.end <= end <= now for end in self.ends) or period.end in self.ends

    def with_period(self, period: Period, *, at: float, trying: bool) -> Sent:
        ends = (*(end for end in self.ends if end != period.end), period.end)
        return Sent(ends=ends[-REMEMBERED_ENDS:], at=at, trying=trying)


read_sent = reader(Sent)
NOTES = "summary"
"""The `channel` of its notes. Their keys are the surfaces."""
