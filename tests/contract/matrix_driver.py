"""Matrix's driver: Ada, and a stranger, in one room. A tap is a reaction, or a word where there is
none; what she is told is what the bot says in the ask's thread about it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from chatbridge.channels.chat.card_messages import Part
from chatbridge.channels.chat.inbound import ONCE_MORE
from chatbridge.core.cards.card import AskAction
from chatbridge.core.cards.phrases import clock_time
from chatbridge.core.forms import form
from chatbridge.core.forms.emoji_shortcuts import (
    ALLOW,
    ASK_BACK,
    BACK,
    CANCEL,
    FORWARD,
    NUMBERS,
    REPHRASE,
    SHOW_ALL,
    TAKE,
    YES_NO,
)
from chatbridge.core.forms.form import AskMore, ShowAll
from chatbridge.core.model import DENY, Ask, QuestionType
from chatbridge.core.nights.summary import GLYPH
from chatbridge.core.policy import Policy
from tests.fakes.matrix_desk import Matrix, running_matrix
from tests.fakes.matrix_person import Person
from tests.fakes.relay import Relay
from tests.fakes.synapse import Synapse
from tests.matrix_asks import plain

_WORDS: dict[type[form.Event], str] = {
    AskMore: "more",
    form.Other: "why",
    form.AskLater: "!later",
    form.ShowNow: "show",
    form.Release: "release",
    form.AskHandOver: "hand over",
}
"""What has no reaction of its own is typed."""


def _word(action: form.Event) -> str | None:
    match action:
        case form.Extend(minutes=minutes):
            return f"+{minutes}min"
        case form.Snooze(minutes=minutes):
            return f"!snooze {minutes}min"
        case form.SnoozeUntil(until=until):
            return f"!snooze until {clock_time(until * 60.0)}"
        case form.ExtendUntil(until=until):
            return f"!until {clock_time(until * 60.0)}"
    return _WORDS.get(type(action))


class MatrixDriver:
    def __init__(self, matrix: Matrix, eve: Person, relay: Relay) -> None:
        self.channel, self.desk, self.running = matrix.channel, matrix.desk, matrix.running
        self._matrix = matrix
        self._eve = eve
        self._relay = relay
        self._reactions: dict[tuple[str, str], str] = {}
        """Ada's, by message and emoji."""

    async def shown(self, ask: Ask) -> str:
        root, card = await self._matrix.root(ask), await self._matrix.card(ask)
        return "\n".join(dict.fromkeys((root.body, card.body)))

    async def tap(self, ask: Ask, action: form.Event | AskAction) -> str:
        if isinstance(action, AskAction):
            return await self.type(ask, {AskAction.TAKE_BACK: "take back"}[action])
        if isinstance(action, form.HandOver):
            others = self.desk.inbox.colleagues(ask) or ()
            return await self.type(ask, next(it.name for it in others if it.key == action.to))
        if (word := _word(action)) is not None:
            return await self.type(ask, word)
        before, said = await self._now(ask)
        part = await self._drawn_for(ask, action)
        await self._react(part, ask, action)
        await self._matrix.dealt_with()
        return await self._told(ask, before, said)

    async def type(self, ask: Ask, text: str) -> str:
        before, said = await self._now(ask)
        await self._matrix.say(ask, text)
        return await self._told(ask, before, said)

    async def intrude(self, ask: Ask, action: form.Event | AskAction, text: str) -> str:
        """She sees the card, too: what the bot says to her is what counts."""
        part = await self._drawn_for(ask, action)
        _, said = await self._now(ask)
        room, root = self._matrix.room, (await self._matrix.place(ask)).root.event
        await self._eve.react(room, part.event, _emoji(ask, part, action))
        await self._eve.in_thread(room, text, root=root)
        await self._eve.reply(room, text, to=part.event)
        await self._eve.say(room, "help")
        await self._matrix.dealt_with()
        # What the bot has to say to Ada afterwards comes after anything that it said to her.
        await self.type(ask, "!done")
        mark = await self._eve.send_raw(room, "test.mark", {})
        await self._eve.sees_event(room, mark)
        heard = [m for m in self._eve.messages(room) if m.sender == self._matrix.bot.user_id]
        return "\n".join(m.body for m in heard if m.event_id not in said)

    async def attach(
        self, ask: Ask, *contents: bytes, caption: str = "", stranger: bool = False
    ) -> None:
        """A message has one."""
        matrix, root = self._matrix, (await self._matrix.place(await self._matrix.now(ask))).root
        relates = {"rel_type": "m.thread", "event_id": root.event}
        for content in contents:
            await (self._eve if stranger else matrix.ada).send_file(
                matrix.room, content, caption=caption or None, relates=relates
            )
        await matrix.dealt_with()
        while beside := [*self.channel._beside._tasks]:  # what is said to it
            await asyncio.wait(beside)
        await matrix.settled()

    @property
    def fetched(self) -> int:
        return self._relay.count("/media/download/")

    def lose_file(self) -> None:
        self._relay.refuse("/media/download/", status=500, body={})

    def heard(self) -> list[tuple[str, bool]]:
        messages = self._matrix.ada.messages(self._matrix.room)
        bot = self._matrix.bot.user_id
        return [
            (plain(m.body), bool(m.mentions))
            for m in messages
            if m.sender == bot and not m.redacted
        ]

    async def pick(self, number: int, *, stranger: bool = False) -> str:
        matrix, room = self._matrix, self._matrix.room
        summary = [m for m in matrix.ada.messages(room) if m.body.startswith(GLYPH)][-1]
        person = self._eve if stranger else matrix.ada
        if number % 2:
            await person.react(room, summary.event_id, NUMBERS[number - 1])
        else:
            await person.reply(room, str(number), to=summary.event_id)
        await matrix.dealt_with()
        return ""

    async def command(self, text: str, *, stranger: bool = False) -> None:
        matrix = self._matrix
        await (self._eve if stranger else matrix.ada).say(matrix.room, f"!{text}")
        await matrix.dealt_with()

    async def reply(self, text: str, *, to: str, stranger: bool = False) -> None:
        matrix, bot = self._matrix, self._matrix.bot.user_id
        there = [m for m in matrix.ada.messages(matrix.room) if m.sender == bot and not m.redacted]
        message = [m for m in there if to in plain(m.body)][-1]
        person = self._eve if stranger else matrix.ada
        await person.reply(matrix.room, text, to=message.event_id)
        await matrix.dealt_with()

    async def press(self, label: str, *, stranger: bool = False) -> str | None:
        return None

    async def notices(self, *, until: str) -> list[str]:
        await self._matrix.told(until)
        return [plain(body) for body in self._matrix.said()]

    async def _now(self, ask: Ask) -> tuple[Ask, set[str]]:
        """The ask, and all messages that the bot has sent by now."""
        now = await self._matrix.now(ask)
        await self._matrix.place(now)
        await self._matrix.settled()
        return now, {message.event_id for message in self._matrix.ada.messages(self._matrix.room)}

    async def _drawn_for(self, ask: Ask, action: form.Event | AskAction) -> Part:
        place = await self._matrix.place(await self._matrix.now(ask))
        assert not isinstance(action, AskAction)
        return next(part for part in place.parts if part.step == action.step)

    async def _react(self, part: Part, ask: Ask, action: form.Event) -> None:
        room, emoji = self._matrix.room, _emoji(ask, part, action)
        if isinstance(action, form.Toggle) and not action.on:
            await self._matrix.ada.redact(room, self._reactions.pop((part.event, emoji)))
        else:
            reaction = await self._matrix.ada.react(room, part.event, emoji)
            self._reactions[part.event, emoji] = reaction

    async def _told(self, ask: Ask, before: Ask, said: set[str]) -> str:
        """Whoever has changed something sees that; to others something has to be said."""
        if await self._matrix.now(ask) != before:
            return ""
        matrix, root = self._matrix, (await self._matrix.place(before)).root.event
        told = await matrix.ada.sees(
            lambda m: (
                m.sender == matrix.bot.user_id and m.thread == root and m.event_id not in said
            ),
            room=matrix.room,
        )
        assert told.msgtype == "m.notice"
        return told.body.removesuffix(f" {ONCE_MORE}")


