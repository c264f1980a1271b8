"""What agents, strangers and the service itself may send to Slack and Discord: words that look like
markup, texts without end, events that make no sense, and the taps of those who may not answer."""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chatbridge.channels.chat.callback_data import Tap, decode, encode
from chatbridge.core.forms import form
from chatbridge.core.model import Agent, Answer, Ask, Level, Option, Project, Question, Status
from chatbridge.tools.ask_user import MAX_OPTIONS, MAX_QUESTIONS
from tests.fakes.clock import StillClock
from tests.fakes.discord.limits import V2
from tests.fakes.discord.markdown import plain
from tests.fakes.discord.markdown import read as read_markdown
from tests.fakes.discord.rest import SUBMIT, Interaction
from tests.fakes.discord.server import Discord, answered
from tests.fakes.discord.world import User
from tests.fakes.discord_desk import DiscordDesk, data_of, running_discord
from tests.fakes.inbox import COMMAND, CONFIRM, MULTI, SELECT, TEXT, Desk
from tests.fakes.slack.blocks import words
from tests.fakes.slack.server import Fault, Slack, running_slack
from tests.fakes.slack_desk import SlackDesk, running_channel

Json = dict[str, Any]
PATIENCE = 20.0
LONG = 100_000
DEEP: Any = []
for _ in range(300):
    DEEP = [DEEP]


class Side(ABC):
    """One chat: Ada may answer, Eve is in the same channel, and there is a channel that is not in
    the settings."""

    desk: Desk
    clock: StillClock

    @abstractmethod
    async def shown(self, ask: Ask) -> str:
        """The card with its buttons, as a person reads it."""

    @abstractmethod
    def check_harmless(self) -> None:
        """Nothing that the bot has said rings, links or draws, but for our own marks."""

    @abstractmethod
    async def tap(
        self, ask: Ask, event: form.Event, *, stranger: bool = False, elsewhere: bool = False
    ) -> str:
        """What is told."""

    @abstractmethod
    async def pick(self, ask: Ask, *, stranger: bool = False, elsewhere: bool = False) -> str:
        """The first option of its list."""

    @abstractmethod
    async def type(
        self, ask: Ask, text: str, *, stranger: bool = False, elsewhere: bool = False
    ) -> str: ...

    @abstractmethod
    async def submit(
        self, ask: Ask, text: str, *, of: Ask, stranger: bool = False, elsewhere: bool = False
    ) -> str:
        """Ada opens the modal of one; somebody sends it in as if it were this one's."""

    @abstractmethod
    async def command(self, name: str, *, stranger: bool = False, elsewhere: bool = False) -> str:
        """All that is said to it."""

    @abstractmethod
    async def garbage(self) -> None:
        """Events that make no sense, all of them dealt with."""

    @property
    @abstractmethod
    def connections(self) -> int:
        """How many were opened."""

    @property
    @abstractmethod
    def trouble(self) -> str | None: ...

    @abstractmethod
    async def type_in_a_gap(self, ask: Ask, text: str) -> None:
        """While there is no connection, so that the message has to be read after it."""

    async def status(self, ask: Ask) -> Status:
        return (await self.desk.inbox.ask(ask.id)).status


