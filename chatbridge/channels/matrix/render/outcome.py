"""How an ended ask reads in a room: what was asked, what came of it, and who has been told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from chatbridge.channels.matrix.render import approvals
from chatbridge.channels.matrix.render.html import (
    NOTHING,
    Words,
    clipped,
    faint,
    lines,
    name,
    numbered,
    paragraph,
    paragraphs,
    strong,
    trusted,
    untrusted,
)
from chatbridge.core.cards import outcome_text
from chatbridge.core.cards.card import Card, Line, Role
from chatbridge.core.cards.phrases import format_time
from chatbridge.core.text import shortened
from chatbridge.markdown import headline

PROJECT = 18
ONE_QUESTION, ONE_ANSWER = 300, 1_500
ONE_OF_MANY, ANSWER_OF_MANY = 100, 200


def ended(card: Card, *, viewer: str | None, now: float, part: int = 1) -> Words:
    """`viewer` is the person whose private room this is. With many long answers, only a `part` of
    each fits."""
    first = strong(trusted(outcome_text.heading(card))) + trusted(" · ") + project(card)
    told = [outcome_text.reason(card), *outcome_text.remarks(card, viewer=viewer, now=now)]
    return paragraphs(
        (
            paragraph(trusted(f"{card.glyph} ") + first),
            _asked_and_answered(card, part),
            paragraph(lines((*(_sentence(s, now) for s in told), *_offers(card, now)))),
        )
    )


def project(card: Card) -> Words:
    return name(shortened(card.project, PROJECT))


def asked_line(source: str, limit: int) -> Words:
    """A question as one line."""
    return untrusted(clipped(headline(source), limit))


def answer(line: Line, limit: int) -> Words:
    if line.answer is None:
        return faint(trusted("skipped"))
    return strong(untrusted(clipped(line.answer, limit)))


def pairs(answered: tuple[Line, ...], *, part: int, bare: bool = False) -> Words:
    """Several questions with their answers; `bare`: without."""
    return numbered(
        (
            lines(
                (
                    asked_line(line.question, ONE_OF_MANY // part),
                    NOTHING if bare else answer(line, ANSWER_OF_MANY // part),
                )
            )
            for line in answered
        ),
        mark=". ",
    )


def _asked_and_answered(card: Card, part: int) -> Words:
    answered = outcome_text.shows_answers(card)
    if card.count == 1:
        line = card.lines[0]
        said = answer(line, ONE_ANSWER) if answered else NOTHING
        asked = paragraph(lines((asked_line(line.question, ONE_QUESTION), said)))
        return paragraphs((asked, approvals.what(card, room=approvals.ENDED)))
    title = paragraph(name(clipped(card.title, ONE_OF_MANY))) if card.title else NOTHING
    return paragraphs((title, pairs(card.lines, part=part, bare=not answered)))


def _offers(card: Card, now: float) -> Iterator[Words]:
    if card.button(Role.ANYWAY):
        yield trusted("Answer anyway: reply “anyway”.")
    if card.button(Role.DISCARD) and (card.kept_until is None or card.kept_until > now):
        yield trusted("To discard it, reply “discard”.")


def _sentence(sentence: outcome_text.Sentence, now: float) -> Words:
    found = NOTHING
    for part in sentence:
        found += _part(part, now)
    return found


def _part(part: outcome_text.Part, now: float) -> Words:
    match part:
        case outcome_text.Time(time=at):
            return trusted(format_time(at, now=now))
        case outcome_text.Untrusted(text=text, limit=limit):
            return name(clipped(text, limit))
        case outcome_text.AnswerLine(line=line):
            return answer(line, ONE_ANSWER)
        case str():
            return trusted(part)
        case _:
            assert_never(part)
