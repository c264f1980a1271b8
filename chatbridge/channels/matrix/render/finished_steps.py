"""Messages whose step is over: what was asked there, and what came of it. Pure."""

from __future__ import annotations

from dataclasses import replace

from chatbridge.channels.matrix.render import outcome as ending
from chatbridge.channels.matrix.render.drawing import Drawing, drawn
from chatbridge.channels.matrix.render.html import NOTHING, Words, lines, paragraph, trusted
from chatbridge.core.cards import outcome_text
from chatbridge.core.cards.build import build_card
from chatbridge.core.cards.card import Line
from chatbridge.core.model import Ask, Status, View
from chatbridge.core.text import prose

CHANNEL = "matrix"
PAST_QUESTION, PAST_ANSWER = 300, 1_500
GOES_ON = "It goes on below."


def draw_past(ask: Ask, *, view: View, at: int) -> Drawing:
    """A screen that was left, or that the end has overtaken."""
    outcome = ask.late or ask.outcome
    answered = bool(outcome and outcome.answers)
    going_on = ask.open or (ask.status is Status.TIMED_OUT and ask.draft.late and not answered)
    if ask.approval:
        ended = f"{outcome_text.heading(build_card(ask, channel=CHANNEL))}."
        return drawn(paragraph(trusted(GOES_ON if going_on else ended)))
    if view in (View.CANCEL, View.EXPLAIN):
        return drawn(paragraph(trusted(_aside(ask, at, going_on=going_on))))
    if view is View.REVIEW or at >= len(ask.questions):
        ended = "Checked and sent." if answered else "Not sent."
        return drawn(paragraph(trusted(f"Not sent yet. {GOES_ON}" if going_on else ended)))
    return drawn(_past_question(ask, at))


def _aside(ask: Ask, at: int, *, going_on: bool) -> str:
    """The cancel screen, and the one beside it."""
    if at < len(ask.questions) and ask.draft.entries[at].ask_back is not None:
        return "Asked back."
    if going_on:
        return "Kept open."
    return "Cancelled." if ask.status is Status.CANCELLED else "Not cancelled."


def _past_question(ask: Ask, at: int) -> Words:
    line = _line(ask, at)
    number = trusted(f"{at + 1}. ") if len(ask.questions) > 1 else NOTHING
    asked = number + ending.asked_line(prose(ask.questions[at].text), PAST_QUESTION)
    said = ending.answer(line, PAST_ANSWER) if line else NOTHING
    return paragraph(lines((asked, said)))


def _line(ask: Ask, at: int) -> Line | None:
    """What was answered in the end, or else so far; None: nothing yet."""
    outcome, entry = ask.late or ask.outcome, ask.draft.entries[at]
    if outcome and outcome.answers:
        return build_card(ask, channel=CHANNEL).lines[at]
    if not entry.done and not entry.picked and entry.text is None:
        return None
    review = replace(ask.draft, view=View.REVIEW, at=len(ask.questions))
    return build_card(replace(ask, status=Status.OPEN, draft=review), channel=CHANNEL).lines[at]
