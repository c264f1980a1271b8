"""The driver of a channel that has only what the chat kit gives it: Ada, and a stranger, at one
board."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from chatbridge.channels.chat.callback_data import Tap, encode, question_shown
from chatbridge.channels.chat.card_messages import from_text
from chatbridge.core.cards.card import AskAction
from chatbridge.core.forms.form import Event
from chatbridge.core.model import Ask
from chatbridge.core.nights.summary import GLYPH
from chatbridge.core.policy import Policy
from tests.fakes.board import Board, Note
from tests.fakes.board_channel import BOT, BoardChannel
from tests.fakes.clock import StillClock
from tests.fakes.inbox import ANYWHERE, Desk, open_desk

PATIENCE = 20.0
NOT_QUICK = 2.0


class BoardDriver:
    def __init__(
        self, board: Board, channel: BoardChannel, desk: Desk, running: asyncio.Task[None]
    ) -> None:
        self.channel, self.desk, self.running = channel, desk, running
        self._board = board

    async def shown(self, ask: Ask) -> str:
        card = await self._card(ask)
        return "\n".join((card.text, *(key.text for row in card.rows for key in row)))

    async def tap(self, ask: Ask, action: Event | AskAction) -> str:
        card = await self._card(ask)
        assert isinstance(self.desk.clock, StillClock)
        self.desk.clock.advance(NOT_QUICK)
        return await self._board.tap("Ada", card, _data(ask, action)).told

    async def type(self, ask: Ask, text: str) -> str:
        card = await self._card(ask)
        await self._board.say("Ada", text, reply_to=card.id).told
        return ""

    async def intrude(self, ask: Ask, action: Event | AskAction, text: str) -> str:
        card, before = await self._card(ask), [*self._board.notes]
        tap = self._board.tap("Eve", card, _data(ask, action))
        self._board.say("Eve", text, reply_to=card.id)
        await self._board.say("Eve", "/pending").told
        said = [note for note in self._board.notes.values() if note.by == BOT]
        return "\n".join((tap.told.result(), *(it.text for it in said if it.id not in before)))

    def heard(self) -> list[tuple[str, bool]]:
        notes = self._board.notes.values()
        return [(note.text, not note.silent) for note in notes if note.by == BOT]

    async def pick(self, number: int, *, stranger: bool = False) -> str:
        notes = [note for note in self._board.notes.values() if note.text.startswith(GLYPH)]
        keys = {key.text: key.data for row in notes[-1].rows for key in row}
        person = "Eve" if stranger else "Ada"
        return await self._board.tap(person, notes[-1], keys[str(number)]).told

    async def command(self, text: str, *, stranger: bool = False) -> None:
        await self._board.say("Eve" if stranger else "Ada", f"/{text}").told

    async def press(self, label: str, *, stranger: bool = False) -> str | None:
        note = [note for note in self._board.notes.values() if note.by == BOT][-1]
        keys = {key.text: key.data for row in note.rows for key in row}
        return await self._board.tap("Eve" if stranger else "Ada", note, keys[label]).told

    async def notices(self, *, until: str) -> list[str]:
        async with asyncio.timeout(PATIENCE):
            while True:
                said = [note.text for note in self._board.notes.values() if note.by == BOT]
                if said and until in said[-1]:
                    return said
                await asyncio.sleep(0.002)

    async def _card(self, ask: Ask) -> Note:
        (surface,) = self.channel.surfaces
        async with asyncio.timeout(PATIENCE):
            while True:
                post = await self.desk.inbox.post(ask.id, surface=surface.name)
                if post is not None and post.revision >= ask.revision:
                    place = from_text(post.place)
                    assert place is not None
                    return self._board.notes[place.root.event]
                await asyncio.sleep(0.002)


def _data(ask: Ask, action: Event | AskAction) -> str:
    return encode(Tap(ask_id=ask.id, question=question_shown(ask), action=action))


@asynccontextmanager
async def drive_board(
    folder: Path, _: pytest.FixtureRequest, *, policy: Policy | None = None
) -> AsyncIterator[BoardDriver]:
    clock = StillClock()
    board = Board(clock)
    channel = BoardChannel(board, ["Ada"], clock=clock)
    policy = policy or Policy(approval_channels=ANYWHERE | {"board"})
    up = asyncio.Event()
    async with open_desk(folder, clock=clock, channel=channel, policy=policy, ready=up) as desk:
        running = asyncio.create_task(channel.run(desk.inbox, ready=up.set))
        async with asyncio.timeout(PATIENCE):
            await up.wait()
        try:
            yield BoardDriver(board, channel, desk, running)
        finally:
            await desk.end_deliveries()
            running.cancel()
            await asyncio.wait({running}, timeout=PATIENCE)
