"""Messages whose step is over: what was asked there, and what came of it. Pure."""

from __future__ import annotations

from dataclasses import replace

from chatbridge.channels.chat.document import Document, Lines, paragraph
from chatbridge.channels.chat.document import Line as Parts
from chatbridge.channels.chat.outcome import ONE_ANSWER, ONE_QUESTION, answer, asked_line
from chatbridge.channels.matrix.render.html import Words, write
from chatbridge.core.cards import outcome_text
from chatbridge.core.cards.build import build_card
from chatbridge.core.cards.card import Line
from chatbridge.core.model import Ask, Status, View
from chatbridge.core.text import prose

CHANNEL = "matrix"
GOES_ON = "It goes on below."


def draw_past(ask: Ask, *, view: View, at: int) -> Words:
    return write(_past(ask, view=view, at=at), now=0.0)


def _past(ask: Ask, *, view: View, at: int) -> Document:
    """A screen that was left, or that the end has overtaken."""
    outcome = ask.late or ask.outcome
    answered = bool(outcome and outcome.answers)
    going_on = ask.open or (ask.status is Status.TIMED_OUT and ask.draft.late and not answered)
    if ask.approval:
        ended = f"{outcome_text.heading(build_card(ask, channel=CHANNEL))}."
        return paragraph(GOES_ON if going_on else ended)
    if view in (View.CANCEL, View.EXPLAIN):
        return paragraph(_aside(ask, at, going_on=going_on))
    if view is View.REVIEW or at >= len(ask.questions):
        ended = "Checked and sent." if answered else "Not sent."
        return paragraph(f"Not sent yet. {GOES_ON}" if going_on else ended)
    return _past_question(ask, at)


def _aside(ask: Ask, at: int, *, going_on: bool) -> str:
    """The cancel screen, and the one beside it."""
    if at < len(ask.questions) and ask.draft.entries[at].ask_back is not None:
        return "Asked back."
    if going_on:
        return "Kept open."
    return "Cancelled." if ask.status is Status.CANCELLED else "Not cancelled."


def _past_question(ask: Ask, at: int) -> Document:
    line = _line(ask, at)
    number: Parts = (f"{at + 1}. ",) if len(ask.questions) > 1 else ()
    asked = asked_line(prose(ask.questions[at].text), ONE_QUESTION)
    said: Parts = (answer(line, ONE_ANSWER),) if line else ()
    return (Lines(((*number, asked), said)),)


def _line(ask: Ask, at: int) -> Line | None:
    """What was answered in the end, or else so far; None: nothing yet."""
    outcome, entry = ask.late or ask.outcome, ask.draft.entries[at]
    if outcome and outcome.answers:
        return build_card(ask, channel=CHANNEL).lines[at]
    if not entry.done and not entry.picked and entry.text is None:
        return None
    review = replace(ask.draft, view=View.REVIEW, at=len(ask.questions))
    return build_card(replace(ask, status=Status.OPEN, draft=review), channel=CHANNEL).lines[at]
