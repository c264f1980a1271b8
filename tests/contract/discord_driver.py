"""The driver of Discord: Ada, and a stranger, in one channel of a server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from chatbridge.core.cards.card import AskAction
from chatbridge.core.forms import form
from chatbridge.core.model import Ask
from chatbridge.core.nights.summary import GLYPH
from chatbridge.core.policy import Policy
from tests.fakes.clock import StillClock
from tests.fakes.discord.markdown import plain
from tests.fakes.discord.rest import Interaction
from tests.fakes.discord.server import Discord, answered
from tests.fakes.discord.world import Message, User
from tests.fakes.discord_desk import DiscordDesk, data_of, read, running_discord
from tests.fakes.kept_files import FetchFault

NOT_QUICK = 2.0


class DiscordDriver:
    def __init__(self, desk: DiscordDesk, eve: User) -> None:
        self.channel, self.desk, self.running = desk.channel, desk.desk, desk.running
        self._desk = desk
        self._discord = desk.discord
        self._eve = eve
        self._picked: dict[str, set[int]] = {}

    async def shown(self, ask: Ask) -> str:
        card = await self._desk.card(ask)
        options = (option["label"] for key in card.keys for option in key.get("options", ()))
        labels = (key["label"] for key in card.keys if "label" in key)
        return "\n".join((self._read(card), *options, *labels))

    async def tap(self, ask: Ask, action: form.Event | AskAction) -> str:
        card = await self._desk.card(ask)
        self._desk.clock.advance(NOT_QUICK)
        return _told(await answered(self._act(self._desk.ada, card, ask, action)))

    async def type(self, ask: Ask, text: str) -> str:
        card = await self._desk.card(ask)
        self._discord.say(self._desk.ada, self._desk.room, text, reply_to=card)
        await self._desk.dealt_with()
        return ""

    async def intrude(self, ask: Ask, action: form.Event | AskAction, text: str) -> str:
        """In the same channel, where she sees the card: what the bot says to her counts."""
        room, card = self._desk.room, await self._desk.card(ask)
        before = {*room.messages}
        tap = self._act(self._eve, card, ask, action)
        self._discord.say(self._eve, room, text, reply_to=card)
        command = self._discord.command(self._eve, room, "pending")
        await self._desk.dealt_with()
        toasts = [_told(await answered(each)) for each in (tap, command)]
        said = [m for m in room.messages.values() if m.author.bot and m.id not in before]
        return "\n".join((*toasts, *map(self._read, said)))

    async def attach(
        self, ask: Ask, *contents: bytes, caption: str = "", stranger: bool = False
    ) -> None:
        card, person = await self._desk.card(ask), self._eve if stranger else self._desk.ada
        files = [(f"{i}.png", content) for i, content in enumerate(contents)]
        self._discord.say(person, self._desk.room, caption, reply_to=card, files=files)
        await self._desk.dealt_with()

    @property
    def fetched(self) -> int:
        return self._discord.world.kept.fetches.total()

    def lose_file(self) -> None:
        self._discord.world.kept.faults.append(FetchFault(cut=True))

    def heard(self) -> list[tuple[str, bool]]:
        messages = self._desk.room.messages.values()
        return [(self._read(m), not m.silent) for m in messages if m.author.bot]

    async def pick(self, number: int, *, stranger: bool = False) -> str:
        room = self._desk.room
        summary = await self._discord.sees(room, lambda message: message.text.startswith(GLYPH))
        return await self._tapped(summary, str(number), stranger=stranger)

    async def command(self, text: str, *, stranger: bool = False) -> None:
        name, _, words = text.partition(" ")
        person = self._eve if stranger else self._desk.ada
        done = self._discord.command(person, self._desk.room, name, words)
        await self._desk.dealt_with()
        await answered(done)

    async def reply(self, text: str, *, to: str, stranger: bool = False) -> None:
        person, there = self._eve if stranger else self._desk.ada, self._desk.room.messages
        message = [m for m in there.values() if m.author.bot and to in self._read(m)][-1]
        self._discord.say(person, self._desk.room, text, reply_to=message)
        await self._desk.dealt_with()

    async def press(self, label: str, *, stranger: bool = False) -> str | None:
        message = [m for m in self._desk.room.messages.values() if m.author.bot][-1]
        return await self._tapped(message, label, stranger=stranger)

    async def notices(self, *, until: str) -> list[str]:
        def newest() -> str:
            return next((text for text, _ in reversed(self.heard())), "")

        await self._discord.until(lambda: until in newest())
        return [text for text, _ in self.heard()]

    async def _tapped(self, message: Message, label: str, *, stranger: bool) -> str:
        person = self._eve if stranger else self._desk.ada
        data = message.key(label)["custom_id"]
        return _told(await answered(self._discord.tap(person, message, data)))

    def _act(
        self, person: User, card: Message, ask: Ask, action: form.Event | AskAction
    ) -> Interaction:
        """Options that can be picked together are in a select, which says all that are."""
        if not isinstance(action, form.Toggle):
            return self._discord.tap(person, card, data_of(ask, action))
        picked = self._picked.setdefault(ask.id, set())
        (picked.add if action.on else picked.discard)(action.option)
        on = [form.Toggle(step=action.step, option=option, on=True) for option in sorted(picked)]
        name = data_of(ask, form.Toggle(step=action.step, option=0, on=True))
        return self._discord.pick(person, card, [data_of(ask, each) for each in on], name=name)

    def _read(self, message: Message) -> str:
        return read(message, now=self._desk.clock.time())


def _told(done: Interaction) -> str:
    return plain(done.told)


@asynccontextmanager
async def drive_discord(
    folder: Path, _: pytest.FixtureRequest, *, policy: Policy | None = None
) -> AsyncIterator[DiscordDriver]:
    async with Discord.running(StillClock()) as discord:
        ada, eve = discord.world.user("Ada"), discord.world.user("Eve")
        room = discord.world.channel(ada, eve)
        async with running_discord(
            folder, discord=discord, room=room, ada=ada, policy=policy
        ) as desk:
            yield DiscordDriver(desk, eve)
