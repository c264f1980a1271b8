"""Telegram beside the web inbox, kept up by the hub's own line-up: for what goes wrong.

One `async with scene.hub()` is one hub; the next one is its successor on the same database. The
person's waiting is done in threads, because all channels run in the test's loop.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    asynccontextmanager,
    closing,
    contextmanager,
)
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar

import httpx2

from chatbridge.channels.telegram.channel import TelegramChannel
from chatbridge.channels.telegram.client.api import ANSWERED_WITHIN
from chatbridge.channels.telegram.settings import Telegram
from chatbridge.channels.web.channel import WebChannel
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.asks.broker import Broker
from chatbridge.core.delivery.delivery import Delivery
from chatbridge.core.delivery.notices import Notices
from chatbridge.core.delivery.queue import RateLimit
from chatbridge.core.login_codes import LoginCodes
from chatbridge.core.model import Ask, Status
from chatbridge.core.nights.nights import Nights
from chatbridge.core.nights.policy import NightPolicy
from chatbridge.core.policy import Policy
from chatbridge.core.ports import Health
from chatbridge.hub.wiring.channel_supervisor import ChannelSupervisor
from chatbridge.store.sqlite.store import SqliteStore
from tests.fakes.channel_context import channel_context
from tests.fakes.clock import StillClock
from tests.fakes.core_env import COLOUR
from tests.fakes.inbox import ANYWHERE, Desk
from tests.fakes.telegram.people import Card, Chat, Phone
from tests.fakes.telegram.server import BotApi
from tests.fakes.web import TOKEN, visitor

T = TypeVar("T")
PATIENCE = 20.0
HINT = "telegram.token in config.toml"
VERBS = ("INSERT", "UPDATE")
FAST = RateLimit()
LONG = 10 * 86_400.0
"""Deadlines are for other tests."""


@dataclass(slots=True, kw_only=True)
class TelegramHub:
    api: BotApi
    clock: StillClock
    desk: Desk
    line_up: ChannelSupervisor
    chat: Chat
    phone: Phone
    web: httpx2.AsyncClient

    @property
    def trouble(self) -> str | None:
        return self.line_up.troubles().get("telegram")

    async def ask(self, number: int = 1) -> Ask:
        """An agent's question, whose title has this number."""
        return await self.desk.ask(COLOUR, title=f"Number {number}.", timeout=LONG)

    async def now(self, ask: Ask) -> Ask:
        return await self.desk.inbox.ask(ask.id)

    async def until(self, fits: Callable[[], Any], *, step: float = 0.0) -> None:
        """Wait until it is so; the clock goes on by `step` at a time."""
        async with asyncio.timeout(PATIENCE):
            while not fits():
                self.clock.advance(step)
                await asyncio.sleep(0.002)

    async def in_time(self, work: Coroutine[Any, Any, T], *, step: float = 1.0) -> T:
        """What this waits for, while the clock goes on: pauses after a failure pass."""
        task = asyncio.ensure_future(work)
        while not task.done():
            self.clock.advance(step)
            await asyncio.wait({task}, timeout=0.01)
        return await task

    async def sees(self, number: int = 1) -> Card:
        """The card of that question."""
        return await asyncio.to_thread(self.phone.sees, f"Number {number}.")

    async def tap(self, card: Card, label: str = "blue") -> str:
        """What pops up."""
        return await asyncio.to_thread(self.phone.tap(card, label).answered)

    async def shows(self, card: Card, text: str) -> Card:
        return await asyncio.to_thread(self.phone.until, card, lambda it: text in it.text)

    async def settled(self, card: Card) -> Card:
        """Once it shows an answer, and whether it was delivered or is kept."""
        return await self.shows(card, "✅")

    async def answered(self, ask: Ask) -> Ask:
        async with asyncio.timeout(PATIENCE):
            return await self.desk.broker.ended(ask.id)

    async def until_noted(self, *asks: Ask) -> None:
        """Once the store knows where these are shown, as they are given or newer."""
        surface = f"telegram:{self.chat.id}"
        async with asyncio.timeout(PATIENCE):
            for ask in asks:
                revision = -1
                while revision < ask.revision:
                    await asyncio.sleep(0.002)
                    post = await self.desk.inbox.post(ask.id, surface=surface)
                    revision = post.revision if post else -1

    async def passes(self, seconds: float) -> None:
        """Time passes, and whoever wants to try something gets the chance to."""
        until = self.clock.time() + seconds
        await self.until(lambda: self.clock.time() >= until, step=seconds / 300)

    async def works(self, number: int) -> None:
        """A new question comes to the phone, nothing is wrong any more, and a tap answers it."""
        ask = await self.ask(number)
        card = await self.in_time(self.sees(number))
        await self.until(lambda: self.trouble is None, step=0.5)
        assert await self.tap(card) == "Sent: blue"
        assert (await self.now(ask)).status is Status.ANSWERED

    async def web_goes_on(self, number: int = 99) -> None:
        """An agent asks, and somebody answers in the web inbox."""
        ask = await self.ask(number)
        answers = {"answers": [{"questionId": COLOUR.id, "values": ["blue"]}]}
        reply = await self.web.post(f"/api/asks/{ask.id}/answer", json=answers)
        assert reply.status_code == 200, reply.text
        assert not (await self.now(ask)).open