class SlackSide(Side):
    def __init__(self, desk: SlackDesk) -> None:
        self.desk, self.clock, self._desk = desk.desk, desk.clock, desk
        self._elsewhere = desk.slack.channel(desk.ada, desk.eve)

    def _user(self, stranger: bool) -> str:
        return self._desk.eve if stranger else self._desk.ada

    async def shown(self, ask: Ask) -> str:
        return words((await self._desk.card(ask))["blocks"])

    def check_harmless(self) -> None:
        for message in self._desk.bots:
            assert "<!" not in message["text"]
            assert "<http" not in message["text"]
            assert "<@" not in message["text"].replace(f"<@{self._desk.ada}>", "")
            for block in message.get("blocks") or ():
                assert block["type"] in ("rich_text", "actions", "section")
                for part in _parts(block):
                    assert part["type"] in ("text", "date", "user")
                    assert part.get("user_id", self._desk.ada) == self._desk.ada
        for label in _labels([self._desk.bots, [*self._desk.slack.views.values()]]):
            assert label["type"] == "plain_text"
            assert label["emoji"] is False

    async def tap(
        self, ask: Ask, event: form.Event, *, stranger: bool = False, elsewhere: bool = False
    ) -> str:
        card = await self._desk.card(ask)
        action = {"type": "button", "action_id": "0", "value": data_of(ask, event)}
        return await self._acted(card, action, stranger=stranger, elsewhere=elsewhere)

    async def pick(self, ask: Ask, *, stranger: bool = False, elsewhere: bool = False) -> str:
        card = await self._desk.card(ask)
        (found,) = [
            each
            for block in card["blocks"]
            for each in (*block.get("elements", ()), block.get("accessory") or {})
            if "options" in each
        ]
        action = {"type": found["type"], "action_id": found["action_id"]}
        action["selected_options"] = found["options"][:1]
        return await self._acted(card, action, stranger=stranger, elsewhere=elsewhere)

    async def _acted(self, card: Json, action: Json, *, stranger: bool, elsewhere: bool) -> str:
        before = self._said
        room = self._elsewhere if elsewhere else self._desk.room
        sent = await self._desk.slack.tap(self._user(stranger), room, card, action)
        await self._desk.acknowledged(sent)
        return self._said.removeprefix(before)

    @property
    def _said(self) -> str:
        slack = self._desk.slack
        whispers = [text for _, text in slack.whispers]
        rooms = (each.messages.values() for each in slack.rooms.values())
        said = [words(each["blocks"]) for room in rooms for each in room if "blocks" in each]
        return "\n".join((*said, *whispers))

    async def type(
        self, ask: Ask, text: str, *, stranger: bool = False, elsewhere: bool = False
    ) -> str:
        card = await self._desk.card(ask)
        room, thread = self._desk.room, card["ts"]
        if elsewhere:
            room, thread = self._elsewhere, self._desk.slack.time()
            room.messages[thread] = card | {"ts": thread}
        before = self._said
        said = await self._desk.slack.say(self._user(stranger), room, text, thread=thread)
        await self._desk.acknowledged(said)
        return self._said.removeprefix(before)

    async def submit(
        self, ask: Ask, text: str, *, of: Ask, stranger: bool = False, elsewhere: bool = False
    ) -> str:
        await self._desk.press(await self._desk.card(of), "Write answer…")
        view = [*self._desk.slack.views.values()][-1]
        _, _, data = view["private_metadata"].partition(" ")
        tap = decode(data)
        assert isinstance(tap, Tap)
        room = self._elsewhere if elsewhere else self._desk.room
        kept = f"{room.id} {encode(replace(tap, ask_id=ask.id))}"
        forged = view | {"private_metadata": kept}
        sent = await self._desk.slack.submit(self._user(stranger), forged, text)
        return str(await self._desk.acknowledged(sent) or "")

    async def command(self, name: str, *, stranger: bool = False, elsewhere: bool = False) -> str:
        before = self._said
        room = self._elsewhere if elsewhere else self._desk.room
        sent = await self._desk.slack.command(self._user(stranger), room, name)
        await self._desk.acknowledged(sent)
        return self._said.removeprefix(before)

    async def garbage(self) -> None:
        slack = self._desk.slack
        for kind, payloads in GARBAGE_FOR_SLACK.items():
            for payload in filled(payloads, ADA=self._desk.ada, ROOM=self._desk.room.id):
                await self._desk.acknowledged(await slack.send(kind, payload))
        await slack.send("interactive", TAPPED | {"actions": DEEP})  # which nobody can acknowledge
        for frame in FRAMES:
            await slack.raw(frame)
        await self._desk.channel.drain()

    async def type_in_a_gap(self, ask: Ask, text: str) -> None:
        slack, card = self._desk.slack, await self._desk.card(ask)
        slack.faults["apps.connections.open"] = Fault(error="internal_error")
        await slack.cut_connections()
        async with asyncio.timeout(PATIENCE):
            await self.clock.until_asleep(1.0)
        slack.swallowing = 100  # nothing of it comes again
        await slack.say(self._desk.ada, self._desk.room, text, thread=card["ts"])
        self.clock.advance(1.0)
        await slack.until(lambda: slack.connected)
        await self._desk.channel.drain()

    @property
    def connections(self) -> int:
        return self._desk.slack.calls["apps.connections.open"]

    @property
    def trouble(self) -> str | None:
        return self._desk.channel.trouble


