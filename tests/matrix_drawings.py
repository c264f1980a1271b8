"""Parts of what the kit shows in a Matrix room, each drawn by itself."""

from __future__ import annotations

from collections.abc import Sequence

from chatbridge.channels.chat import approvals, notices
from chatbridge.channels.chat import card as cards
from chatbridge.channels.chat.capabilities import Seen
from chatbridge.channels.matrix.render.card import MATRIX
from chatbridge.channels.matrix.render.html import Words, write
from chatbridge.core.cards.card import Card
from chatbridge.core.model import Ask, View


def draw_card(card: Card, seen: Seen) -> Words:
    return cards.draw_card(card, seen, MATRIX)[0]


def draw_root(card: Card, seen: Seen) -> Words:
    return write(cards.thread_root(card, seen, MATRIX), now=seen.now)


def draw_past(ask: Ask, *, view: View, at: int) -> Words:
    return write(cards.finished_step(ask, view=view, at=at), now=0.0)


def draw_continued(card: Card) -> Words:
    return write(cards.continued(card), now=0.0)


def pages_of(card: Card) -> Sequence[Words]:
    return [write(page, now=0.0) for page in approvals.pages(card, MATRIX)]


def draw_remark(text: str) -> Words:
    return write(notices.remark(text), now=0.0)
