"""What a Matrix room can do, and cards as it shows them."""

from __future__ import annotations

from collections.abc import Sequence

from chatbridge.channels.chat import approvals
from chatbridge.channels.chat import card as cards
from chatbridge.channels.chat.capabilities import Capabilities, Room, Seen
from chatbridge.channels.matrix.render.html import LIMIT, Words, size, write
from chatbridge.core.cards.card import Card
from chatbridge.core.model import Ask, View

MATRIX: Capabilities[Words] = Capabilities(
    channel="matrix",
    write=write,
    size=size,
    card=LIMIT,
    rooms=(
        Room(question=22_000, description=10_000),
        Room(question=12_000, description=2_000),
        Room(question=8_000, label=200, description=300),
        Room(question=4_000, label=100, description=120, scale=2),
        Room(question=4_000, label=100, description=0, scale=2),
        Room(question=4_000, label=40, description=0, scale=4),
        Room(question=4_000, label=12, description=0, scale=4),
        Room(question=2_000, label=40, description=0, options=40, scale=4),
        Room(question=2_000, label=20, description=0, options=20, scale=4),
    ),
    approval_question=2_000,
    path=1_500,
    code=18_000,
    ended_code=6_000,
    page=LIMIT - 1_000,
    root_code=3_000,
    output=20_000,
    threads=True,
)


def draw_card(card: Card, seen: Seen) -> Words:
    return cards.draw_card(card, seen, MATRIX)[0]


def draw_root(card: Card, seen: Seen) -> Words:
    return write(cards.thread_root(card, seen, MATRIX), now=seen.now)


def draw_reminder(card: Card, seen: Seen) -> Words:
    return write(cards.reminder(card, MATRIX), now=seen.now)


def draw_past(ask: Ask, *, view: View, at: int) -> Words:
    return write(cards.finished_step(ask, view=view, at=at), now=0.0)


def pages_of(card: Card) -> Sequence[Words]:
    return [write(page, now=0.0) for page in approvals.pages(card, MATRIX)]
