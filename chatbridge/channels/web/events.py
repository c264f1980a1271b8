"""The event stream: every open page learns of every change, and none can hold the hub up.

A page that reads slowly misses intermediate states of an ask, never its newest one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from starlette.types import Receive, Scope, Send

from chatbridge.channels.web.errors import Refusal
from chatbridge.channels.web.render import ask_object, json_text
from chatbridge.core.model import Ask
from chatbridge.core.ports import Inbox

HEARTBEAT_SECONDS = 15.0
COMMENT = ": alive\n\n"
ALIVE = "event: alive\ndata:\n\n"
"""A page cannot see a comment, and must be able to notice that none comes; a script that reads
every `data` line should not have to know of it. So the page asks for it."""
MAX_STREAMS = 64
MAX_WAITING = 4096
"""So many changed asks wait for one page; a page further behind starts anew."""
RECENT = 50
"""So many ended asks are told to a page that comes back."""


class Reader:
    """One stream's changes that it has not written yet: the newest state of each ask."""

    def __init__(self) -> None:
        self._waiting: dict[str, Ask] = {}
        self._news = asyncio.Event()
        self._closed = False

    def tell(self, ask: Ask) -> None:
        self._waiting[ask.id] = ask
        if len(self._waiting) > MAX_WAITING:
            self.close()
        self._news.set()

    def has_seen(self, asks: Sequence[Ask]) -> None:
        """Forget what is no newer than what the page has just been given."""
        for ask in asks:
            waiting = self._waiting.get(ask.id)
            if waiting is not None and waiting.revision <= ask.revision:
                del self._waiting[ask.id]

    def close(self) -> None:
        self._closed = True
        self._waiting.clear()
        self._news.set()

    async def changes(self, *, within: float) -> Sequence[Ask] | None:
        """What has changed, nothing if that takes too long, None at the end of the stream."""
        try:
            async with asyncio.timeout(within):
                await self._news.wait()
        except TimeoutError:
            return ()
        if self._closed:
            return None
        self._news.clear()
        asks = tuple(self._waiting.values())
        self._waiting.clear()
        return asks


class Events:
    """All open streams."""

    def __init__(self) -> None:
        self._readers: set[Reader] = set()

    @property
    def watched(self) -> bool:
        """Whether a page is open."""
        return bool(self._readers)

    def publish(self, ask: Ask) -> None:
        for reader in self._readers:
            reader.tell(ask)

    def close(self) -> None:
        for reader in self._readers:
            reader.close()

    @contextmanager
    def reader(self) -> Iterator[Reader]:
        if len(self._readers) >= MAX_STREAMS:
            raise Refusal(503, f"{MAX_STREAMS} pages are open already. Close one.")
        reader = Reader()
        self._readers.add(reader)
        try:
            yield reader
        finally:
            self._readers.discard(reader)


class EventStream:
    """The response: all open asks, then what changes. A page that comes back also learns of what
    has ended, however long it was away, and whether or not the hub was restarted meanwhile."""

    def __init__(
        self, events: Events, inbox: Inbox, *, returning: bool, heartbeat: float, sign: str
    ) -> None:
        """`sign` is what a quiet stream says every `heartbeat` seconds."""
        self._events = events
        self._inbox = inbox
        self._returning = returning
        self._heartbeat = heartbeat
        self._sign = sign

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._events.reader() as reader:
            # Registered before it reads: a change in between is told, at worst twice.
            asks = [*await self._inbox.open_asks()]
            if self._returning:
                asks += reversed(await self._inbox.history(limit=RECENT))
            reader.has_seen(asks)
            gone = asyncio.ensure_future(_until_gone(receive, reader))
            try:
                await self._write(send, asks, reader)
            finally:
                gone.cancel()

    async def _write(self, send: Send, asks: Sequence[Ask], reader: Reader) -> None:
        headers = [(b"content-type", b"text/event-stream; charset=utf-8")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        first = "retry: 2000\n\n" + "".join(_event(ask) for ask in asks)
        await send(_part(first))
        while (changed := await reader.changes(within=self._heartbeat)) is not None:
            await send(_part("".join(_event(ask) for ask in changed) or self._sign))
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _until_gone(receive: Receive, reader: Reader) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    reader.close()


def _part(text: str) -> dict[str, object]:
    return {"type": "http.response.body", "body": text.encode(), "more_body": True}


def _event(ask: Ask) -> str:
    return f"event: ask\nid: {ask.revision}\ndata: {json_text(ask_object(ask))}\n\n"
