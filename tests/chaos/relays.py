"""Between the hub and a chat service: a relay for HTTP whose connections break on purpose.

It listens at one port for its life. What a `lost` request asked for is done, and its answer never
arrives.
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Self

_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_CHUNKED = re.compile(rb"transfer-encoding: *chunked", re.IGNORECASE)
LONGEST_HEAD = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """A request that a service has had."""

    at: float
    request: bytes
    answer: bytes
    """Empty if the service had none to give."""
    heard: bool
    """Whether the answer went back."""


ChannelState = Callable[[Passed], None]


def _nobody(_: Passed) -> None: ...


class Relay:
    """Each fault is a switch: as long as it is set, requests meet it. `heal` resets them all."""

    def __init__(self, to: int, limited: Callable[[float], bytes], note: ChannelState) -> None:
        self.delay = 0.0
        """Seconds by which every answer comes late."""
        self.lost = 0
        """So many answers are yet to be lost."""
        self.limit: float | None = None
        """Every request is told to try again after so many seconds."""
        self.hits = 0
        """How many requests a fault has met."""
        self.port = 0
        self._to = to
        self._limited = limited
        self._note = note
        self._server: asyncio.Server | None = None
        self._reserved: socket.socket | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._turn = asyncio.Lock()
        """Two faults may end in the same moment."""

    @classmethod
    @asynccontextmanager
    async def running(
        cls, to: int, limited: Callable[[float], bytes], *, note: ChannelState = _nobody
    ) -> AsyncIterator[Self]:
        """To the server at this port. `limited` makes its answer to one who asks too often."""
        self = cls(to, limited, note)
        try:
            await self._listen()
            yield self
        finally:
            await self._close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    # ── faults ────────────────────────────────────────────────────────────────────────────────────

    def cut(self) -> None:
        """Break all connections, as a router does that starts anew."""
        for writer in tuple(self._writers):
            self.hits += 1
            writer.transport.abort()

    async def refuse(self) -> None:
        """No network: connections break, and new ones are refused."""
        async with self._turn:
            await self._close()
            # Bound without listening: refuses like a free port, and nobody else can take it.
            self._reserved = _bound(self.port)

    async def heal(self) -> None:
        self.delay, self.lost, self.limit = 0.0, 0, None
        async with self._turn:
            if self._server is None:
                await self._listen()

    # ── connections ───────────────────────────────────────────────────────────────────────────────

    async def _listen(self) -> None:
        listener, self._reserved = self._reserved or _bound(self.port), None
        self.port = listener.getsockname()[1]
        self._server = await asyncio.start_server(self._accept, sock=listener, limit=LONGEST_HEAD)

    async def _close(self) -> None:
        self.cut()
        if self._server is not None:
            self._server.close()
            self._server = None
        if self._reserved is not None:
            self._reserved.close()
            self._reserved = None

    async def _accept(self, client: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._serve(client, back))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        await asyncio.wait({task})  # the server's own task may not be cancelled

    async def _serve(self, client: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        self._writers.add(back)
        on: asyncio.StreamWriter | None = None
        try:
            server, on = await asyncio.open_connection("127.0.0.1", self._to, limit=LONGEST_HEAD)
            self._writers.add(on)
            while await self._pass_on(client, back, server, on):
                pass
        except (OSError, asyncio.IncompleteReadError):
            pass  # one of them has gone
        finally:
            for writer in (back, on):
                if writer is not None:
                    self._writers.discard(writer)
                    writer.transport.abort()

    async def _pass_on(
        self,
        client: asyncio.StreamReader,
        back: asyncio.StreamWriter,
        server: asyncio.StreamReader,
        on: asyncio.StreamWriter,
    ) -> bool:
        """One request and its answer; whether another may follow."""
        head = await client.readuntil(b"\r\n\r\n")
        body = await client.readexactly(_length(head))
        if self.limit is not None:
            self.hits += 1
            back.write(self._limited(self.limit))
            await back.drain()
            return True
        at, answer, heard = time.time(), b"", False
        on.write(head + body)
        try:
            answer = await _answer(server)
            if self.delay:
                self.hits += 1
                await asyncio.sleep(self.delay)
            if self.lost > 0:
                self.lost -= 1
                self.hits += 1
                return False
            back.write(answer)
            await back.drain()
            heard = not client.at_eof()
        finally:
            self._note(Passed(at=at, request=head + body, answer=answer, heard=heard))
        return True


async def _answer(server: asyncio.StreamReader) -> bytes:
    head = await server.readuntil(b"\r\n\r\n")
    if not _CHUNKED.search(head):
        return head + await server.readexactly(_length(head))
    parts = [head]
    while True:
        size = await server.readuntil(b"\r\n")
        parts += [size, await server.readexactly(int(size, 16) + 2)]
        if int(size, 16) == 0:
            return b"".join(parts)


def _length(head: bytes) -> int:
    found = _LENGTH.search(head)
    return int(found[1]) if found else 0


def _bound(port: int) -> socket.socket:
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind(("127.0.0.1", port))
    return made


def telegram_limit(seconds: float) -> bytes:
    """As the Bot API says it."""
    after = max(1, round(seconds))
    words = f"Too Many Requests: retry after {after}"
    body = {
        "ok": False,
        "error_code": 429,
        "description": words,
        "parameters": {"retry_after": after},
    }
    return _too_many(body, after)


def matrix_limit(seconds: float) -> bytes:
    """As Synapse says it."""
    milliseconds = round(seconds * 1000)
    body = {
        "errcode": "M_LIMIT_EXCEEDED",
        "error": "Too Many Requests",
        "retry_after_ms": milliseconds,
    }
    return _too_many(body, max(1, round(seconds)))


def discord_limit(seconds: float) -> bytes:
    """As Discord says it: a long pause is for all requests of the bot."""
    body = {
        "message": "You are being rate limited.",
        "retry_after": seconds,
        "global": seconds > 2,
    }
    return _too_many(body, max(1, round(seconds)))


def _too_many(body: dict[str, object], after: int) -> bytes:
    text = json.dumps(body).encode()
    head = (
        "HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/json\r\n"
        f"Retry-After: {after}\r\nContent-Length: {len(text)}\r\n\r\n"
    )
    return head.encode() + text
