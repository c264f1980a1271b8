"""The drivers of the channels' suite: a person, and a stranger, at the other end of each channel.

A new channel is added here and nowhere else.
"""

from __future__ import annotations

import asyncio
import html
import re
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote

import httpx2
import pytest

from chatbridge.channels.chat.callback_data import Tap, encode, question_shown
from chatbridge.channels.telegram.inbound.poll import ALBUM_WITHIN
from chatbridge.channels.web.request_parsing import event_fields
from chatbridge.core.cards.card import AskAction
from chatbridge.core.forms.form import Event
from chatbridge.core.model import Ask
from chatbridge.core.nights.summary import GLYPH
from chatbridge.core.policy import Policy
from chatbridge.core.ports import Channel
from tests.contract.discord_driver import drive_discord
from tests.contract.matrix_driver import drive_matrix
from tests.contract.notebook_driver import drive_notebook
from tests.contract.slack_driver import drive_slack
from tests.fakes.clock import StillClock
from tests.fakes.inbox import Desk
from tests.fakes.telegram.people import Phone, file
from tests.fakes.telegram.server import BotApi
from tests.fakes.telegram_desk import Telegram, read, running_telegram
from tests.fakes.web import MARK, Web, running_web

PATIENCE = 20.0
NOT_QUICK = 2.0
"""Seconds that a person needs at least to read a card: Telegram takes no quicker tap on Allow."""


class Driver(Protocol):
    """The other end of a channel that runs and is served by delivery."""

    desk: Desk
    running: asyncio.Task[None]

    @property
    def channel(self) -> Channel: ...

    async def shown(self, ask: Ask) -> str:
        """What the person sees of the ask, as plain text, once delivery has caught up."""
        ...

    async def tap(self, ask: Ask, action: Event | AskAction) -> str:
        """The person taps a button that was drawn with this; what they are told, if anything."""
        ...

    async def type(self, ask: Ask, text: str) -> str:
        """The person writes an answer to this ask; what they are told, if anything."""
        ...

    async def intrude(self, ask: Ask, action: Event | AskAction, text: str) -> str:
        """Somebody who is not allowed taps the same button and writes; all that they get to see."""
        ...

    async def attach(
        self, ask: Ask, *contents: bytes, caption: str = "", stranger: bool = False
    ) -> None:
        """Somebody replies to the ask's card with pictures, in one message where that can have
        several."""
        ...

    @property
    def fetched(self) -> int:
        """How many files the channel has asked the service for."""
        ...

    def lose_file(self) -> None:
        """The service does not hand out the next file."""
        ...

    def heard(self) -> list[tuple[str, bool]]:
        """What the bot says in the chat now, as plain text, the oldest first, and whether it came
        with a sound. A page says nothing."""
        ...

    async def pick(self, number: int, *, stranger: bool = False) -> str:
        """Somebody picks a number of the newest summary; what they are told, if anything."""
        ...

    async def command(self, text: str, *, stranger: bool = False) -> None:
        """Somebody writes a command, without the sign that it begins with here."""
        ...

    async def reply(self, text: str, *, to: str, stranger: bool = False) -> None:
        """Somebody replies to the bot's last message that has this in it."""
        ...

    async def press(self, label: str, *, stranger: bool = False) -> str | None:
        """Somebody presses this button of the bot's last message; what they are told. None: there
        are no buttons here."""
        ...

    async def notices(self, *, until: str) -> list[str]:
        """What agents told the person without asking, as plain text, the oldest first, once the
        last of it has this in it."""
        ...


class WebDriver:
    def __init__(self, web: Web) -> None:
        self.channel, self.desk, self.running = web.channel, web.desk, web.running
        self._web = web

    async def shown(self, ask: Ask) -> str:
        page = (await self._web.browser.get(f"/asks/{ask.id}")).text
        return html.unescape(re.sub(r"<[^>]+>", "", page))

    async def tap(self, ask: Ask, action: Event | AskAction) -> str:
        return _told(await self._post(self._web.browser, ask, event_fields(action)))

    async def type(self, ask: Ask, text: str) -> str:
        step = (await self.desk.inbox.ask(ask.id)).draft.step
        fields = {"do": "text", "step": str(step), "text": text}
        return _told(await self._post(self._web.browser, ask, fields))

    async def intrude(self, ask: Ask, action: Event | AskAction, text: str) -> str:
        tapped = await self._post(self._web.stranger, ask, event_fields(action))
        fields = {"do": "text", "step": "0", "text": text}
        typed = await self._post(self._web.stranger, ask, fields)
        return tapped.text + typed.text

    async def attach(
        self, ask: Ask, *contents: bytes, caption: str = "", stranger: bool = False
    ) -> None:
        raise NotImplementedError

    @property
    def fetched(self) -> int:
        raise NotImplementedError

    def lose_file(self) -> None:
        raise NotImplementedError

    def heard(self) -> list[tuple[str, bool]]:
        return []

    async def pick(self, number: int, *, stranger: bool = False) -> str:
        raise NotImplementedError

    async def command(self, text: str, *, stranger: bool = False) -> None:
        raise NotImplementedError

    async def reply(self, text: str, *, to: str, stranger: bool = False) -> None:
        raise NotImplementedError

    async def press(self, label: str, *, stranger: bool = False) -> str | None:
        raise NotImplementedError

    async def notices(self, *, until: str) -> list[str]:
        # A page shows what is kept, and a notice is kept before its sender hears of it.
        page = (await self._web.browser.get("/?all")).text
        found = re.findall(r'<li class="notice[^>]*>(.*?)</li>', page, re.DOTALL)
        shown = [html.unescape(re.sub(r"<[^>]+>", "", each)) for each in reversed(found)]
        assert until in shown[-1]
        return shown

    async def _post(
        self, client: httpx2.AsyncClient, ask: Ask, fields: dict[str, str]
    ) -> httpx2.Response:
        return await client.post(f"/asks/{ask.id}/form", data=fields, headers=MARK)


