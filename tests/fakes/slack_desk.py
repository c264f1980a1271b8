"""The Slack channel with a workspace on loopback behind it: what a person there sees and does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from chatbridge.channels.chat.callback_data import Tap, encode, question_shown
from chatbridge.channels.chat.card_messages import from_text
from chatbridge.channels.slack.channel import SlackChannel
from chatbridge.channels.slack.settings import Slack as Table
from chatbridge.core.cards.card import AskAction
from chatbridge.core.delivery.queue import RateLimit
from chatbridge.core.forms.form import Event, Toggle
from chatbridge.core.model import Ask
from chatbridge.core.pairing import Pairing
from chatbridge.core.policy import Policy
from tests.fakes.channel_context import channel_context
from tests.fakes.clock import StillClock
from tests.fakes.inbox import Desk, open_desk
from tests.fakes.slack.blocks import words
from tests.fakes.slack.server import APP_TOKEN, BOT, BOT_TOKEN, Room, Sending, Slack

Json = dict[str, Any]
PATIENCE = 20.0
_NO_PACE = RateLimit()


@dataclass(slots=True, kw_only=True)
class SlackDesk:
    slack: Slack
    room: Room
    ada: str
    eve: str
    clock: StillClock
    channel: SlackChannel
    desk: Desk
    running: asyncio.Task[None]
    _picked: dict[tuple[str, str], list[Json]] = field(default_factory=dict)
    """What a person wants to have picked in a list. Whoever is quick sees a box empty again, where
    an earlier state is drawn meanwhile, and ticks it again."""

    async def card(self, ask: Ask) -> Json:
        (surface,) = self.channel.surfaces
        async with asyncio.timeout(PATIENCE):
            while True:
                post = await self.desk.inbox.post(ask.id, surface=surface.name)
                place = from_text(post.place) if post and post.revision >= ask.revision else None
                if place is not None:
                    return self.room.messages[place.root.event]
                await asyncio.sleep(0.002)

    async def tap(self, message: Json, data: str, *, user: str = "") -> str:
        """Tap a button that carries this, which may have been there before; what is told."""
        action = {"type": "button", "action_id": "0", "value": data}
        for block in message["blocks"]:
            if any(each.get("value") == data for each in block.get("elements", ())):
                action["block_id"] = block["block_id"]
        return await self.act(message, action, user=user)

    async def act(self, message: Json, action: Json, *, user: str = "") -> str:
        user, before = user or self.ada, len(self.slack.whispers)
        await self.acknowledged(await self.slack.tap(user, self.room, message, action))
        return "\n".join(said for who, said in self.slack.whispers[before:] if who == user)

    async def put(self, ask: Ask, event: Event | AskAction, *, user: str = "") -> str:
        """Do on the ask's card what a button, or a box, of this event does."""
        message = await self.card(ask)
        lists = [
            each
            for block in message["blocks"]
            for each in (*block.get("elements", ()), block.get("accessory") or {})
            if "options" in each
        ]
        if isinstance(event, Toggle) and lists:
            found = lists[0]
            key = (message["ts"], found["action_id"])
            picked = self._picked.get(key, found.get("initial_options", []))
            option = found["options"][event.option]
            picked = [each for each in picked if each != option] + [option] * event.on
            self._picked[key] = picked
            action = {"type": found["type"], "action_id": found["action_id"]}
            return await self.act(message, action | {"selected_options": picked}, user=user)
        tap = Tap(ask_id=ask.id, question=question_shown(ask), action=event)
        return await self.tap(message, encode(tap), user=user)

    async def press(self, message: Json, label: str, *, user: str = "") -> str:
        keys = {
            each["text"]["text"]: each["value"]
            for block in message["blocks"]
            for each in block.get("elements", ())
            if each["type"] == "button"
        }
        return await self.tap(message, keys[label], user=user)

    async def say(
        self, text: str, *, to: Json | None = None, user: str = "", **more: Any
    ) -> Sending:
        thread = to["ts"] if to is not None else None
        said = await self.slack.say(user or self.ada, self.room, text, thread=thread, **more)
        await self.acknowledged(said)
        return said

    async def acknowledged(self, sending: Sending) -> Json | None:
        """What the acknowledgement says, once all that follows from it is out as well."""
        async with asyncio.timeout(PATIENCE):
            payload = await sending.acknowledged
            await self.settled()
        return payload

    async def settled(self) -> None:
        while beside := [*self.channel._beside._tasks]:
            await asyncio.wait(beside)

    @property
    def bots(self) -> list[Json]:
        """The bot's messages, the oldest first."""
        return [each for each in self.room.messages.values() if each["user"] == BOT]

    async def sees(self, text: str) -> Json:
        """The bot's newest message that has this in it."""

        def newest() -> Json | None:
            return next((each for each in reversed(self.bots) if text in read(each)), None)

        found: Json = await self.slack.until(newest)
        return found

    async def trouble(self) -> str:
        """What is wrong with the conversation, once something is."""
        (surface,) = self.channel.surfaces
        async with asyncio.timeout(PATIENCE):
            while True:
                if surface.trouble is not None:
                    return surface.trouble
                await asyncio.sleep(0.002)

    async def until(self, fits: Callable[[], Any]) -> Any:
        return await self.slack.until(fits)


