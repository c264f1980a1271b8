"""The person of a benchmark: reads the event stream and answers through the inbox's HTTP API."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from tests.bench.kept import Kept
from tests.bench.machine import PATIENCE, Json, Machine

YES: Json = {"answers": [{"questionId": "q", "values": ["yes"]}]}


class Person:
    def __init__(self, address: tuple[str, int], token: str) -> None:
        self._address, self._token = address, token
        self.seen: asyncio.Queue[tuple[str, float]] = asyncio.Queue()
        """Ids of asks as they became visible, with the time."""
        self.watching = asyncio.ensure_future(self._watch())

    def connection(self) -> AbstractAsyncContextManager[Kept]:
        return Kept.open(self._address, Authorization=f"Bearer {self._token}")

    async def _watch(self) -> None:
        known: set[str] = set()
        async with self.connection() as page:
            async for line in page.lines("/api/events"):
                now = time.perf_counter()
                if line.startswith(b"data: {"):
                    ask = json.loads(line[5:])
                    if ask["id"] not in known:
                        known.add(ask["id"])
                        self.seen.put_nowait((ask["id"], now))

    async def sees(self) -> tuple[str, float]:
        assert not self.watching.done(), f"the event stream has ended: {self.watching}"
        # Not `wait_for`: before Python 3.12 it may lose a cancellation.
        async with asyncio.timeout(PATIENCE):
            return await self.seen.get()

    async def answer_all(self, ask_ids: list[str]) -> None:
        """One after another, over one kept connection."""
        async with self.connection() as page:
            for ask_id in ask_ids:
                await page.post(f"/api/asks/{ask_id}/answer", YES)

    async def loads(self, path: str, rounds: int) -> list[float]:
        """The seconds that this page took each time in their browser, over one kept connection."""
        times = []
        async with self.browser() as page:
            for _ in range(rounds):
                began = time.perf_counter()
                await page.get(path)
                times.append(time.perf_counter() - began)
        return times

    @asynccontextmanager
    async def browser(self) -> AsyncIterator[Kept]:
        """Logged in: pages are for browsers, and the token for scripts."""
        async with self.connection() as script:
            code = json.loads(await script.post("/api/login-codes", {}))["code"]
        origin = "http://{}:{}".format(*self._address)
        async with Kept.open(self._address, Origin=origin) as door:
            await door.fill_in("/login", {"code": code})
            cookie = door.headers["set-cookie"].partition(";")[0]
        async with Kept.open(self._address, Cookie=cookie) as browser:
            yield browser


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
