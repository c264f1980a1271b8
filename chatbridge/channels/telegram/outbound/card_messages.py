"""Where a post is in its chat, as text for the store: the card's message, and what goes with it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from chatbridge.channels.chat.card_messages import ALL_SENT, CardMessages, Part, Prompt, SentFiles
from chatbridge.channels.telegram.client.response_checks import NO_NUMBER
from chatbridge.core.stored_json import reader


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPrompt:
    id: int
    step: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """With Telegram's numbers; 0 for a message of which it has not said the number."""

    chat: int
    card: int
    step: int = -1
    since: float = 0.0
    thread: int | None = None
    again: bool = False
    files: int = 0
    prompt: StoredPrompt | None = None
    old: tuple[int, ...] = ()
    above: int = NO_NUMBER
    raised: int = 0
    raising: int = 0
    attached: SentFiles = ALL_SENT


_read = reader(Stored)


def message_id(number: int) -> str:
    return "" if number == NO_NUMBER else str(number)


def number_of(message: str) -> int:
    return int(message or NO_NUMBER)


def to_text(place: CardMessages) -> str:
    card, prompt = place.root, place.prompt
    stored = Stored(
        chat=int(place.room),
        card=number_of(card.event),
        step=card.step,
        since=place.since,
        thread=int(place.topic) if place.topic else None,
        again=place.again,
        files=len(place.pages),
        prompt=StoredPrompt(id=number_of(prompt.id), step=prompt.step) if prompt else None,
        old=tuple(map(number_of, place.old)),
        above=number_of(place.above),
        raised=place.raised,
        raising=place.raising,
        attached=place.files,
    )
    return json.dumps(asdict(stored), separators=(",", ":"))


def from_text(text: str) -> CardMessages | None:
    found = _read(text)
    if found is None:
        return None
    prompt = found.prompt
    return CardMessages(
        room=str(found.chat),
        parts=(Part(event=message_id(found.card), step=found.step),),
        since=found.since,
        topic=str(found.thread) if found.thread else None,
        again=found.again,
        pages=("",) * found.files,
        prompt=Prompt(id=message_id(prompt.id), step=prompt.step) if prompt else None,
        old=tuple(map(message_id, found.old)),
        above=message_id(found.above),
        raised=found.raised,
        raising=found.raising,
        files=found.attached,
    )
