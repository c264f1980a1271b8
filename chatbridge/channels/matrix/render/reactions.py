"""A card's reactions, which are its buttons here: which there are, in which order."""

from __future__ import annotations

from dataclasses import dataclass

from chatbridge.core.cards.card import AskAction, Card
from chatbridge.core.forms import emoji_shortcuts
from chatbridge.core.forms.form import Event

SEEDED_OPTIONS = len(emoji_shortcuts.NUMBERS)
"""The others are chosen by replying with their number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    emoji: str
    """As it is seeded, fully qualified."""
    action: Event | AskAction


def keys(card: Card) -> tuple[Key, ...]:
    """What this screen is seeded with, in this order; nothing for a card that has ended.

    An option of a multi-select is put on, whatever is picked now: taking the reaction back is what
    puts it off.
    """
    return tuple(
        Key(emoji=emoji, action=action) for emoji, action in emoji_shortcuts.list_shortcuts(card)
    )


def key_for(card: Card, emoji: str) -> Key | None:
    """What a person's reaction on this screen stands for."""
    reacted = emoji_shortcuts.normal(emoji)
    return next((key for key in keys(card) if emoji_shortcuts.normal(key.emoji) == reacted), None)
