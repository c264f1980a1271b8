"""How an ended ask reads in a chat: what was asked, what came of it, and who has been told."""

from __future__ import annotations

from typing import assert_never

from chatbridge.channels.telegram.render import approvals
from chatbridge.channels.telegram.render.html import (
    FOLDED_QUOTE,
    clipped,
    escape,
    headline,
    length,
    time_tag,
    to_html,
)
from chatbridge.channels.telegram.render.long_questions import PROJECT
from chatbridge.core.cards import outcome_text
from chatbridge.core.cards.card import Card, Line
from chatbridge.core.text import isolated, shortened

CHANNEL = "telegram"

NAME = outcome_text.MAX_NAME_CHARACTERS
ONE_QUESTION, ONE_ANSWER = 300, 1_500
ONE_OF_MANY, ANSWER_OF_MANY = 100, 200
LINES_AT_MOST = 6
"""More than that is folded up."""
LINE_WIDTH = 38
"""About how many characters a phone shows in a line."""


def ended(card: Card, *, viewer: str | None, now: float) -> str:
    """`viewer` is the person whose private chat this is."""
    project = escape(isolated(shortened(card.project, PROJECT)))
    parts = [
        f"{card.glyph} <b>{outcome_text.heading(card)}</b> · {project}",
        _asked_and_answered(card),
        _sentence(outcome_text.reason(card), now),
        "\n".join(_sentence(s, now) for s in outcome_text.remarks(card, viewer=viewer, now=now)),
    ]
    return "\n\n".join(part for part in parts if part)


def answer(line: Line, limit: int) -> str:
    if line.answer is None:
        return "<i>skipped</i>"
    return f"<b>{escape(clipped(line.answer, limit))}</b>"


def _asked_and_answered(card: Card) -> str:
    if card.approval:
        return to_html(approvals.ended(card))
    answered = outcome_text.shows_answers(card)
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


def _sentence(sentence: outcome_text.Sentence, now: float) -> str:
    return "".join(_part(part, now) for part in sentence)


def _part(part: outcome_text.Part, now: float) -> str:
    match part:
        case outcome_text.Time(time=at):
            return time_tag(at, now=now)
        case outcome_text.Untrusted(text=text, limit=limit):
            return isolated(escape(clipped(text, limit)))
        case outcome_text.AnswerLine(line=line):
            return answer(line, ONE_ANSWER)
        case str():
            return escape(part)
        case _:
            assert_never(part)
