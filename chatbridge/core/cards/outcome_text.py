"""What every channel says of an ask that has ended: how, by whom, and what the agent knows of it.

Sentences in parts. How a time or somebody's words look is each channel's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from chatbridge.core.cards.card import Card, Line, State
from chatbridge.core.model import ALLOW_SESSION, VERDICTS, Person
from chatbridge.core.text import one_line

PLACES = {"telegram": "Telegram", "matrix": "Matrix", "web": "web inbox", "terminal": "terminal"}
WINDOW = Person(name="", channel="window")
"""In the window of the agent's own client: that program says that a person answered there."""
UNNAMED_PLACES = {
    ("web", ""): "in the browser",
    ("web", "token"): "in a browser logged in with the token",
    ("window", ""): "in the agent's own window",
}
"""Where something was put in by somebody whom nothing names, by channel and place."""

SESSION = VERDICTS[ALLOW_SESSION].label
NAME = 40
REASON = 1_000


@dataclass(frozen=True, slots=True)
class Time:
    """A time, shown in relation to now."""

    time: float


@dataclass(frozen=True, slots=True)
class Untrusted:
    """Somebody's words among ours: one line, to be cut and kept apart."""

    text: str
    limit: int


@dataclass(frozen=True, slots=True)
class AnswerLine:
    """An answer, which stands out."""

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
    """Whether answers stand below their questions. A single declared one stands in the sentence
    that says why it was used."""
    has_answers = bool(card.outcome and card.outcome.answers) and not card.approval
    return has_answers and not (_by_default(card) and card.count == 1)


def reason(card: Card) -> Sentence:
    """Why the person cancelled or denied it; empty if that was not said."""
    said = card.outcome.reason if card.outcome and card.state is State.CANCELLED else None
    if card.outcome and card.state is State.DENIED:
        said = card.outcome.answers[0].custom_text
    return ("Reason: ", Untrusted(one_line(said), REASON)) if said else ()


def remarks(card: Card, *, viewer: str | None, now: float) -> Iterator[Sentence]:
    """What came of it. `viewer` is the place on this card's channel that one person alone sees."""
    match card.state:
        case State.TIMED_OUT:
            yield _nobody(card)
        case State.ANSWERED:
            told: Sentence = ("the agent has it",)
            if card.handed_over_late and card.delivered_at is not None:
                told = ("handed over ", Time(card.delivered_at))
            yield _told(card, told, viewer)
        case State.HANDING_OVER:
            yield _told(card, ("handing over",), viewer)
        case State.ALLOWED if card.ours_to_run:
            yield _told(card, ("chatbridge runs it",), viewer)
        case State.ALLOWED:
            told = ("the agent has it" if card.delivered_at is not None else "handing over",)
            yield _told(card, ("no agent was waiting",) if card.unheard else told, viewer)
        case State.CANCELLED | State.DENIED:
            told = ("no agent was waiting" if card.unheard else "the agent was told",)
            yield _told(card, told, viewer)
        case State.KEPT:
            if not _here(card, viewer):
                yield _told(card, (), viewer)
            yield _kept(card, now)
        case State.DISCARDED:
            yield _told(card, ("the agent does not get it",), viewer)
        case State.WITHDRAWN:
            yield ("The agent no longer needs an answer.",)


def _by_default(card: Card) -> bool:
    return card.state is State.TIMED_OUT and bool(card.outcome and card.outcome.answers)


def _nobody(card: Card) -> Sentence:
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


def _kept(card: Card, now: float) -> Sentence:
    if card.kept_until is None:
        return ("The agent gets it when it asks this again.",)
    until: Sentence = ("Kept until ", Time(card.kept_until))
    if card.kept_until <= now:
        return (*until, ". The agent did not ask again.")
    return (*until, ". The agent gets it when it asks this again.")


def _told(card: Card, what: Sentence, viewer: str | None) -> Sentence:
    """Who ended it, where and when, and what the agent knows of it."""
    who: list[Part] = []
    if _here(card, viewer):
        who.append("you, here")
    elif card.by:
        who += by_whom(card.by)
    if card.outcome:
        who += [", "] if who else []
        who.append(Time(card.outcome.at))
    return (*who, " · ", *what) if who and what else (*who, *what)


def by_whom(person: Person) -> Sentence:
    """What is known of who put something in: a name where a service vouches for it, and where."""
    if place := UNNAMED_PLACES.get((person.channel, person.place)):
        return (place,)
    name, where = one_line(person.name), PLACES.get(person.channel, person.channel)
    return (Untrusted(name, NAME), ", ", where) if name else (where,)


def where(person: Person) -> str:
    """On Telegram, in the browser."""
    unnamed = UNNAMED_PLACES.get((person.channel, person.place))
    return unnamed or in_place(person.channel)


def in_place(channel: str) -> str:
    """On Telegram, in the web inbox."""
    name = PLACES.get(channel, channel)
    return f"on {name}" if name[:1].isupper() else f"in the {name}"


def _here(card: Card, viewer: str | None) -> bool:
    return bool(card.by and viewer and card.by_you and card.by.place == viewer)
