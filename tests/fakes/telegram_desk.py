"""A running Telegram channel with something behind it, and a person with a phone before it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from chatbridge.channels.telegram.channel import TelegramChannel
from chatbridge.channels.telegram.outbound.card_messages import from_text
from chatbridge.channels.telegram.settings import Telegram as TelegramTable
from chatbridge.core.delivery.queue import RateLimit
from chatbridge.core.model import Answer, Ask
from chatbridge.core.policy import Policy
from tests.fakes.channel_context import channel_context
from tests.fakes.clock import StillClock
from tests.fakes.inbox import Desk, open_desk
from tests.fakes.telegram.chats import User
from tests.fakes.telegram.faults import Hold
from tests.fakes.telegram.people import Card, Chat, Phone
from tests.fakes.telegram.server import BotApi

P = ParamSpec("P")
T = TypeVar("T")
PATIENCE = 20.0
HINT = "telegram.token in config.toml"


def waiting(call: Callable[P, T]) -> Callable[P, Awaitable[T]]:
    """A person's waiting as a coroutine: the channel runs in the test's own loop."""

    async def wait(*args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.to_thread(call, *args, **kwargs)

    return wait


@dataclass(slots=True, kw_only=True)
class Telegram:
    api: BotApi
    clock: StillClock
    desk: Desk
    channel: TelegramChannel
    chat: Chat
    phone: Phone
    running: asyncio.Task[None]

    @property
    def ada(self) -> User:
        return self.phone.person

    async def card(self, ask: Ask, *, surface: int = 0, phone: Phone | None = None) -> Card:
        """The ask's card once it shows at least this revision."""
        name = self.channel.surfaces[surface].name
        phone = phone or self.phone
        async with asyncio.timeout(PATIENCE):
            while True:
                post = await self.desk.inbox.post(ask.id, surface=name)
                if post is not None and post.revision >= ask.revision:
                    place = from_text(post.place)
                    assert place is not None
                    return next(card for card in phone.messages if str(card.id) == place.root.event)
                await asyncio.sleep(0.002)

    async def current(self, ask: Ask, *, surface: int = 0, phone: Phone | None = None) -> Card:
        """The ask's card once it shows how the ask is now."""
        return await self.card(await self.now(ask), surface=surface, phone=phone)

    async def sees(self, what: str | Callable[[Card], bool]) -> Card:
        return await waiting(self.phone.sees)(what)

    async def tap(self, card: Card, label: str, *, phone: Phone | None = None) -> str:
        """What pops up."""
        return await waiting((phone or self.phone).tap(card, label).answered)()

    async def press(self, card: Card, data: str, *, phone: Phone | None = None) -> str:
        """What pops up for a button of an older drawing."""
        return await waiting((phone or self.phone).press(card, data).answered)()

    async def step(self, ask: Ask, *labels: str) -> Card:
        """Tap one button after the other, each on what the card then shows; the card after it."""
        for label in labels:
            await self.tap(await self.current(ask), label)
        return await self.current(ask)

    async def say(
        self,
        text: str,
        *,
        reply_to: Card | None = None,
        thread: int | None = None,
        phone: Phone | None = None,
    ) -> Card:
        """Write a message; it, once the bot has dealt with it."""
        phone = phone or self.phone
        sent = phone.say(text, reply_to=reply_to, thread=thread)
        await self.dealt_with()
        return phone.now(sent)

    async def gone(self, card: Card) -> None:
        await waiting(self.phone.gone)(card)

    async def until(self, card: Card, fits: Callable[[Card], bool]) -> Card:
        return await waiting(self.phone.until)(card, fits)

    async def dealt_with(self) -> None:
        """Once the bot has confirmed all that people did until now."""
        await waiting(self.api.until_confirmed)()

    async def out_of_reach(self) -> Hold:
        """What people do is read only once this is released."""
        held = self.api.hold("getUpdates")
        self.api.raw_update({})
        await asyncio.to_thread(held.arrived)
        return held

    async def now(self, ask: Ask) -> Ask:
        return await self.desk.inbox.ask(ask.id)

    async def answers(self, ask: Ask) -> tuple[Answer, ...]:
        """What has been answered; nothing yet is ()."""
        answer = (await self.now(ask)).answer
        return answer.answers if answer else ()

    async def in_time(self, work: Coroutine[Any, Any, T]) -> T:
        """What this waits for, while the clock goes on: pauses after a failure pass."""
        task = asyncio.ensure_future(work)
        while not task.done():
            self.clock.advance(1.0)
            await asyncio.wait({task}, timeout=0.02)
        return await task

    def said(self, phone: Phone | None = None) -> list[str]:
        """All that the bot has said in the chat and that is still there, oldest first."""
        return [read(card) for card in (phone or self.phone).messages if card.from_bot]


def data_of(card: Card, number: int) -> str:
    """What one of its buttons carries, counted from 0."""
    data = card.keys[number].data
    assert data
    return data


def read(card: Card) -> str:
    """A message as a person reads it."""
    return card.text.replace("\u2068", "").replace("\u2069", "")


@asynccontextmanager
async def running_telegram(
    folder: Path,
    *,
    api: BotApi | None = None,
    clock: StillClock | None = None,
    chat: Chat | None = None,
    phone: Phone | None = None,
    chats: Sequence[int] = (),
    allowed: Sequence[User] = (),
    policy: Policy | None = None,
    pace: RateLimit | None = None,
    topics: bool = False,
    ready: bool = True,
    nobody: bool = False,
) -> AsyncIterator[Telegram]:
    """One hub's Telegram; a second one on the same folder is the next hub. Without `chat` it is
    the private one of somebody called Ada. With `nobody` the allowlist is empty."""
    clock = clock or StillClock()
    if api is None:
        with BotApi.running(clock=clock) as made:
            async with running_telegram(
                folder,
                api=made,
                clock=clock,
                policy=policy,
                pace=pace,
                topics=topics,
                ready=ready,
                nobody=nobody,
            ) as telegram:
                yield telegram
        return
    ada = phone.person if phone else api.person("Ada")
    chat = chat or api.private(ada)
    channel = TelegramChannel(
        TelegramTable.model_validate(
            {
                "token": api.token,
                "allowed_users": [] if nobody else [person.id for person in (*allowed, ada)],
                "chat_id": chats or [chat.id],
                "topics": topics,
                "api_base": api.address,
            }
        ),
        channel_context(clock, hint=HINT),
        pace=pace or RateLimit(),
    )
    up = asyncio.Event()
    async with open_desk(folder, clock=clock, channel=channel, policy=policy, ready=up) as desk:
        running = asyncio.create_task(channel.run(desk.inbox, ready=up.set))
        if ready:
            async with asyncio.timeout(PATIENCE):
                await up.wait()
        try:
            yield Telegram(
                api=api,
                clock=clock,
                desk=desk,
                channel=channel,
                chat=chat,
                phone=phone or chat.phone(ada),
                running=running,
            )
        finally:
            await desk.end_deliveries()
            running.cancel()
            await asyncio.wait({running}, timeout=PATIENCE)