def _emoji(ask: Ask, part: Part, action: form.Event | AskAction) -> str:
    match action:
        case form.Choose(option=option) if ask.approval:
            return YES_NO[1] if option == DENY else ALLOW
        case form.Choose(option=option):
            confirm = ask.questions[part.at].type is QuestionType.CONFIRM
            return YES_NO[option] if confirm else NUMBERS[option]
        case ShowAll():
            return SHOW_ALL
        case form.Back():
            return BACK
        case form.Toggle(option=option) | form.Pick(option=option):
            return NUMBERS[option]
        case form.Done() | form.Cancel() | form.Explain():
            return FORWARD
        case form.Take():
            return TAKE
        case form.AskExplain():
            return ASK_BACK
        case form.Rephrase():
            return REPHRASE
        case form.AskCancel():
            return CANCEL
        case _:
            raise NotImplementedError(action)


@asynccontextmanager
async def drive_matrix(
    folder: Path, request: pytest.FixtureRequest, *, policy: Policy | None = None
) -> AsyncIterator[MatrixDriver]:
    synapse: Synapse = request.getfixturevalue("synapse")
    async with (
        Person.online(synapse, "Eve", folder / "eve") as eve,
        Relay.running(synapse.port) as relay,
        running_matrix(folder, synapse, policy=policy, address=relay.address) as matrix,
    ):
        await matrix.ada.invite(matrix.room, eve.user_id)
        await eve.join(matrix.room)
        await matrix.dealt_with()
        yield MatrixDriver(matrix, eve, relay)
