"""The loop that reads from a service which sends what happens over a websocket.

Owns the connection that is relied upon, and what has come and is not dealt with. What a frame
means, and how a gap is read, is the channel's own.
"""

from __future__ import annotations

import asyncio
import logging
from abc import abstractmethod
from collections import deque
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Generic, TypeVar

import aiohttp

from chatbridge import safe_json
from chatbridge.channels.chat.poll_loop import PollLoop
from chatbridge.channels.chat.receiver import Reception
from chatbridge.channels.chat.surface import ChatSurface
from chatbridge.channels.sockets.errors import unreachable
from chatbridge.core.errors import RetryLater
from chatbridge.core.tasks import end_tasks

log = logging.getLogger(__name__)

LARGEST_FRAME = 4 * 1024 * 1024
SHORT = 1.0
"""Who is given one such connection after the other has to wait."""
GOING_AWAY = 4000
"""Not one of the codes that end a session."""

Connection = aiohttp.ClientWebSocketResponse
E = TypeVar("E")


class Over(Exception):
    """Nothing more is read from this connection."""

    def __init__(self, why: Exception | None = None) -> None:
        self.why = why
        """None: another one can be opened at once."""


class SocketLoop(PollLoop[int], Generic[E]):
    def __init__(self, reception: Reception, *, cursor_key: str, patience: float) -> None:
        """`patience` is how long a service may take to open a connection."""
        super().__init__(reception.inbox, clock=reception.clock, cursor_key=cursor_key)
        self._chats = reception.chats
        self._patience = patience
        self._events: deque[E] = deque()
        self._live: Connection | None = None
        self._open: dict[Connection, asyncio.Task[None]] = {}
        self._behind = True
        self._lost: Exception | None = None
        self._short = 0
        """How many connections in a row were over at once."""
        self._arrived = asyncio.Event()
        """Something has come, or nothing comes any more."""

    # ── what a channel implements ─────────────────────────────────────────────────────────────────

    @abstractmethod
    async def connect(self) -> None:
        """Have a connection listened to. :raises RetryLater: :raises TokenRejected:"""

    @abstractmethod
    async def received(self, frame: Any, connection: Connection) -> None:
        """:raises Over:"""

    @abstractmethod
    async def catch_up(self) -> None:
        """Add events that have come before now and are not there. Called with a new connection,
        and when somebody waits for everything to be read. :raises RetryLater:"""

    def why_closed(self, connection: Connection) -> Exception | None:
        """What it means that the service has closed it; None: go on at once."""
        return None

    # ── the loop ──────────────────────────────────────────────────────────────────────────────────

    async def read(self, *, wait: bool) -> int:
        while self._behind or not wait or not self._events:
            lost, self._lost = self._lost, None
            if lost is not None:
                raise lost
            if self._live is None:
                self._behind = True
                await self.connect()
            if self._behind or not wait:
                await self.catch_up()
                if self._live is None:
                    continue  # it broke meanwhile, so that the next one brings the rest
                self._behind = False
                break
            self._arrived.clear()
            await self._arrived.wait()
        return len(self._events)

    @property
    def rooms(self) -> dict[str, ChatSurface[Any]]:
        """Of the chats that are there."""
        return {chat.current_room(): chat for chat in self._chats if chat.is_there}

    def arrived(self, event: E) -> None:
        self._events.append(event)
        self._arrived.set()

    async def end(self) -> None:
        await end_tasks([*self._open.values()])

    # ── connections ───────────────────────────────────────────────────────────────────────────────

    @asynccontextmanager
    async def opened(
        self, session: aiohttp.ClientSession, url: str, **options: Any
    ) -> AsyncIterator[tuple[Connection, Any]]:
        """A new connection, with its first frame. It stays open if the block ends well.
        :raises RetryLater:"""
        try:
            async with asyncio.timeout(self._patience):
                new = await session.ws_connect(url, max_msg_size=LARGEST_FRAME, **options)
                try:
                    yield new, safe_json.loads(await new.receive_str())
                except BaseException:
                    await self.leave(new)
                    raise
        except (aiohttp.ClientError, TimeoutError, OSError, TypeError, ValueError) as error:
            raise unreachable(error, self.channel) from None

    def listen(self, connection: Connection, *beside: Coroutine[Any, Any, None]) -> None:
        """`beside` runs as long."""
        self._live = connection
        self._open[connection] = asyncio.ensure_future(self._listen(connection, beside))

    def forsake(self, connection: Connection) -> None:
        """Rely on it no longer, but take what it still brings."""
        if self._live is connection:
            self._live = None
            self._arrived.set()

    async def leave(self, connection: Connection) -> None:
        self.forsake(connection)
        with suppress(aiohttp.ClientError, OSError):
            await connection.close(code=GOING_AWAY)

    async def _listen(
        self, connection: Connection, beside: Sequence[Coroutine[Any, Any, None]]
    ) -> None:
        tasks, began = [*map(asyncio.ensure_future, beside)], self._clock.monotonic()
        try:
            self._lost = await self._until_over(connection)
            lasted = self._clock.monotonic() - began
            self._short = self._short + 1 if lasted < SHORT else 0
            if self._short > 1 and self._lost is None:
                self._lost = RetryLater(f"{self.channel} closes every connection at once")
        finally:
            del self._open[connection]
            await end_tasks(tasks)
            await self.leave(connection)

    async def _until_over(self, connection: Connection) -> Exception | None:
        try:
            async for frame in connection:
                if frame.type is aiohttp.WSMsgType.TEXT:
                    await self._take(frame.data, connection)
        except Over as over:
            return over.why
        except (aiohttp.ClientError, OSError) as error:
            return unreachable(error, self.channel)
        return self.why_closed(connection) if self._live is connection else self._lost

    async def _take(self, text: str, connection: Connection) -> None:
        try:
            frame = safe_json.loads(text)
        except ValueError:
            log.warning("%s sent something that cannot be read; passed over", self.channel)
        else:
            await self.received(frame, connection)
