"""Statistics of asks: how they ended, how long people took, and what agents waited.

Pure functions over what the store knows. An agent waits from the moment in which it asks until its
ask ends, or until it has stopped waiting; for an open ask until now. Approvals count in a column of
their own: what agents wait for them counts, but they are no questions with a time to an answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Any

from chatbridge.core.asks.serialize import iso
from chatbridge.core.cards.phrases import format_duration, local_time
from chatbridge.core.model import Status

COUNTED = (
    "Waiting counts from the question to its end, or until its agent stopped waiting; approvals "
    "count, too. A late answer counts as timed out."
)
QUARTER = 900  # All zones are ahead of UTC, or behind it, by whole quarter hours
QUARTERS_OF_DAY = 96
LISTED = 100  # Agents choose their names, and could have any number of them
KEYS = {
    Status.ANSWERED: "answered",
    Status.TIMED_OUT: "timedOut",
    Status.CANCELLED: "cancelled",
    Status.WITHDRAWN: "withdrawn",
    Status.OPEN: "open",
}
WORDS = {
    "answered": "answered",
    "timedOut": "timed out",
    "cancelled": "cancelled",
    "withdrawn": "withdrawn",
    "open": "still open",
}

BETWEEN = " · "

Json = dict[str, Any]
Spans = tuple[Sequence[int], Sequence[int]]
"""Of each ask the quarter hour in which it was asked, counted from the epoch, and seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskTimes:
    """The asks of an agent in a project that have ended in the same way, or are open."""

    project: str
    agent: str
    approval: bool
    status: Status
    taken: Spans  # From the question to its end
    unheard: Spans = ((), ())  # Of these, what came after the agent had stopped waiting


@dataclass(slots=True, kw_only=True)
class Figures:
    questions: Counter[Status] = field(default_factory=Counter)
    approvals: Counter[Status] = field(default_factory=Counter)
    answered_after: list[int] = field(default_factory=list)
    """Seconds until each question was answered."""
    waited: int = 0  # Seconds

    def add(self, other: Figures) -> None:
        self.questions += other.questions
        self.approvals += other.approvals
        self.answered_after += other.answered_after
        self.waited += other.waited


@dataclass(slots=True, kw_only=True)
class Statistics:
    since: float
    until: float
    agents: dict[tuple[str, str], Figures] = field(default_factory=dict)
    """By the names of project and agent, as cards show them."""
    asked: dict[Status, Counter[int]] = field(default_factory=dict)
    """Questions by the hour of the day in which they were asked."""
    waited: list[int] = field(default_factory=lambda: [0] * 24)
    """Seconds, by the hour in which was asked."""


def local_offset(at: float, *, zone: tzinfo | None = None) -> int:
    """The seconds by which the owner's time zone is ahead of UTC at that time. `zone`: that zone,
    if it is not the one in which all times are said."""
    ahead = local_time(at).astimezone(zone).utcoffset() if zone else local_time(at).utcoffset()
    return int(ahead.total_seconds()) if ahead is not None else 0


class _Hours(dict[int, int]):
    """The hour of the day of each quarter hour. It is looked up for a whole day at once: asking the
    zone for each quarter hour takes as long as everything else."""

    def __init__(self, offset_of: Callable[[float], int]) -> None:
        super().__init__()
        self._offset_of = offset_of

    def __missing__(self, quarter: int) -> int:
        begin = quarter - quarter % QUARTERS_OF_DAY
        day = range(begin, begin + QUARTERS_OF_DAY)
        ahead = self._offset_of(day[0] * QUARTER)
        if ahead == self._offset_of(day[-1] * QUARTER):
            self.update((each, self._hour(each, ahead)) for each in day)
        else:  # the clocks are changed on this day
            self.update((each, self._hour(each, self._offset_of(each * QUARTER))) for each in day)
        return self[quarter]

    @staticmethod
    def _hour(quarter: int, ahead: int) -> int:
        return (quarter * QUARTER + ahead) // 3600 % 24