def _parts(block: Json) -> list[Json]:
    if block["type"] != "rich_text":
        return []
    return [part for element in block["elements"] for part in element["elements"]]


def _labels(found: Any) -> list[Json]:
    """All objects with a text on a button, an option or a field."""
    if isinstance(found, list):
        return [label for each in found for label in _labels(each)]
    if not isinstance(found, dict):
        return []
    if isinstance(found.get("type"), str) and found["type"] in ("plain_text", "mrkdwn"):
        return [found]
    return [label for each in found.values() for label in _labels(each)]


class DiscordSide(Side):
    def __init__(self, desk: DiscordDesk, eve: User) -> None:
        self.desk, self.clock, self._desk, self._eve = desk.desk, desk.clock, desk, eve
        self._elsewhere = desk.discord.world.channel(desk.ada, eve)
        self._seen: list[str] = []

    def _user(self, stranger: bool) -> User:
        return self._eve if stranger else self._desk.ada

    async def shown(self, ask: Ask) -> str:
        card = await self._desk.card(ask)
        labels = [key["label"] for key in card.keys if "label" in key]
        options = [option["label"] for key in card.keys for option in key.get("options", ())]
        return "\n".join((self._desk.read(card), *options, *labels))

    def check_harmless(self) -> None:
        discord = self._desk.discord
        for room in discord.world.rooms.values():
            for message in room.messages.values():
                if message.author.bot:
                    assert not message.mention_everyone
                    _check_marks(message.text)
        for text in self._seen:
            _check_marks(text)
        for _, path, body in discord.rest.requests:
            data = body.get("data", body) if "commands" not in path else {}
            if "content" in data or data.get("flags", 0) & V2:
                assert data["allowed_mentions"]["parse"] == []

    async def tap(
        self, ask: Ask, event: form.Event, *, stranger: bool = False, elsewhere: bool = False
    ) -> str:
        card = await self._card(ask, elsewhere)
        return await self._told(
            self._desk.discord.tap(self._user(stranger), card, data_of(ask, event))
        )

    async def _card(self, ask: Ask, elsewhere: bool) -> Any:
        card = await self._desk.card(ask)
        if elsewhere:  # as if somebody could bring it there
            world = self._desk.discord.world
            card = world.post(self._elsewhere, world.bot, components=card.components)
        return card

    async def _told(self, done: Interaction) -> str:
        await answered(done)
        await self._desk.dealt_with()
        self._seen.append(done.told)
        return done.told

    async def pick(self, ask: Ask, *, stranger: bool = False, elsewhere: bool = False) -> str:
        card = await self._card(ask, elsewhere)
        values = [card.select["options"][0]["value"]]
        return await self._told(self._desk.discord.pick(self._user(stranger), card, values))

    async def type(
        self, ask: Ask, text: str, *, stranger: bool = False, elsewhere: bool = False
    ) -> str:
        card = await self._card(ask, elsewhere)
        before = {*card.room.messages}
        self._desk.discord.say(self._user(stranger), card.room, text, reply_to=card)
        await self._desk.dealt_with()
        while beside := [*self._desk.channel._beside._tasks]:
            await asyncio.wait(beside)
        said = [m for m in card.room.messages.values() if m.author.bot and m.id not in before]
        return "\n".join(plain(each.text) for each in said)

    async def submit(
        self, ask: Ask, text: str, *, of: Ask, stranger: bool = False, elsewhere: bool = False
    ) -> str:
        discord, card = self._desk.discord, await self._desk.card(of)
        write = card.key("Write answer…")["custom_id"]
        opened = await answered(discord.tap(self._desk.ada, card, write))
        assert opened.modal
        other = (await self._desk.card(ask)).key("Write answer…")["custom_id"]
        typed = {"type": 4, "custom_id": "text", "value": text}
        fields = {"custom_id": other, "components": [{"type": 18, "component": typed}]}
        room = self._elsewhere if elsewhere else card.room
        done = discord._interact(self._user(stranger), room, SUBMIT, fields, card)
        return await self._told(done)

    async def command(self, name: str, *, stranger: bool = False, elsewhere: bool = False) -> str:
        room = self._elsewhere if elsewhere else self._desk.room
        done = self._desk.discord.command(self._user(stranger), room, name)
        await self._told(done)
        data = (done.answer or {}).get("data") or {}
        return json.dumps(data)

    async def garbage(self) -> None:
        gateway = self._desk.discord.gateway
        for name, events in GARBAGE_FOR_DISCORD.items():
            for data in filled(events, ADA=self._desk.ada.id, ROOM=self._desk.room.id):
                gateway.dispatch(name, data, 0)
        await self._desk.dealt_with()
        gateway.dispatch("MESSAGE_CREATE", MESSAGE | {"components": DEEP}, 0)
        for frame in FRAMES:
            gateway.raw(frame)
        await self._desk.dealt_with()

    async def type_in_a_gap(self, ask: Ask, text: str) -> None:
        gateway, card = self._desk.discord.gateway, await self._desk.card(ask)
        self.clock.advance(10)
        await gateway.cut(4009)
        gateway.forget_sessions()
        self._desk.discord.say(self._desk.ada, card.room, text, reply_to=card)
        async with asyncio.timeout(PATIENCE):
            await self.clock.until_asleep(1.0)
        self.clock.advance(1.0)
        await self._desk.dealt_with()

    @property
    def connections(self) -> int:
        gateway = self._desk.discord.gateway
        return gateway.starts + len(gateway.resumes)

    @property
    def trouble(self) -> str | None:
        return self._desk.channel.trouble


