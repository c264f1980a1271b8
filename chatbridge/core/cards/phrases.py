"""Times, durations and sentences that all channels share."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo
from itertools import pairwise

from chatbridge.core.cards.card import Card
from chatbridge.core.forms.form import Extend, Postponed, Snooze, SnoozeUntil
from chatbridge.core.model import Ask, Attention, Priority, Status
from chatbridge.core.text import PLACES, title_of

TIME_ONLY_SECONDS = 20 * 3600.0
WEEKDAY_ONLY_SECONDS = 6 * 24 * 3600.0
NOWHERE = ("nowhere",)  # Stands for the channels of an approval that no channel can settle any more
REMARK_GLYPH, REMARK_HEADING = "🌉", "Message from chatbridge"
"""The beginning of messages from chatbridge itself. No card or notice starts with this glyph, so
that no folder or client name can imitate one."""
CHANGES = {"+": "added", "-": "removed"}
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


_owners_zone: tzinfo | None = None


def use_zone(zone: tzinfo | None) -> None:
    """Say all times in this zone from now on; None: in that of this computer. Nothing else changes:
    commands that agents start keep the computer's."""
    global _owners_zone  # noqa: PLW0603 - every sentence with a time would have to carry it
    _owners_zone = zone


def local_time(at: float) -> datetime:
    """The time in the owner's time zone, or else in that of this computer."""
    return datetime.fromtimestamp(at, UTC).astimezone(_owners_zone)


def clock_time(at: float) -> str:
    return f"{local_time(at):%H:%M}"


def format_time(at: float, *, now: float) -> str:
    """Format a time, with the weekday or the date if it is not near."""
    away, then = abs(at - now), local_time(at)
    if away <= TIME_ONLY_SECONDS:
        return f"{then:%H:%M}"
    if away <= WEEKDAY_ONLY_SECONDS:
        return f"{then:%a %H:%M}"
    return f"{then:%d.%m.%y %H:%M}"  # the same weekday comes again


def format_duration(seconds: float) -> str:
    """Format a duration in its two largest units: `4 min 12 s`."""
    if 0 < seconds < 1:
        return f"{max(seconds, 0.1):.1f} s"
    whole = int(seconds)
    for (unit, word), (smaller, rest_word) in pairwise(_UNITS):
        if whole >= unit:
            rest = whole % unit // smaller
            return f"{whole // unit} {word}" + (f" {rest} {rest_word}" if rest else "")
    return f"{whole} s"


def format_change(code: str) -> str:
    """How much a diff changes: `1 line added, 2 removed`; empty: no line. None of its lines names a
    file."""
    lines = code.split("\n")
    found = {word: sum(line.startswith(sign) for line in lines) for sign, word in CHANGES.items()}
    counts = [(n, word) for word, n in found.items() if n]
    nouns = ["line " if counts and counts[0][0] == 1 else "lines ", ""]
    return ", ".join(f"{n} {noun}{word}" for (n, word), noun in zip(counts, nouns, strict=False))


FINISHED = "Finished: "
"""Before an agent's last words in a list of questions."""


def format_finished(project: str) -> str:
    return f"{project} has finished"


def format_urgency(attention: Attention) -> str | None:
    """What a card says of an urgent question."""
    if (rang := attention.over_budget) is not None:
        return f"marked urgent, but {format_rang(rang)}"
    return "urgent" if attention.priority is Priority.URGENT else None


def format_rang(rang: int) -> str:
    """Why another urgent question does not ring: so many have."""
    if not rang:
        return "none may ring in quiet hours"
    questions = "question" if rang == 1 else "questions"
    return f"{rang} urgent {questions} rang tonight already"


def format_end(ask: Ask, *, now: float) -> str:
    """The reply to a person whose tap came after the end."""
    if ask.open:
        return "This question is open again."
    ended = ask.settled_at or ask.created_at
    day = f"{local_time(ended):%A} " if now - ended > TIME_ONLY_SECONDS else ""
    how = "Already answered" if ask.status is Status.ANSWERED else ask.status.replace("_", " ")
    return f"{how.capitalize()} at {day}{clock_time(ended)}."


def format_postponed(step: Postponed, *, now: float) -> str:
    """What a person is told who has asked for more time, or snoozed it."""
    if step.snoozed_until is not None:
        return f"Snoozed until {format_time(step.snoozed_until, now=now)}."
    return f"Ends {format_time(step.deadline or 0.0, now=now)} now."


def format_later(card: Card) -> str:
    """What to know of the ways to postpone it: what a snooze does, and why there are so few."""
    ways = [choice.action for choice in card.later]
    said = []
    if any(isinstance(way, Snooze | SnoozeUntil) for way in ways):
        said.append("A snoozed question goes out of the way, and comes back as a new message.")
    hour = any(isinstance(way, Extend | Snooze) and way.minutes >= 60 for way in ways)
    if not hour and not card.approval:  # which ends with the agent's call, whatever is set
        said.append("For more time, raise max_timeout in config.toml.")
    return " ".join(said)


UNSENT = (
    "It can be allowed when all of it is here. If that does not come, read it in the web inbox."
)
"""Shown while the continuation of a long approval has not been sent."""


def format_only_on(channels: Sequence[str]) -> str:
    """Where an approval can be settled, said on a channel that is none of these."""
    known = [each for each in channels if (each,) != NOWHERE]
    places = [f"the {title_of(each)}" if each in PLACES else title_of(each) for each in known]
    if not places:
        return "This cannot be allowed here. It is denied when its time is up."
    return f"Allow or deny this in {' or '.join(places)}."


def format_certificate_advice(setting: str) -> str:
    """What to do about an untrusted certificate. `setting` has the server's address."""
    return (
        f"Check this computer's clock and {setting}; where a proxy reads along, set SSL_CERT_FILE "
        "to the file with its authority"
    )
