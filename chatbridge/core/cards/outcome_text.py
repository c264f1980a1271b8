"""The texts about ended asks for all channels: how it ended, by whom, and what the agent knows.

Sentences are sequences of parts. Each channel formats times and untrusted text itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from chatbridge.core.cards.card import Card, Line, State
from chatbridge.core.model import ALLOW_SESSION, VERDICTS, Person
from chatbridge.core.text import one_line

PLACES = {"telegram": "Telegram", "matrix": "Matrix", "web": "web inbox", "terminal": "terminal"}
WINDOW = Person(name="", channel="window")
"""An answer in the window of the agent's own client, as that program reports it."""
UNNAMED_PLACES = {
    ("web", ""): "in the browser",
    ("web", "token"): "in a browser logged in with the token",
    ("window", ""): "in the agent's own window",
}
"""Phrases for input of people without a name, by channel and place."""

SESSION = VERDICTS[ALLOW_SESSION].label
MAX_NAME_CHARACTERS = 40
MAX_REASON_CHARACTERS = 1_000


@dataclass(frozen=True, slots=True)
class Time:
    """A time, formatted relative to now."""

    time: float


@dataclass(frozen=True, slots=True)
class Untrusted:
    """Text of others: one line, to be cut to the limit and isolated."""

    text: str
    limit: int


@dataclass(frozen=True, slots=True)
class AnswerLine:
    """An answer, to be emphasized."""

    line: Line


Part = str | Time | Untrusted | AnswerLine
Sentence = tuple[Part, ...]


def heading(card: Card) -> str:
    return how_it_ended(
        card.state,
        approval=card.approval,
        verdict=card.verdict,
        beyond=bool(card.subject and card.subject.beyond),
        elsewhere=card.by is not None and not card.by_you,
    )


def how_it_ended(
    state: State, *, approval: bool, verdict: str | None, beyond: bool, elsewhere: bool
) -> str:
    if approval and state is State.TIMED_OUT:
        return "Denied"
    match state:
        case State.ALLOWED:
            if verdict == SESSION:
                return "Allowed for this session"
            return "Allowed" if beyond else "Allowed once"
        case State.DENIED:
            return "Denied"
        case State.ANSWERED | State.HANDING_OVER:
            return "Answered elsewhere" if elsewhere else "Answered"
        case State.KEPT:
            return "Kept"
        case State.DISCARDED:
            return "Discarded"
        case State.CANCELLED:
            return "Cancelled"
        case State.WITHDRAWN:
            return "Withdrawn"
        case State.TIMED_OUT | State.LATE | State.OPEN:
            return "Timed out"


def shows_answers(card: Card) -> bool:
    """Whether answers are shown below their questions. A single declared default is part of the
    sentence about the time-out instead."""
    has_answers = bool(card.outcome and card.outcome.answers) and not card.approval
    return has_answers and not (_by_default(card) and card.count == 1)


def reason(card: Card) -> Sentence:
    """The person's reason for a cancellation or denial; empty if there is none."""
    said = card.outcome.reason if card.outcome and card.state is State.CANCELLED else None
    if card.outcome and card.state is State.DENIED:
        said = card.outcome.answers[0].custom_text
    return ("Reason: ", Untrusted(one_line(said), MAX_REASON_CHARACTERS)) if said else ()


def remarks(card: Card, *, viewer: str | None, now: float) -> Iterator[Sentence]:
    """Yield sentences about the outcome. `viewer` is the place on this card's channel that only one
    person sees."""
    match card.state:
        case State.TIMED_OUT:
            yield _format_timeout(card)
        case State.ANSWERED:
            status: Sentence = ("the agent has it",)
            if card.handed_over_late and card.delivered_at is not None:
                status = ("handed over ", Time(card.delivered_at))
            yield _format_end(card, status, viewer)
        case State.HANDING_OVER:
            yield _format_end(card, ("handing over",), viewer)
        case State.ALLOWED if card.ours_to_run:
            yield _format_end(card, ("chatbridge runs it",), viewer)
        case State.ALLOWED:
            status = ("the agent has it" if card.delivered_at is not None else "handing over",)
            yield _format_end(card, ("no agent was waiting",) if card.unheard else status, viewer)
        case State.CANCELLED | State.DENIED:
            status = ("no agent was waiting" if card.unheard else "the agent was told",)
            yield _format_end(card, status, viewer)
        case State.KEPT:
            if not _is_viewers(card, viewer):
                yield _format_end(card, (), viewer)
            yield _format_kept(card, now)
        case State.DISCARDED:
            yield _format_end(card, ("the agent does not get it",), viewer)
        case State.WITHDRAWN:
            yield ("The agent no longer needs an answer.",)


def _by_default(card: Card) -> bool:
    return card.state is State.TIMED_OUT and bool(card.outcome and card.outcome.answers)


def _format_timeout(card: Card) -> Sentence:
    at = card.deadline if card.deadline is not None else card.outcome.at if card.outcome else None
    nobody: Sentence = ("Nobody answered.",)
    if at is not None:
        nobody = ("Nobody answered by ", Time(at), ".")
    if _by_default(card):
        used: Sentence = (": ", AnswerLine(card.lines[0])) if card.count == 1 else (".",)
        return (*nobody, " Used, as agreed beforehand", *used)
    if card.approval:
        return nobody
    if card.unheard:
        return (*nobody, " No agent was waiting.")
    return (*nobody, " The agent was told so, nothing else.")


def _format_kept(card: Card, now: float) -> Sentence:
    if card.kept_until is None:
        return ("The agent gets it when it asks this again.",)
    until: Sentence = ("Kept until ", Time(card.kept_until))
    if card.kept_until <= now:
        return (*until, ". The agent did not ask again.")
    return (*until, ". The agent gets it when it asks this again.")


def _format_end(card: Card, what: Sentence, viewer: str | None) -> Sentence:
    """Format who ended it, where and when, and what the agent knows."""
    who: list[Part] = []
    if _is_viewers(card, viewer):
        who.append("you, here")
    elif card.by:
        who += by_whom(card.by)
    if card.outcome:
        who += [", "] if who else []
        who.append(Time(card.outcome.at))
    return (*who, " · ", *what) if who and what else (*who, *what)


def by_whom(person: Person) -> Sentence:
    """The person's name, if a service vouches for it, and the place."""
    if place := UNNAMED_PLACES.get((person.channel, person.place)):
        return (place,)
    name, where = one_line(person.name), PLACES.get(person.channel, person.channel)
    return (Untrusted(name, MAX_NAME_CHARACTERS), ", ", where) if name else (where,)


def where(person: Person) -> str:
    """Where the person is: "on Telegram", "in the browser"."""
    unnamed = UNNAMED_PLACES.get((person.channel, person.place))
    return unnamed or in_place(person.channel)


def in_place(channel: str) -> str:
    """The channel with a preposition: "on Telegram", "in the web inbox"."""
    name = PLACES.get(channel, channel)
    return f"on {name}" if name[:1].isupper() else f"in the {name}"


def _is_viewers(card: Card, viewer: str | None) -> bool:
    return bool(card.by and viewer and card.by_you and card.by.place == viewer)
