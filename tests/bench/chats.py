"""Chats of one person on test servers of the services, hubs that are connected to them, and the
bare programs beside them."""

from __future__ import annotations

import asyncio
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from random import randrange
from typing import ClassVar, Self

from chatbridge.clock import SystemClock
from chatbridge.hub.process.lock import account_lock_path
from tests.bench import programs
from tests.bench.machine import PATIENCE, Client, Json, Machine, client, machine
from tests.fakes.chat_settings import telegram_settings
from tests.fakes.clock import StillClock
from tests.fakes.discord.server import Discord, answered
from tests.fakes.discord.world import Message
from tests.fakes.ntfy_server import NtfyServer
from tests.fakes.slack.server import BOT_TOKEN, Slack, running_slack
from tests.fakes.telegram.people import Card
from tests.fakes.telegram.server import BotApi


class Chat(ABC):
    """Where a program asks, and who says yes there."""

    program: ClassVar[str]
    """What one would write without chatbridge."""
    apart: ClassVar[float]
    """Seconds from one ask to the next, so that no pause of the service's pace is in a figure."""
    account: str = ""
    """Of which there can be one hub."""
    settings: dict[str, str]
    """Of a hub that asks here."""
    words: list[str]
    """For the bare program."""

    @classmethod
    @abstractmethod
    def running(cls) -> AbstractAsyncContextManager[Self]: ...

    @abstractmethod
    def is_heard(self) -> bool:
        """Whether somebody listens to what people do here."""

    @abstractmethod
    async def sees(self) -> float:
        """When the next card was there."""

    @abstractmethod
    async def answers(self) -> float | None:
        """Say yes to it; when the service was told that this was taken, where it waits for it."""

    async def listened_to(self) -> None:
        async with asyncio.timeout(PATIENCE):
            while not self.is_heard():  # noqa: ASYNC110 - servers have threads of their own
                await asyncio.sleep(0.002)


@asynccontextmanager
async def hub_with(chat: Chat) -> AsyncIterator[Machine]:
    async with machine(**chat.settings) as here:
        yield here
    if chat.account:
        remove_lock(chat.account)


def remove_lock(account: str) -> None:
    """Every run has accounts of its own."""
    Path(account_lock_path(account)).unlink(missing_ok=True)


@asynccontextmanager
async def bare(chat: Chat, way_in: str) -> AsyncIterator[Client]:
    words = [sys.executable, "-c", chat.program + way_in, *chat.words]
    async with machine() as here, client(words, here.environment) as program:
        if way_in == programs.SERVER:
            await program.list_tools()
        yield program


class TelegramChat(Chat):
    program = programs.TELEGRAM
    apart = 2.0  # a card and its two edits cost 1.8 s

    def __init__(self, api: BotApi) -> None:
        ada = api.person("Ada")
        chat = api.private(ada)
        self.account = api.token.partition(":")[0]
        self.settings = telegram_settings(api, ada)
        self.words = [api.token, api.address, str(chat.id)]
        self._api, self._phone = api, chat.phone(ada)
        self._cards = 0

    @classmethod
    @asynccontextmanager
    async def running(cls) -> AsyncIterator[Self]:
        with BotApi.running() as api:
            yield cls(api)

    def is_heard(self) -> bool:
        return self._api.polling

    async def sees(self) -> float:
        self._cards += 1
        return await self._arrived("sendMessage", self._cards)

    async def answers(self) -> float:
        toasts = len(self._api.calls("answerCallbackQuery"))
        self._phone.tap(next(filter(_has_yes, reversed(self._phone.messages))), "Yes")
        return await self._arrived("answerCallbackQuery", toasts + 1)

    async def _arrived(self, method: str, count: int) -> float:
        """When there were so many of these requests."""
        await asyncio.to_thread(self._api.until, lambda api: len(api.calls(method)) >= count)
        return self._api.calls(method)[count - 1].at


def _has_yes(card: Card) -> bool:
    return any(key.text == "Yes" for key in card.keys)


