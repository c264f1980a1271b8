"""One kept HTTP connection, and no more of a client than the figures need: a library's own time
would be part of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Self
from urllib.parse import urlencode

from tests.bench.machine import Json

LINE = 1 << 22


class BadStatus(Exception):
    """The server refuses it."""


class Kept:
    def __init__(
        self, head: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._head = head
        self._reader, self._writer = reader, writer

    @classmethod
    @asynccontextmanager
    async def open(cls, address: tuple[str, int], **headers: str) -> AsyncIterator[Self]:
        reader, writer = await asyncio.open_connection(*address, limit=LINE)
        own = {"Host": f"{address[0]}:{address[1]}", **headers}
        try:
            yield cls(_fields(own), reader, writer)
        finally:
            writer.close()

    async def get(self, path: str) -> bytes:
        self._writer.write(f"GET {path} HTTP/1.1\r\n{self._head}\r\n".encode())
        return await self._body()

    async def post(self, path: str, body: Json, **headers: str) -> bytes:
        return await self._post(path, json.dumps(body).encode(), "application/json", headers)

    async def fill_in(self, path: str, fields: dict[str, str]) -> bytes:
        """A form of a page."""
        content = urlencode(fields).encode()
        return await self._post(path, content, "application/x-www-form-urlencoded", {})

    async def _post(self, path: str, content: bytes, kind: str, headers: dict[str, str]) -> bytes:
        more = {"Content-Type": kind, "Content-Length": str(len(content)), **headers}
        head = f"POST {path} HTTP/1.1\r\n{self._head}{_fields(more)}\r\n"
        self._writer.write(head.encode() + content)
        return await self._body()

    async def lines(self, path: str) -> AsyncIterator[bytes]:
        """Of a response that does not end."""
        self._writer.write(f"GET {path} HTTP/1.1\r\n{self._head}\r\n".encode())
        while line := await self._reader.readline():
            yield line

    async def _body(self) -> bytes:
        status = await self._line()
        if status.split()[1] >= b"400":
            raise BadStatus(status.decode().strip())
        self.headers: dict[str, str] = {}
        while (line := await self._line()) != b"\r\n":
            name, _, value = line.decode().partition(":")
            self.headers[name.lower()] = value.strip()
        if "content-length" in self.headers:
            return await self._reader.readexactly(int(self.headers["content-length"]))
        return b"".join([chunk async for chunk in self._chunks()])

    async def _chunks(self) -> AsyncIterator[bytes]:
        while size := int(await self._line(), 16):
            yield await self._reader.readexactly(size)
            await self._line()
        await self._line()

    async def _line(self) -> bytes:
        """:raises EOFError: the connection was cut off."""
        if not (line := await self._reader.readline()).endswith(b"\n"):
            raise EOFError("cut off")
        return line


def _fields(headers: dict[str, str]) -> str:
    return "".join(f"{name}: {value}\r\n" for name, value in headers.items())
