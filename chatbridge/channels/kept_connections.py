"""Small requests over HTTP connections that are kept open, for a service that gets many of them.

httpx computes for a millisecond at each, which was most of what an answer's way through a chat took
here. It remains the way for whatever is sent or answered in pieces, or goes through a proxy, and
what goes wrong is told with its errors.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from asyncio import FIRST_COMPLETED
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from itertools import chain, zip_longest
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit
from urllib.request import getproxies

import httpx

KEPT_OPEN = 30.0
"""How long an idle connection is kept: opening one takes longer than sending a message."""
CONNECTED_WITHIN = 5.0
NEXT_ADDRESS_AFTER = 0.25
"""When a name's next address is tried, beside one that has not answered."""


def kept_connections(base: str, *, most: int, tls: ssl.SSLContext) -> KeptConnections | None:
    """None where only httpx knows the way: through a proxy, or with a password in the address."""
    needed = getproxies().keys() & {"http", "https", "all"} or "@" in base
    return None if needed else KeptConnections(base, most=most, tls=tls)


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    """By their names in lower case."""
    content: bytes


class KeptConnections:
    def __init__(self, base: str, *, most: int, tls: ssl.SSLContext) -> None:
        """At most so many to the server of this address."""
        parts = urlsplit(base)
        self._encrypted = parts.scheme == "https"
        self._host = parts.hostname or ""
        self._port = parts.port or (443 if self._encrypted else 80)
        self._tls = tls
        self._start = f"HTTP/1.1\r\nHost: {parts.netloc}\r\n"
        self._free = asyncio.Semaphore(most)
        self._idle: list[_Connection] = []

    async def post(
        self, path: str, content: bytes, headers: Mapping[str, str], *, patience: float
    ) -> Answer:
        """`patience`: how long the answer may take. :raises httpx.HTTPError:"""
        said = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        path = quote(path, safe="/:?&=%")
        head = f"POST {path} {self._start}{said}Content-Length: {len(content)}\r\n\r\n"
        async with _within(patience, httpx.PoolTimeout):
            await self._free.acquire()
        try:
            connection = self._kept() or await self._connected()
            try:
                async with _within(patience, httpx.ReadTimeout):
                    return await connection.exchange(head.encode("ascii") + content)
            finally:
                if connection.is_usable:
                    self._idle.append(connection)
                else:
                    connection.close()
        finally:
            self._free.release()

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def _kept(self) -> _Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if connection.is_usable:
                return connection
            connection.close()
        return None

    async def _connected(self) -> _Connection:
        try:
            async with _within(CONNECTED_WITHIN, httpx.ConnectTimeout):
                found = await _reached(self._host, self._port)
                name = self._host if self._encrypted else None
                tls = self._tls if self._encrypted else None
                streams = await asyncio.open_connection(sock=found, ssl=tls, server_hostname=name)
                return _Connection(*streams)
        except OSError as error:
            raise httpx.ConnectError(str(error)) from error


class _Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._idle_since: float | None = None  # None: not, or it cannot be used again

    @property
    def is_usable(self) -> bool:
        """For another request, as far as is known."""
        since = self._idle_since
        fresh = since is not None and time.monotonic() - since < KEPT_OPEN
        return fresh and not self._reader.at_eof()

    def close(self) -> None:
        self._writer.transport.abort()

    async def exchange(self, request: bytes) -> Answer:
        self._idle_since = None
        try:
            self._writer.write(request)
            await self._writer.drain()
            return await self._answer()
        except (EOFError, ValueError, asyncio.LimitOverrunError) as error:
            raise httpx.RemoteProtocolError(f"no HTTP answer: {error}") from error
        except OSError as error:
            raise httpx.ReadError(str(error)) from error

    async def _answer(self) -> Answer:
        """:raises ValueError: it is none."""
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        start, *lines = head[:-4].split("\r\n")
        version, _, rest = start.partition(" ")
        if version not in ("HTTP/1.1", "HTTP/1.0"):
            raise ValueError(repr(start[:40]))
        status = int(rest[:3])
        if 100 <= status < 200:
            return await self._answer()
        fields = (line.partition(":") for line in lines)
        headers = {name.lower(): value.strip() for name, _, value in fields}
        if status in (204, 304):
            content = b""
        elif headers.get("transfer-encoding", "").lower() == "chunked":
            content = b"".join([chunk async for chunk in self._chunks()])
        elif "content-length" in headers:
            content = await self._reader.readexactly(int(headers["content-length"]))
        else:  # it ends with the connection
            return Answer(status, headers, await self._reader.read())
        if version == "HTTP/1.1" and headers.get("connection", "").lower() != "close":
            self._idle_since = time.monotonic()
        return Answer(status, headers, content)

    async def _chunks(self) -> AsyncIterator[bytes]:
        while size := int((await self._reader.readuntil(b"\r\n")).split(b";")[0], 16):
            yield await self._reader.readexactly(size)
            await self._reader.readexactly(2)
        while await self._reader.readuntil(b"\r\n") != b"\r\n":
            pass  # a field that comes after the content


@asynccontextmanager
async def _within(seconds: float, error: type[httpx.TimeoutException]) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as timeout:
        raise error(str(timeout)) from timeout


async def _reached(host: str, port: int) -> socket.socket:
    """Connected to whichever of the host's addresses answers first. Their families take turns: a
    computer may have an IPv6 address that leads nowhere (RFC 8305). :raises OSError:"""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    families = [[it for it in found if it[0] is family] for family in {it[0]: None for it in found}]
    left = deque(filter(None, chain.from_iterable(zip_longest(*families))))
    trying: set[asyncio.Task[socket.socket]] = set()
    try:
        while True:
            if left:
                family, _, _, _, address = left.popleft()
                trying.add(asyncio.create_task(_tried(family, address)))
            after = NEXT_ADDRESS_AFTER if left else None
            done, _ = await asyncio.wait(trying, timeout=after, return_when=FIRST_COMPLETED)
            for each in done:
                trying.remove(each)
                if not each.exception() or not (left or trying):
                    return each.result()
    finally:
        for each in trying:
            if not each.cancel() and not each.exception():
                each.result().close()


async def _tried(family: int, address: tuple[Any, ...]) -> socket.socket:
    tried = socket.socket(family, socket.SOCK_STREAM)
    try:
        tried.setblocking(False)
        tried.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await asyncio.get_running_loop().sock_connect(tried, address)
    except BaseException:
        tried.close()
        raise
    return tried
