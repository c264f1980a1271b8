"""A python-telegram-bot Bot and one person in a private chat: for tests of the server itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from telegram import Bot, Update
from telegram.request import HTTPXRequest

from tests.fakes.clock import StillClock
from tests.fakes.telegram.server import BotApi


class Conversation:
    def __init__(self, telegram: BotApi, bot: Bot, clock: StillClock) -> None:
        self.telegram = telegram
        self.bot = bot
        self.clock = clock
        self.ada = telegram.person("Ada", username="ada_l")
        self.chat = telegram.private(self.ada)
        self.phone = self.chat.phone(self.ada)

    async def send(self, text: str = "hello") -> int:
        return (await self.bot.send_message(self.chat.id, text)).message_id

    @property
    def shown(self) -> list[str]:
        return [card.text for card in self.phone.messages]

    async def poll(self, offset: int | None = None, limit: int | None = None) -> list[Update]:
        """What there is now."""
        return list(await self.bot.get_updates(offset=offset, limit=limit, timeout=0))

    async def texts(self, offset: int | None = None, limit: int | None = None) -> list[str | None]:
        updates = await self.poll(offset, limit)
        return [update.message.text if update.message else None for update in updates]

    async def waiting(self) -> asyncio.Task[tuple[Update, ...]]:
        """A poll that has begun, and waits."""
        poll = asyncio.create_task(self.bot.get_updates(timeout=10))
        await asyncio.to_thread(self.telegram.until, lambda telegram: telegram.polling)
        return poll


@asynccontextmanager
async def conversation() -> AsyncIterator[Conversation]:
    """On a clock that stands still."""
    clock = StillClock()
    with BotApi.running(clock=clock) as telegram:
        async with Bot(
            telegram.token,
            base_url=telegram.address + "/bot",
            request=_plain(),
            get_updates_request=_plain(),
        ) as bot:
            yield Conversation(telegram, bot, clock)


def _plain() -> HTTPXRequest:
    """Without verify=False each would load the machine's certificates, for plain HTTP."""
    return HTTPXRequest(httpx_kwargs={"verify": False})
