"""The driver of Slack: Ada, and a stranger, in one channel of a workspace."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from chatbridge.core.cards.card import AskAction
from chatbridge.core.forms.form import Event
from chatbridge.core.model import Ask
from chatbridge.core.nights.summary import GLYPH
from chatbridge.core.policy import Policy
from tests.fakes.clock import StillClock
from tests.fakes.kept_files import FetchFault
from tests.fakes.slack.blocks import words
from tests.fakes.slack.server import running_slack
from tests.fakes.slack_desk import SlackDesk, read, rings, running_channel

PATIENCE = 20.0
NOT_QUICK = 2.0


class SlackDriver:
    def __init__(self, slack: SlackDesk) -> None:
        self.channel, self.desk, self.running = slack.channel, slack.desk, slack.running
        self._slack = slack

    async def shown(self, ask: Ask) -> str:
        return words((await self._slack.card(ask))["blocks"])

    async def tap(self, ask: Ask, action: Event | AskAction) -> str:
        await self._slack.card(ask)
        self._slack.clock.advance(NOT_QUICK)
        return await self._slack.put(ask, action)

    async def type(self, ask: Ask, text: str) -> str:
        await self._slack.say(text, to=await self._slack.card(ask))
        return ""

    async def intrude(self, ask: Ask, action: Event | AskAction, text: str) -> str:
        card, before = await self._slack.card(ask), len(self._slack.bots)
        toast = await self._slack.put(ask, action, user=self._slack.eve)
        await self._slack.say(text, to=card, user=self._slack.eve)
        await self.command("pending", stranger=True)
        return "\n".join((toast, *(read(each) for each in self._slack.bots[before:])))

    async def attach(
        self, ask: Ask, *contents: bytes, caption: str = "", stranger: bool = False
    ) -> None:
        slack, card = self._slack, await self._slack.card(ask)
        files = [(f"{i}.png", content) for i, content in enumerate(contents)]
        await slack.acknowledged(
            await slack.slack.share(
                self._user(stranger), slack.room, files, text=caption, thread=card["ts"]
            )
        )

    @property
    def fetched(self) -> int:
        return self._slack.slack.kept.fetches.total()

    def lose_file(self) -> None:
        self._slack.slack.kept.faults.append(FetchFault(status=503))

    def heard(self) -> list[tuple[str, bool]]:
        return [(read(each), rings(each)) for each in self._slack.bots]

    async def pick(self, number: int, *, stranger: bool = False) -> str:
        summary = [each for each in self._slack.bots if read(each).startswith(GLYPH)][-1]
        return await self._slack.press(summary, str(number), user=self._user(stranger))

    async def command(self, text: str, *, stranger: bool = False) -> None:
        slack = self._slack
        sent = await slack.slack.command(self._user(stranger), slack.room, text)
        await slack.acknowledged(sent)

    async def reply(self, text: str, *, to: str, stranger: bool = False) -> None:
        message = [each for each in self._slack.bots if to in read(each)][-1]
        await self._slack.say(text, to=message, user=self._user(stranger))

    async def press(self, label: str, *, stranger: bool = False) -> str | None:
        return await self._slack.press(self._slack.bots[-1], label, user=self._user(stranger))

    async def notices(self, *, until: str) -> list[str]:
        async with asyncio.timeout(PATIENCE):
            while True:
                said = [read(each) for each in self._slack.bots]
                if said and until in said[-1]:
                    return said
                await asyncio.sleep(0.002)

    def _user(self, stranger: bool) -> str:
        return self._slack.eve if stranger else self._slack.ada


@asynccontextmanager
async def drive_slack(
    folder: Path, _: pytest.FixtureRequest, *, policy: Policy | None = None
) -> AsyncIterator[SlackDriver]:
    clock = StillClock()
    async with (
        running_slack(clock) as slack,
        running_channel(folder, slack, clock, policy=policy) as desk,
    ):
        yield SlackDriver(desk)
