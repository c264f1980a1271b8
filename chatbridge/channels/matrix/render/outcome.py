"""How an ended ask reads in a room. The words are those of `chat.outcome`."""

from __future__ import annotations

from collections.abc import Iterator

from chatbridge.channels.chat.document import Line, Lines
from chatbridge.channels.chat.outcome import outcome
from chatbridge.channels.matrix.render import approvals
from chatbridge.channels.matrix.render.html import Words, paragraphs, write
from chatbridge.core.cards.card import Card, Role


def ended(card: Card, *, viewer: str | None, now: float, scale: int = 1) -> Words:
    """`viewer` is the person whose private room this is. With many long answers, only 1/`scale` of
    each fits."""
    found = outcome(card, viewer=viewer, now=now, scale=scale)
    told = Lines((found.reason, *found.remarks, *_offers(card, now)))
    return paragraphs(
        (
            write((Lines((found.heading,)), found.asked), now=now),
            approvals.what(card, room=approvals.ENDED),
            write((told,), now=now),
        )
    )


def _offers(card: Card, now: float) -> Iterator[Line]:
    if card.button(Role.ANYWAY):
        yield ("Answer anyway: reply “anyway”.",)
    if card.button(Role.DISCARD) and (card.kept_until is None or card.kept_until > now):
        yield ("To discard it, reply “discard”.",)
