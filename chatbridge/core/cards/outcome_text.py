"""What every channel says of an ask that has ended: how, by whom, and what the agent knows of it.

Sentences in parts. How a time or somebody's words look is each channel's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from chatbridge.core.cards.card import Card, Line, State
from chatbridge.core.cards.grants import allowed_words
from chatbridge.core.cards.markup import Name, Time
from chatbridge.core.cards.phrases import local_time
from chatbridge.core.model import ALLOW_SESSION, DENY, VERDICTS, Person
from chatbridge.core.text import PLACES, one_line, title_of

WINDOW = Person(name="", channel="window")
"""In the window of the agent's own client: that program says that a person answered there."""
UNNAMED_PLACES = {
    ("web", ""): "in the web inbox",
    ("web", "token"): "in a browser logged in with the token",
    ("window", ""): "in the agent's own window",
}
"""Where something was put in by somebody whom nothing names, by channel and place."""

SESSION = VERDICTS[ALLOW_SESSION].label
MAX_NAME_CHARACTERS = 40
MAX_REASON_CHARACTERS = 1_000
RUNS_IT = "chatbridge runs it"
NOT_NEEDED = "The agent no longer needs an answer."
GONE = "The agent had stopped waiting."
DONE = "Done"


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
        lasting=allowed_words(card.grant) if card.grant else None,
        done=card.done_for_now,
    )


def how_it_ended(
    state: State,
    *,
    approval: bool,
    verdict: str | None,
    beyond: bool,
    lasting: str | None = None,
    done: bool = False,
) -> str:
    if done:
        return DONE
    match state:
        case State.ALLOWED if verdict == SESSION:
            return f"Allowed {lasting or 'for this session'}"
        case State.ALLOWED:
            return "Allowed" if beyond else "Allowed once"
        case State.TIMED_OUT if approval:
            return "Denied"
        case State.ANSWERED | State.HANDING_OVER | State.KEPT:
            return "Answered"
        case State.TIMED_OUT | State.LATE | State.OPEN:
            return "Not answered in time"
    return state.capitalize()


def shows_answers(card: Card) -> bool:
    """Whether answers stand below their questions. A single declared one stands in the sentence
    that says why it was used."""
    given = bool(card.outcome and card.outcome.answers) or card.send_at is not None
    given = given and not card.done_for_now
    return given and not card.approval and not (_by_default(card) and card.count == 1)


def given_reason(card: Card) -> str | None:
    """Why the person cancelled or denied it, in their words."""
    if card.outcome and card.state is State.DENIED:
        return card.outcome.answers[0].custom_text
    return card.outcome.reason if card.outcome and card.state is State.CANCELLED else None


def reason(card: Card) -> Sentence:
    """Why the person cancelled or denied it; empty if that was not said."""
    said = given_reason(card)
    if not said:
        return ()
    name = Name(one_line(said), MAX_REASON_CHARACTERS)
    return ("Reason: ", name) if card.unheard else ("The agent was told: “", name, "”")


def remarks(card: Card, *, viewer: str | None, now: float) -> Iterator[Sentence]:
    """What came of it. `viewer` is the place on this card's channel that one person alone sees."""
    match card.state:
        case State.OPEN | State.LATE:
            return
        case State.TIMED_OUT:
            yield _nobody(card, names_answer=card.count == 1)
        case State.WITHDRAWN:
            yield _not_needed(card)
        case State.KEPT:
            if not (here := _here(card, viewer)):
                yield _told(card, (), viewer)
            yield _kept(card, now, whose="Your" if here else "The")
        case _:
            reaches = () if reason(card) and not card.unheard else _agent_knows(card)
            yield _told(card, reaches, viewer)


def sending(card: Card) -> str:
    """What is about to happen, and when."""
    said = ""
    if card.approval:
        state = State.DENIED if card.verdict == VERDICTS[DENY].label else State.ALLOWED
        said = heading(replace(card, state=state)) + ". "
    at = local_time(card.send_at or 0.0)
    return f"{said}Sending at {at:%H:%M:%S}…"


def page_heading(card: Card, *, now: float) -> Sentence:
    """`heading` in the words of the web inbox, which has room for a sentence."""
    if card.approval or card.done_for_now:
        return (heading(card),)
    answers = card.outcome.answers if card.outcome else ()
    match card.state:
        case State.HANDING_OVER if card.by_you:
            return ("Answer sent, waiting for ", Name(card.agent, MAX_NAME_CHARACTERS), "…")
        case State.ANSWERED | State.HANDING_OVER if not card.by_you:
            return ("Answered",)
        case State.ANSWERED if card.count == 1 and answers and answers[0].ask_back:
            return ("Asked back",)
        case State.ANSWERED if card.count == 1:
            given = "skipped" if card.lines[0].answer is None else card.lines[0].answer
            return ("Answered: ", Name(given, MAX_REASON_CHARACTERS))
        case State.KEPT:
            return (f"The answer {'was' if is_forgotten(card, now) else 'is'} kept",)
        case State.DISCARDED:
            return ("Answer discarded",)
    return (heading(card),)


