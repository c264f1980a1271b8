"""Messages to agents, on a real store: what is refused, who gets what, and races."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from chatbridge.core.errors import MessageRefused, StoreError
from chatbridge.core.messages.agents import Agents
from chatbridge.core.messages.message import MAX_TEXT, MessageState, OwnerMessage, Way
from chatbridge.core.messages.messages import MAX_WAITING, OwnerMessages
from chatbridge.core.model import CallName, ChannelState, Project
from chatbridge.core.tasks import STORE_RETRY_SECONDS
from chatbridge.store.sqlite.store import SqliteStore
from tests.contract.test_store_writes import held_up
from tests.fakes.clock import StillClock
from tests.fakes.core_env import OWNER, PATIENCE
from tests.fakes.core_env import world as hub_world
from tests.fakes.disk import failing
from tests.fakes.inbox import CLAUDE, SHOP

BLOG = Project(key="/src/blog", name="blog")
CALL = CallName(link="a", request="1")
CURSOR = ChannelState(channel="telegram", key="bot", value="7", at=1.0)
HOURS = 3600.0


class World:
    def __init__(self, store: SqliteStore) -> None:
        self.store, self.clock = store, StillClock()
        self.changes: list[OwnerMessage] = []
        self.messages = OwnerMessages(
            store,
            clock=self.clock,
            agents=Agents(self.clock),
            expire_after=12 * HOURS,
            changed=self.changes.append,
        )

    async def tell(
        self, text: str = "use tabs", *, link: str = "a", project: Project = SHOP
    ) -> OwnerMessage:
        agent = self.messages.agents.seen(link, project, CLAUDE)
        return await self.messages.tell(agent, text, by=OWNER, cursor=CURSOR)

    async def take(self, name: CallName = CALL, project: Project = SHOP) -> list[str]:
        taken = await self.messages.hand_over(name, link=name.link, project=project, way=Way.RESULT)
        return [each.id for each in taken]

    async def state(self, message: OwnerMessage) -> MessageState:
        found = await self.store.message(message.id)
        assert found is not None
        return found.state


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    store = await SqliteStore.open(tmp_path / "chatbridge.db")
    found = World(store)
    running = asyncio.ensure_future(found.messages.run())
    yield found
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await store.close()


async def until_over(world: World) -> None:
    async with asyncio.timeout(PATIENCE):
        while world.messages.waiting():
            await world.store.open_messages()


@pytest.mark.parametrize(
    ("text", "why"), [(" \n ", "nothing to tell"), ("x" * (MAX_TEXT + 1), "too long")]
)
async def test_what_is_refused_leaves_nothing_behind(world: World, text: str, why: str) -> None:
    with pytest.raises(MessageRefused, match=why):
        await world.tell(text)
    assert list(await world.store.messages(limit=9)) == []
    assert await world.store.note("telegram", "bot") is None
    await world.tell("x" * MAX_TEXT)


async def test_of_many_at_once_no_more_wait_than_may(world: World) -> None:
    for _ in range(MAX_WAITING - 1):
        await world.tell()
    both = await asyncio.gather(world.tell(), world.tell(), return_exceptions=True)
    (refused,) = (each for each in both if isinstance(each, BaseException))
    assert isinstance(refused, MessageRefused)
    assert str(refused) == "20 messages wait for shop-api already. Take one back first."
    await world.tell(link="b", project=BLOG)
    await world.messages.take_back(world.messages.waiting()[0].id, by=OWNER)
    await world.tell()
    assert len(await world.store.open_messages()) == MAX_WAITING + 1


async def test_of_taking_it_back_and_handing_it_over_at_once_one_happens(world: World) -> None:
    for first in range(2):
        message = await world.tell()
        name = CallName(link="a", request=message.id)
        works = [world.take(name), world.messages.take_back(message.id, by=OWNER)]
        async with held_up(world.store):
            order = works if first else works[::-1]
            tasks = [asyncio.ensure_future(each) for each in order]
            await asyncio.sleep(0)
        done = await asyncio.gather(*tasks, return_exceptions=True)
        taken, back = done if first else done[::-1]
        if first:
            assert taken == [message.id]
            assert isinstance(back, MessageRefused)
            assert await world.state(message) is MessageState.HANDED_OVER
        else:
            assert taken == []
            assert await world.state(message) is MessageState.TAKEN_BACK


async def test_what_is_on_its_way_or_over_cannot_be_taken_back(world: World) -> None:
    message = await world.tell()
    await world.take()
    with pytest.raises(MessageRefused, match="on its way"):
        await world.messages.take_back(message.id, by=OWNER)
    await world.messages.delivered(CALL)
    with pytest.raises(MessageRefused, match="Delivered to Claude Code in shop-api"):
        await world.messages.take_back(message.id, by=OWNER)
    with pytest.raises(MessageRefused, match="no longer here"):
        await world.messages.take_back("unknown", by=OWNER)


async def test_who_waits_for_a_message_wakes_for_their_own_only(world: World) -> None:
    waiting = asyncio.ensure_future(world.messages.arrived("a", SHOP))
    await world.tell(link="c", project=BLOG)
    await asyncio.sleep(0)
    assert not waiting.done()
    await world.tell()
    await asyncio.wait_for(waiting, PATIENCE)


async def test_who_waits_wakes_for_what_an_agent_that_left_has_not_got(world: World) -> None:
    message = await world.tell()
    await world.take()
    waiting = asyncio.ensure_future(world.messages.arrived("b", SHOP))
    world.messages.agents.seen("b", SHOP, CLAUDE)
    await asyncio.sleep(0)
    assert not waiting.done()
    await world.messages.link_closed("a")
    await asyncio.wait_for(waiting, PATIENCE)
    assert await world.take(CallName(link="b", request="1")) == [message.id]


async def test_an_agent_of_the_same_project_gets_nothing_of_one_that_is_there(
    world: World,
) -> None:
    await world.tell()
    world.messages.agents.seen("b", SHOP, CLAUDE)
    assert await world.take(CallName(link="b", request="1")) == []


@pytest.mark.parametrize("how", ["advance", "step"])
async def test_what_is_due_is_not_handed_over_even_before_it_is_noted(
    world: World, how: str
) -> None:
    message = await world.tell()
    async with held_up(world.store):
        getattr(world.clock, how)(12 * HOURS)
        assert not world.messages.any_for("a", SHOP)
        taking = asyncio.ensure_future(world.take())
        await asyncio.sleep(0)
    assert await taking == []
    world.clock.advance(30.0)
    await until_over(world)
    assert await world.state(message) is MessageState.EXPIRED
    assert [each.state for each in world.changes] == [MessageState.WAITING, MessageState.EXPIRED]


async def test_what_is_handed_over_when_it_is_due_expires_only_if_it_comes_back(
    world: World,
) -> None:
    message = await world.tell()
    await world.take()
    world.clock.advance(13 * HOURS)
    await asyncio.sleep(0)
    assert await world.state(message) is MessageState.HANDED_OVER
    await world.messages.cancelled(CALL)
    await until_over(world)
    assert await world.state(message) is MessageState.EXPIRED


async def test_a_clock_that_is_set_back_lets_nothing_expire_early(world: World) -> None:
    message = await world.tell()
    world.clock.step(-5 * HOURS)
    world.clock.advance(12 * HOURS)
    await asyncio.sleep(0)
    assert await world.state(message) is MessageState.WAITING
    world.clock.advance(5 * HOURS)
    await until_over(world)


async def test_a_hook_that_confirms_late_gets_it_only_once(world: World) -> None:
    message = await world.tell()
    hook = CallName(link="hook-a", request="1")
    taken = await world.messages.hand_over(hook, link="a", project=SHOP, way=Way.TOOL_HOOK)
    assert len(taken) == 1
    await world.messages.links_absent({"a"})  # it has no link, and is not gone for that
    assert await world.state(message) is MessageState.HANDED_OVER
    await world.messages.unconfirmed(hook)
    assert await world.state(message) is MessageState.WAITING
    await world.messages.delivered(hook)
    assert await world.state(message) is MessageState.DELIVERED
    assert await world.take() == []


@pytest.mark.parametrize(
    ("end", "state"),
    [("cancel", MessageState.WAITING), ("delivered", MessageState.DELIVERED)],
)
async def test_what_becomes_of_a_response_counts_though_its_call_cannot_be_stored(
    tmp_path: Path, end: str, state: MessageState
) -> None:
    async with hub_world(tmp_path) as hub:
        calls, messages = hub.broker.waiting_calls, hub.inbox.messages
        ask, call = await hub.call()
        agent = messages.agents.seen(call.name.link, ask.project, ask.agent)
        message = await messages.tell(agent, "use tabs", by=OWNER)
        link, project = call.name.link, ask.project
        assert await messages.hand_over(call.name, link=link, project=project, way=Way.RESULT)
        async with failing(tmp_path, "calls"):
            with pytest.raises(StoreError):  # over HTTP nobody says it again
                await getattr(calls, end)(call.name)
        found = await hub.store.message(message.id)
        assert found
        assert found.state is state


async def test_what_has_no_room_in_the_repeated_response_waits_again(world: World) -> None:
    first, second = await world.tell("a" * 100), await world.tell("b" * 100)
    assert await world.take() == [first.id, second.id]

    again = await world.messages.hand_over(CALL, link="a", project=SHOP, way=Way.RESULT, room=150)
    await world.messages.delivered(CALL)

    assert [each.id for each in again] == [first.id]
    assert await world.state(first) is MessageState.DELIVERED
    assert await world.state(second) is MessageState.WAITING
    assert await world.take(CallName(link="a", request="2")) == [second.id]


async def test_handing_over_is_no_change_that_people_see(world: World) -> None:
    await world.tell()
    await world.take()
    await world.messages.cancelled(CALL)
    await world.take()
    await world.messages.delivered(CALL)
    assert [each.revision for each in world.changes] == [1, 2]


@pytest.mark.parametrize("cut_off", [False, True])
async def test_a_confirmation_that_cannot_be_stored_counts_all_the_same(
    world: World, tmp_path: Path, cut_off: bool
) -> None:
    message = await world.tell()
    await world.take()
    if cut_off:
        await world.messages.link_closed("a")
    before = await world.state(message)
    async with failing(tmp_path, "owner_messages"):
        with pytest.raises(StoreError):
            await world.messages.delivered(CALL)
        await asyncio.wait_for(world.clock.until_asleep(STORE_RETRY_SECONDS), PATIENCE)
    await world.messages.link_closed("a")
    assert await world.state(message) is before
    assert await world.take(CallName(link="b", request="1")) == []
    with pytest.raises(MessageRefused, match="on its way"):
        await world.messages.take_back(message.id, by=OWNER)
    world.clock.advance(STORE_RETRY_SECONDS)
    await until_over(world)
    assert await world.state(message) is MessageState.DELIVERED


async def test_what_a_link_had_that_does_not_come_back_to_the_next_hub_waits_again(
    world: World,
) -> None:
    lost, kept = await world.tell(), await world.tell(link="c", project=BLOG)
    await world.take()
    other = CallName(link="c", request="1")
    await world.take(other, BLOG)
    after = World(world.store)
    await after.messages.load()
    await after.messages.links_absent({"c"})
    assert await after.state(lost) is MessageState.WAITING
    assert await after.state(kept) is MessageState.HANDED_OVER
    await after.messages.delivered(other)
    assert after.messages.waiting() == await world.store.open_messages()
    assert await after.take(CallName(link="b", request="1")) == [lost.id]
