"""A reverse proxy that adds a token to every request, for clients that cannot send one themselves.

One request a connection, bytes as they come: what a proxy with buffering switched off does.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

LONGEST_HEAD = 64 * 1024


@asynccontextmanager
async def bearer_proxy(port: int, token: str) -> AsyncIterator[int]:
    """Its own port. Requests go on to `port` on this computer."""
    visits: set[asyncio.Task[None]] = set()

    async def visit(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        visits.add(task)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await _pass_on(reader, writer, port=port, token=token)
        finally:
            visits.discard(task)
            writer.close()

    server = await asyncio.start_server(visit, "127.0.0.1", 0, limit=LONGEST_HEAD)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in visits:
            task.cancel()
        await asyncio.gather(*visits, return_exceptions=True)


async def _pass_on(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, port: int, token: str
) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    lines = [line for line in head[:-4].split(b"\r\n") if not _is_connection(line)]
    lines += [f"Authorization: Bearer {token}".encode(), b"Connection: close", b"", b""]
    back, forth = await asyncio.open_connection("127.0.0.1", port)
    try:
        forth.write(b"\r\n".join(lines))
        asking = asyncio.ensure_future(_copy(reader, forth))
        try:
            await _copy(back, writer)
        finally:
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
    finally:
        forth.close()


def _is_connection(line: bytes) -> bool:
    return line.lower().startswith(b"connection:")


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(65536):
        writer.write(piece)
        await writer.drain()
