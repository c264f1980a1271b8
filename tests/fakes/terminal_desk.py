"""A person's commands in front of one world: its requests and its stream, without a socket."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from chatbridge.core.ports import Health
from chatbridge.hub.control.asks import PAUSE_SECONDS, TerminalAsks, Watchers
from chatbridge.hub.control.server import Request
from tests.fakes.core_env import PATIENCE, World, world

Json = dict[str, Any]
ME = os.getuid()


class Desk:
    def __init__(self, here: World, *, troubles: dict[str, str | None] | None = None) -> None:
        self.world = here
        self._watchers = Watchers()
        self._asks = TerminalAsks(
            here.inbox,
            policy=here.broker.policy,
            health=Health(troubles=lambda: troubles or {"web": None}),
            clock=here.clock,
            watchers=self._watchers,
        )

    async def action(self, do: str, *, uid: int = ME, hub: str | None = None, **given: Any) -> Json:
        """`hub`: it was passed on by this one. :raises ChatbridgeError:"""
        request = Request(do=do, given=given, uid=uid, hub=hub)
        return await asyncio.wait_for(self._asks.answers[do](request), PATIENCE)

    async def pending(self, *, uid: int = ME) -> list[Json]:
        found: list[Json] = (await self.action("pending", uid=uid))["asks"]
        return found

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[Callable[[], Any]]:
        """A command that watches; call for its next picture."""
        stream: AsyncGenerator[Json, None] = self._asks.streams["watch"](
            Request(do="watch", given={}, uid=ME)
        )

        async def told() -> None:
            while True:
                self._watchers.changed(await self.world.changes.get())

        async def picture() -> list[Json]:
            coming = asyncio.ensure_future(anext(stream))
            calm = asyncio.ensure_future(self.world.clock.until_asleep(PAUSE_SECONDS))
            await asyncio.wait({coming, calm}, return_when=asyncio.FIRST_COMPLETED)
            calm.cancel()
            if not coming.done():
                self.world.clock.advance(PAUSE_SECONDS)
            found: list[Json] = (await asyncio.wait_for(coming, PATIENCE))["asks"]
            return found

        telling = asyncio.ensure_future(told())
        try:
            yield picture
        finally:
            telling.cancel()
            await asyncio.gather(telling, return_exceptions=True)
            await stream.aclose()


@asynccontextmanager
async def desk(
    path: Path, *, troubles: dict[str, str | None] | None = None, **policy: Any
) -> AsyncIterator[Desk]:
    async with world(path, **policy) as here:
        yield Desk(here, troubles=troubles)
