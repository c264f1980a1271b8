"""Delivery of what becomes of messages to agents: said once, in the right chat, whatever fails."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from chatbridge.core.delivery.delivery import Delivery
from chatbridge.core.errors import ChatRefused, PostGone, RetryLater
from chatbridge.core.messages.agents import Agents
from chatbridge.core.messages.message import OwnerMessage, Way
from chatbridge.core.messages.messages import OwnerMessages
from chatbridge.core.model import CallName, Notice
from chatbridge.core.ports import Shown
from chatbridge.store.sqlite.store import SqliteStore
from tests.contract.test_store_notices import DONE
from tests.fakes.chat import Chat
from tests.fakes.clock import StillClock
from tests.fakes.core_env import OWNER, PATIENCE
from tests.fakes.disk import failing
from tests.fakes.inbox import CLAUDE, SHOP


class Hub:
    """Messages and delivery to chats, on a real store."""

    def __init__(self, store: SqliteStore, clock: StillClock) -> None:
        self.store, self.clock = store, clock
        self.delivery = Delivery(store, clock=clock)
        self.messages = OwnerMessages(
            store, clock=clock, agents=Agents(clock), changed=self.delivery.report
        )

    async def tell(self, surface: str = "chat") -> OwnerMessage:
        agent = self.messages.agents.seen("link", SHOP, CLAUDE)
        return await self.messages.tell(agent, "use tabs", by=OWNER, surface=surface)

    async def deliver(self, *messages: OwnerMessage) -> None:
        name = CallName(link="link", request="1")
        taken = await self.messages.hand_over(name, link="link", project=SHOP, way=Way.RESULT)
        assert [each.id for each in taken] == [each.id for each in messages]
        await self.messages.delivered(name)

    async def recorded(self, message: OwnerMessage) -> OwnerMessage:
        async with asyncio.timeout(PATIENCE):
            while True:
                found = await self.store.message(message.id)
                assert found is not None
                if found.shown == found.revision:
                    return found


@asynccontextmanager
async def hub(folder: Path, *chats: Chat, clock: StillClock | None = None) -> AsyncIterator[Hub]:
    store = await SqliteStore.open(folder / "chatbridge.db")
    found = Hub(store, clock or StillClock())
    await found.messages.load()
    ready = asyncio.Event()
    ready.set()
    tasks = [asyncio.ensure_future(found.delivery.serve(chat, ready=ready)) for chat in chats]
    await asyncio.sleep(0)
    try:
        yield found
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await store.close()


def named(name: str) -> Chat:
    chat = Chat()
    chat.name = name
    return chat


async def test_only_the_chat_in_which_it_was_written_is_told(tmp_path: Path) -> None:
    here, there = Chat(), named("other")
    async with hub(tmp_path, here, there) as found:
        message = await found.tell()
        await found.tell(surface="")
        await found.recorded(message)
        await found.recorded(await found.tell(surface="other"))
    assert here.reports == [(message.id, 1, True)]
    assert len(there.reports) == 1


async def test_a_change_is_shown_at_the_same_place_and_found_by_its_handle(tmp_path: Path) -> None:
    chat = Chat()
    async with hub(tmp_path, chat) as found:
        message = await found.tell()
        place = (await found.recorded(message)).place
        await found.deliver(message)
        after = await found.recorded(message)
        assert (after.place, after.revision) == (place, 2)
        assert place is not None
        assert await found.store.message_at(place, surface="chat") == after
    assert chat.reports == [(message.id, 1, True), (message.id, 2, False)]


async def test_quick_changes_become_one_post(tmp_path: Path) -> None:
    chat = Chat()
    chat.faults = [RetryLater("not now", after=5.0)]
    async with hub(tmp_path, chat) as found:
        message = await found.tell()
        await asyncio.wait_for(found.clock.until_asleep(5.0), PATIENCE)
        await found.deliver(message)
        found.clock.advance(5.0)
        await found.recorded(message)
    assert chat.reports == [(message.id, 2, True)]


@pytest.mark.parametrize("fault", [RetryLater("no network"), ChatRefused("not invited")])
async def test_a_chat_that_cannot_be_reached_is_told_later(
    tmp_path: Path, fault: Exception
) -> None:
    chat = Chat()
    chat.faults = [fault]
    async with hub(tmp_path, chat) as found:
        message = await found.tell()
        await asyncio.wait_for(found.clock.until_asleep(1.0), PATIENCE)
        assert chat.reports == []
        found.clock.advance(1.0)
        await found.recorded(message)
    assert chat.reports == [(message.id, 1, True)]


async def test_the_next_hub_says_what_the_last_one_did_not(tmp_path: Path) -> None:
    chat = Chat()
    async with hub(tmp_path, chat) as found:
        first = await found.tell()
        await found.recorded(first)
    async with hub(tmp_path) as found:  # no chat is there
        second = await found.tell()
        await found.deliver(first, second)
    async with hub(tmp_path, chat) as found:
        await found.recorded(first)
        await found.recorded(second)
    async with hub(tmp_path, chat) as found:
        await found.recorded(await found.tell())
    said = [(first.id, 1, True), (first.id, 2, False), (second.id, 2, True)]
    assert chat.reports[:3] == said
    assert len(chat.reports) == 4


async def test_what_is_said_but_cannot_be_recorded_is_not_said_again(tmp_path: Path) -> None:
    chat = Chat()
    async with hub(tmp_path, chat) as found:
        chat.faults = [RetryLater("wait", after=5.0)]
        message = await found.tell()
        await asyncio.wait_for(found.clock.until_asleep(5.0), PATIENCE)
        async with failing(tmp_path, "owner_messages", when="new.shown > 0"):
            found.clock.advance(5.0)
            await asyncio.wait_for(found.clock.until_asleep(2.0), PATIENCE)
        found.clock.advance(2.0)
        await found.recorded(message)
    assert chat.reports == [(message.id, 1, True)]


async def test_a_post_that_somebody_removed_is_left_alone(tmp_path: Path) -> None:
    chat = Chat()
    async with hub(tmp_path, chat) as found:
        message = await found.tell()
        await found.recorded(message)
        chat.faults = [PostGone()]
        await found.deliver(message)
        await found.recorded(message)
        await found.recorded(await found.tell())
    assert len(chat.reports) == 2


async def test_a_fault_over_one_message_leaves_the_others(tmp_path: Path) -> None:
    chat = Chat()
    chat.faults = [ValueError("of the surface")]
    async with hub(tmp_path, chat) as found:
        await found.tell()
        other = await found.tell()
        await found.recorded(other)
    assert chat.reports == [(other.id, 1, True)]


async def test_a_notice_comes_before_it(tmp_path: Path) -> None:
    order: list[str] = []

    class Ordered(Chat):
        async def announce(self, notice: Notice) -> bool:
            order.append(notice.id)
            return await super().announce(notice)

        async def report(self, message: OwnerMessage) -> Shown:
            shown = await super().report(message)
            order.append(message.id)
            return shown

    chat = Ordered()
    chat.faults = [RetryLater("wait", after=5.0)]
    async with hub(tmp_path, chat) as found:
        message = await found.tell()
        await asyncio.wait_for(found.clock.until_asleep(5.0), PATIENCE)
        found.delivery.announce(DONE)
        found.clock.advance(5.0)
        await found.recorded(message)
    assert order == [DONE.id, message.id]


async def test_the_pace_of_the_chat_is_kept(tmp_path: Path) -> None:
    chat = Chat(pace=1.0)
    async with hub(tmp_path, chat) as found:
        first = await found.tell()
        await found.recorded(first)
        second = await found.tell()
        await asyncio.wait_for(found.clock.until_asleep(1.0), PATIENCE)
        assert len(chat.reports) == 1
        found.clock.advance(1.0)
        await found.recorded(second)
