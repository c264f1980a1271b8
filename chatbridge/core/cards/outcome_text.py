"""What every channel says of an ask that has ended: how, by whom, and what the agent knows of it.

Sentences in parts. How a time or somebody's words look is each channel's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from chatbridge.core.cards.card import Card, Line, State
from chatbridge.core.cards.markup import Name, Time
from chatbridge.core.cards.wider import lasting_words
from chatbridge.core.model import ALLOW_SESSION, VERDICTS, Person
from chatbridge.core.text import one_line, title_of

WINDOW = Person(name="", channel="window")
"""In the window of the agent's own client: that program says that a person answered there."""
UNNAMED_PLACES = {
    ("web", ""): "in the browser",
    ("web", "token"): "in a browser logged in with the token",
    ("window", ""): "in the agent's own window",
}
"""Where something was put in by somebody whom nothing names, by channel and place."""

SESSION = VERDICTS[ALLOW_SESSION].label
MAX_NAME_CHARACTERS = 40
MAX_REASON_CHARACTERS = 1_000
RUNS_IT = "chatbridge runs it"
NOT_NEEDED = "The agent no longer needs an answer."


@dataclass(frozen=True, slots=True)
class AnswerLine:
    """An answer, which stands out."""

    line: Line


Part = str | Time | Name | AnswerLine
Sentence = tuple[Part, ...]


def heading(card: Card) -> str:
    return how_it_ended(
        card.state,
        approval=card.approval,
        verdict=card.verdict,
        beyond=bool(card.subject and card.subject.beyond),
        elsewhere=card.by is not None and not card.by_you,
        lasting=lasting_words(card.grant) if card.grant else None,
    )


def how_it_ended(
    state: State,
    *,
    approval: bool,
    verdict: str | None,
    beyond: bool,
    elsewhere: bool,
    lasting: str | None = None,
) -> str:
    match state:
        case State.ALLOWED if verdict == SESSION:
            return f"Allowed {lasting or 'for this session'}"
        case State.ALLOWED:
            return "Allowed" if beyond else "Allowed once"
        case State.TIMED_OUT if approval:
            return "Denied"
        case State.ANSWERED | State.HANDING_OVER:
            return "Answered elsewhere" if elsewhere else "Answered"
        case State.TIMED_OUT | State.LATE | State.OPEN:
            return "Timed out"
    return state.capitalize()


def shows_answers(card: Card) -> bool:
    """Whether answers stand below their questions. A single declared one stands in the sentence
    that says why it was used."""
    has_answers = bool(card.outcome and card.outcome.answers) and not card.approval
    return has_answers and not (_by_default(card) and card.count == 1)


def given_reason(card: Card) -> str | None:
    """Why the person cancelled or denied it, in their words."""
    if card.outcome and card.state is State.DENIED:
        return card.outcome.answers[0].custom_text
    return card.outcome.reason if card.outcome and card.state is State.CANCELLED else None


def reason(card: Card) -> Sentence:
    """Why the person cancelled or denied it; empty if that was not said."""
    said = given_reason(card)
    return ("Reason: ", Name(one_line(said), MAX_REASON_CHARACTERS)) if said else ()


def remarks(card: Card, *, viewer: str | None, now: float) -> Iterator[Sentence]:
    """What came of it. `viewer` is the place on this card's channel that one person alone sees."""
    match card.state:
        case State.OPEN | State.LATE:
            return
        case State.TIMED_OUT:
            yield _nobody(card, names_answer=card.count == 1)
        case State.WITHDRAWN:
            yield (NOT_NEEDED,)
        case State.KEPT:
            if not _here(card, viewer):
                yield _told(card, (), viewer)
            yield _kept(card, now)
        case _:
            yield _told(card, _agent_knows(card), viewer)


def page_heading(card: Card, *, now: float) -> Sentence:
    """`heading` in the words of the web inbox, which has room for a sentence."""
    if card.approval:
        return (heading(card),)
    answers = card.outcome.answers if card.outcome else ()
    match card.state:
        case State.HANDING_OVER if card.by_you:
            return ("Answer sent, waiting for ", Name(card.agent, MAX_NAME_CHARACTERS), "…")
        case State.ANSWERED | State.HANDING_OVER if not card.by_you:
            return ("Answered elsewhere",)
        case State.ANSWERED if card.count == 1 and answers and answers[0].ask_back:
            return ("Asked back",)
        case State.ANSWERED if card.count == 1:
            given = "skipped" if card.lines[0].answer is None else card.lines[0].answer
            return ("Answered: ", Name(given, MAX_REASON_CHARACTERS))
        case State.KEPT:
            return (f"The answer {'was' if is_forgotten(card, now) else 'is'} kept",)
        case State.DISCARDED:
            return ("Answer discarded",)
        case State.TIMED_OUT | State.LATE | State.OPEN:
            return ("Question timed out",)
    return (heading(card),)


