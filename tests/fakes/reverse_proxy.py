"""A reverse proxy, with TLS or without: adds headers to every request, and buffers nothing.

One request a connection, bytes as they come: what a proxy with buffering switched off does.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress

LONGEST_HEAD = 64 * 1024
UNREACHABLE = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


def bearer_proxy(port: int, token: str) -> AbstractAsyncContextManager[int]:
    """For clients that cannot send a token themselves."""
    return reverse_proxy(port, f"Authorization: Bearer {token}")


@asynccontextmanager
async def reverse_proxy(
    port: int,
    *adds: str,
    tls: ssl.SSLContext | None = None,
    at: tuple[str, int] = ("127.0.0.1", 0),
    host: str | None = None,
) -> AsyncIterator[int]:
    """Its own port. Requests go on to `port` on this computer, with the headers `adds`, and with
    another Host if `host` is one."""
    visits: set[asyncio.Task[None]] = set()

    def rewritten(head: bytes) -> bytes:
        lines = head[:-4].split(b"\r\n")
        gone = (b"connection:",) if host is None else (b"connection:", b"host:")
        lines = [line for line in lines if not line.lower().startswith(gone)]
        more = [*adds, *([] if host is None else [f"Host: {host}"]), "Connection: close", "", ""]
        return b"\r\n".join([*lines, *(line.encode() for line in more)])

    async def visit(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        visits.add(task)
        try:
            with suppress(
                ConnectionError, ssl.SSLError, asyncio.IncompleteReadError, asyncio.CancelledError
            ):
                await _pass_on(reader, writer, port=port, rewritten=rewritten)
        finally:
            visits.discard(task)
            writer.close()

    server = await asyncio.start_server(visit, *at, limit=LONGEST_HEAD, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in visits:
            task.cancel()
        await asyncio.gather(*visits, return_exceptions=True)


async def _pass_on(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    *,
    port: int,
    rewritten: Callable[[bytes], bytes],
) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    try:
        back, forth = await asyncio.open_connection("127.0.0.1", port)
    except ConnectionRefusedError:
        writer.write(UNREACHABLE)
        return
    try:
        forth.write(rewritten(head))
        asking = asyncio.ensure_future(_copy(reader, forth))
        try:
            await _copy(back, writer)
        finally:
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
    finally:
        forth.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(65536):
        writer.write(piece)
        await writer.drain()
