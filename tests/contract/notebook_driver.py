"""The driver of the channel that `docs/plugins.md` builds: Ada, and a stranger, with one file."""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from chatbridge_notebook.channel import NotebookChannel
from chatbridge_notebook.spec import Settings

from chatbridge.channels.chat.callback_data import Tap, encode, question_shown
from chatbridge.channels.chat.card_messages import from_text
from chatbridge.core.cards.card import AskAction
from chatbridge.core.forms.form import Event
from chatbridge.core.model import Ask
from chatbridge.core.nights.summary import GLYPH
from chatbridge.core.policy import Policy
from tests.fakes.channel_context import channel_context
from tests.fakes.clock import StillClock
from tests.fakes.inbox import ANYWHERE, Desk, open_desk

Line = dict[str, Any]

PATIENCE = 20.0
FILE = "notebook.jsonl"
NOT_QUICK = 2.0


class NotebookDriver:
    def __init__(
        self, file: Path, channel: NotebookChannel, desk: Desk, running: asyncio.Task[None]
    ) -> None:
        self.channel, self.desk, self.running = channel, desk, running
        self._file = file
        self._damaged = False

    def lines(self) -> list[Line]:
        found = [json.loads(line) for line in self._file.read_text().splitlines()]
        return [line for line in found if "by" not in line]

    def messages(self) -> list[Line]:
        """As somebody sees them who reads the file from its beginning."""
        found: dict[str, Line] = {}
        for line in self.lines():
            found[line["id"]] = found.get(line["id"], {}) | line
            if "text" not in line:
                del found[line["id"]]
        return [line for line in found.values() if "to" not in line]

    async def shown(self, ask: Ask) -> str:
        card = await self._card(ask)
        return "\n".join((card["text"], *(label for label, _ in card["buttons"])))

    async def tap(self, ask: Ask, action: Event | AskAction) -> str:
        card = await self._card(ask)
        assert isinstance(self.desk.clock, StillClock)
        self.desk.clock.advance(NOT_QUICK)
        return await self._write(by="ada", to=card["id"], tap=_data(ask, action))

    async def type(self, ask: Ask, text: str) -> str:
        await self._write(by="ada", to=(await self._card(ask))["id"], text=text)
        return ""

    async def intrude(self, ask: Ask, action: Event | AskAction, text: str) -> str:
        card, before = await self._card(ask), self.lines()
        await self._write(by="eve", to=card["id"], tap=_data(ask, action))
        await self._write(by="eve", to=card["id"], text=text)
        await self._write(by="eve", text="/pending")
        return "\n".join(line["text"] for line in self.lines()[len(before) :])

    async def attach(
        self, ask: Ask, *contents: bytes, caption: str = "", stranger: bool = False
    ) -> None:
        card, files = await self._card(ask), []
        for i, content in enumerate(contents):
            damage = "?" if self._damaged else ""
            self._damaged = False
            files.append({"name": f"{i}.png", "content": b64encode(content).decode() + damage})
        by = "eve" if stranger else "ada"
        await self._write(by=by, to=card["id"], text=caption, files=files)

    @property
    def fetched(self) -> int:
        """What is in the file is there already: so many were read from it, and kept."""
        return len(self.desk.files.received)

    def lose_file(self) -> None:
        self._damaged = True

    def heard(self) -> list[tuple[str, bool]]:
        return [(line["text"], not line.get("silent", True)) for line in self.messages()]

    async def pick(self, number: int, *, stranger: bool = False) -> str:
        summary = [line for line in self.messages() if line["text"].startswith(GLYPH)][-1]
        return await self._press(summary, str(number), stranger=stranger)

    async def command(self, text: str, *, stranger: bool = False) -> None:
        await self._write(by="eve" if stranger else "ada", text=f"/{text}")

    async def reply(self, text: str, *, to: str, stranger: bool = False) -> None:
        message = [line for line in self.messages() if to in line["text"]][-1]
        await self._write(by="eve" if stranger else "ada", to=message["id"], text=text)

    async def press(self, label: str, *, stranger: bool = False) -> str | None:
        return await self._press(self.messages()[-1], label, stranger=stranger)

    async def notices(self, *, until: str) -> list[str]:
        async with asyncio.timeout(PATIENCE):
            while True:
                said = [line["text"] for line in self.messages()]
                if said and until in said[-1]:
                    return said
                await asyncio.sleep(0.002)

    async def _press(self, message: Line, label: str, *, stranger: bool) -> str:
        data = dict(message["buttons"])[label]
        return await self._write(by="eve" if stranger else "ada", to=message["id"], tap=data)

    async def _write(self, **line: Any) -> str:
        """What the person is told, once the line has been dealt with."""
        before = len(self.lines())
        with self._file.open("a") as file:
            file.write(json.dumps(line) + "\n")
        async with asyncio.timeout(PATIENCE):
            await self.channel.drain()
        told = [it["text"] for it in self.lines()[before:] if it.get("to") == line["by"]]
        return told[0] if told else ""

    async def _card(self, ask: Ask) -> Line:
        (surface,) = self.channel.surfaces
        async with asyncio.timeout(PATIENCE):
            while True:
                post = await self.desk.inbox.post(ask.id, surface=surface.name)
                if post is not None and post.revision >= ask.revision:
                    place = from_text(post.place)
                    assert place is not None
                    (card,) = (it for it in self.messages() if it["id"] == place.root.event)
                    return card
                await asyncio.sleep(0.002)


def _data(ask: Ask, action: Event | AskAction) -> str:
    return encode(Tap(ask_id=ask.id, question=question_shown(ask), action=action))


def notebook_channel(folder: Path, clock: StillClock) -> NotebookChannel:
    table = Settings(file=folder / FILE, allowed_users=("ada",))
    return NotebookChannel(table, channel_context(clock))


@asynccontextmanager
async def drive_notebook(
    folder: Path, _: pytest.FixtureRequest, *, policy: Policy | None = None
) -> AsyncIterator[NotebookDriver]:
    clock, up, file = StillClock(), asyncio.Event(), folder / FILE
    channel = notebook_channel(folder, clock)
    policy = policy or Policy(approval_channels=ANYWHERE | {"notebook"})
    async with open_desk(folder, clock=clock, channel=channel, policy=policy, ready=up) as desk:
        running = asyncio.create_task(channel.run(desk.inbox, ready=up.set))
        async with asyncio.timeout(PATIENCE):
            await up.wait()
        try:
            yield NotebookDriver(file, channel, desk, running)
        finally:
            await desk.end_deliveries()
            running.cancel()
            await asyncio.wait({running}, timeout=PATIENCE)