def _check_marks(text: str) -> None:
    read = read_markdown(text)
    for name in ("mention", "masked", "spoiler", "heading", "subtext", "list"):
        assert not read.named(name), (name, read.named(name))
    assert not [at for at in read.named("time") if at.startswith("1970")]


@pytest.fixture(params=["slack", "discord"])
async def side(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Side]:
    clock = StillClock()
    async with AsyncExitStack() as stack:
        if request.param == "slack":
            slack: Slack = await stack.enter_async_context(running_slack(clock))
            desk = await stack.enter_async_context(running_channel(tmp_path, slack, clock))
            yield SlackSide(desk)
        else:
            discord = await stack.enter_async_context(Discord.running(clock))
            ada, eve = discord.world.user("Ada"), discord.world.user("Eve")
            room = discord.world.channel(ada, eve)
            there = await stack.enter_async_context(
                running_discord(tmp_path, discord=discord, room=room, ada=ada)
            )
            yield DiscordSide(there, eve)


# ── words ─────────────────────────────────────────────────────────────────────────────────────────

WORDS = {
    "calls": "<!channel> <!here> <@U0000001> <@123> <@&5> <#9> @everyone @here @channel",
    "links": "<https://evil.example|bank> [bank](https://evil.example) <https://evil.example>",
    "marks": "||spoiler|| > quote >>> all -# small ~strike~ :tada: <:x:1> <t:0:R> &lt;!here&gt;",
    "blocks": '[{"type":"section","text":{"type":"mrkdwn","text":"*x*"}}] {"type":"button"}',
    "lines": "a\n> quote\n# heading\n-# small\n1. one\n- item\n>>> all",
    "hidden": "a\u200bb \u202etxet\u202c \u2066x\u2069 \u00ad \x07 \x1b[31m \ufeff",
}
each = pytest.mark.parametrize("text", WORDS.values(), ids=list(WORDS))


