"""Albums that people send are taken as one message, however Telegram hands them out, and nothing of
them is lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from telegram import Update

from chatbridge.channels.telegram.client.api import Api
from chatbridge.channels.telegram.client.attached import attached
from chatbridge.channels.telegram.inbound.poll import ALBUM_WITHIN, Poll
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.asks.broker import Broker
from chatbridge.core.errors import StoreError
from chatbridge.core.model import ChannelState
from chatbridge.core.policy import Policy
from chatbridge.store.sqlite.store import SqliteStore
from tests.fakes.clock import StillClock
from tests.fakes.telegram.people import Phone, file
from tests.fakes.telegram.server import BotApi

PATIENCE = 20.0
A, B, C = (file(b"x", name=name) for name in "abc")


class Reader:
    """Notes the names of files, and the texts, that are taken together."""

    def __init__(self) -> None:
        self.taken: list[list[str]] = []
        self.cursors: list[int] = []
        self.failures = 0
        self.changed = asyncio.Event()

    async def take(self, updates: Sequence[Update], cursor: ChannelState) -> None:
        if self.failures:
            self.failures -= 1
            raise StoreError("no more")
        self.taken.append([_name(update) for update in updates])
        self.cursors.append(int(cursor.value))
        self.changed.set()

    async def until(self, count: int) -> None:
        async with asyncio.timeout(PATIENCE):
            while len(self.taken) < count:
                self.changed.clear()
                await self.changed.wait()


def _name(update: Update) -> str:
    message = update.message
    assert message is not None
    found = attached(message)
    return (found.name if found else message.text) or ""


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture
def telegram(clock: StillClock) -> Iterator[BotApi]:
    with BotApi.running(clock=clock) as telegram:
        telegram.service.updates.monotonic = clock.monotonic
        yield telegram


@pytest.fixture
def phone(telegram: BotApi) -> Phone:
    ada = telegram.person("Ada")
    return telegram.private(ada).phone(ada)


@asynccontextmanager
async def reading(
    folder: Path, telegram: BotApi, clock: StillClock
) -> AsyncIterator[tuple[Poll, Reader]]:
    """One hub's poll, which nobody has begun to run."""

    async def nothing() -> None: ...

    store = await SqliteStore.open(folder / "chatbridge.db")
    broker = Broker(store, clock=clock, policy=Policy(), changed=lambda *_: None, drained=nothing)
    reader = Reader()
    async with Api(telegram.token, base=telegram.address, hint="") as api:
        await api.me()
        inbox = AskActions(broker, store=store, clock=clock)
        poll = Poll(api, inbox, clock=clock, take=reader.take, gap=nothing)
        await poll.begin()
        try:
            yield poll, reader
        finally:
            await store.close()


@asynccontextmanager
async def running(poll: Poll, telegram: BotApi) -> AsyncIterator[None]:
    """It waits for the next update."""
    task = asyncio.create_task(poll.run())
    try:
        await asyncio.to_thread(telegram.until, lambda it: it.polling)
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


async def asleep(clock: StillClock) -> None:
    async with asyncio.timeout(PATIENCE):
        await clock.until_asleep(ALBUM_WITHIN)


async def test_an_album_is_taken_as_one_and_its_neighbours_apart(
    telegram: BotApi, phone: Phone, clock: StillClock, tmp_path: Path
) -> None:
    async with reading(tmp_path, telegram, clock) as (poll, reader):
        phone.say("before")
        phone.send(A, B)
        phone.send(B, C)
        phone.send(A)
        phone.send(B)
        first = telegram.pending[0].id

        await poll.read_on()

    assert reader.taken == [["before"], ["a", "b"], ["b", "c"], ["a"], ["b"]]
    assert [it - first for it in reader.cursors] == [1, 3, 5, 6, 7]


async def test_the_rest_of_an_album_is_waited_for_before_any_of_it_is_taken(
    telegram: BotApi, phone: Phone, clock: StillClock, tmp_path: Path
) -> None:
    async with reading(tmp_path, telegram, clock) as (poll, reader), running(poll, telegram):
        phone.send(A, B, C, cut=True)
        await asleep(clock)
        assert reader.taken == []
        assert len(telegram.pending) == 3

        clock.advance(ALBUM_WITHIN)
        await reader.until(1)
        phone.say("after")
        await reader.until(2)

    assert reader.taken == [["a", "b", "c"], ["after"]]


async def test_what_came_before_an_album_does_not_wait_for_the_rest_of_it(
    telegram: BotApi, phone: Phone, clock: StillClock, tmp_path: Path
) -> None:
    async with reading(tmp_path, telegram, clock) as (poll, reader):
        phone.say("before")
        phone.send(A, B)
        begun = asyncio.create_task(poll.read_on())
        await asleep(clock)
        assert reader.taken == [["before"]]
        phone.say("after")
        clock.advance(ALBUM_WITHIN)
        await begun
        assert reader.taken == [["before"], ["a", "b"]]
        await poll.read_on()

    assert reader.taken == [["before"], ["a", "b"], ["after"]]


async def test_an_album_that_could_not_be_stored_comes_again_whole(
    telegram: BotApi, phone: Phone, clock: StillClock, tmp_path: Path
) -> None:
    async with reading(tmp_path, telegram, clock) as (poll, reader):
        phone.send(A, B)
        phone.say("after")
        reader.failures = 1
        with pytest.raises(StoreError):
            await poll.read_on()
        assert len(telegram.pending) == 3
        clock.advance(1.0)
        await poll.read_on()

    assert reader.taken == [["a", "b"], ["after"]]


async def test_an_album_that_a_hub_did_not_live_to_take_is_taken_by_the_next(
    telegram: BotApi, phone: Phone, clock: StillClock, tmp_path: Path
) -> None:
    async with reading(tmp_path, telegram, clock) as (poll, first), running(poll, telegram):
        phone.send(A, B, cut=True)
        await asleep(clock)
    clock.advance(1.0)
    async with reading(tmp_path, telegram, clock) as (poll, second):
        begun = asyncio.create_task(poll.read_on())
        await asleep(clock)
        clock.advance(ALBUM_WITHIN)
        await begun

    assert (first.taken, second.taken) == ([], [["a", "b"]])


async def test_a_connection_that_breaks_inside_an_album_loses_nothing(
    telegram: BotApi, phone: Phone, clock: StillClock, tmp_path: Path
) -> None:
    async with reading(tmp_path, telegram, clock) as (poll, reader), running(poll, telegram):
        telegram.cut("getUpdates", after_effect=True)
        phone.send(A, B, cut=True)
        async with asyncio.timeout(PATIENCE):
            while len(reader.taken) < 1:
                clock.advance(0.7)
                await asyncio.sleep(0.01)

    assert reader.taken == [["a", "b"]]
