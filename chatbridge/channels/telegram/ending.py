"""How an ended ask reads in a chat: what was asked, what came of it, and who has been told."""

from __future__ import annotations

from collections.abc import Iterator

from chatbridge.channels.telegram.html import (
    FOLDED_QUOTE,
    clipped,
    escape,
    headline,
    length,
    time_tag,
)
from chatbridge.channels.telegram.overflow import PROJECT
from chatbridge.core.card import Card, Line, State
from chatbridge.core.model import Person
from chatbridge.core.text import isolated, one_line, shortened

CHANNEL = "telegram"
PLACES = {"telegram": "Telegram", "matrix": "Matrix", "web": "web inbox", "terminal": "terminal"}

NAME = 40
ONE_QUESTION, ONE_ANSWER = 300, 1_500
ONE_OF_MANY, ANSWER_OF_MANY = 100, 200
REASON = 1_000
LINES_AT_MOST = 6
"""More than that is folded up."""
LINE_WIDTH = 38
"""About how many characters a phone shows in a line."""


def ended(card: Card, *, viewer: str | None, now: float) -> str:
    """`viewer` is the person whose private chat this is."""
    project = escape(isolated(shortened(card.project, PROJECT)))
    parts = [
        f"{card.glyph} <b>{heading(card)}</b> · {project}",
        _asked_and_answered(card),
        "\n".join(_remarks(card, viewer=viewer, now=now)),
    ]
    return "\n\n".join(part for part in parts if part)


def answer(line: Line, limit: int) -> str:
    if line.answer is None:
        return "<i>skipped</i>"
    return f"<b>{escape(clipped(line.answer, limit))}</b>"


def heading(card: Card) -> str:
    match card.state:
        case State.ANSWERED | State.HANDING_OVER:
            elsewhere = card.by is not None and card.by.channel != CHANNEL
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


def _asked_and_answered(card: Card) -> str:
    has_answers = bool(card.outcome and card.outcome.answers)
    # A single declared answer stands in the sentence that says why it was used.
    answered = has_answers and not (_by_default(card) and card.count == 1)
    if card.count == 1:
        line = card.lines[0]
        asked = escape(clipped(headline(line.question), ONE_QUESTION))
        return f"{asked}\n{answer(line, ONE_ANSWER)}" if answered else asked
    pairs = [_pair(i, line, answered=answered) for i, line in enumerate(card.lines, 1)]
    text = "\n".join(pairs)
    shown = sum(1 + length(line) // LINE_WIDTH for line in text.split("\n"))
    if shown > LINES_AT_MOST:
        text = f"<{FOLDED_QUOTE}>{text}</blockquote>"
    title = escape(isolated(clipped(card.title, ONE_OF_MANY))) if card.title else ""
    return f"{title}\n{text}" if title else text


def _pair(number: int, line: Line, *, answered: bool) -> str:
    asked = f"{number}. {escape(clipped(headline(line.question), ONE_OF_MANY))}"
    return f"{asked}\n{answer(line, ANSWER_OF_MANY)}" if answered else asked


def _by_default(card: Card) -> bool:
    return card.state is State.TIMED_OUT and bool(card.outcome and card.outcome.answers)


def _remarks(card: Card, *, viewer: str | None, now: float) -> Iterator[str]:
    match card.state:
        case State.TIMED_OUT:
            yield _nobody(card, now)
        case State.ANSWERED:
            told = "the agent has it"
            if card.handed_over_late and card.delivered_at is not None:
                told = f"handed over {time_tag(card.delivered_at, now=now)}"
            yield _told(card, told, viewer, now)
        case State.HANDING_OVER:
            yield _told(card, "handing over", viewer, now)
        case State.CANCELLED:
            if card.outcome and card.outcome.reason:
                reason = escape(clipped(one_line(card.outcome.reason), REASON))
                yield f"Reason: {isolated(reason)}\n"
            told = "no agent was waiting" if card.unheard else "the agent was told"
            yield _told(card, told, viewer, now)
        case State.KEPT:
            if not _here(card.by, viewer):
                yield _told(card, "", viewer, now)
            yield _kept(card, now)
        case State.DISCARDED:
            yield _told(card, "the agent does not get it", viewer, now)
        case State.WITHDRAWN:
            yield "The agent no longer needs an answer."


def _nobody(card: Card, now: float) -> str:
    at = card.deadline if card.deadline is not None else card.outcome.at if card.outcome else None
    nobody = (
        f"Nobody answered by {time_tag(at, now=now)}." if at is not None else "Nobody answered."
    )
    if _by_default(card):
        used = f": {answer(card.lines[0], ONE_ANSWER)}" if card.count == 1 else "."
        return f"{nobody} Used, as agreed beforehand{used}"
    if card.unheard:
        return f"{nobody} No agent was waiting."
    return f"{nobody} The agent was told so, nothing else."


def _kept(card: Card, now: float) -> str:
    if card.kept_until is None:
        return "The agent gets it when it asks this again."
    until = time_tag(card.kept_until, now=now)
    if card.kept_until <= now:
        return f"Kept until {until}. The agent did not ask again."
    return f"Kept until {until}. The agent gets it when it asks this again."


def _told(card: Card, what: str, viewer: str | None, now: float) -> str:
    """Who ended it, where and when, and what the agent knows of it."""
    parts = []
    if _here(card.by, viewer):
        parts.append("you, here")
    elif card.by:
        name = escape(clipped(one_line(card.by.name), NAME))
        parts += [isolated(name)] if name else []
        parts.append(escape(PLACES.get(card.by.channel, card.by.channel)))
    if card.outcome:
        parts.append(time_tag(card.outcome.at, now=now))
    who = ", ".join(parts)
    return " · ".join(part for part in (who, what) if part)


def _here(by: Person | None, viewer: str | None) -> bool:
    return bool(by and viewer and by.channel == CHANNEL and by.place == viewer)
