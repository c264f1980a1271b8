"""The person's phone with Telegram: what it shows, and what can be done with it.

Goes to the service itself, not through the relay: a phone has a network of its own.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import httpx

from tests.chaos.person_buttons import LOOK_EVERY, ButtonChat, Message, Sent, buttons
from tests.chaos.places import TelegramPlace

Json = dict[str, Any]


@dataclass
class Phone(ButtonChat):
    place: TelegramPlace
    http: httpx.AsyncClient
    _version: int = 0

    channel = "telegram"

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

    async def tap(self, message: int, data: str) -> Sent:
        return await self._post("tap", {"message": message, "data": data}, "query")

    async def say(self, text: str, *, reply_to: int | None = None) -> Sent:
        return await self._post("say", {"text": text, "reply_to": reply_to}, "message")

    async def send_file(self, text: str, *, reply_to: int) -> Sent:
        return await self._post("send", {"text": text, "reply_to": reply_to}, "message")

    async def command(self, name: str, words: str = "") -> None:
        await self.say(f"/{name} {words}")

    async def toast(self, query: str, *, within: float) -> str | None:
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
        buttons=buttons((key["text"], key["data"]) for key in keys),
        reply_to=shown["reply_to"],
        reactions=tuple(shown["reactions"]),
        edits=shown["edits"],
    )
