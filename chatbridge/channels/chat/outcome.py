"""How an ended ask reads in a chat: what was asked, what came of it, and who has been told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from chatbridge.channels.chat import document as doc
from chatbridge.core.cards import outcome_text
from chatbridge.core.cards.card import Card
from chatbridge.core.cards.card import Line as Answered
from chatbridge.core.text import clipped, one_line, shortened
from chatbridge.markdown import headline

PROJECT_LENGTH, AGENT_LENGTH = 18, 14
"""How much of these names is shown, so that the question starts on a lock screen."""
ONE_QUESTION, ONE_ANSWER = 300, 1_500
ONE_OF_MANY, ANSWER_OF_MANY = 100, 200


def project(name: str) -> doc.Name:
    return doc.Name(shortened(one_line(name), PROJECT_LENGTH))


def agent(name: str) -> doc.Name:
    return doc.Name(shortened(one_line(name), AGENT_LENGTH))


def asked_line(source: str, limit: int) -> doc.Untrusted:
    """A question as one line."""
    return doc.Untrusted(clipped(headline(source), limit))


def answer(line: Answered, limit: int) -> doc.Inline:
    if line.answer is None:
        return doc.Faint(("skipped",))
    return doc.strong(doc.Untrusted(clipped(line.answer, limit)))


def pairs(
    lines: Sequence[Answered], *, scale: int = 1, answered: bool = True
) -> Iterator[tuple[doc.Line, ...]]:
    """Questions with their answers, for a numbered list."""
    for line in lines:
        asked: doc.Line = (asked_line(line.question, ONE_OF_MANY // scale),)
        yield (asked, (answer(line, ANSWER_OF_MANY // scale),)) if answered else (asked,)


def asked_block(card: Card, scale: int) -> doc.Block:
    """Questions and answers; those of a form are cut to 1/`scale` of their usual length."""
    answered = outcome_text.shows_answers(card)
    if card.count == 1:
        (line,) = card.lines
        asked: doc.Line = (asked_line(line.question, ONE_QUESTION),)
        return doc.Lines((asked, (answer(line, ONE_ANSWER),) if answered else ()))
    title: doc.Line = (doc.Name(card.title, ONE_OF_MANY),) if card.title else ()
    items = tuple(pairs(card.lines, scale=scale, answered=answered))
    return doc.Group((doc.Lines((title,)), doc.Numbered(items=items, foldable=True)), tight=True)


def sentence(parts: outcome_text.Sentence) -> doc.Line:
    return tuple(
        answer(part.line, ONE_ANSWER) if isinstance(part, outcome_text.AnswerLine) else part
        for part in parts
    )