def _told(response: httpx2.Response) -> str:
    return unquote(response.headers.get("x-chatbridge-toast", ""))


@asynccontextmanager
async def drive_web(
    folder: Path, _: pytest.FixtureRequest, *, policy: Policy | None = None
) -> AsyncIterator[Driver]:
    async with running_web(folder, policy=policy) as web:
        yield WebDriver(web)


class TelegramDriver:
    def __init__(self, telegram: Telegram, eve: Phone, api: BotApi) -> None:
        self.channel, self.desk, self.running = telegram.channel, telegram.desk, telegram.running
        self._telegram = telegram
        self._api = api
        self._eve = eve

    async def shown(self, ask: Ask) -> str:
        card = await self._telegram.card(ask)
        return "\n".join((card.text, *(key.text for key in card.keys)))

    async def tap(self, ask: Ask, action: Event | AskAction) -> str:
        card = await self._telegram.card(ask)
        self._telegram.clock.advance(NOT_QUICK)
        tap = self._telegram.phone.press(card, _data(ask, action))
        return await asyncio.to_thread(tap.answered)

    async def type(self, ask: Ask, text: str) -> str:
        phone = self._telegram.phone
        phone.say(text, reply_to=await self._telegram.card(ask))
        await self._telegram.dealt_with()
        return ""

    async def intrude(self, ask: Ask, action: Event | AskAction, text: str) -> str:
        """In the same group, where she sees the card: what the bot says to her is what counts."""
        card = await self._telegram.card(ask)
        before = {message.id for message in self._eve.messages}
        tap = self._eve.press(card, _data(ask, action))
        self._eve.say(text, reply_to=card)
        self._eve.say("/pending")
        await self._telegram.dealt_with()
        toast = await asyncio.to_thread(tap.answered)
        said = [m.text for m in self._eve.messages if m.from_bot and m.id not in before]
        return "\n".join((toast, *said))

    async def attach(
        self, ask: Ask, *contents: bytes, caption: str = "", stranger: bool = False
    ) -> None:
        phone = self._eve if stranger else self._telegram.phone
        photos = [file(each, kind="image/png", type="photo") for each in contents]
        phone.send(*photos, caption=caption, reply_to=await self._telegram.card(ask))
        if len(photos) > 1:  # the rest of an album may be on its way
            async with asyncio.timeout(PATIENCE):
                await self._telegram.clock.until_asleep(ALBUM_WITHIN)
            self._telegram.clock.advance(ALBUM_WITHIN)
        await self._telegram.dealt_with()

    @property
    def fetched(self) -> int:
        return self._api.fetched

    def lose_file(self) -> None:
        self._api.cut_off("file", after=5)

    def heard(self) -> list[tuple[str, bool]]:
        messages = self._telegram.phone.messages
        return [(read(m), not m.silent) for m in messages if m.from_bot]

    async def pick(self, number: int, *, stranger: bool = False) -> str:
        summary = await self._telegram.sees(lambda message: message.text.startswith(GLYPH))
        phone = self._eve if stranger else self._telegram.phone
        return await self._telegram.tap(summary, str(number), phone=phone)

    async def command(self, text: str, *, stranger: bool = False) -> None:
        (self._eve if stranger else self._telegram.phone).say(f"/{text}")
        await self._telegram.dealt_with()

    async def reply(self, text: str, *, to: str, stranger: bool = False) -> None:
        messages = self._telegram.phone.messages
        message = [m for m in messages if m.from_bot and to in read(m)][-1]
        (self._eve if stranger else self._telegram.phone).say(text, reply_to=message)
        await self._telegram.dealt_with()

    async def press(self, label: str, *, stranger: bool = False) -> str | None:
        phone = self._eve if stranger else self._telegram.phone
        message = [m for m in self._telegram.phone.messages if m.from_bot][-1]
        return await self._telegram.tap(message, label, phone=phone)

    async def notices(self, *, until: str) -> list[str]:
        await self._telegram.sees(lambda message: until in message.text)
        return self._telegram.said()


def _data(ask: Ask, action: Event | AskAction) -> str:
    return encode(Tap(ask_id=ask.id, question=question_shown(ask), action=action))


@asynccontextmanager
async def drive_telegram(
    folder: Path, _: pytest.FixtureRequest, *, policy: Policy | None = None
) -> AsyncIterator[Driver]:
    clock = StillClock()
    with BotApi.running(clock=clock) as api:
        ada, eve = api.person("Ada"), api.person("Eve")
        team = api.group("team", ada, eve)
        async with running_telegram(
            folder, api=api, clock=clock, chat=team, phone=team.phone(ada), policy=policy
        ) as telegram:
            yield TelegramDriver(telegram, team.phone(eve), api)


class Drives(Protocol):
    def __call__(
        self, folder: Path, request: pytest.FixtureRequest, /, *, policy: Policy | None = None
    ) -> AbstractAsyncContextManager[Driver]:
        """Opens a channel in a folder; the request is for a fixture that only this channel
        needs."""
        ...


DRIVERS: dict[str, Drives] = {
    "web": drive_web,
    "telegram": drive_telegram,
    "matrix": drive_matrix,
    "notebook": drive_notebook,
    "slack": drive_slack,
    "discord": drive_discord,
}
MATRIX = pytest.param("matrix", marks=pytest.mark.process)
CHATS = ("telegram", "slack", "discord", "notebook", MATRIX)
CHANNELS = ("web", *CHATS)
"""Their names. The homeserver is a program of its own."""
