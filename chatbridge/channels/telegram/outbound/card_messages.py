"""Where a post is in its chat, as text for the store: the card's message, and what goes with it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from chatbridge.core.stored_json import reader


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A message that opens the person's keyboard for one step of the form."""

    id: int
    step: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CardMessages:
    chat: int
    card: int
    """`wire.NO_NUMBER` until somebody touches it, if Telegram has not said its number."""
    step: int = -1
    """The step that the card shows, and since when, by Telegram's clock."""
    since: float = 0.0
    thread: int | None = None
    again: bool = False
    """The card was posted again because taps may have been lost, and nobody has moved on since."""
    files: int = 0
    """How many of the files behind the card are out."""
    prompt: Prompt | None = None
    old: tuple[int, ...] = ()
    """Messages that this card has taken the place of, while they are still there."""
    reminder: int | None = None
    """The reminder's message; 0 if none is to be sent."""


def handle(chat: int, message: int) -> str:
    return f"{chat}:{message}"


def to_text(place: CardMessages) -> str:
    return json.dumps(asdict(place), separators=(",", ":"))


from_text = reader(CardMessages)
