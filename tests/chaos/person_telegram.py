"""The person's phone with Telegram: what it shows, and what can be done with it.

Goes to the service itself, not through the relay: a phone has a network of its own.
"""

from __future__ import annotations

import asyncio
import base64
import re
import uuid
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.chaos.places import TelegramPlace
from tests.chaos.riddles import KEY

Json = dict[str, Any]

DATA = re.compile(r"([A-Za-z0-9_-]{22})([A-Za-z])(\d+)((?:\.\d+)*)")
BESIDE = "Su"
"""Buttons of lists and of questions which card is meant."""
CHOOSE, ON, OFF, DONE, SEND, USE, DISCARD, ANYWAY = "c", "t", "f", "d", "g", "u", "D", "a"
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
class Phone:
    place: TelegramPlace
    http: httpx.AsyncClient
    messages: dict[int, Message] = field(default_factory=dict)
    _version: int = 0

    async def watch(self) -> None:
        """For as long as the person is there."""
        while True:
            await self.look()
            await asyncio.sleep(LOOK_EVERY)

    async def look(self) -> bool:
        try:
            reply = await self.http.get(
                f"{self.place.control}/messages", params={"since": self._version}
            )
            reply.raise_for_status()
            news: list[Json] = reply.json()
        except (httpx.HTTPError, ValueError):
            return False
        for each in news:
            self._version = max(self._version, each["version"])
            if each.get("deleted"):
                self.messages.pop(each["id"], None)
            else:
                self.messages[each["id"]] = _message(each)
        return True

    def cards(self) -> dict[str, Message]:
        """The newest live card of each ask."""
        found = {}
        for message in sorted(self.messages.values(), key=lambda it: it.id):
            if message.ask is not None:
                found[message.ask] = message
        return found

    def bots_own(self) -> list[Message]:
        return [message for message in self.messages.values() if message.from_bot]

    async def tap(self, message: int, data: str) -> Sent:
        return await self._post("tap", {"message": message, "data": data}, "query")

    async def say(self, text: str, *, reply_to: int | None = None) -> Sent:
        return await self._post("say", {"text": text, "reply_to": reply_to}, "message")

    async def toast(self, query: str, *, within: float) -> str | None:
        """What popped up; None, if the button span all the while."""
        until = asyncio.get_running_loop().time() + within
        while asyncio.get_running_loop().time() < until:
            try:
                reply = await self.http.get(f"{self.place.control}/toast", params={"query": query})
                told = reply.json()
            except (httpx.HTTPError, ValueError):
                told = {}
            if told.get("answered"):
                return str(told["text"] or "")
            await asyncio.sleep(LOOK_EVERY)
        return None

    async def _post(self, what: str, body: Json, named: str) -> Sent:
        try:
            reply = await self.http.post(f"{self.place.control}/{what}", json=body)
        except httpx.ConnectError as error:
            return Sent(False, text=str(error))
        except httpx.HTTPError as error:
            return Sent(None, text=repr(error))
        if reply.status_code != 200:
            return Sent(False, text=reply.text)
        return Sent(True, reply.json()[named])


def _message(shown: Json) -> Message:
    keys = [key for row in shown["rows"] for key in row if key["data"]]
    return Message(
        id=shown["id"],
        text=shown["text"],
        from_bot=shown["from_bot"],
        buttons=tuple(
            Button(
                text=key["text"],
                data=key["data"],
                ask=_long(found[1]),
                code=found[2],
                question=int(found[3]),
            )
            for key in keys
            if (found := DATA.fullmatch(key["data"]))
        ),
        reply_to=shown["reply_to"],
        reactions=tuple(shown["reactions"]),
        edits=shown["edits"],
    )


def _long(short: str) -> str:
    return str(uuid.UUID(bytes=base64.urlsafe_b64decode(f"{short}==")))