class SlackChat(Chat):
    program = programs.SLACK
    apart = 4.0  # a card and its two edits cost 3.4 s

    def __init__(self, slack: Slack) -> None:
        self.account = f"A{randrange(36**9):09}"
        slack.app_token = f"xapp-1-{self.account}-3-test-token"
        self._slack, self._ada = slack, slack.person("Ada")
        self._room = slack.direct(self._ada)
        base = f"{slack.base}/api/"
        self.settings = {
            "CHATBRIDGE_SLACK__BOT_TOKEN": BOT_TOKEN,
            "CHATBRIDGE_SLACK__APP_TOKEN": slack.app_token,
            "CHATBRIDGE_SLACK__ALLOWED_USERS": self._ada,
            "CHATBRIDGE_SLACK__API_BASE": base,
        }
        self.words = [base, BOT_TOKEN, slack.app_token, self._room.id]
        self._known: set[str] = set()
        self._card: tuple[Json, Json] | None = None

    @classmethod
    @asynccontextmanager
    async def running(cls) -> AsyncIterator[Self]:
        async with running_slack(SystemClock()) as slack:
            yield cls(slack)

    def is_heard(self) -> bool:
        return bool(self._slack.connected)

    async def sees(self) -> float:
        self._card = await self._slack.until(self._new)
        return time.time()

    def _new(self) -> tuple[Json, Json] | None:
        """A message, and its button."""
        for message in reversed(self._room.messages.values()):
            if message["ts"] not in self._known:
                for block in message["blocks"] or ():
                    for key in block.get("elements", ()):
                        if key["type"] == "button" and key["text"]["text"] == "Yes":
                            self._known.add(message["ts"])
                            return message, {"block_id": block["block_id"], **key}
        return None

    async def answers(self) -> float:
        assert self._card is not None
        message, key = self._card
        tapped = await self._slack.tap(self._ada, self._room, message, key)
        async with asyncio.timeout(PATIENCE):
            await tapped.acknowledged
        return time.time()


class DiscordChat(Chat):
    program = programs.DISCORD
    apart = 3.5  # a card and its two edits cost 3 s

    def __init__(self, discord: Discord) -> None:
        self._discord, self._ada = discord, discord.world.user("Ada")
        self._room = discord.world.direct(self._ada)
        self.account = discord.world.bot.id
        self.settings = {
            "CHATBRIDGE_DISCORD__TOKEN": discord.token,
            "CHATBRIDGE_DISCORD__ALLOWED_USERS": self._ada.id,
            "CHATBRIDGE_DISCORD__API_BASE": discord.address,
        }
        self.words = [discord.address, discord.token, self._room.id]
        self._known: set[str] = set()
        self._card: Message | None = None

    @classmethod
    @asynccontextmanager
    async def running(cls) -> AsyncIterator[Self]:
        # Its ids are made of the time.
        async with Discord.running(StillClock(time.time())) as discord:
            yield cls(discord)

    def is_heard(self) -> bool:
        return any(session.socket for session in self._discord.gateway.sessions.values())

    async def sees(self) -> float:
        self._card = await self._discord.sees(self._room, self._is_new)
        self._known.add(self._card.id)
        return time.time()

    def _is_new(self, message: Message) -> bool:
        return message.id not in self._known and any(k.get("label") == "Yes" for k in message.keys)

    async def answers(self) -> float:
        assert self._card is not None
        key = self._card.key("Yes")["custom_id"]
        await answered(self._discord.tap(self._ada, self._card, key))
        return time.time()


class NtfyChat(Chat):
    program = programs.NTFY
    apart = 1.0  # all rounds cost less than its burst

    def __init__(self, server: NtfyServer) -> None:
        server.allowed = sys.maxsize
        self._server, self._phone = server, server.phone("agents")
        self.settings = {
            "CHATBRIDGE_NTFY__SERVER": server.address,
            "CHATBRIDGE_NTFY__TOPIC": "agents",
            "CHATBRIDGE_NTFY__ANSWERS": "true",
            "CHATBRIDGE_NTFY__ANSWER_TOPIC": "answers",
        }
        self.words = [server.address, "agents", "answers"]
        self._known: set[str] = set()
        self._card: Json = {}

    @classmethod
    @asynccontextmanager
    async def running(cls) -> AsyncIterator[Self]:
        with NtfyServer.running() as server:
            yield cls(server)

    def is_heard(self) -> bool:
        return bool(self._server.subscribed["answers"])

    async def sees(self) -> float:
        self._card = await asyncio.to_thread(self._server.wait, self._new)
        self._known.add(self._card["id"])
        return self._server.arrived[self._card["id"]]

    def _new(self) -> Json | None:
        shown = (it for it in self._phone.shows if it["id"] not in self._known)
        return next((it for it in shown if it.get("actions")), None)

    async def answers(self) -> None:
        await asyncio.to_thread(self._phone.tap, self._card, "Yes")


CHATS: dict[str, type[Chat]] = {
    "telegram": TelegramChat,
    "slack": SlackChat,
    "discord": DiscordChat,
    "ntfy": NtfyChat,
}
"""All but Matrix, which has a real server."""