@each
async def test_nothing_that_an_agent_says_rings_links_or_draws(side: Side, text: str) -> None:
    one_line = " ".join(text.split())[:60]
    options = (Option(label=one_line, description=text), Option(label="b"))
    project = Project(key="/x", name=one_line)
    agent = Agent(client="claude-code", name=one_line)
    names: Json = {"title": one_line, "project": project, "agent": agent}
    select = await side.desk.ask(replace(SELECT, text=text, options=options), **names)
    several = await side.desk.ask(replace(MULTI, text=text, options=options), **names)
    picture = await side.desk.files.picture(one_line, caption=text)
    files = (picture, await side.desk.files.text(one_line, text, caption=text))
    typed = await side.desk.ask(
        replace(TEXT, text=text, placeholder=one_line), attachments=files, **names
    )
    assert COMMAND.subject
    subject = replace(COMMAND.subject, code=text, folder=one_line)
    allow = await side.desk.ask(replace(COMMAND, text=text, subject=subject), **names)
    for ask in (select, several, typed, allow):
        await side.shown(ask)
    await side.desk.notify(text, title=one_line, level=Level.ERROR, project=project, agent=agent)
    await side.submit(typed, text, of=typed)
    await side.command("pending")
    await side.tap(select, form.Choose(step=0, option=0))
    await side.tap(select, form.Choose(step=0, option=0))  # it is told what was chosen
    await side.command("history")
    await side.shown(await side.desk.inbox.ask(select.id))
    await side.shown(await side.desk.inbox.ask(typed.id))
    assert await side.status(select) is Status.ANSWERED
    side.check_harmless()
    assert side.trouble is None


@each
async def test_what_a_person_types_reaches_the_agent_to_the_letter(side: Side, text: str) -> None:
    ask = await side.desk.ask(TEXT)
    await side.type(ask, text)
    outcome = (await side.desk.inbox.ask(ask.id)).outcome
    assert outcome
    assert outcome.answers == (Answer(values=(text,)),)
    await side.shown(await side.desk.inbox.ask(ask.id))
    side.check_harmless()


