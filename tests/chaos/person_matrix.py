"""The person's Matrix client, without a library: what the room shows, and what can be done there.

Goes to the homeserver itself, not through the relay. A send is repeated under its own transaction
until the server has said something, as clients do.
"""

from __future__ import annotations

import asyncio
import re
import uuid
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import httpx

from tests.chaos.places import MatrixPlace
from tests.chaos.riddles import KEY
from tests.fakes.matrix_timeline import Message, Timeline

Json = dict[str, Any]

PART = re.compile(rf"{KEY.pattern} part (\d)")
NUMBERS = ("1️⃣", "2️⃣", "3️⃣", "4️⃣")
YES_NO = ("👍", "👎")
FORWARD = "✅"
CARD = "chatbridge.card"
LONG_POLL = 5.0
LOOKED_BACK = 3_000
"""So many events back the person looks for what is open."""
TRIES = 20
"""About as many seconds of trying as a person waits for the wheel to stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A message that shows a step of an ask: the newest of them is to be answered."""

    ask: str
    number: int
    event: str
    root: str
    body: str
    """As it was sent."""
    now: str
    """As it was last edited."""
    reactions: dict[str, list[str]]

    @property
    def key(self) -> str | None:
        found = KEY.search(self.body)
        return found[0] if found else None

    @property
    def part(self) -> int | None:
        """Which question it shows, from 0; None for the review of all."""
        named = {int(it) - 1 for it in PART.findall(self.body)}
        return named.pop() if len(named) == 1 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A word of the bot's about something that the person did."""

    event: str
    text: str
    to: str | None
    root: str | None
    offers: tuple[str, ...]
    """The asks that a plain message could be for, in the order of their numbers."""


@dataclass
class Room:
    place: MatrixPlace
    http: httpx.AsyncClient
    timeline: Timeline = field(default_factory=Timeline)
    """All of it, for the end."""
    _recent: Timeline = field(default_factory=Timeline)
    _seen: tuple[int, list[Message]] = (0, [])
    _since: str | None = None

    async def watch(self) -> None:
        while True:
            if not await self.look(LONG_POLL):
                await asyncio.sleep(0.5)

    async def look(self, wait: float = 0.0) -> bool:
        """Whether the server has told what is new."""
        params: dict[str, str | int] = {"timeout": int(wait * 1000)}
        params["filter"] = '{"room":{"timeline":{"limit":500}},"presence":{"types":[]}}'
        if self._since:
            params["since"] = self._since
        try:
            news = await self._request("GET", "/sync", params=params, patience=wait + 20)
        except httpx.HTTPError:
            return False
        room = news.get("rooms", {}).get("join", {}).get(self.place.room, {})
        told = room.get("timeline", {})
        if told.get("limited") and self._since:
            self._add(await self._missed(told["prev_batch"]))
        self._add(told.get("events", ()))
        self._since = news["next_batch"]
        return True

    def _add(self, events: list[Json]) -> None:
        self.timeline.add(events)
        if len(self._recent.events) > 2 * LOOKED_BACK:
            last, self._recent = self._recent.events[-LOOKED_BACK:], Timeline()
            self._recent.add(last)
            self._seen = (0, [])
        self._recent.add(events)

    async def _missed(self, start: str) -> list[Json]:
        found: list[Json] = []
        while True:
            page = await self._request(
                "GET",
                f"/rooms/{quote(self.place.room)}/messages",
                params={"from": start, "dir": "b", "limit": 500, "to": self._since or ""},
            )
            found += page["chunk"]
            if not page.get("end"):
                return found[::-1]
            start = page["end"]

    # ── what it shows ─────────────────────────────────────────────────────────────────────────────

    def _messages(self) -> list[Message]:
        """Those that one does not have to scroll for."""
        count = len(self._recent.events)
        if self._seen[0] != count:
            self._seen = (count, self._recent.messages())
        return self._seen[1]

    def steps(self) -> dict[str, Step]:
        """The newest step of each ask that has one; whether it is over, the caller knows."""
        found: dict[str, Step] = {}
        for message in self._messages():
            mark = message.original.get(CARD)
            if message.sender != self.place.bot or not isinstance(mark, dict):
                continue
            step = Step(
                ask=mark["ask"],
                number=mark["step"],
                event=message.event_id,
                root=message.thread or message.event_id,
                body=message.original.get("body", ""),
                now=message.body,
                reactions=message.reactions,
            )
            if step.ask not in found or found[step.ask].number <= step.number:
                found[step.ask] = step
        return found

    def asks_by_thread(self) -> dict[str, str]:
        """Which ask each thread is about; a reminder begins a new one."""
        found = {}
        for message in self._messages():
            mark = message.original.get(CARD)
            if message.sender == self.place.bot and isinstance(mark, dict):
                found[message.thread or message.event_id] = mark["ask"]
        return found

    def said(self) -> list[Said]:
        """All that the bot said beside cards."""
        return [
            Said(
                event=it.event_id,
                text=it.body,
                to=it.in_reply_to if not it.falls_back else None,
                root=it.thread,
                offers=tuple(
                    each["ask"] for each in it.content.get("chatbridge.offer", {}).get("asks", ())
                ),
            )
            for it in self._messages()
            if it.sender == self.place.bot and it.msgtype == "m.notice" and CARD not in it.original
        ]

    # ── what can be done ──────────────────────────────────────────────────────────────────────────

    async def react(self, event: str, emoji: str) -> tuple[bool | None, str]:
        relation = {"rel_type": "m.annotation", "event_id": event, "key": emoji}
        return await self._send("m.reaction", {"m.relates_to": relation})

    async def reply(self, text: str, *, to: Step) -> tuple[bool | None, str]:
        """As Element does in a thread, or as a reply where there is none yet."""
        relation: Json = {"m.in_reply_to": {"event_id": to.event}}
        if to.root != to.event:
            relation |= {"rel_type": "m.thread", "event_id": to.root, "is_falling_back": False}
        content = {"msgtype": "m.text", "body": text, "m.relates_to": relation}
        return await self._send("m.room.message", content)

    async def say(self, text: str) -> tuple[bool | None, str]:
        return await self._send("m.room.message", {"msgtype": "m.text", "body": text})

    async def _send(self, type: str, content: Json) -> tuple[bool | None, str]:
        """Whether the server took it, and the event or why not."""
        path = f"/rooms/{quote(self.place.room)}/send/{type}/{uuid.uuid4().hex}"
        sent: bool | None = False
        for _ in range(TRIES):
            try:
                return True, (await self._request("PUT", path, json=content))["event_id"]
            except httpx.HTTPStatusError as error:
                if error.response.status_code < 500:
                    return False, error.response.text
                sent = None
            except httpx.ConnectError:
                pass
            except httpx.HTTPError:
                sent = None
            await asyncio.sleep(1.0)
        return sent, "the homeserver says nothing"

    async def _request(self, method: str, path: str, *, patience: float = 20.0, **how: Any) -> Json:
        """:raises httpx.HTTPError:"""
        reply = await self.http.request(
            method,
            f"{self.place.address}/_matrix/client/v3{path}",
            headers={"Authorization": f"Bearer {self.place.token}"},
            timeout=patience,
            **how,
        )
        reply.raise_for_status()
        found: Json = reply.json()
        return found
