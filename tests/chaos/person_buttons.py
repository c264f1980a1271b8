"""A chat with buttons as the person sees it: its messages, and what their buttons carry.

What can be done there is the service's own: see `person_telegram` and `person_discord`.
"""

from __future__ import annotations

import asyncio
import base64
import re
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tests.chaos.riddles import KEY

DATA = re.compile(r"([A-Za-z0-9_-]{22})([A-Za-z])(\d+)((?:\.\d+)*)")
BESIDE = "Su"
"""Buttons of lists and of questions which card is meant."""
CHOOSE, ON, OFF, DONE, SEND, USE, DISCARD, ANYWAY = "c", "t", "f", "d", "g", "u", "D", "a"
WRITE = "w"
TAKEN = "👍"
LOOK_EVERY = 0.4


@dataclass(frozen=True, slots=True, kw_only=True)
class Button:
    text: str
    data: str
    ask: str
    code: str
    question: int

    def toggled(self, on: bool) -> str:
        """The same check mark, as another drawing of the card would carry it."""
        return self.data[:22] + (ON if on else OFF) + self.data[23:]


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    id: int
    text: str
    from_bot: bool
    buttons: tuple[Button, ...]
    reply_to: int | None
    reactions: tuple[str, ...]
    edits: int

    @property
    def key(self) -> str | None:
        found = KEY.search(self.text)
        return found[0] if found else None

    @property
    def ask(self) -> str | None:
        """The ask whose card this is, as long as it can be answered."""
        own = [b for b in self.buttons if b.code not in BESIDE + DISCARD + ANYWAY]
        return own[0].ask if self.from_bot and own else None

    def button(self, code: str) -> Button | None:
        return next((b for b in self.buttons if b.code == code), None)


@dataclass(frozen=True, slots=True)
class Sent:
    """What the service said: None, if the connection broke before it said anything."""

    accepted: bool | None
    id: Any = None
    text: str = ""


@dataclass
class ButtonChat(ABC):
    messages: dict[int, Message] = field(default_factory=dict, init=False)

    async def watch(self) -> None:
        """For as long as the person is there."""
        while True:
            await self.look()
            await asyncio.sleep(LOOK_EVERY)

    def cards(self) -> dict[str, Message]:
        """The newest live card of each ask."""
        found = {}
        for message in sorted(self.messages.values(), key=lambda it: it.id):
            if message.ask is not None:
                found[message.ask] = message
        return found

    def bots_own(self) -> list[Message]:
        return [message for message in self.messages.values() if message.from_bot]

    @property
    @abstractmethod
    def channel(self) -> str: ...

    @abstractmethod
    async def look(self) -> bool:
        """Whether what is shown could be seen."""

    @abstractmethod
    async def tap(self, message: int, data: str) -> Sent: ...

    @abstractmethod
    async def say(self, text: str, *, reply_to: int | None = None) -> Sent: ...

    @abstractmethod
    async def command(self, name: str, words: str = "") -> None: ...

    @abstractmethod
    async def toast(self, query: str, *, within: float) -> str | None:
        """What popped up after a tap; None, if the button span all the while."""


def buttons(keys: Iterable[tuple[str, str]]) -> tuple[Button, ...]:
    """Those of asks, of all labels and what they carry."""
    return tuple(
        Button(text=text, data=data, ask=_long(found[1]), code=found[2], question=int(found[3]))
        for text, data in keys
        if (found := DATA.fullmatch(data))
    )


def _long(short: str) -> str:
    return str(uuid.UUID(bytes=base64.urlsafe_b64decode(f"{short}==")))
