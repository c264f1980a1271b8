"""Which question a plain message is for, where that is not clear: the bot asks back, and one tap
says so. Nothing that was typed has to be typed again.

Nothing is stored for it: the bot's own question names the message and the asks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chatbridge.channels.matrix.client.events import RoomEvent
from chatbridge.core.forms.emoji_shortcuts import NUMBERS, YES_NO, normal
from chatbridge.core.model import Ask

OFFER = "chatbridge.offer"
YES = YES_NO[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    text: str
    """The event of the message."""
    asks: tuple[tuple[str, int], ...]
    """What it may be for: the asks, and their steps when it was written."""

    def emojis(self) -> Sequence[str]:
        return (YES,) if len(self.asks) == 1 else NUMBERS[: len(self.asks)]

    def chosen(self, emoji: str) -> tuple[str, int] | None:
        for known, ask in zip(self.emojis(), self.asks, strict=False):
            if normal(known) == normal(emoji):
                return ask
        return None


def offer(message: RoomEvent, asks: Sequence[Ask]) -> Offer:
    """At most as many as there are signs for."""
    listed = asks[: len(NUMBERS)]
    return Offer(text=message.id, asks=tuple((ask.id, ask.draft.step) for ask in listed))


def to_content(made: Offer) -> dict[str, Any]:
    asks = [{"ask": ask_id, "step": step} for ask_id, step in made.asks]
    return {OFFER: {"text": made.text, "asks": asks}}


def from_content(content: Mapping[str, Any]) -> Offer | None:
    found = content.get(OFFER)
    if not isinstance(found, Mapping):
        return None
    text, asks = found.get("text"), found.get("asks")
    if not isinstance(text, str) or not isinstance(asks, list):
        return None
    pairs = [(a.get("ask"), a.get("step")) for a in asks if isinstance(a, Mapping)]
    known = tuple((a, s) for a, s in pairs if isinstance(a, str) and type(s) is int)
    return Offer(text=text, asks=known)
