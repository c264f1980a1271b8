"""The loop of a service that numbers the events of a session, and sends those again that came after
a number to who resumes it.

Owns the cursor: the session, and the number of the last event that was dealt with. A hub that comes
back resumes from there. Where the service no longer knows the session, messages are read from the
chats. Owns the beats, too, by which both sides know that the other one is there.
"""

from __future__ import annotations

import asyncio
import json
import random
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import aiohttp

from chatbridge.channels.chat.receiver import Reception
from chatbridge.channels.sockets.loop import Connection, SocketLoop
from chatbridge.channels.sockets.session import SessionClient
from chatbridge.core.errors import ChatRefused, RetryLater
from chatbridge.core.model import ChannelState
from chatbridge.core.stored_json import reader


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    session: str = ""
    url: str = ""
    seq: int = 0
    seen: str = "0"
    """The newest message that was dealt with."""


_read_cursor = reader(Cursor)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    name: str
    data: dict[str, Any]
    cursor: Cursor = Cursor()

    @property
    def id(self) -> str:
        return str(self.data.get("id", ""))

    @property
    def number(self) -> int:
        return _number(self.id)


Take = Callable[[Event, ChannelState], Awaitable[None]]
"""Deals with one event. The cursor is committed with its effect."""


class ResumedLoop(SocketLoop[Event]):
    ready: str
    """The name of the event that begins a session."""
    written: str
    """The name of the event that brings a message. Messages have numbers for ids, which rise."""
    page: int
    """So many messages can be read at once."""
    query = ""
    """What an address ends with."""

    def __init__(
        self, client: SessionClient, reception: Reception, *, cursor_key: str, take: Take
    ) -> None:
        super().__init__(reception, cursor_key=cursor_key, patience=client.patience)
        self._client = client
        self._take_one = take
        self.at = Cursor()
        """The session, and what has come of it."""
        self._seen = "0"
        self._read_again: set[str] = set()
        self._up = asyncio.Event()
        self._acknowledged = asyncio.Event()

    # ── what a channel implements ─────────────────────────────────────────────────────────────────

    @abstractmethod
    async def address(self, *, begins: bool) -> str:
        """Where to connect. `begins`: for a new session. :raises RetryLater: there is none now."""

    @abstractmethod
    async def introduce(self, connection: Connection, hello: Any) -> float:
        """Resume the session, if there is one, or begin one. Return the seconds between beats."""

    @abstractmethod
    async def beat(self, connection: Connection) -> None:
        """Send one. The service answers after all that was there before: `beaten`."""

    @abstractmethod
    async def messages_after(self, room: str, message: str) -> Sequence[dict[str, Any]]:
        """At most a page, the oldest first. :raises ChatRefused:"""

    # ── dealing with it ───────────────────────────────────────────────────────────────────────────

    async def begin(self) -> None:
        """Go on with the session of before, or begin one. :raises TokenRejected:"""
        known = await self.stored_cursor()
        found = _read_cursor(known.value) if known is not None else None
        if found is not None:
            self.at, self._seen = found, found.seen
        await self.connect()

    async def deal_with(self, batch: int) -> bool:
        for _ in range(batch):
            event = self._events[0]
            if event.name == self.ready:
                await self._read_gap()
            else:
                await self._deal_with(event)
            self._events.popleft()
            if not self._events:
                await self._inbox.remember(self._cursor(replace(event.cursor, seen=self._seen)))
        return bool(batch)

    async def _deal_with(self, event: Event) -> None:
        if event.id in self._read_again:
            return
        seen = self._seen
        if event.name == self.written:
            seen = max(seen, event.id, key=_number)
        cursor = self._cursor(replace(event.cursor, seen=seen))
        take = partial(self._take_one, event, cursor)
        await self.process((event.name, event.id), take, committed=lambda it: it == cursor.value)
        self._seen = seen

    async def _read_gap(self) -> None:
        """Deal with the messages of a gap, page by page: a pause that the service asks for is
        followed by the next page. Who dies meanwhile has no session, so that the next one reads on.
        On the first start, what was written before counts for nothing."""
        before = ""
        while self._seen not in ("0", before):
            before, found, ends = self._seen, list[Event](), list[int]()
            for room in self.rooms:
                with suppress(ChatRefused):  # which is said where something is sent
                    page = await self.messages_after(room, before)
                    events = [Event(name=self.written, data=each) for each in page]
                    found += events
                    ends += (it.number for it in events[self.page - 1 :])
            last = min(ends, default=0)
            for event in sorted(found, key=lambda it: it.number):
                if not last or event.number <= last:
                    await self._deal_with(event)
                    self._read_again.add(event.id)
            if not last:
                return

    def _cursor(self, cursor: Cursor) -> ChannelState:
        return self.cursor(json.dumps(asdict(cursor)))

    # ── sessions ──────────────────────────────────────────────────────────────────────────────────

    async def connect(self) -> None:
        resumes = bool(self.at.session)
        if not resumes:
            await self._connect(await self.address(begins=True))
        else:
            try:
                await self._connect(self.at.url)
            except RetryLater:  # its own address may be gone for good
                await self._connect(await self.address(begins=False))
        lost, self._lost = self._lost, None
        if self._live is None and resumes and not self.at.session:
            await self.connect()  # the service has forgotten it
        elif lost is not None:
            raise lost

    async def _connect(self, url: str) -> None:
        url = f"{url.rstrip('/')}/{self.query}"
        async with self.opened(self._client.session, url) as (new, hello):
            every = await self.introduce(new, hello)
            self._up.clear()
            self._acknowledged.set()
            self.listen(new, self._beats(new, every))
            await self._up.wait()

    def forsake(self, connection: Connection) -> None:
        if self._live is connection:
            for event in (self._up, self._acknowledged):
                event.set()
        super().forsake(connection)

    def begun(self, session: str, url: str) -> None:
        """`url` is where to resume it."""
        self.at = replace(self.at, session=session, url=url)
        self._read_again = set()
        self._up.set()

    def resumed(self) -> None:
        self._up.set()

    def forgotten(self) -> None:
        """The session is over."""
        self.at = Cursor()

    def is_new(self, seq: object) -> bool:
        """Whether the event of this number has not come before. What has none is always new."""
        if not isinstance(seq, int):
            return True
        if seq <= self.at.seq:
            return False
        self.at = replace(self.at, seq=seq)
        return True

    # ── beats ─────────────────────────────────────────────────────────────────────────────────────

    async def _beats(self, connection: Connection, every: float) -> None:
        """A connection that does not answer is dead, though nobody has said so."""
        pause = every * random.random()  # noqa: S311 - so that not all come at once
        while True:
            await self._clock.sleep(pause)
            pause = every
            if not self._acknowledged.is_set():
                await self.leave(connection)
                return
            await self.send_beat(connection)

    async def send_beat(self, connection: Connection) -> None:
        self._acknowledged.clear()
        with suppress(aiohttp.ClientError, OSError):  # which the reading notices
            await self.beat(connection)

    def beaten(self) -> None:
        """The service has answered a beat."""
        self._acknowledged.set()

    async def catch_up(self) -> None:
        """What was missed comes by itself, before the answer to a beat."""
        if (live := self._live) is None:
            return
        await self.send_beat(live)
        try:
            async with asyncio.timeout(self._patience):
                await self._acknowledged.wait()
        except TimeoutError:
            await self.leave(live)
            raise RetryLater(f"{self.channel} no longer answers") from None


def _number(id: str) -> int:
    """Ids have 64 bits. After a larger number there would be no other message."""
    return int(id) if id.isascii() and id.isdigit() and len(id) < 20 else 0
