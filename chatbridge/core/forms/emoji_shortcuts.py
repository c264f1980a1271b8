"""Emoji that stand for the buttons of a card, as a reaction or as text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from chatbridge.core.cards.card import AskAction, Card, Role
from chatbridge.core.forms.form import Event, Toggle
from chatbridge.core.model import QuestionType, View

NUMBERS = ("1️⃣", "2️⃣", "3️⃣", "4️⃣", "5️⃣", "6️⃣", "7️⃣", "8️⃣", "9️⃣", "🔟")
YES_NO = ("👍", "👎")
FORWARD, SKIP, BACK, CANCEL = "✅", "⏭️", "↩️", "❌"
ASK_BACK, REPHRASE = "❔", "🔁"
SHOW_ALL, ALLOW, DENY = "📄", *YES_NO
TAKE = "🙋"
REMOVE = "🗑️"

_FORWARD = (
    Role.DONE,
    Role.SEND,
    Role.SEND_ATTACHED,
    Role.SEND_HEARD,
    Role.CANCEL_NOW,
    Role.EXPLAIN_NOW,
)
_ROLES = (
    (SHOW_ALL, (Role.SHOW_ALL,)),
    (ALLOW, (Role.ALLOW, Role.MORE_NOW)),
    (DENY, (Role.DENY,)),
    (FORWARD, _FORWARD),
    (REMOVE, (Role.DROP_ATTACHED,)),
    (REPHRASE, (Role.REPHRASE,)),
    (SKIP, (Role.SKIP,)),
    (BACK, (Role.BACK, Role.UNDO)),
    (ASK_BACK, (Role.EXPLAIN,)),
    (CANCEL, (Role.CANCEL,)),
    (TAKE, (Role.TAKE,)),
)
_UNIMPORTANT = dict.fromkeys((0xFE0E, 0xFE0F, *range(0x1F3FB, 0x1F400)))
"""Variation selectors and skin tones."""


def normal(emoji: str) -> str:
    """Remove variation selectors and skin tones, which differ between keyboards."""
    return emoji.translate(_UNIMPORTANT)


class Reaction(NamedTuple):
    emoji: str  # Fully qualified
    action: Event | AskAction


def reactions(card: Card) -> tuple[Reaction, ...]:
    """The emoji of this screen in display order. Options after the tenth have none."""
    return tuple(_reactions(card)) if card.view is not None else ()


def _reactions(card: Card) -> Iterator[Reaction]:
    emojis = YES_NO if card.type is QuestionType.CONFIRM else NUMBERS
    for emoji, choice in zip(emojis, card.choices, strict=False):
        action = choice.action
        # A reaction has no state: adding it selects, and removing it deselects.
        yield Reaction(emoji, replace(action, on=True) if isinstance(action, Toggle) else action)
    for emoji, reply in zip(NUMBERS, card.replies, strict=False):
        yield Reaction(emoji, reply)
    for emoji, roles in _ROLES:
        if emoji == ALLOW and card.subject and card.subject.destructive:
            continue  # too easy to tap by accident: it has to be typed
        for role in roles:
            if button := card.button(role):
                discards = emoji == BACK and card.view is View.HEARD
                yield Reaction(CANCEL if discards else emoji, button.action)


def reaction_for(card: Card, emoji: str) -> Reaction | None:
    """What this emoji stands for on this screen."""
    said = normal(emoji)
    return next((each for each in reactions(card) if normal(each.emoji) == said), None)


def is_shortcut(emoji: str) -> bool:
    """Whether this emoji is a shortcut on any screen."""
    return normal(emoji) in _ALL


def number_of(emoji: str) -> int | None:
    """The number that this emoji shows, if it is one."""
    said = normal(emoji)
    return next((i for i, each in enumerate(NUMBERS, 1) if normal(each) == said), None)


_ALL = frozenset(map(normal, (*NUMBERS, *YES_NO, *(emoji for emoji, _ in _ROLES))))
