"""A running Matrix channel with something behind it, and a person in a room before it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from chatbridge.channels.chat.card_messages import CardMessages, from_text
from chatbridge.channels.matrix.channel import MatrixChannel
from chatbridge.channels.matrix.settings import Matrix as MatrixTable
from chatbridge.core.model import Answer, Ask
from chatbridge.core.policy import Policy
from chatbridge.core.ports import Clock
from tests.fakes.clock import StillClock
from tests.fakes.inbox import Desk, open_desk
from tests.fakes.matrix_person import Person
from tests.fakes.matrix_timeline import Message
from tests.fakes.synapse import Login, Synapse

T = TypeVar("T")
PATIENCE = 20.0


@dataclass(slots=True, kw_only=True)
class Matrix:
    synapse: Synapse
    clock: Clock
    desk: Desk
    channel: MatrixChannel
    bot: Login
    room: str
    ada: Person
    running: asyncio.Task[None]

    async def place(self, ask: Ask) -> CardMessages:
        """Where the ask's messages are, once they show this revision with all that goes with it."""
        name = self.channel.surfaces[0].name
        async with asyncio.timeout(PATIENCE):
            while True:
                post = await self.desk.inbox.post(ask.id, surface=name)
                if post is not None and post.revision >= ask.revision:
                    place = from_text(post.place)
                    assert place is not None
                    return place
                await asyncio.sleep(0.02)

    async def root(self, ask: Ask) -> Message:
        """The ask's message in the room itself, once it shows how the ask is now."""
        return await self._seen((await self.place(await self.now(ask))).root.event)

    async def card(self, ask: Ask) -> Message:
        """The message that is to be answered now, with all its reactions."""
        return await self._seen((await self.place(await self.now(ask))).newest.event)

    async def _seen(self, event: str) -> Message:
        await self.settled()
        return self.ada.message(self.room, event)

    async def settled(self) -> None:
        """Once Ada sees all that the bot has sent until now."""
        await self.ada.sees_event(self.room, await self.ada.newest(self.room))

    async def tap(self, ask: Ask, *emojis: str) -> None:
        """React to what is to be answered, one after the other, each on what is there then."""
        for emoji in emojis:
            await self.ada.react(self.room, (await self.card(ask)).event_id, emoji)
            await self.dealt_with()

    async def say(self, ask: Ask, text: str) -> str:
        """Write in the ask's thread, below what is there then; the message, once the bot has dealt
        with it."""
        root = (await self.place(await self.now(ask))).root.event
        sent = await self.ada.in_thread(self.room, text, root=root)
        await self.dealt_with()
        return sent

    async def dealt_with(self) -> None:
        """Once the bot has dealt with all that people did until now."""
        async with asyncio.timeout(PATIENCE):
            await self.channel.drain()

    async def until(self, fits: Callable[[], object], *, step: float = 0.0) -> None:
        """Wait until it is so; the clock goes on by `step` at a time."""
        async with asyncio.timeout(PATIENCE):
            while not fits():
                if step:
                    self._still.advance(step)
                await asyncio.sleep(0.02)

    async def in_time(self, work: Coroutine[Any, Any, T], *, step: float = 1.0) -> T:
        """What this waits for, while the clock goes on: pauses after a failure pass."""
        task = asyncio.ensure_future(work)
        async with asyncio.timeout(PATIENCE):
            while not task.done():
                self._still.advance(step)
                await asyncio.wait({task}, timeout=0.01)
        return await task

    @property
    def _still(self) -> StillClock:
        assert isinstance(self.clock, StillClock)
        return self.clock

    async def now(self, ask: Ask) -> Ask:
        return await self.desk.inbox.ask(ask.id)

    async def answers(self, ask: Ask) -> tuple[Answer, ...]:
        """What has been answered; nothing yet is ()."""
        answer = (await self.now(ask)).answer
        return answer.answers if answer else ()

    async def told(self, text: str) -> Message:
        """What the bot says with this in it."""
        bot = self.bot.user_id
        return await self.ada.sees(lambda m: m.sender == bot and text in m.body, room=self.room)

    def buttons(self, message: Message) -> str:
        """The bot's own reactions under a message, in their order."""
        return " ".join(key for key, who in message.reactions.items() if self.bot.user_id in who)

    def said(self) -> list[str]:
        """All that the bot says in the room now, oldest first."""
        found = self.ada.messages(self.room)
        return [m.body for m in found if m.sender == self.bot.user_id and not m.redacted]


@asynccontextmanager
async def running_matrix(
    folder: Path,
    synapse: Synapse,
    *,
    clock: Clock | None = None,
    ada: Person | None = None,
    bot: Login | None = None,
    room: str | None = None,
    rooms: Sequence[str] | None = None,
    allowed: Collection[str] | None = None,
    encrypted: bool = False,
    reactions: bool = True,
    policy: Policy | None = None,
    ready: bool = True,
    patience: float = 10.0,
    address: str | None = None,
    password: str | None = None,
) -> AsyncIterator[Matrix]:
    """One hub's Matrix; a second one on the same folder, with the same bot, person and room, is
    the next hub. Without `room` it is a private one of somebody called Ada. `address` is another
    way to the homeserver; with a `password` the bot logs in itself."""
    clock = clock or StillClock(at=time.time() - 3600.0)  # people write after the start
    async with AsyncExitStack() as stack:
        if bot is None:
            account = await asyncio.to_thread(synapse.register, "bot")
            bot = await asyncio.to_thread(synapse.log_in, account)
        if ada is None:
            ada = await stack.enter_async_context(
                Person.online(synapse, "Ada", folder / "ada", encrypted=encrypted)
            )
        if room is None:
            room = await ada.create_room("questions", invite=[bot.user_id], encrypted=encrypted)
        channel = MatrixChannel(
            MatrixTable.model_validate(
                {
                    "homeserver": address or synapse.address,
                    "user_id": bot.user_id,
                    "access_token": bot.access_token if password is None else None,
                    "password": password,
                    "allowed_users": [ada.user_id] if allowed is None else list(allowed),
                    "room_id": [room] if rooms is None else rooms,
                    "reactions": reactions,
                }
            ),
            folder=folder / "matrix",
            clock=clock,
            patience=patience,
        )
        up = asyncio.Event()
        desk = await stack.enter_async_context(
            open_desk(folder, clock=clock, channel=channel, policy=policy, ready=up)
        )
        running = asyncio.create_task(channel.run(desk.inbox, ready=up.set))
        try:
            if ready:
                await _until(up, running)
                # And the bot knows the room that it has just entered: what it read when it started
                # is enough for the first one who waits, and not for the second.
                await channel.drain()
                await channel.drain()
                if encrypted:
                    await ada.sees_member(room, bot.user_id)
                    await ada.sees_device(bot.user_id, bot.device_id)
            yield Matrix(
                synapse=synapse,
                clock=clock,
                desk=desk,
                channel=channel,
                bot=bot,
                room=room,
                ada=ada,
                running=running,
            )
        finally:
            await desk.end_deliveries()
            running.cancel()
            await asyncio.wait({running}, timeout=PATIENCE)


async def _until(up: asyncio.Event, running: asyncio.Task[None]) -> None:
    """Or until the channel has failed to come up, which is raised."""
    waiting = asyncio.ensure_future(up.wait())
    async with asyncio.timeout(PATIENCE):
        await asyncio.wait({waiting, running}, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if running.done():
        running.result()
