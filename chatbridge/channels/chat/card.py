"""What every chat says alike on an open card: its heading, and the reminder's first line."""

from __future__ import annotations

from chatbridge.channels.chat.document import Inline, Line, Lines, Name, Strong, Time
from chatbridge.channels.chat.outcome import AGENT_LENGTH, project
from chatbridge.core.cards.card import Card, State
from chatbridge.core.model import View
from chatbridge.core.text import shortened

TITLE_LENGTH, LABEL_LENGTH = 28, 18


def heading(card: Card) -> Lines:
    """Who asks, and which question of how many."""
    if card.state is State.LATE:
        first: Line = (f"{card.glyph} ", Strong("Late answer"), " · ", project(card))
    else:
        agent = Name(shortened(card.agent, AGENT_LENGTH))
        first = (f"{card.glyph} ", Strong(project(card)), " · ", agent)
    label = shortened(card.label or "", LABEL_LENGTH)
    # Together they leave room for the question on a lock screen.
    title = shortened(card.title or "", TITLE_LENGTH - len(label))
    parts: list[Inline] = [Name(words) for words in (label, title) if words]
    if card.view is View.REVIEW:
        parts.append("check and send")
    elif card.count > 1 and card.type is not None:
        parts.append(f"{card.number} of {card.count}")
    second = [each for part in parts for each in (" · ", part)][1:]
    return Lines((first, tuple(second)))


def reminder_heading(card: Card) -> Line:
    ends: Line = (" · ends ", Time(card.deadline)) if card.deadline is not None else ()
    return ("⏳ ", Strong(project(card)), *ends)


def reminded_question(card: Card) -> str:
    """The source of the question that a reminder quotes."""
    return card.question or (card.lines[0].question if card.lines else card.title or "")
