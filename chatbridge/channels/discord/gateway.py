"""The connection over which Discord brings events, each dealt with exactly once.

Owns the cursor: the session, and the number of the last event that was dealt with. A hub that comes
back resumes from there, and Discord sends again what came after it. Where it no longer knows the
session, messages are read from the chats; taps of that time were told to have failed.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial

import aiohttp

from chatbridge.channels.chat.poll_loop import PollLoop
from chatbridge.channels.discord.api import PAGE, VERSION, Api, Body, unreachable
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.errors import ChatRefused, RetryLater, TokenRejected
from chatbridge.core.model import ChannelState
from chatbridge.core.ports import Clock
from chatbridge.core.stored_json import reader
from chatbridge.core.tasks import end_tasks
from chatbridge.safe_json import loads, value_at

log = logging.getLogger(__name__)

BEAT, IDENTIFY, RESUME = 1, 2, 6
"""What is sent. What comes: 0 an event, 1 wants a beat, 7 reconnect, 9 the session is over, 10
hello, 11 acknowledges a beat."""
GUILD_MESSAGES, DIRECT_MESSAGES = 1 << 9, 1 << 12
INTENTS = GUILD_MESSAGES | DIRECT_MESSAGES
"""Neither needs to be allowed by Discord. Taps come without any."""
KEEPS_SESSION = 4000
"""A connection that is closed with this can be resumed."""
SESSION_LOST = (4003, 4007, 4009)
FINAL = {
    4010: "a shard that it has not",
    4011: "a bot on so many servers needs shards, which chatbridge has not",
    4012: "this version of its gateway is over. Upgrade chatbridge",
    4013: "the intents are unknown. Upgrade chatbridge",
    4014: "the intents are not allowed. Look at the bot's page in the Developer Portal",
}
LARGEST_EVENT = 4 * 1024 * 1024
KEPT_SESSIONS = 10
"""Who begins more than a thousand a day loses the token: the last ones are kept."""
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


class Gateway(PollLoop[Sequence[Event]]):
    channel, tries = "discord", 3

    def __init__(
        self,
        api: Api,
        inbox: AskActions,
        *,
        bot: str,
        clock: Clock,
        take: Callable[[Event, ChannelState], Awaitable[None]],
        rooms: Callable[[], Collection[str]],
    ) -> None:
        """`take` deals with one event; `rooms` are the chats to read after a gap."""
        super().__init__(inbox, clock=clock, cursor_key=f"session:{bot}")
        self._api = api
        self._take = take
        self._rooms = rooms
        self._events: deque[Event] = deque()
        self._arrived = asyncio.Event()
        """Something has come, or nothing comes any more."""
        self._socket: aiohttp.ClientWebSocketResponse | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._lost: Exception | None = None
        self._at = Cursor()
        """The session, and what has come of it."""
        self._seen = "0"
        self._read_again: set[str] = set()
        self._acknowledged = asyncio.Event()

    async def begin(self) -> None:
        """Go on with the session of before, or begin one. :raises TokenRejected:"""
        known = await self.stored_cursor()
        found = _read_cursor(known.value) if known is not None else None
        if found is not None:
            self._at, self._seen = found, found.seen
        await self._connect()

    async def end(self) -> None:
        """So that the next hub can resume."""
        tasks, self._tasks = self._tasks, []
        await end_tasks(tasks)
        if self._socket is not None:
            with suppress(Exception):  # it may be gone already
                await self._socket.close(code=KEEPS_SESSION)
        self._socket = None

    # ── reading ───────────────────────────────────────────────────────────────────────────────────

    async def read(self, *, wait: bool) -> Sequence[Event]:
        while not self._events:
            if self._socket is None:
                lost, self._lost = self._lost, None
                if lost is not None:
                    raise lost
                await self._connect()  # which brings all that was missed
                break
            if not wait:
                await self._answers()
                break
            self._arrived.clear()
            await self._arrived.wait()
        return [*self._events]

    async def deal_with(self, batch: Sequence[Event]) -> bool:
        for event in batch:
            if event.name == "READY":
                await self._catch_up(event.cursor)
            else:
                await self._deal_with(event)
            self._events.popleft()
        if batch:
            await self._inbox.remember(self._cursor(replace(batch[-1].cursor, seen=self._seen)))
        return bool(batch)

    async def _deal_with(self, event: Event) -> None:
        number = str(event.data.get("id", ""))
        if number in self._read_again:
            return
        if event.name == WRITTEN:
            self._seen = max(self._seen, number, key=_number)
        cursor = self._cursor(replace(event.cursor, seen=self._seen))
        take = partial(self._take, event, cursor)
        await self.process((event.name, number), take, committed=lambda it: it == cursor.value)

    async def _catch_up(self, cursor: Cursor) -> None:
        """Deal with the messages of a gap. On the first start, what was written before counts for
        nothing."""
        if self._seen == "0":
            return
        found: list[Body] = []
        for room in self._rooms():
            after: str | None = self._seen
            with suppress(ChatRefused):  # which is said where something is sent
                while after and (page := await self._api.messages_after(room, after)):
                    found += page
                    after = str(page[-1].get("id")) if len(page) == PAGE else None
        for message in sorted(found, key=lambda it: _number(str(it.get("id", "")))):
            await self._deal_with(Event(name=WRITTEN, data=message, cursor=cursor))
            self._read_again.add(str(message.get("id", "")))

    def _cursor(self, cursor: Cursor) -> ChannelState:
        return self.cursor(json.dumps(asdict(cursor)))

    # ── the connection ────────────────────────────────────────────────────────────────────────────

    async def _connect(self) -> None:
        """:raises RetryLater: :raises TokenRejected:"""
        resumes, url = bool(self._at.session), self._at.url
        if not resumes:
            url, left, again = await self._api.gateway()
            if left < KEPT_SESSIONS:
                raise RetryLater("discord lets the bot begin no more sessions today", after=again)
        try:
            async with asyncio.timeout(self._api.patience):
                await self._open(f"{url.rstrip('/')}/?v={VERSION}&encoding=json")
        except (aiohttp.ClientError, TimeoutError, OSError, TypeError, ValueError) as error:
            await self.end()
            raise unreachable(error) from None
        except BaseException:
            await self.end()
            raise
        if self._socket is None:
            await self.end()
            if resumes and not self._at.session:
                await self._connect()  # Discord has forgotten it
            elif self._lost is not None:
                lost, self._lost = self._lost, None
                raise lost

    async def _open(self, url: str) -> None:
        self._socket = socket = await self._api.session().ws_connect(
            url, max_msg_size=LARGEST_EVENT
        )
        self._lost, up = None, asyncio.Event()
        hello = loads(await socket.receive_str())
        every = float(value_at(hello, "d", "heartbeat_interval")) / 1000
        await self._introduce(socket)
        self._acknowledged.set()
        self._tasks = [
            asyncio.create_task(self._listen(socket, up)),
            asyncio.create_task(self._beat(socket, every)),
        ]
        await up.wait()

    async def _introduce(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        data: Body = {"token": self._api.token}
        if self._at.session:
            data |= {"session_id": self._at.session, "seq": self._at.seq}
            await socket.send_json({"op": RESUME, "d": data})
            return
        properties = {"os": "linux", "browser": "chatbridge", "device": "chatbridge"}
        data |= {"intents": INTENTS, "properties": properties}
        await socket.send_json({"op": IDENTIFY, "d": data})

    async def _listen(self, socket: aiohttp.ClientWebSocketResponse, up: asyncio.Event) -> None:
        """Until nothing comes any more."""
        try:
            self._lost = await self._until_lost(socket, up)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            self._lost = unreachable(error)
        with suppress(aiohttp.ClientError, OSError):
            await socket.close(code=KEEPS_SESSION)
        self._socket = None
        for event in (up, self._arrived, self._acknowledged):
            event.set()

    async def _until_lost(
        self, socket: aiohttp.ClientWebSocketResponse, up: asyncio.Event
    ) -> Exception | None:
        """Why nothing comes any more; None: Discord asks to connect again at once."""
        async for frame in socket:
            try:
                received = loads(frame.data)
            except ValueError:  # after a new connection it would come again
                log.warning("discord sent something that cannot be read; passed over")
                continue
            match value_at(received, "op"):
                case 0:
                    self._received(received, up)
                case 1:
                    await self._send_beat(socket)
                case 7:
                    return None
                case 9:
                    if value_at(received, "d") is not True:
                        self._at = Cursor()
                    pause = random.uniform(1.0, 5.0)  # noqa: S311 - so that not all come at once
                    return RetryLater("discord ended the session", after=pause)
                case 11:
                    self._acknowledged.set()
        return self._closed(socket.close_code)

    def _received(self, received: Body, up: asyncio.Event) -> None:
        name, data, seq = str(received.get("t")), received.get("d"), received.get("s")
        if isinstance(seq, int):
            self._at = replace(self._at, seq=seq)
        data = data if isinstance(data, dict) else {}
        if name == "READY":
            session, url = str(data.get("session_id")), str(data.get("resume_gateway_url"))
            self._at = replace(self._at, session=session, url=url)
            self._read_again = set()
        if name in ("READY", "RESUMED"):
            up.set()
        elsewhere = data.get("guild_id") and data.get("channel_id") not in self._rooms()
        if name in ("READY", TAPPED) or (name == WRITTEN and not elsewhere):
            self._events.append(Event(name=name, data=data, cursor=self._at))
            self._arrived.set()

    def _closed(self, code: int | None) -> Exception | None:
        """What a connection's end means; None: go on at once."""
        if code == 4004:
            return TokenRejected(
                f"discord rejected the bot token (4004). Check {self._api.hint}, then run: "
                "chatbridge restart"
            )
        if code in FINAL:
            return TokenRejected(f"discord refuses the connection ({code}): {FINAL[code]}")
        if code in SESSION_LOST:
            self._at = Cursor()
        return RetryLater(f"discord's connection was closed ({code or 'lost'})")

    async def _beat(self, socket: aiohttp.ClientWebSocketResponse, every: float) -> None:
        """A connection that does not answer is dead, though nobody has said so."""
        pause = every * random.random()  # noqa: S311 - so that not all come at once
        while True:
            await self._clock.sleep(pause)
            pause = every
            if not self._acknowledged.is_set():
                await socket.close(code=KEEPS_SESSION)
                return
            await self._send_beat(socket)

    async def _send_beat(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._acknowledged.clear()
        with suppress(aiohttp.ClientError, OSError):  # which the reading notices
            await socket.send_json({"op": BEAT, "d": self._at.seq or None})

    async def _answers(self) -> None:
        """Once everything has come that was there before. :raises RetryLater: it is dead."""
        socket = self._socket
        assert socket is not None
        await self._send_beat(socket)
        try:
            async with asyncio.timeout(self._api.patience):
                await self._acknowledged.wait()
        except TimeoutError:
            await self.end()
            raise RetryLater("discord no longer answers") from None


def _number(id: str) -> int:
    """Ids have 64 bits. After a larger number there would be no other message."""
    return int(id) if id.isascii() and id.isdigit() and len(id) < 20 else 0