def read(message: Json) -> str:
    """Its text without its buttons, and without whom it calls."""
    found = [each for each in message.get("blocks") or () if each["type"] == "rich_text"]
    return words([block | {"elements": _uncalled(block)} for block in found]) or message["text"]


def _uncalled(block: Json) -> list[Json]:
    return [each for each in block["elements"] if not _calls(each)]


def _calls(element: Json) -> bool:
    return any(part["type"] == "user" for part in element["elements"])


def rings(message: Json) -> bool:
    found = [each for each in message.get("blocks") or () if each["type"] == "rich_text"]
    return any(_calls(each) for block in found for each in block["elements"])


@asynccontextmanager
async def running_channel(
    folder: Path,
    slack: Slack,
    clock: StillClock,
    *,
    room: Room | None = None,
    ada: str = "",
    eve: str = "",
    policy: Policy | None = None,
    pairing: Pairing | None = None,
    pace: RateLimit | None = _NO_PACE,
    beside: Sequence[Room] = (),
    **options: Any,
) -> AsyncIterator[SlackDesk]:
    """In a channel with Ada and Eve, of whom only Ada may answer; or in this conversation, and in
    channels beside it. Without a `pace` it is the channel's own."""
    ada, eve = ada or slack.person("Ada"), eve or slack.person("Eve")
    room = room or slack.channel(ada, eve)
    table = Table(
        bot_token=SecretStr(BOT_TOKEN),
        app_token=SecretStr(APP_TOKEN),
        allowed_users=(ada,),
        channel_id=() if room.is_direct else (room.id, *(each.id for each in beside)),
        api_base=f"{slack.base}/api/",
    )
    context = channel_context(clock, hint="slack.bot_token", pairing=pairing)
    channel = SlackChannel(table, context, pace=pace, **options)
    up = asyncio.Event()
    async with open_desk(folder, clock=clock, channel=channel, policy=policy, ready=up) as desk:
        running = asyncio.create_task(channel.run(desk.inbox, ready=up.set))
        waiting = asyncio.create_task(up.wait())
        async with asyncio.timeout(PATIENCE):
            await asyncio.wait({running, waiting}, return_when=asyncio.FIRST_COMPLETED)
            if up.is_set():
                await slack.until(lambda: slack.connected)
        waiting.cancel()
        try:
            yield SlackDesk(
                slack=slack,
                room=room,
                ada=ada,
                eve=eve,
                clock=clock,
                channel=channel,
                desk=desk,
                running=running,
            )
        finally:
            await desk.end_deliveries()
            running.cancel()
            await asyncio.wait({running}, timeout=PATIENCE)