def statistics_of(
    found: Iterable[AskTimes],
    *,
    since: float,
    until: float,
    offset_of: Callable[[float], int] = local_offset,
) -> Statistics:
    stats, hours = Statistics(since=since, until=until), _Hours(offset_of)
    for times in found:
        figures = stats.agents.setdefault((times.project, times.agent), Figures())
        figures.add(_figures_of(times))
        asked = list(map(hours.__getitem__, times.taken[0]))
        if not times.approval:
            stats.asked.setdefault(times.status, Counter()).update(asked)
        waited = stats.waited
        for hour, seconds in zip(asked, times.taken[1], strict=True):
            waited[hour] += seconds
        for quarter, seconds in zip(*times.unheard, strict=True):
            waited[hours[quarter]] -= seconds
    return stats


def _figures_of(times: AskTimes) -> Figures:
    seconds, count = times.taken[1], Counter({times.status: len(times.taken[1])})
    waited = sum(seconds) - sum(times.unheard[1])
    if times.approval:
        return Figures(approvals=count, waited=waited)
    answered = times.status is Status.ANSWERED
    return Figures(questions=count, answered_after=[*seconds] if answered else [], waited=waited)


def statistics_object(stats: Statistics) -> Json:
    """As JSON, for `chatbridge stats --json` and for what is shown. Those who waited most come
    first."""
    ranked = sorted(stats.agents.items(), key=lambda item: (-item[1].waited, item[0]))
    total = Figures()
    for _, figures in ranked:
        figures.answered_after.sort()  # So that all of them together are sorted sooner
        total.add(figures)
    return {
        "since": iso(stats.since),
        "until": iso(stats.until),
        "total": _figures_object(total),
        "agents": [
            {"project": project, "agent": agent, **_figures_object(figures)}
            for (project, agent), figures in ranked[:LISTED]
        ],
        "agentsNotListed": max(len(ranked) - LISTED, 0),
        "hours": [_hour_object(stats, hour) for hour in range(24)],
    }


def _figures_object(figures: Figures) -> Json:
    after = figures.answered_after
    after.sort()
    return {
        "questions": _counts_object(figures.questions),
        "approvals": _counts_object(figures.approvals),
        "medianSeconds": after[(len(after) - 1) // 2] if after else None,
        "worstSeconds": after[-1] if after else None,
        "waitedSeconds": figures.waited,
    }


def _counts_object(counts: Counter[Status]) -> Json:
    return {"asked": counts.total(), **{key: counts[status] for status, key in KEYS.items()}}


def _hour_object(stats: Statistics, hour: int) -> Json:
    of_hour = {status: counts[hour] for status, counts in stats.asked.items()}
    return {
        "hour": hour,
        "asked": sum(of_hour.values()),
        "answered": of_hour.get(Status.ANSWERED, 0),
        "timedOut": of_hour.get(Status.TIMED_OUT, 0),
        "waitedSeconds": stats.waited[hour],
    }


# ── in words ──────────────────────────────────────────────────────────────────────────────────────


def is_empty(stats: Json) -> bool:
    total = stats["total"]
    return not total["questions"]["asked"] and not total["approvals"]["asked"]


def ended_words(figures: Json) -> str:
    """`42 questions: 38 answered, 3 timed out, 1 still open · 2 approvals`"""
    questions, approvals, parts = figures["questions"], figures["approvals"], []
    if questions["asked"]:
        ends = (f"{questions[key]:,} {word}" for key, word in WORDS.items() if questions[key])
        parts.append(f"{_counted(questions, 'question')}: {', '.join(ends)}")
    if approvals["asked"]:
        denied = approvals["timedOut"]
        more = f" ({denied:,} denied by silence)" if denied else ""
        parts.append(_counted(approvals, "approval") + more)
    return BETWEEN.join(parts)


def time_words(figures: Json) -> str:
    """`Median answer after 4 min 12 s, worst after 9 h · Waited 21 h 5 min`"""
    waited = f"Waited {format_duration(figures['waitedSeconds'])}"
    if figures["medianSeconds"] is None:
        return waited
    median, worst = (format_duration(figures[f"{each}Seconds"]) for each in ("median", "worst"))
    return f"Median answer after {median}, worst after {worst}{BETWEEN}{waited}"


def _counted(counts: Mapping[str, int], word: str) -> str:
    number = counts["asked"]
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"
