"""A page of the web inbox that somebody has open: what is asked meanwhile has reached a person."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.acceptance.bridge import PATIENCE, Person
from tests.fakes.web import visitor


@asynccontextmanager
async def open_page(person: Person) -> AsyncIterator[None]:
    """Once the hub knows of it, until it is left."""
    address = await asyncio.to_thread(person.address)
    code = (await asyncio.to_thread(person.request, "/api/login-codes", {}))["code"]
    told = asyncio.Event()
    async with visitor(address, {"Origin": address}) as browser:
        assert (await browser.post("/login", data={"code": code})).status_code == 303

        async def read() -> None:
            async with browser.stream("GET", "/api/events", timeout=None) as events:
                async for _ in events.aiter_bytes():
                    told.set()

        reading = asyncio.create_task(read())
        try:
            await asyncio.wait_for(told.wait(), PATIENCE)
            yield
        finally:
            reading.cancel()
            await asyncio.wait({reading})