@dataclass(slots=True, kw_only=True)
class Scene:
    """What outlives a hub: Telegram, the person, the time, the database's folder."""

    folder: Path
    api: BotApi
    clock: StillClock
    chat: Chat
    phone: Phone

    @classmethod
    @contextmanager
    def set(cls, folder: Path, *, rate_limits: bool = False, group: bool = False) -> Iterator[Self]:
        clock = StillClock()
        with BotApi.running(clock=clock, rate_limits=rate_limits) as api:
            ada = api.person("Ada")
            chat = api.group("team", ada) if group else api.private(ada)
            yield cls(folder=folder, api=api, clock=clock, chat=chat, phone=chat.phone(ada))

    def hub(
        self,
        *,
        chats: Sequence[int] = (),
        pace: RateLimit | None = FAST,
        patience: float = ANSWERED_WITHIN,
        up: bool = True,
        reminders: Sequence[float] = (),
    ) -> AbstractAsyncContextManager[TelegramHub]:
        """`up`: wait until Telegram is. A `pace` of None is the real one."""
        channel = partial(
            TelegramChannel,
            Telegram.model_validate(
                {
                    "token": self.api.token,
                    "allowed_users": [self.phone.person.id],
                    "chat_id": chats or [self.chat.id],
                    "api_base": self.api.address,
                }
            ),
            channel_context(self.clock, hint=HINT),
            pace=pace,
            patience=patience,
        )
        nights = NightPolicy(reminders=tuple(reminders))
        return _running(self, channel, up=up, nights=nights)

    @asynccontextmanager
    async def meanwhile(self, before: Sequence[str], after: Sequence[str]) -> AsyncIterator[None]:
        """Another program does something to the database, and takes it back."""
        database = self.folder / "chatbridge.db"
        with closing(
            sqlite3.connect(database, isolation_level=None, check_same_thread=False)
        ) as it:
            # In threads: who has the lock may need our loop to give it back.
            for statement in before:
                await asyncio.to_thread(it.execute, statement)
            yield
            for statement in after:
                await asyncio.to_thread(it.execute, statement)

    def locked(self) -> AbstractAsyncContextManager[None]:
        """Another program holds the database's lock: who writes waits (some seconds at most)."""
        return self.meanwhile(["BEGIN IMMEDIATE"], ["ROLLBACK"])

    def failing(self, table: str) -> AbstractAsyncContextManager[None]:
        """The database refuses to write into this table."""
        fails = "BEGIN SELECT RAISE(ABORT, 'no more'); END"
        return self.meanwhile(
            [f"CREATE TRIGGER fail_{verb} BEFORE {verb} ON {table} {fails}" for verb in VERBS],
            [f"DROP TRIGGER fail_{verb}" for verb in VERBS],
        )

    def without(self, table: str) -> AbstractAsyncContextManager[None]:
        """Reading from this table fails, writing elsewhere works."""
        return self.meanwhile(
            [f"ALTER TABLE {table} RENAME TO elsewhere"],
            [f"ALTER TABLE elsewhere RENAME TO {table}"],
        )


@asynccontextmanager
async def _running(
    scene: Scene, telegram: Callable[[], TelegramChannel], *, up: bool, nights: NightPolicy
) -> AsyncIterator[TelegramHub]:
    clock = scene.clock
    store = await SqliteStore.open(scene.folder / "chatbridge.db")
    delivery = Delivery(store, clock=clock)
    notices = Notices(store, delivery, clock=clock)
    line_up = ChannelSupervisor(delivery, clock=clock)
    broker = Broker(
        store,
        clock=clock,
        policy=Policy(
            max_open_asks=1000,
            approval_channels=ANYWHERE,
            nights=Nights(nights),
        ),
        changed=delivery.changed,
        drained=line_up.drained,
    )
    inbox = AskActions(broker, store=store, clock=clock)
    announced: list[str] = []
    ready = asyncio.Event()

    def announce(address: str) -> None:
        announced.append(address)
        ready.set()

    def web() -> WebChannel:
        return WebChannel(
            host="127.0.0.1",
            port=0,
            token=TOKEN,
            clock=clock,
            announce_address=announce,
            health=Health(troubles=line_up.troubles),
            codes=codes,
        )

    codes = LoginCodes(clock=clock)
    await codes.load(inbox)
    line_up.add("web", web, unwatched="no page was open")
    line_up.add("telegram", telegram)
    tasks = [asyncio.create_task(work) for work in (broker.run(), line_up.run(inbox))]
    try:
        async with asyncio.timeout(PATIENCE):
            await ready.wait()
        async with visitor(announced[0], {"Authorization": f"Bearer {TOKEN}"}) as script:
            hub = TelegramHub(
                api=scene.api,
                clock=clock,
                desk=Desk(broker, inbox, delivery, clock, notices),
                line_up=line_up,
                chat=scene.chat,
                phone=scene.phone,
                web=script,
            )
            if up:
                await asyncio.to_thread(scene.api.until, lambda it: it.polling)
            yield hub
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        await store.close()
        # A service that has not noticed yet hands this hub what is meant for the next one.
        await asyncio.to_thread(scene.api.until, lambda it: not it.polling)
