"""Cards as Telegram shows them: one HTML message and its rows of buttons. Pure.

Owns the form's screens, the reminder, the prompt and the toasts. How an ask ended is in `ending`,
what a message cannot hold in `overflow`, what an approval is about in `approvals`, the buttons in
`keyboard`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from chatbridge.channels.chat import keyboard, notices
from chatbridge.channels.chat.card import heading, reminded_question, reminder_heading
from chatbridge.channels.chat.document import Lines, Message, Rows, Untrusted
from chatbridge.channels.chat.hints import button_hints
from chatbridge.channels.chat.outcome import PROJECT_LENGTH, pairs
from chatbridge.channels.telegram.render import approvals, long_questions, outcome
from chatbridge.channels.telegram.render.html import (
    escape,
    headline,
    readable,
    to_html,
    write,
)
from chatbridge.core.cards import outcome_text as ends
from chatbridge.core.cards.build import build_card
from chatbridge.core.cards.card import Card
from chatbridge.core.forms import form
from chatbridge.core.model import Ask, Outcome, Status, View
from chatbridge.core.text import clipped, isolated, one_line, shortened

CANCEL_QUESTION = 300
REMINDER_QUESTION = 60
TOAST_LABEL = 40
TOAST = 60
PLACEHOLDER = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Where and when a card is seen."""

    private: bool
    viewer: str | None
    """The private chat that this is."""
    now: float
    prompted: bool = False
    """The prompt for typing is out."""
    again: bool = False
    """The card was posted again after a gap in which taps were not kept."""
    overflowed: bool = False
    """The whole question was sent before the card."""
    unsent: bool = False
    """Not all of what an approval is about is out yet, so that it cannot be allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    html: str
    rows: Rows = ()


def draw(message: Message, *, now: float) -> Drawing:
    return Drawing(html=readable(write(message.document, now=now)), rows=message.rows)


def draw_card(card: Card, seen: Seen) -> Drawing:
    if card.view is None:
        viewer = seen.viewer if seen.private else None
        text = outcome.ended(card, viewer=viewer, now=seen.now)
        rows = keyboard.rows(card, private=seen.private, now=seen.now, prompted=True, listed=False)
        return Drawing(html=text, rows=rows)
    overflowed = not card.approval and (seen.overflowed or not long_questions.fits(card))
    listed = bool(card.choices) and (overflowed or keyboard.needs_list(card, private=seen.private))
    hints = button_hints(
        card, private=seen.private, now=seen.now, again=seen.again, unsent=seen.unsent
    )
    parts = [
        write((heading(card),), now=seen.now),
        *_screen(card, now=seen.now, listed=listed, overflowed=overflowed),
        write((Lines(tuple(hints)),), now=seen.now),
    ]
    rows = keyboard.rows(
        card,
        private=seen.private,
        now=seen.now,
        prompted=seen.prompted,
        listed=listed,
        unsent=seen.unsent,
    )
    return Drawing(html=readable("\n\n".join(part for part in parts if part)), rows=rows)


# ── the form ──────────────────────────────────────────────────────────────────────────────────────


def _screen(card: Card, *, now: float, listed: bool, overflowed: bool) -> Iterator[str]:
    if card.view is View.REVIEW:
        for i, (asked, answer) in enumerate(pairs(card.lines), 1):
            yield write((Lines(((f"{i}. ", *asked), answer)),), now=now)
    elif card.view in (View.CANCEL, View.EXPLAIN):
        yield escape(clipped(headline(card.question), CANCEL_QUESTION))
    elif card.approval:
        yield to_html(approvals.body(card))
    else:
        yield to_html(long_questions.body(card, listed=listed, overflowed=overflowed))


# ── beside the card ───────────────────────────────────────────────────────────────────────────────


def draw_reminder(card: Card, seen: Seen) -> Drawing:
    source, about = reminded_question(card), notices.about(card.subject)
    words = notices.in_one_line(source, about) if card.approval else headline(source)
    asked = (Untrusted(clipped(words, REMINDER_QUESTION)),)
    html = write((Lines((reminder_heading(card),)), Lines((asked,))), now=seen.now)
    return Drawing(html=html, rows=keyboard.extend_row(card))


def draw_prompt(card: Card, *, mention: tuple[int, str] | None) -> str:
    """The message that is replied to. `mention`: whose turn it is in a group, by id and name."""
    project = f"<b>{escape(isolated(shortened(card.project, PROJECT_LENGTH)))}</b>"
    what = "your answer"
    if card.view is View.EXPLAIN:
        what = "what to explain,"
    elif card.approval:
        what = "your reason"
    if mention is None:
        return f"{what.capitalize()} for {project}:"
    person, name = mention
    called = escape(isolated(shortened(one_line(name), ends.MAX_NAME_CHARACTERS) or "You"))
    return f'<a href="tg://user?id={person}">{called}</a>, {what} for {project}:'


def placeholder(card: Card) -> str:
    """What the field for the answer shows while it is empty."""
    if card.view is View.EXPLAIN:
        return "What should be explained?"
    if card.approval:
        return "Your reason"
    return clipped(card.placeholder or "Your answer", PLACEHOLDER)


def toast(ask_before: Ask, step: form.Step, *, kept: bool = False, asked_back: bool = False) -> str:
    """What the tap that led to `step` is answered with; nothing where the card says it all.
    `kept`: no agent waits for it now."""
    match step:
        case form.Refused(why=why):
            return clipped(why, TOAST)
        case form.Cancelled():
            return "Sent." if asked_back else "Cancelled."
        case form.Moved():
            return ""
        case form.Answered(answers=answers):
            if ask_before.approval:
                return f"{ends.heading(_after(ask_before, step))}."
            done = "Kept" if kept else "Sent"
            if len(answers) > 1:
                return f"{done}: {len(answers)} answers"
            said = _said(ask_before, step)
            return f"{done}: {said}" if said else f"{done}."


def _said(ask: Ask, step: form.Answered) -> str:
    answer = _after(ask, step).lines[0].answer
    return keyboard.beside_ours(shortened(one_line(answer or ""), TOAST_LABEL))


def _after(ask: Ask, step: form.Answered) -> Card:
    ended = replace(ask, status=Status.ANSWERED, outcome=Outcome(at=0.0, answers=step.answers))
    return build_card(ended, channel="telegram")
