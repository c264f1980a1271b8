"""Cards as Matrix shows them: a message's plain body and its HTML. Pure.

Owns the form's screens, the root above a thread, and the reminder. An approval's screens are in
`approvals`, what can be done in `hints`, how an ask ended in `ending`, steps that are over in
`past`, the reactions in `keyboard`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from chatbridge.channels.chat.card import heading, reminded_question, reminder_heading
from chatbridge.channels.chat.document import Inline, Line, Lines, Name, Numbered, Strong, Untrusted
from chatbridge.channels.chat.hints import (
    ReactionView,
    cancel_hint,
    explain_hint,
    more_time,
    reaction_hints,
    sentences,
    time_left,
)
from chatbridge.channels.chat.outcome import asked_line, pairs
from chatbridge.channels.matrix.render import approvals, outcome
from chatbridge.channels.matrix.render.html import (
    LIMIT,
    NOTHING,
    Words,
    name,
    numbered,
    paragraph,
    paragraphs,
    question,
    size,
    strong,
    trusted,
    untrusted,
    write,
)
from chatbridge.core.cards.card import Card, Choice
from chatbridge.core.model import QuestionType, View
from chatbridge.core.text import clipped, isolated, one_line, shortened

ROOT_LINE = 100
REMINDER_QUESTION = 60
BOXED_ABOVE = 120
"""A longer description keeps its lines, in a frame of its own: they cannot pass for ours."""
ALL = 10_000

LEFT_OUT = paragraph(trusted("… The whole question is in the web inbox."))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Room:
    """How much of each part is shown."""

    question: int
    """In bytes."""
    label: int = ALL
    description: int = 0
    options: int = ALL
    part: int = 1
    """Answers are cut to this part of their usual length."""


_ROOMS = (
    _Room(question=22_000, description=10_000),
    _Room(question=12_000, description=2_000),
    _Room(question=8_000, label=200, description=300),
    _Room(question=4_000, label=100, description=120, part=2),
    _Room(question=4_000, label=100, part=2),
    _Room(question=4_000, label=40, part=4),
    _Room(question=4_000, label=12, part=4),
    _Room(question=2_000, label=40, options=40, part=4),
    _Room(question=2_000, label=20, options=20, part=4),
)
"""The first in which everything fits an event."""


def _fitted(make: Callable[[_Room], Words]) -> Words:
    for room in _ROOMS:
        words = make(room)
        if size(words) < LIMIT:
            break
    return words


# ── the screen to be answered ─────────────────────────────────────────────────────────────────────


def draw_card(card: Card, seen: ReactionView) -> Words:
    if card.view is None:
        viewer, now = seen.viewer, seen.now
        return _fitted(lambda room: outcome.ended(card, viewer=viewer, now=now, scale=room.part))
    if card.view is View.CANCEL:
        return _one_line(cancel_hint(card, seen), seen)
    if card.view is View.EXPLAIN:
        return _one_line(explain_hint(seen), seen)
    if card.approval and card.view is View.OTHER:
        return _one_line(approvals.why_hint(seen), seen)
    if card.approval:
        return paragraphs((write((heading(card),), now=seen.now), approvals.screen(card, seen)))
    return _fitted(lambda room: _screen(card, seen, room))


def _one_line(parts: Line, seen: ReactionView) -> Words:
    return write((Lines((parts,)),), now=seen.now)


def _screen(card: Card, seen: ReactionView, room: _Room) -> Words:
    shown = _shown(card, room, seen.now)
    apart = "\n\n" if "\n" in shown.body and card.view is not View.REVIEW else "\n"
    below = paragraphs(
        (_options(card, room), write((Lines(tuple(reaction_hints(card, seen))),), now=seen.now))
    )
    return paragraphs(
        (write((heading(card),), now=seen.now), paragraphs((shown, below), apart=apart))
    )


def _shown(card: Card, room: _Room, now: float) -> Words:
    if card.view is View.REVIEW:
        return write((Numbered(items=tuple(pairs(card.lines, scale=room.part))),), now=now)
    return question(card.question, room=room.question, left_out=LEFT_OUT)


def _options(card: Card, room: _Room) -> Words:
    if card.type is QuestionType.CONFIRM or not card.choices:
        return NOTHING
    listed = numbered((_option(c, room) for c in card.choices[: room.options]), mark=" ")
    more = len(card.choices) - room.options
    rest = trusted(f"… and {more} more. The whole question is in the web inbox.")
    return paragraphs((listed, paragraph(rest) if more > 0 else NOTHING))


def _option(choice: Choice, room: _Room) -> Words:
    label = strong(name(clipped(choice.label, room.label)))
    first = label + trusted(" (recommended)") if choice.recommended else label
    said = clipped(choice.description or "", room.description) if room.description else ""
    if not said.strip():
        return first
    line = untrusted(one_line(said))
    in_html = f"<br>{line.html}"
    if len(said) > BOXED_ABOVE:
        boxed = untrusted(said.strip("\n"))
        in_html = f"<blockquote>{boxed.html}</blockquote>"
    return first + Words(f": {isolated(line.body)}", in_html)


# ── beside it ─────────────────────────────────────────────────────────────────────────────────────


def draw_root(card: Card, seen: ReactionView) -> Words:
    """The root while the screen to be answered is further down in its thread."""
    asked: Inline = asked_line(card.question, ROOT_LINE)
    if card.count > 1:
        title = shortened(card.title or "", ROOT_LINE)
        asked = Name(title) if title else f"{card.count} questions"
    done: Line = (f"{card.done} of {card.count} answered.",) if card.count > 1 else ()
    go_on = sentences((done, ("Go on in the thread.",), time_left(card, seen)))
    return paragraphs(
        (
            write((Lines(heading(card).lines[:1]), Lines(((Strong(asked),),))), now=seen.now),
            approvals.what(card, room=approvals.BRIEF),
            _one_line(go_on, seen),
        )
    )


def draw_reminder(card: Card, seen: ReactionView) -> Words:
    asked = (asked_line(reminded_question(card), REMINDER_QUESTION),)
    code = " ".join(card.subject.code.split()) if card.subject else ""
    about: Line = (Untrusted(clipped(code, REMINDER_QUESTION)),)
    parts = (reminder_heading(card), asked, about, more_time(card))
    return write([Lines((part,)) for part in parts], now=seen.now)
