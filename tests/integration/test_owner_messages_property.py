"""Whatever happens in whatever order: no message is lost, goes to another project, is handed over
once it is over, or is delivered a second time once that was confirmed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from chatbridge.core.errors import MessageRefused, StoreError
from chatbridge.core.messages.agents import Agents
from chatbridge.core.messages.message import MessageState, OwnerMessage, Way
from chatbridge.core.messages.messages import MAX_WAITING, OwnerMessages
from chatbridge.core.model import Agent, CallName, Person, Project
from tests.fakes.clock import StillClock
from tests.fakes.databases import Database, SqliteFile
from tests.fakes.disk import failing

T = TypeVar("T")

SHOP, BLOG = Project(key="/src/shop", name="shop"), Project(key="/src/blog", name="blog")
PROJECTS = {"shop-1": SHOP, "shop-2": SHOP, "blog-1": BLOG}
CLAUDE = Agent(client="claude-code", name="Claude Code")
OWNER = Person(name="Ada", channel="web")
EXPIRE_AFTER, CHECK_SECONDS, BOUND = 3600.0, 30.0, 5.0

links = st.sampled_from(sorted(PROJECTS))
ways = st.sampled_from(Way)


class Messages(RuleBasedStateMachine):
    """The model: who holds what, and what has been said about it for good."""

    def __init__(self, database: Database) -> None:
        super().__init__()
        self.database = database
        self.loop = asyncio.new_event_loop()
        self.clock, self.number = StillClock(), 0
        self.told: dict[str, Project] = {}  # By id
        self.responses: dict[CallName, set[str]] = {}  # On their way to a client
        self.final: dict[str, MessageState] = {}
        self.do(self.start())

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(asyncio.wait_for(work, BOUND))

    async def start(self) -> None:
        self.store = await self.database.open()
        self.connected: set[str] = set()
        self.cancelled: set[CallName] = set()
        self.messages = OwnerMessages(
            self.store,
            clock=self.clock,
            agents=Agents(self.clock),
            expire_after=EXPIRE_AFTER,
            return_within=10.0,
        )
        await self.messages.load()
        self.running = asyncio.ensure_future(self.messages.run())

    async def kill(self) -> None:
        self.running.cancel()
        await asyncio.gather(self.running, return_exceptions=True)
        await self.store.close()

    def teardown(self) -> None:
        self.do(self.kill())
        self.do(self.database.clear())
        self.loop.close()

    def connect(self, link: str) -> None:
        self.connected.add(link)
        self.messages.agents.seen(link, PROJECTS[link], CLAUDE)

    async def tell(self, link: str) -> OwnerMessage:
        agent = self.messages.agents.seen(link, PROJECTS[link], CLAUDE)
        self.connected.add(link)
        return await self.messages.tell(agent, "use tabs", by=OWNER)

    async def stored(self, message_id: str) -> OwnerMessage:
        found = await self.store.message(message_id)
        assert found is not None
        return found

    async def until(self, condition: Callable[[OwnerMessage], bool]) -> None:
        """Until this is so of every message that is not over."""
        while not all(map(condition, await self.store.open_messages())):
            assert not self.running.done()
            await asyncio.sleep(0)

    # ── people ────────────────────────────────────────────────────────────────────────────────────

    @rule(link=links)
    def one_is_written(self, link: str) -> None:
        project = PROJECTS[link]
        message = self.do(self.tell(link))
        self.told[message.id] = project

    @rule(link=links)
    def one_is_written_that_cannot_be_stored(self, link: str) -> None:
        async def work() -> None:
            async with failing(self.database, "owner_messages"):
                with pytest.raises(StoreError):
                    await self.tell(link)

        self.do(work())

    @precondition(lambda self: self.told)
    @rule(data=st.data())
    def one_is_taken_back(self, data: st.DataObject) -> None:
        message_id = data.draw(st.sampled_from(sorted(self.told)))
        before = self.do(self.stored(message_id))
        try:
            after = self.do(self.messages.take_back(message_id, by=OWNER))
        except MessageRefused:
            assert before.state is not MessageState.WAITING
            assert self.do(self.stored(message_id)).state is before.state
            return
        if message_id in self.final:
            assert self.final[message_id] is MessageState.TAKEN_BACK
        assert before.state in (MessageState.WAITING, MessageState.TAKEN_BACK)
        self.final[message_id] = after.state

    # ── agents ────────────────────────────────────────────────────────────────────────────────────

    def hand_over(self, link: str, way: Way) -> tuple[CallName, list[OwnerMessage]]:
        self.connect(link)
        self.number += 1
        name = CallName(link=link, request=str(self.number))
        return name, [*self.do(self.taken(name, way))]

    async def taken(self, name: CallName, way: Way = Way.RESULT) -> Sequence[OwnerMessage]:
        project = PROJECTS[name.link]
        return await self.messages.hand_over(
            name,
            link=name.link,
            project=project,
            way=way,
            cancelled=lambda: name in self.cancelled,
        )

    @rule(link=links, way=ways)
    def one_calls(self, link: str, way: Way) -> None:
        now = self.clock.time()
        name, taken = self.hand_over(link, way)
        for message in taken:
            assert message.project == PROJECTS[link] == self.told[message.id]
            assert message.id not in self.final
            assert now < message.expires_at
            assert not any(message.id in ids for ids in self.responses.values())
        ids = {each.id for each in taken}
        assert [each.id for each in taken] == [each for each in self.told if each in ids]
        if taken:
            self.responses[name] = ids
        assert not self.messages.any_for(link, PROJECTS[link])

    @rule(link=links)
    def one_calls_and_cancels_it_at_once(self, link: str) -> None:
        self.connect(link)
        name = CallName(link=link, request="cancelled")
        self.cancelled.add(name)
        assert not self.do(self.taken(name))

    @rule(link=links)
    def one_calls_while_nothing_can_be_stored(self, link: str) -> None:
        async def work() -> None:
            async with failing(self.database, "owner_messages"):
                assert not await self.taken(CallName(link=link, request="broken"))

        self.connect(link)
        self.do(work())

    @precondition(lambda self: self.responses)
    @rule(data=st.data())
    def a_response_arrives(self, data: st.DataObject) -> None:
        name = self.a_response(data)
        self.do(self.messages.delivered(name))
        self.final |= dict.fromkeys(self.responses.pop(name), MessageState.DELIVERED)

    @precondition(lambda self: self.responses)
    @rule(data=st.data(), other=links)
    def a_response_arrives_while_nothing_can_be_stored(
        self, data: st.DataObject, other: str
    ) -> None:
        """Whatever becomes of its link meanwhile, nobody else gets it."""
        name = self.a_response(data)
        ids = self.responses[name]

        async def work() -> None:
            async with failing(self.database, "owner_messages"):
                with pytest.raises(StoreError):
                    await self.messages.delivered(name)

        self.do(work())
        self.closes(name.link, keeps=name)
        self.one_calls(other, Way.RESULT)
        del self.responses[name]
        self.clock.advance(1.0)
        self.do(self.until(lambda each: each.id not in ids))
        self.final |= dict.fromkeys(ids, MessageState.DELIVERED)

    @precondition(lambda self: self.responses)
    @rule(data=st.data())
    def a_response_is_cut_off_and_arrives_later(self, data: st.DataObject) -> None:
        """The link had written it, but could not say so before its connection was lost."""
        name = self.a_response(data)
        self.closes(name.link, keeps=name)
        ids = self.responses.pop(name)
        over = {each for each in ids if not self.do(self.stored(each)).open}
        self.do(self.messages.delivered(name))
        self.final |= dict.fromkeys(ids - over, MessageState.DELIVERED)

    @precondition(lambda self: self.responses)
    @rule(data=st.data())
    def one_is_cancelled(self, data: st.DataObject) -> None:
        name = self.a_response(data)
        del self.responses[name]
        self.cancelled.add(name)
        self.do(self.messages.cancelled(name))
        self.do(self.messages.delivered(name))  # a response that it had begun to write

    def a_response(self, data: st.DataObject) -> CallName:
        name: CallName = data.draw(st.sampled_from([*self.responses]))
        return name

    @rule(link=links)
    def a_link_closes(self, link: str) -> None:
        self.closes(link)

    def closes(self, link: str, *, keeps: CallName | None = None) -> None:
        self.connected.discard(link)
        self.do(self.messages.link_closed(link))
        for name in [each for each in self.responses if each.link == link and each != keeps]:
            del self.responses[name]

    # ── the hub, and time ─────────────────────────────────────────────────────────────────────────

    @rule(data=st.data())
    def the_hub_restarts(self, data: st.DataObject) -> None:
        self.do(self.kill())
        self.do(self.start())
        back = data.draw(st.sets(links))
        for link in sorted(back):
            self.connect(link)
            mine = [each for each in self.responses if each.link == link]
            kept = {each for each in mine if data.draw(st.booleans())}
            repeated = {each.request for each in kept}
            self.do(self.messages.resumed(link, repeated=repeated))
            for name in {*mine} - kept:
                del self.responses[name]
        self.clock.advance(10.0)
        self.do(self.messages.links_absent(self.connected))
        for name in [each for each in self.responses if each.link not in back]:
            del self.responses[name]

    @rule(seconds=st.sampled_from([1.0, 600.0, EXPIRE_AFTER]), step=st.booleans())
    def time_passes(self, seconds: float, step: bool) -> None:
        """`step`: the clock is set, or the machine was suspended."""
        if step:
            self.clock.step(seconds)
            self.clock.advance(CHECK_SECONDS)
        else:
            self.clock.advance(seconds)
        now = self.clock.time()
        waiting = MessageState.WAITING
        self.do(self.until(lambda each: each.state is not waiting or now < each.expires_at))

    # ── always ────────────────────────────────────────────────────────────────────────────────────

    @invariant()
    def memory_and_file_agree(self) -> None:
        async def until_they_do() -> None:
            # A commit can be read a moment before its writer hears of it.
            while self.messages.waiting() != await self.store.open_messages():
                assert not self.running.done()
                await asyncio.sleep(0)

        self.do(until_they_do())

    @invariant()
    def nothing_is_lost_and_what_is_over_stays_so(self) -> None:
        held = {message_id for ids in self.responses.values() for message_id in ids}
        stored = {each.id: each for each in self.do(self.store.messages(limit=1_000))}
        for message_id, project in self.told.items():
            message = stored[message_id]
            assert message.project == project
            if message_id in held:
                assert message.state is MessageState.HANDED_OVER
            elif message_id in self.final:
                assert message.state is self.final[message_id]
            elif message.state is MessageState.EXPIRED:
                assert message.expires_at <= self.clock.time()
                self.final[message_id] = message.state
            else:
                assert message.state is MessageState.WAITING

    @invariant()
    def no_project_has_too_many(self) -> None:
        assert len(self.messages.waiting()) <= MAX_WAITING * 2


def test_whatever_happens_in_whatever_order(database: Database) -> None:
    class There(Messages):
        def __init__(self) -> None:
            super().__init__(database)

    examples = 15 if isinstance(database, SqliteFile) else 4
    run_state_machine_as_test(
        There,
        settings=settings(max_examples=examples, stateful_step_count=25, deadline=None),
    )
