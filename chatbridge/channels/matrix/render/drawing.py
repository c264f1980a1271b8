"""What a message says, and where and when it is seen. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from chatbridge.channels.matrix.render.html import Words


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    body: str
    html: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Where and when a card is seen."""

    now: float
    reactions: bool = True
    """Otherwise everything is typed, and the card says so."""
    reacted: frozenset[int] = frozenset()
    """The options, from 0, that people's reactions on this very message show as picked."""
    viewer: str | None = None
    """The person whose private room this is."""
    unsent: bool = False
    """Not all of what an approval is about is out yet, so that it cannot be allowed."""


def drawn(words: Words) -> Drawing:
    return Drawing(body=words.body, html=words.html)
