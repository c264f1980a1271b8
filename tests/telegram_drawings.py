"""Parts of what the kit shows in a Telegram chat, each drawn by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chatbridge.channels.chat import announcer, long_questions
from chatbridge.channels.chat import card as cards
from chatbridge.channels.chat.capabilities import Seen
from chatbridge.channels.chat.document import File, Message, Rows
from chatbridge.channels.telegram.render.card import TELEGRAM
from chatbridge.channels.telegram.render.html import to_html
from chatbridge.core.cards.card import Card
from chatbridge.core.model import Ask, Notice
from tests.telegram_html import write

Overflow = long_questions.Overflow[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    html: str
    rows: Rows = ()


def draw(message: Message, *, now: float) -> Drawing:
    return Drawing(html=write(message.document, now=now), rows=message.rows)


def draw_card(card: Card, seen: Seen) -> Drawing:
    text, rows = cards.draw_card(card, seen, TELEGRAM)
    return Drawing(html=to_html(text), rows=rows)


def overflow(ask: Ask) -> Overflow:
    found = long_questions.overflow(ask, TELEGRAM)
    leaflets = [to_html(text) for text in found.leaflets]
    return Overflow(leaflets, found.before, found.after, found.questions)


def draw_notice(notice: Notice) -> Drawing:
    return draw(announcer.draw_notice(notice, TELEGRAM), now=0.0)


def draw_list(notices: Sequence[Notice]) -> Drawing | None:
    message = announcer.draw_list(notices, TELEGRAM)
    return draw(message, now=0.0) if message is not None else None


def file_of(notice: Notice) -> File | None:
    return announcer.file_of(notice, TELEGRAM)