def page_remark(card: Card, *, now: float) -> Sentence:
    """`remarks` as the web inbox has them: one paragraph of whole sentences, which does not repeat
    what the heading or the list of answers says."""
    match card.state:
        case State.TIMED_OUT:
            return _nobody(card, names_answer=False)
        case State.WITHDRAWN:
            then: Sentence = _not_needed(card)
        case State.KEPT:
            then = _kept(card, now, whose="The")
        case State.HANDING_OVER if card.by_you:
            then = ()
        case _:
            then = _agent_knows(card)
            if then:
                first = then[0]
                first = _capitalised(first) if isinstance(first, str) else first
                then = (first, *then[1:], ".")
    if not card.outcome:
        return then
    ended = (*_told(card, (), None), ".")
    return (*ended, " ", *then) if then else ended


def is_forgotten(card: Card, now: float) -> bool:
    """Whether the agent did not ask again while its answer was kept."""
    return card.state is State.KEPT and card.kept_until is not None and card.kept_until <= now


def _capitalised(text: str) -> str:
    return text if text == RUNS_IT else text[:1].upper() + text[1:]


def _agent_knows(card: Card) -> Sentence:
    """What has reached the agent, as part of a sentence."""
    if card.done_for_now:
        return _stopped(card)
    if card.what_next and card.unheard and card.state is State.HANDING_OVER:
        return (Name(card.project, MAX_NAME_CHARACTERS), " had stopped, and does not get it")
    match card.state:
        case State.ANSWERED if card.handed_over_late and card.delivered_at is not None:
            return ("delivered ", Time(card.delivered_at))
        case State.ANSWERED:
            return ("delivered",)
        case State.HANDING_OVER:
            return ("on its way",)
        case State.ALLOWED if card.ours_to_run:
            return (RUNS_IT,)
        case State.ALLOWED if not card.unheard:
            return ("delivered" if card.delivered_at is not None else "on its way",)
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
    if card.what_next:
        return ("Nobody answered. ", *_stopped(card), ".")
    if card.approval:
        return nobody
    ended: Sentence = ("Ended ", Time(at), ". ") if at is not None else ()
    told = "No agent was waiting." if card.unheard else "The agent was told that nobody answered."
    return (*ended, told)


def _not_needed(card: Card) -> Sentence:
    if card.what_next:
        return (Name(card.project, MAX_NAME_CHARACTERS), " no longer waits for a task.")
    return (NOT_NEEDED,)


def _stopped(card: Card) -> Sentence:
    return (Name(card.project, MAX_NAME_CHARACTERS), " has stopped")


def _kept(card: Card, now: float, *, whose: str) -> Sentence:
    if card.kept_until is None:
        return (f"{GONE} {whose} answer is kept for it.",)
    until = Time(card.kept_until)
    if is_forgotten(card, now):
        return (f"{whose} answer was kept until ", until, ". The agent did not ask again.")
    return (f"{GONE} {whose} answer is kept until ", until, ".")


_DID = {State.ALLOWED: "allowed it", State.DENIED: "denied it", State.CANCELLED: "cancelled it"}


def _told(card: Card, what: Sentence, viewer: str | None) -> Sentence:
    """Who ended it, where and when, and what the agent knows of it."""
    if not card.outcome:
        return what
    at, did = Time(card.outcome.at), _DID.get(card.state, "answered")
    who: Sentence = (at,)
    if _here(card, viewer):
        who = (f"You {did} here, ", at)
    elif card.by:
        who = (*_by_whom(card.by, did, here=card.by_you), ", ", at)
    return (*who, " · ", *what) if what else who


def _by_whom(person: Person, did: str, *, here: bool) -> Sentence:
    """What is known of who put something in: a name where a service vouches for it, and where.
    `here`: on the card's own channel."""
    name = one_line(person.name)
    if not name or (person.channel, person.place) in UNNAMED_PLACES:
        return (f"{_capitalised(did.removesuffix(' it'))} {where(person)}",)
    place = "" if here else f" {in_place(person.channel)}"
    return (Name(name, MAX_NAME_CHARACTERS), f" {did}{place}")


def where(person: Person) -> str:
    """On Telegram, in the browser."""
    return UNNAMED_PLACES.get((person.channel, person.place)) or in_place(person.channel)


def in_place(channel: str) -> str:
    """On Telegram, in the web inbox."""
    name = title_of(channel)
    return f"in the {name}" if channel in PLACES else f"on {name}"


def _here(card: Card, viewer: str | None) -> bool:
    return bool(card.by and viewer and card.by_you and card.by.place == viewer)
