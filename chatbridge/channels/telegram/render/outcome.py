"""How an ended ask reads in Telegram. The words are those of `chat.outcome`."""

from __future__ import annotations

from chatbridge.channels.chat.document import Lines
from chatbridge.channels.chat.outcome import outcome
from chatbridge.channels.telegram.render import approvals
from chatbridge.channels.telegram.render.html import to_html, write
from chatbridge.core.cards.card import Card


def ended(card: Card, *, viewer: str | None, now: float) -> str:
    """`viewer` is the person whose private chat this is."""
    found = outcome(card, viewer=viewer, now=now)
    parts = (
        write((Lines((found.heading,)),), now=now),
        to_html(approvals.ended(card)) if card.approval else write((found.asked,), now=now),
        write((Lines((found.reason,)), Lines(found.remarks)), now=now),
    )
    return "\n\n".join(filter(None, parts))
