"""The connection over which Discord brings events, each dealt with exactly once.

Owns the cursor: the session, and the number of the last event that was dealt with. A hub that comes
back resumes from there, and Discord sends again what came after it. Where it no longer knows the
session, messages are read from the chats; taps of that time were told to have failed.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import aiohttp

from chatbridge.channels.chat.receiver import Reception
from chatbridge.channels.discord.api import PAGE, VERSION, Api, Body
from chatbridge.channels.sockets.errors import pause
from chatbridge.channels.sockets.loop import Connection, Over, SocketLoop
from chatbridge.core.errors import ChatRefused, RetryLater, TokenRejected
from chatbridge.core.model import ChannelState
from chatbridge.core.stored_json import reader
from chatbridge.safe_json import value_at

BEAT, IDENTIFY, RESUME = 1, 2, 6
"""What is sent. What comes: 0 an event, 1 wants a beat, 7 reconnect, 9 the session is over, 10
hello, 11 acknowledges a beat."""
GUILD_MESSAGES, DIRECT_MESSAGES = 1 << 9, 1 << 12
INTENTS = GUILD_MESSAGES | DIRECT_MESSAGES
"""Neither needs to be allowed by Discord. Taps come without any."""
SESSION_LOST = (4003, 4007, 4009)
FINAL = {
    4010: "a shard that it has not",
    4011: "a bot on so many servers needs shards, which chatbridge has not",
    4012: "this version of its gateway is over. Upgrade chatbridge",
    4013: "the intents are unknown. Upgrade chatbridge",
    4014: "the intents are not allowed. Look at the bot's page in the Developer Portal",
}
KEPT_SESSIONS = 10
"""Who begins more than a thousand a day loses the token: the last ones are kept."""
READY, RESUMED = "READY", "RESUMED"
WRITTEN, TAPPED = "MESSAGE_CREATE", "INTERACTION_CREATE"


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
    data: Body
    cursor: Cursor


class Gateway(SocketLoop[Event]):
    channel, tries = "discord", 3

    def __init__(
        self,
        api: Api,
        reception: Reception,
        *,
        bot: str,
        take: Callable[[Event, ChannelState], Awaitable[None]],
    ) -> None:
        """`take` deals with one event."""
        super().__init__(reception, cursor_key=f"session:{bot}", patience=api.patience)
        self._api = api
        self._take_one = take
        self._at = Cursor()
        """The session, and what has come of it."""
        self._seen = "0"
        self._read_again: set[str] = set()
        self._up = asyncio.Event()
        self._acknowledged = asyncio.Event()

    async def begin(self) -> None:
        """Go on with the session of before, or begin one. :raises TokenRejected:"""
        known = await self.stored_cursor()
        found = _read_cursor(known.value) if known is not None else None
        if found is not None:
            self._at, self._seen = found, found.seen
        await self.connect()

    # ── dealing with it ───────────────────────────────────────────────────────────────────────────

    async def deal_with(self, batch: int) -> bool:
        for _ in range(batch):
            event = self._events[0]
            if event.name == READY:
                await self._read_gap()
            else:
                await self._deal_with(event)
            self._events.popleft()
            if not self._events:
                await self._inbox.remember(self._cursor(replace(event.cursor, seen=self._seen)))
        return bool(batch)

    async def _deal_with(self, event: Event) -> None:
        number = str(event.data.get("id", ""))
        if number in self._read_again:
            return
        seen = max(self._seen, number, key=_number) if event.name == WRITTEN else self._seen
        cursor = self._cursor(replace(event.cursor, seen=seen))
        take = partial(self._take_one, event, cursor)
        await self.process((event.name, number), take, committed=lambda it: it == cursor.value)
        self._seen = seen

    async def _read_gap(self) -> None:
        """Deal with the messages of a gap, page by page: a pause that Discord asks for is followed
        by the next page. Who dies meanwhile has no session, so that the next one reads on. On the
        first start, what was written before counts for nothing."""
        before = ""
        while self._seen not in ("0", before):
            before, found, ends = self._seen, list[Body](), list[int]()
            for room in self.rooms:
                with suppress(ChatRefused):  # which is said where something is sent
                    found += (page := await self._api.messages_after(room, before))
                    ends += map(_id, page[PAGE - 1 :])
            last = min(ends, default=0)
            for message in sorted(found, key=_id):
                if not last or _id(message) <= last:
                    await self._deal_with(Event(name=WRITTEN, data=message, cursor=Cursor()))
                    self._read_again.add(str(message.get("id", "")))
            if not last:
                return

    def _cursor(self, cursor: Cursor) -> ChannelState:
        return self.cursor(json.dumps(asdict(cursor)))

    # ── the connection ────────────────────────────────────────────────────────────────────────────

    async def connect(self) -> None:
        resumes = bool(self._at.session)
        if not resumes:
            found = await self._api.gateway()
            left = value_at(found, "session_start_limit", "remaining")
            if isinstance(left, int) and left < KEPT_SESSIONS:
                again = int(value_at(found, "session_start_limit", "reset_after") or 0) / 1000
                raise RetryLater(
                    "discord lets the bot begin no more sessions today", after=pause(again)
                )
            await self._connect(str(found.get("url")))
        else:
            try:
                await self._connect(self._at.url)
            except RetryLater:  # its own address may be gone for good
                await self._connect(str((await self._api.gateway()).get("url")))
        lost, self._lost = self._lost, None
        if self._live is None and resumes and not self._at.session:
            await self.connect()  # Discord has forgotten it
        elif lost is not None:
            raise lost

    async def _connect(self, url: str) -> None:
        url = f"{url.rstrip('/')}/?v={VERSION}&encoding=json"
        async with self.opened(self._api.session, url) as (new, hello):
            every = float(value_at(hello, "d", "heartbeat_interval")) / 1000
            await self._introduce(new)
            self._up.clear()
            self._acknowledged.set()
            self.listen(new, self._beat(new, every))
            await self._up.wait()

    async def _introduce(self, socket: Connection) -> None:
        data: Body = {"token": self._api.token}
        if self._at.session:
            data |= {"session_id": self._at.session, "seq": self._at.seq}
            await socket.send_json({"op": RESUME, "d": data})
            return
        properties = {"os": "linux", "browser": "chatbridge", "device": "chatbridge"}
        data |= {"intents": INTENTS, "properties": properties}
        await socket.send_json({"op": IDENTIFY, "d": data})

    async def received(self, frame: Any, connection: Connection) -> None:
        match value_at(frame, "op"):
            case 0:
                self._received(frame)
            case 1:
                await self._send_beat(connection)
            case 7:
                raise Over
            case 9:
                if value_at(frame, "d") is not True:
                    self._at = Cursor()
                pause = random.uniform(1.0, 5.0)  # noqa: S311 - so that not all come at once
                raise Over(RetryLater("discord ended the session", after=pause))
            case 11:
                self._acknowledged.set()

    def forsake(self, connection: Connection) -> None:
        super().forsake(connection)
        for event in (self._up, self._acknowledged):
            event.set()

    def _received(self, received: Body) -> None:
        name, data, seq = str(received.get("t")), received.get("d"), received.get("s")
        if isinstance(seq, int):
            if seq <= self._at.seq:
                return  # it has come before
            self._at = replace(self._at, seq=seq)
        data = data if isinstance(data, dict) else {}
        if name == READY:
            session, url = str(data.get("session_id")), str(data.get("resume_gateway_url"))
            self._at = replace(self._at, session=session, url=url)
            self._read_again = set()
        if name in (READY, RESUMED):
            self._up.set()
        elsewhere = data.get("guild_id") and data.get("channel_id") not in self.rooms
        if name in (READY, TAPPED) or (name == WRITTEN and not elsewhere):
            self.arrived(Event(name=name, data=data, cursor=self._at))

    def why_closed(self, connection: Connection) -> Exception | None:
        code = connection.close_code
        if code == 4004:
            return self._api.rejected(code)
        if code in FINAL:
            return TokenRejected(f"discord refuses the connection ({code}): {FINAL[code]}")
        if code in SESSION_LOST:
            self._at = Cursor()
        return RetryLater(f"discord's connection was closed ({code or 'lost'})")

    async def _beat(self, socket: Connection, every: float) -> None:
        """A connection that does not answer is dead, though nobody has said so."""
        pause = every * random.random()  # noqa: S311 - so that not all come at once
        while True:
            await self._clock.sleep(pause)
            pause = every
            if not self._acknowledged.is_set():
                await self.leave(socket)
                return
            await self._send_beat(socket)

    async def _send_beat(self, socket: Connection) -> None:
        self._acknowledged.clear()
        with suppress(aiohttp.ClientError, OSError):  # which the reading notices
            await socket.send_json({"op": BEAT, "d": self._at.seq or None})

    async def catch_up(self) -> None:
        """What was missed comes by itself. An answer comes after all that was there before."""
        if (live := self._live) is None:
            return
        await self._send_beat(live)
        try:
            async with asyncio.timeout(self._patience):
                await self._acknowledged.wait()
        except TimeoutError:
            await self.leave(live)
            raise RetryLater("discord no longer answers") from None


def _id(message: Body) -> int:
    return _number(str(message.get("id", "")))


def _number(id: str) -> int:
    """Ids have 64 bits. After a larger number there would be no other message."""
    return int(id) if id.isascii() and id.isdigit() and len(id) < 20 else 0
