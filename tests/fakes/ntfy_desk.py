"""A running ntfy channel with something behind it, and the phone that it rings."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from chatbridge.channels.ntfy.channel import NtfyChannel
from chatbridge.channels.ntfy.settings import Ntfy
from chatbridge.core.model import Ask, Attention
from chatbridge.core.policy import Policy
from tests.fakes.clock import StillClock
from tests.fakes.inbox import Desk, open_desk
from tests.fakes.ntfy_server import Json, NtfyServer, Phone

TOPIC, ANSWER_TOPIC = "agents-x7Kq2mPz", "answers-x7Kq2mPz"
INBOX = "https://inbox.example.org"
PATIENCE = 20.0


@dataclass(slots=True, kw_only=True)
class Ringing:
    server: NtfyServer
    phone: Phone
    desk: Desk
    clock: StillClock
    channel: NtfyChannel

    async def sees(self, words: str) -> Json:
        return await asyncio.to_thread(self.phone.sees, words)

    async def tap(self, ring: Json, label: str) -> None:
        await asyncio.to_thread(self.phone.tap, ring, label)

    async def ended(self, ask: Ask) -> Ask:
        async with asyncio.timeout(PATIENCE):
            return await self.desk.broker.ended(ask.id)

    async def listens(self) -> None:
        """Once the channel waits for answers."""
        await asyncio.to_thread(self.server.wait, lambda: self.server.subscribed.total() == 1)

    async def attention(self, ask: Ask, fits: Callable[[Attention], bool]) -> None:
        """Until the hub has drawn attention to it so far."""
        async with asyncio.timeout(PATIENCE):
            while True:
                if fits((await self.desk.inbox.ask(ask.id)).attention):
                    return
                await asyncio.sleep(0.002)

    async def until(self, trouble: str | None) -> None:
        async with asyncio.timeout(PATIENCE):
            while True:
                now = self.channel.trouble
                if (trouble in now if now else False) if trouble else now is None:
                    return
                await asyncio.sleep(0.002)


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a hub hands over, as far as this channel uses it."""

    clock: StillClock
    page: str | None = INBOX

    def inbox(self) -> str | None:
        return self.page


@asynccontextmanager
async def running_ntfy(
    folder: Path,
    server: NtfyServer,
    *,
    answers: bool = True,
    token: str | None = None,
    policy: Policy | None = None,
    page: str | None = INBOX,
) -> AsyncIterator[Ringing]:
    clock, up = StillClock(), asyncio.Event()
    table = Ntfy(
        server=server.address,
        topic=TOPIC,
        token=SecretStr(token) if token else None,
        answers=answers,
        answer_topic=ANSWER_TOPIC,
    )
    context: Any = Context(clock=clock, page=page)
    channel = NtfyChannel(table, context)
    async with open_desk(folder, clock=clock, channel=channel, policy=policy, ready=up) as desk:
        running = asyncio.create_task(channel.run(desk.inbox, ready=up.set))
        try:
            async with asyncio.timeout(PATIENCE):
                await up.wait()
            yield Ringing(
                server=server, phone=server.phone(TOPIC), desk=desk, clock=clock, channel=channel
            )
        finally:
            await desk.end_deliveries()
            running.cancel()
            await asyncio.wait({running}, timeout=PATIENCE)