@pytest.mark.filterwarnings("ignore:Sending a large body")  # aiohttp's advice about a file
@pytest.mark.parametrize("unit", ["x", "*_`", "🐙", "@everyone\n"])
async def test_a_hundred_thousand_characters_are_taken_wherever_there_are_words(
    side: Side, unit: str
) -> None:
    text = (unit * (LONG // len(unit) + 1))[:LONG]
    options = (Option(label=text[:5_000], description=text), Option(label="b", description=text))
    names: Json = {"title": text[:5_000], "project": Project(key="/x", name=text[:5_000])}
    select = await side.desk.ask(replace(SELECT, text=text, options=options), **names)
    several = await side.desk.ask(replace(MULTI, options=options), **names)
    typed = await side.desk.ask(replace(TEXT, text=text, placeholder=text[:5_000]), **names)
    for ask in (select, several, typed):
        await side.shown(ask)
    assert "too long" in await side.type(typed, text)
    whole = f"a{text[: form.MAX_TEXT - 2]}b"
    await side.type(typed, whole)
    outcome = (await side.desk.inbox.ask(typed.id)).outcome
    assert outcome
    assert outcome.answers == (Answer(values=(whole,)),)
    await side.tap(select, form.Choose(step=0, option=1))
    await side.pick(several)
    await side.tap(several, form.Done(step=0))
    for ask in (select, several, typed):
        await side.shown(await side.desk.inbox.ask(ask.id))
        assert await side.status(ask) is Status.ANSWERED
    assert side.trouble is None


# ── more than a list takes ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("question", [SELECT, MULTI], ids=["one", "several"])
async def test_options_beyond_a_list_are_chosen_by_their_number(
    side: Side, question: Question
) -> None:
    options = tuple(Option(label=f"Choice {i}") for i in range(1, MAX_OPTIONS + 1))
    ask = await side.desk.ask(replace(question, options=options))
    assert f"to {MAX_OPTIONS}: reply with the number" in await side.shown(ask)
    await side.type(ask, str(MAX_OPTIONS))
    if question is MULTI:
        await side.tap(ask, form.Done(step=0))
    outcome = (await side.desk.inbox.ask(ask.id)).outcome
    assert outcome
    assert outcome.answers == (Answer(values=(f"Choice {MAX_OPTIONS}",)),)


async def test_a_form_with_the_most_questions_has_all_its_buttons(side: Side) -> None:
    questions = [replace(CONFIRM, id=f"q{i}", text=f"Number {i}?") for i in range(MAX_QUESTIONS)]
    ask = await side.desk.ask(*questions)
    for i in range(MAX_QUESTIONS):
        now = await side.desk.inbox.ask(ask.id)
        await side.tap(now, form.Choose(step=i, option=0))
    shown = await side.shown(await side.desk.inbox.ask(ask.id))
    for label in (*(f"Edit {i + 1}" for i in range(MAX_QUESTIONS)), "Send answers", "Cancel…"):
        assert label in shown.split("\n")


# ── events ────────────────────────────────────────────────────────────────────────────────────────

VALUES: list[Any] = [None, 7, True, 1e308, 10**30, "", "x", "\ud83d", [], {}, {"id": 7}]
FRAMES = ["no json", "", "null", "[]", "7", '"x"', "{}", "[" * 5_000, '{"op": null}', '{"op": 99}']
FRAMES += ['{"type": []}', '{"type": "hello"}', '{"type": "news", "envelope_id": 7}', "NaN"]
FRAMES += [json.dumps({"op": 0, "t": "MESSAGE_CREATE", "s": s, "d": []}) for s in (None, "x", True)]
FRAMES += [json.dumps({"type": "interactive", "envelope_id": [], "payload": "x" * 1_000_000})]


def with_each(whole: Json, *paths: str) -> list[Any]:
    """The object with each value at each place in turn, and each value by itself."""
    found: list[Any] = [value for value in VALUES if isinstance(value, dict)]
    for path in paths:
        *above, last = path.split(".")
        for value in VALUES:
            copy = json.loads(json.dumps(whole))
            at = copy
            for name in above:
                at = at[name]
            at[last] = value
            found.append(copy)
    return found


def filled(events: list[Any], **names: str) -> list[Any]:
    """The events with these in place of their names."""
    text = json.dumps(events)
    for name, value in names.items():
        text = text.replace(f'"{name}"', json.dumps(value))
    return list(json.loads(text))


TAPPED = {
    "type": "block_actions",
    "user": {"id": "ADA"},
    "channel": {"id": "ROOM"},
    "message": {"ts": "1.000001", "blocks": []},
    "actions": [{"type": "button", "value": "x", "action_ts": "1.000002"}],
}
SUBMITTED = {"type": "view_submission", "user": {"id": "ADA"}, "view": {"state": {}}}
WRITTEN = {"event": {"type": "message", "ts": "1.000001", "channel": "ROOM", "user": "ADA"}}
COMMANDED = {"command": "/chatbridge"}
GARBAGE_FOR_SLACK = {
    "interactive": [
        *with_each(TAPPED, "type", "user", "user.id", "channel", "message", "actions"),
        *({**TAPPED, "actions": [value]} for value in VALUES),
        *({**TAPPED, "actions": [{"selected_options": value}]} for value in VALUES),
        *with_each(SUBMITTED, "user", "view", "view.state", "view.private_metadata"),
        *({**SUBMITTED, "view": {"private_metadata": text}} for text in ("[" * 5_000, "7", "{}")),
    ],
    "events_api": [
        *with_each(WRITTEN, "event", "event.ts", "event.channel", "event.user", "event.text"),
        *with_each(WRITTEN, "event.thread_ts", "event.subtype", "event.type", "event.files"),
        *({**WRITTEN, "event": {**WRITTEN["event"], "files": [value]}} for value in VALUES),
    ],
    "slash_commands": with_each(COMMANDED, "text", "user_id", "channel_id"),
    "news": [TAPPED, WRITTEN],
}
MESSAGE = {"id": "1", "channel_id": "ROOM", "author": {"id": "ADA"}, "content": "x", "type": 0}
INTERACTION = {
    "id": "1",
    "token": "x",
    "type": 3,
    "channel_id": "ROOM",
    "user": {"id": "ADA"},
    "data": {"custom_id": "x", "component_type": 3, "values": []},
    "message": MESSAGE,
}
GARBAGE_FOR_DISCORD = {
    "MESSAGE_CREATE": [
        *with_each(MESSAGE, "id", "channel_id", "author", "author.id", "content", "type"),
        *with_each(MESSAGE, "referenced_message", "message_reference", "components", "guild_id"),
        *with_each(MESSAGE, "attachments", "flags"),
        *({**MESSAGE, "attachments": [value]} for value in VALUES),
        INTERACTION,
    ],
    "INTERACTION_CREATE": [
        *with_each(INTERACTION, "id", "type", "channel_id", "user", "user.id", "member"),
        *with_each(INTERACTION, "data", "data.custom_id", "data.values", "data.component_type"),
        *with_each(INTERACTION, "message", "data.options", "data.name"),
        *({**INTERACTION, "type": 5, "data": {"components": value}} for value in VALUES),
        MESSAGE,
    ],
    "NEWS": [MESSAGE],
}


async def test_events_that_make_no_sense_stop_nothing(side: Side) -> None:
    ask, other = await side.desk.ask(CONFIRM), await side.desk.ask(TEXT)
    before = [await side.desk.inbox.ask(each.id) for each in (ask, other)]
    await side.shown(ask)
    await side.shown(other)
    await side.garbage()
    assert [await side.desk.inbox.ask(each.id) for each in (ask, other)] == before
    await side.tap(ask, form.Choose(step=0, option=0))
    assert "too long" in await side.type(other, "x" * 1_000_000)
    await side.type(other, "still there")
    assert await side.status(ask) is Status.ANSWERED
    assert await side.status(other) is Status.ANSWERED
    assert side.connections == 1
    assert side.trouble is None
    last = await side.desk.ask(TEXT)
    await side.type_in_a_gap(last, "read afterwards")
    assert await side.status(last) is Status.ANSWERED


# ── people ────────────────────────────────────────────────────────────────────────────────────────

SECRETS = (TEXT.text, CONFIRM.text, MULTI.text, "Release plan", "shop-api")
nobody = pytest.mark.parametrize(
    "who", [{"stranger": True}, {"elsewhere": True}, {"stranger": True, "elsewhere": True}],
    ids=["a stranger", "a channel that is not listed", "both"],
)  # fmt: skip


@nobody
async def test_who_may_not_answer_changes_nothing_and_learns_nothing(
    side: Side, who: dict[str, bool]
) -> None:
    yes = await side.desk.ask(CONFIRM, title="Release plan")
    several = await side.desk.ask(MULTI, title="Release plan")
    typed = await side.desk.ask(TEXT, title="Release plan")
    another = await side.desk.ask(replace(TEXT, text="And?"), title="Release plan")
    for ask in (yes, several, typed, another):
        await side.shown(ask)
    told = [
        await side.tap(yes, form.Choose(step=0, option=0), **who),
        await side.tap(yes, form.Cancel(step=0), **who),
        await side.pick(several, **who),
        await side.type(typed, "mine", **who),
        await side.submit(typed, "mine", of=typed, **who),
        await side.submit(another, "mine", of=typed, **who),
        await side.command("pending", **who),
        await side.command("history", **who),
        await side.command("cancel", **who),
        await side.command("quiet", **who),
    ]
    for ask in (yes, several, typed, another):
        now = await side.desk.inbox.ask(ask.id)
        assert replace(now, revision=ask.revision) == ask  # opening a modal draws the card anew
    for secret in SECRETS:
        assert secret not in "\n".join(told)


async def test_a_modal_that_is_sent_in_for_another_question_answers_that_one_alone(
    side: Side,
) -> None:
    ask, other = await side.desk.ask(TEXT), await side.desk.ask(replace(TEXT, text="And?"))
    await side.shown(ask)
    await side.shown(other)
    await side.submit(other, "for this one", of=ask)
    assert await side.status(ask) is Status.OPEN
    assert await side.status(other) is Status.ANSWERED
