"""A running Discord channel with something behind it, and a person before it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from chatbridge.channels.chat.callback_data import Tap, encode, question_shown
from chatbridge.channels.chat.card_messages import from_text
from chatbridge.channels.discord.channel import DiscordChannel
from chatbridge.channels.discord.settings import Discord as Table
from chatbridge.core.cards.card import AskAction
from chatbridge.core.delivery.queue import RateLimit
from chatbridge.core.forms.form import Event
from chatbridge.core.model import Answer, Ask
from chatbridge.core.policy import Policy
from tests.fakes.channel_context import channel_context
from tests.fakes.clock import StillClock
from tests.fakes.discord.markdown import plain
from tests.fakes.discord.server import PATIENCE, Discord, answered
from tests.fakes.discord.world import Message, Room, User
from tests.fakes.inbox import ANYWHERE, Desk, open_desk

HINT = "discord.token in config.toml"


@dataclass(slots=True, kw_only=True)
class DiscordDesk:
    discord: Discord
    clock: StillClock
    desk: Desk
    channel: DiscordChannel
    room: Room
    ada: User
    running: asyncio.Task[None]

    async def card(self, ask: Ask) -> Message:
        """The ask's card once it shows at least this revision."""
        name = self.channel.surfaces[0].name
        async with asyncio.timeout(PATIENCE):
            while True:
                post = await self.desk.inbox.post(ask.id, surface=name)
                if post is not None and post.revision >= ask.revision:
                    place = from_text(post.place)
                    assert place is not None
                    return self.room.messages[place.root.event]
                await asyncio.sleep(0.002)

    async def current(self, ask: Ask) -> Message:
        return await self.card(await self.now(ask))

    async def now(self, ask: Ask) -> Ask:
        return await self.desk.inbox.ask(ask.id)

    async def answers(self, ask: Ask) -> tuple[Answer, ...]:
        """What has been answered; nothing yet is ()."""
        answer = (await self.now(ask)).answer
        return answer.answers if answer else ()

    async def dealt_with(self) -> None:
        """Once the bot has dealt with all that people did until now."""
        async with asyncio.timeout(PATIENCE):
            poll = self.channel._poll
            if poll is not None and not poll.caught_up:
                await poll.drain()  # the first reading ends all waits, whatever it has missed
            await self.channel.drain()

    async def dealt_with_later(self) -> None:
        """The same, while the clock goes on: pauses after a failure pass."""
        work = asyncio.ensure_future(self.dealt_with())
        while not work.done():
            self.clock.advance(1.0)
            await asyncio.wait({work}, timeout=0.02)
        await work

    async def tap(self, card: Message, label: str) -> str:
        """What pops up."""
        key = card.key(label)["custom_id"]
        return (await answered(self.discord.tap(self.ada, card, key))).told

    def read(self, message: Message) -> str:
        return read(message, now=self.clock.time())


def read(message: Message, *, now: float) -> str:
    """A message as a person reads it."""
    return plain(message.text, now=now).replace("\u2068", "").replace("\u2069", "")


def data_of(ask: Ask, action: Event | AskAction) -> str:
    return encode(Tap(ask_id=ask.id, question=question_shown(ask), action=action))


@asynccontextmanager
async def running_discord(
    folder: Path,
    *,
    discord: Discord | None = None,
    clock: StillClock | None = None,
    room: Room | None = None,
    ada: User | None = None,
    allowed: Sequence[User] = (),
    policy: Policy | None = None,
    patience: float = 5.0,
    pace: RateLimit | None = None,
) -> AsyncIterator[DiscordDesk]:
    """One hub's Discord; a second one on the same folder is the next hub. Without `room` it is in
    the direct messages of somebody called Ada."""
    if discord is None:
        clock = clock or StillClock()
        async with (
            Discord.running(clock) as made,
            running_discord(
                folder, discord=made, policy=policy, patience=patience, pace=pace
            ) as desk,
        ):
            yield desk
        return
    clock = discord.clock
    ada = ada or discord.world.user("Ada")
    channel = DiscordChannel(
        Table.model_validate(
            {
                "token": discord.token,
                "allowed_users": [int(person.id) for person in (*allowed, ada)],
                "channel_id": [int(room.id)] if room is not None else [],
                "api_base": discord.address,
            }
        ),
        channel_context(clock, hint=HINT),
        pace=pace or RateLimit(),
        patience=patience,
    )
    policy = policy or Policy(approval_channels=ANYWHERE | {"discord"})
    up = asyncio.Event()
    async with open_desk(folder, clock=clock, channel=channel, policy=policy, ready=up) as desk:
        running = asyncio.create_task(channel.run(desk.inbox, ready=up.set))
        starting = asyncio.create_task(up.wait())
        await asyncio.wait(
            {running, starting}, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED
        )
        starting.cancel()
        if running.done():
            await running
        try:
            yield DiscordDesk(
                discord=discord,
                clock=clock,
                desk=desk,
                channel=channel,
                room=room or discord.world.direct(ada),
                ada=ada,
                running=running,
            )
        finally:
            await desk.end_deliveries()
            running.cancel()
            await asyncio.wait({running}, timeout=PATIENCE)
