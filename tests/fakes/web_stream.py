"""The inbox's event stream, read by hand: as a script with the token, or as a page that is open."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.fakes.web import TOKEN, Web


class Stream:
    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader

    async def line(self) -> str:
        async with asyncio.timeout(20):
            line = await self._reader.readline()
        assert line, "the stream has ended"  # else who waits for a line would never pause again
        return line.decode().rstrip("\r\n")

    async def event(self) -> tuple[str, dict[str, Any]]:
        """The next event's name and content."""
        fields: dict[str, str] = {}
        while True:
            line = await self.line()
            name, separator, value = line.partition(": ")
            if separator and name in ("event", "id", "data"):
                fields[name] = value
            if "data" in fields and not line:
                content: dict[str, Any] = json.loads(fields["data"])
                if fields["event"] == "ask":
                    assert fields["id"] == str(content["revision"])
                return fields["event"], content

    async def next(self) -> dict[str, Any]:
        """The next event's ask."""
        name, ask = await self.event()
        assert name == "ask"
        return ask


@asynccontextmanager
async def stream(
    web: Web, *more: str, query: str = "", page: bool = False, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Stream]:
    reader, writer = await asyncio.open_connection(web.host, web.port, ssl=tls)
    cookie = f"Cookie: {web.cookie}={web.browser.cookies[web.cookie]}"
    head = [
        f"GET /api/events{query} HTTP/1.1",
        f"Host: {web.host}:{web.port}",
        cookie if page else f"Authorization: Bearer {TOKEN}",
        *more,
    ]
    writer.write("".join(f"{line}\r\n" for line in [*head, ""]).encode())
    opened = Stream(reader)
    assert "200" in await opened.line()
    while line := await opened.line():
        if line.startswith("content-type"):
            assert line == "content-type: text/event-stream; charset=utf-8"
    try:
        yield opened
    finally:
        writer.close()
