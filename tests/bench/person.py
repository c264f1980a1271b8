"""The person of a benchmark: reads the event stream and answers through the inbox's HTTP API."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.bench.machine import PATIENCE, Json, Machine


class Person:
    def __init__(self, address: tuple[str, int], token: str) -> None:
        self._address = address
        self._head = f"Host: {address[0]}:{address[1]}\r\nAuthorization: Bearer {token}\r\n"
        self.seen: asyncio.Queue[tuple[str, float]] = asyncio.Queue()
        """Ids of asks as they became visible, with the time."""
        self.watching = asyncio.ensure_future(self._watch())

    async def _watch(self) -> None:
        reader, writer = await asyncio.open_connection(*self._address, limit=1 << 22)
        writer.write(f"GET /api/events HTTP/1.1\r\n{self._head}\r\n".encode())
        known: set[str] = set()
        try:
            while line := await reader.readline():
                now = time.perf_counter()
                if line.startswith(b"data: {"):
                    ask = json.loads(line[5:])
                    if ask["id"] not in known:
                        known.add(ask["id"])
                        self.seen.put_nowait((ask["id"], now))
        finally:
            writer.close()

    async def sees(self) -> tuple[str, float]:
        assert not self.watching.done(), f"the event stream has ended: {self.watching}"
        return await asyncio.wait_for(self.seen.get(), PATIENCE)

    async def answer_all(self, ask_ids: list[str]) -> None:
        """One after another, over one kept connection."""
        reader, writer = await asyncio.open_connection(*self._address)
        answers: Json = {"answers": [{"questionId": "q", "values": ["yes"]}]}
        body = json.dumps(answers)
        for ask_id in ask_ids:
            writer.write(
                f"POST /api/asks/{ask_id}/answer HTTP/1.1\r\n{self._head}"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
                f"{body}".encode()
            )
            status = await reader.readline()
            assert b" 200 " in status, status
            await _skip_body(reader)
        writer.close()


async def _skip_body(reader: asyncio.StreamReader) -> None:
    length = 0
    while (line := await reader.readline()) != b"\r\n":
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    await reader.readexactly(length)


@asynccontextmanager
async def person(here: Machine) -> AsyncIterator[Person]:
    address = await here.web()
    token = (here.state / "web-token").read_text().strip()
    somebody = Person(address, token)
    try:
        yield somebody
    finally:
        somebody.watching.cancel()
        await asyncio.gather(somebody.watching, return_exceptions=True)