def page_remark(card: Card, *, now: float) -> Sentence:
    """`remarks` as the web inbox has them: one paragraph of whole sentences, which does not repeat
    what the heading or the list of answers says."""
    match card.state:
        case State.TIMED_OUT:
            return _nobody(card, names_answer=False)
        case State.WITHDRAWN:
            then: Sentence = (NOT_NEEDED,)
        case State.KEPT:
            then = _kept(card, now)
        case State.ANSWERED if card.handed_over_late:
            then = ("Handed over, late.",)
        case State.HANDING_OVER if card.by_you:
            then = ()
        case _:
            then = tuple(f"{_capitalised(str(part))}." for part in _agent_knows(card))
    if not card.outcome:
        return then
    ended: Sentence = (Time(card.outcome.at), ".")
    if card.by:
        first, *rest = by_whom(card.by)
        ended = (_capitalised(first) if isinstance(first, str) else first, *rest, ", ", *ended)
    return (*ended, " ", *then) if then else ended


def is_forgotten(card: Card, now: float) -> bool:
    """Whether the agent did not ask again while its answer was kept."""
    return card.state is State.KEPT and card.kept_until is not None and card.kept_until <= now


def _capitalised(text: str) -> str:
    return text if text == RUNS_IT else text[:1].upper() + text[1:]


def _agent_knows(card: Card) -> Sentence:
    """What has reached the agent, as part of a sentence."""
    match card.state:
        case State.ANSWERED if card.handed_over_late and card.delivered_at is not None:
            return ("handed over ", Time(card.delivered_at))
        case State.ANSWERED:
            return ("the agent has it",)
        case State.HANDING_OVER:
            return ("handing over",)
        case State.ALLOWED if card.ours_to_run:
            return (RUNS_IT,)
        case State.ALLOWED if not card.unheard:
            return ("the agent has it" if card.delivered_at is not None else "handing over",)
        case State.CANCELLED | State.DENIED if not card.unheard:
            return ("the agent was told",)
        case State.ALLOWED | State.CANCELLED | State.DENIED:
            return ("no agent was waiting",)
        case State.DISCARDED:
            return ("the agent does not get it",)
    return ()


def _by_default(card: Card) -> bool:
    return card.state is State.TIMED_OUT and bool(card.outcome and card.outcome.answers)


def _nobody(card: Card, *, names_answer: bool) -> Sentence:
    at = card.outcome.at if card.deadline is None and card.outcome else card.deadline
    nobody: Sentence = ("Nobody answered.",)
    if at is not None:
        nobody = ("Nobody answered by ", Time(at), ".")
    if _by_default(card):
        used: Sentence = (": ", AnswerLine(card.lines[0])) if names_answer else (".",)
        return (*nobody, " Used, as agreed beforehand", *used)
    if card.approval:
        return nobody
    agent = " No agent was waiting." if card.unheard else " The agent was told so, nothing else."
    return (*nobody, agent)


def _kept(card: Card, now: float) -> Sentence:
    if card.kept_until is None:
        return ("The agent gets it when it asks this again.",)
    gets = "did not ask again" if is_forgotten(card, now) else "gets it when it asks this again"
    return ("Kept until ", Time(card.kept_until), f". The agent {gets}.")


def _told(card: Card, what: Sentence, viewer: str | None) -> Sentence:
    """Who ended it, where and when, and what the agent knows of it."""
    who: Sentence = ("you, here",) if _here(card, viewer) else by_whom(card.by) if card.by else ()
    if card.outcome:
        who = (*who, ", ", Time(card.outcome.at)) if who else (Time(card.outcome.at),)
    return (*who, " · ", *what) if who and what else (*who, *what)


def by_whom(person: Person) -> Sentence:
    """What is known of who put something in: a name where a service vouches for it, and where."""
    if place := UNNAMED_PLACES.get((person.channel, person.place)):
        return (place,)
    name, where = one_line(person.name), title_of(person.channel)
    return (Name(name, MAX_NAME_CHARACTERS), ", ", where) if name else (where,)


def where(person: Person) -> str:
    """On Telegram, in the browser."""
    return UNNAMED_PLACES.get((person.channel, person.place)) or in_place(person.channel)


def in_place(channel: str) -> str:
    """On Telegram, in the web inbox."""
    name = title_of(channel)
    return f"on {name}" if name[:1].isupper() else f"in the {name}"


def _here(card: Card, viewer: str | None) -> bool:
    return bool(card.by and viewer and card.by_you and card.by.place == viewer)
