"""The channels of a hub: brings them up, keeps them up, and knows when they have drained.

A channel is imported and built only here, in a thread, while tools already answer. One that fails
is tried again; the others and the tools never wait for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from chatbridge.core.delivery import Delivery
from chatbridge.core.errors import ChatbridgeError
from chatbridge.core.ports import Channel, Clock, Inbox

log = logging.getLogger(__name__)

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0


class LineUp:
    def __init__(self, delivery: Delivery, *, clock: Clock) -> None:
        self._delivery = delivery
        self._clock = clock
        self._slots: list[Slot] = []

    def add(self, name: str, build: Callable[[], Channel]) -> None:
        self._slots.append(Slot(name, build))

    async def run(self, inbox: Inbox) -> None:
        """Keep all channels up until cancelled."""
        async with asyncio.TaskGroup() as group:
            for slot in self._slots:
                group.create_task(self._keep_up(slot, inbox))

    async def drained(self) -> None:
        """Return once each channel that can be reached has put in its backlog."""
        for slot in self._slots:
            await slot.tried.wait()
            if slot.channel is not None:
                await slot.channel.drain()

    async def _keep_up(self, slot: Slot, inbox: Inbox) -> None:
        pause = FIRST_PAUSE
        while True:
            try:
                await self._serve(slot, inbox)
            except ChatbridgeError as error:
                log.error("%s is not available: %s", slot.name, error)
            except Exception:
                log.exception("%s failed", slot.name)
            slot.channel = None
            slot.tried.set()
            await self._clock.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    async def _serve(self, slot: Slot, inbox: Inbox) -> None:
        channel = await asyncio.to_thread(slot.build)
        ready = asyncio.Event()

        def now_ready() -> None:
            slot.channel = channel
            slot.tried.set()
            ready.set()

        delivering = asyncio.ensure_future(self._delivery.serve(channel, ready=ready))
        try:
            await channel.run(inbox, ready=now_ready)
        finally:
            delivering.cancel()
            await asyncio.gather(delivering, return_exceptions=True)


class Slot:
    def __init__(self, name: str, build: Callable[[], Channel]) -> None:
        self.name = name
        self.build = build
        self.channel: Channel | None = None
        self.tried = asyncio.Event()
