"""Notices: kept first, shown once on each surface, later if not now, and honest about it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from chatbridge.channels.registry import BUILT_IN
from chatbridge.core.delivery.delivery import Delivery
from chatbridge.core.delivery.notices import MAX_NOTICES_PER_MINUTE, Notices
from chatbridge.core.delivery.queue import MAX_PASSED_OVER, RateLimit
from chatbridge.core.errors import RetryLater, ToolInputError, TooManyNotices
from chatbridge.core.model import Agent, CallName, Level, Project
from chatbridge.hub.wiring.channel_supervisor import ChannelSupervisor
from chatbridge.tools.call import Peer, ToolCall
from chatbridge.tools.notify_user import NotifyUser
from tests.contract.asks import an_ask
from tests.fakes.chat import Chat
from tests.fakes.clock import StillClock
from tests.fakes.core_env import PATIENCE, World, world
from tests.fakes.disk import failing

UNWATCHED = {spec.name: spec.unwatched for spec in BUILT_IN}
SHOP = Project(key="/src/shop", name="shop")
CLAUDE = Peer(agent=Agent(client="claude-code", name="Claude Code"))


class Desk:
    """The tool as the hub has it, with pretend chats as channels."""

    def __init__(self, hub: World, *chats: Chat) -> None:
        self.delivery = Delivery(hub.store, clock=hub.clock)
        self.line_up = ChannelSupervisor(self.delivery, clock=hub.clock)
        for chat in chats:
            build = lambda chat=chat: chat  # noqa: E731
            self.line_up.add(chat.name, build, unwatched=UNWATCHED.get(chat.name))
        self.notices = Notices(hub.store, self.delivery, clock=hub.clock)
        self._tool = NotifyUser(self.notices, self.line_up)
        self._hub = hub

    async def send(self, message: str, number: int) -> None:
        """Without a word about where it has come."""
        name = CallName(link="link-1", request=str(number))
        await self.notices.send(name, project=SHOP, agent=CLAUDE.agent, message=message)

    async def notify(self, message: str, number: int = 1, **more: Any) -> dict[str, Any]:
        call = ToolCall(
            name=CallName(link="link-1", request=str(number)),
            id="call",
            project=SHOP,
            peer=CLAUDE,
            report=None,
            clock=self._hub.clock,
        )
        result = await self._tool.run({"message": message, **more}, call)
        text = result.content[0].text  # type: ignore[union-attr]
        assert json.loads(text) == result.structured_content
        assert not result.is_error
        return dict(json.loads(text))


@asynccontextmanager
async def desk(path: Path, *chats: Chat, clock: StillClock | None = None) -> AsyncIterator[Desk]:
    async with world(path, clock) as hub:
        opened = Desk(hub, *chats)
        running = asyncio.ensure_future(opened.line_up.run(hub.inbox))
        try:
            async with asyncio.timeout(PATIENCE):
                await opened.line_up.drained()  # they are up
            yield opened
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


def chat(name: str) -> Chat:
    made = Chat()
    made.name = name
    return made


async def test_a_notice_reaches_every_channel_and_the_result_says_which(tmp_path: Path) -> None:
    telegram, matrix = chat("telegram"), chat("matrix")
    async with desk(tmp_path, telegram, matrix) as here:
        told = await here.notify("It is **done**.", title=" Build ", level="error")
    assert told == {"sent": ["telegram", "matrix"], "waiting": []}
    (seen,) = telegram.notices
    assert (seen.message, seen.title, seen.level) == ("It is **done**.", "Build", Level.ERROR)
    assert (seen.project.name, seen.agent.name) == ("shop", "Claude Code")
    assert matrix.notices == [seen]


async def test_a_long_run_of_hidden_characters_in_a_notice_is_counted(tmp_path: Path) -> None:
    async with world(tmp_path) as hub:
        desk = Desk(hub)
        await desk.notify("Done" + "\u200b" * 9_000, title="a\u202eb")
        (notice,) = await hub.store.notices(since=0.0, limit=10)
        assert (notice.title, notice.message) == ("a\u202eb", "Done⟨U+200B ×9000⟩")


async def test_a_repeated_call_is_the_same_notice(tmp_path: Path) -> None:
    telegram = chat("telegram")
    async with desk(tmp_path, telegram) as here:
        for _ in range(3):
            assert await here.notify("done") == {"sent": ["telegram"], "waiting": []}
        await here.notify("done", number=2)
    assert len(telegram.notices) == 2


async def test_with_the_network_down_the_call_returns_and_the_notice_comes_later(
    tmp_path: Path,
) -> None:
    telegram, clock = chat("telegram"), StillClock()
    telegram.faults = [RetryLater("telegram cannot be reached")]
    async with desk(tmp_path, telegram, clock=clock) as here:
        told = await here.notify("done")
        assert (told["sent"], told["waiting"]) == ([], ["telegram"])
        assert told["delivery"].startswith("Nobody could be reached")
        assert not telegram.notices
        async with asyncio.timeout(PATIENCE):
            while not telegram.notices:
                clock.advance(1.0)
                await asyncio.sleep(0)
        assert (await here.notify("done")) == {"sent": ["telegram"], "waiting": []}
    assert len(telegram.notices) == 1


async def test_a_notice_that_a_dead_hub_had_not_sent_is_sent_by_the_next_one_once(
    tmp_path: Path,
) -> None:
    clock, down, up = StillClock(), chat("telegram"), chat("telegram")
    down.faults = [RetryLater("telegram cannot be reached", after=1e6)]
    async with desk(tmp_path, down, clock=clock) as here:
        await here.notify("done")
    for _ in range(2):
        async with desk(tmp_path, up, clock=clock) as here, asyncio.timeout(PATIENCE):
            while (await here.notify("done"))["sent"] != ["telegram"]:
                pass  # the hub has not looked yet what was left undone
    assert [notice.message for notice in up.notices] == ["done"]


async def test_with_a_full_disk_a_notice_that_is_out_does_not_come_again(tmp_path: Path) -> None:
    telegram, clock = chat("telegram"), StillClock()
    async with desk(tmp_path, telegram, clock=clock) as here:
        async with failing(tmp_path, "notice_posts"):
            assert (await here.notify("done", level="error"))["sent"] == []
            assert len(telegram.notices) == 1
        async with asyncio.timeout(PATIENCE):
            while (await here.notify("done", level="error"))["sent"] != ["telegram"]:
                clock.advance(1.0)
    assert len(telegram.notices) == 1


async def test_one_that_cannot_be_shown_does_not_keep_the_others(tmp_path: Path) -> None:
    telegram = chat("telegram")
    async with desk(tmp_path, telegram) as here:
        # While it looks what was left undone, it may come to one by both ways, and try it twice.
        await here.notify("first")
        telegram.faults = [ValueError("this one is odd")]
        assert (await here.notify("odd", number=2))["sent"] == []
        assert (await here.notify("fine", number=3))["sent"] == ["telegram"]
    assert [notice.message for notice in telegram.notices] == ["first", "fine"]


async def test_nobody_waits_for_a_surface_that_has_ended(tmp_path: Path) -> None:
    async with world(tmp_path) as hub:
        delivery = Delivery(hub.store, clock=hub.clock)
        ended = chat("telegram")
        serving = asyncio.create_task(delivery.serve(ended, ready=asyncio.Event()))
        await asyncio.sleep(0)
        notice = await Notices(hub.store, delivery, clock=hub.clock).send(
            CallName(link="link-1", request="1"), project=SHOP, agent=CLAUDE.agent, message="hi"
        )
        waiting = asyncio.create_task(delivery.tried(notice.id))
        await asyncio.sleep(0)
        assert not waiting.done()
        serving.cancel()
        async with asyncio.timeout(PATIENCE):
            await waiting


async def test_a_notice_has_its_turn_though_there_are_always_questions_to_show(
    tmp_path: Path,
) -> None:
    telegram, clock = chat("telegram"), StillClock()
    telegram.pace = RateLimit(message=1.0, edit=1.0)
    async with desk(tmp_path, telegram, clock=clock) as here:
        for _ in range(3 * MAX_PASSED_OVER):
            here.delivery.changed(an_ask())
        for number in range(2):
            await here.send(f"done {number}", number)
        async with asyncio.timeout(PATIENCE):
            while len(telegram.notices) < 2:
                clock.advance(1.0)
                await asyncio.sleep(0)
        assert 2 * MAX_PASSED_OVER <= len(telegram.messages) < 3 * MAX_PASSED_OVER


async def test_a_page_that_nobody_looks_at_has_reached_nobody(tmp_path: Path) -> None:
    web = chat("web")
    web.somebody_looks = False
    async with desk(tmp_path, web) as here:
        told = await here.notify("done")
    assert told["sent"] == []
    assert told["delivery"] == "Nobody could be reached. Web inbox: no page was open."


async def test_an_agent_that_tells_too_much_is_stopped_and_may_go_on_later(tmp_path: Path) -> None:
    telegram, clock = chat("telegram"), StillClock()
    async with desk(tmp_path, telegram, clock=clock) as here:
        for number in range(MAX_NOTICES_PER_MINUTE):
            await here.notify(f"step {number}", number=number)
        with pytest.raises(TooManyNotices, match=r"^this agent has sent 20 notices"):
            await here.notify("one more step", number=99)
        assert (await here.notify("step 0", number=0))["sent"] == ["telegram"]  # a repeated call
        clock.advance(61)
        assert (await here.notify("one more step", number=99))["sent"] == ["telegram"]
    assert len(telegram.notices) == MAX_NOTICES_PER_MINUTE + 1


async def test_who_told_much_may_go_on_though_the_clock_is_set_back(tmp_path: Path) -> None:
    telegram, clock = chat("telegram"), StillClock()
    async with desk(tmp_path, telegram, clock=clock) as here:
        for number in range(MAX_NOTICES_PER_MINUTE):
            await here.notify(f"step {number}", number=number)
        clock.advance(61)
        clock.step(-3600)
        assert (await here.notify("one more step", number=99))["sent"] == ["telegram"]


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({}, "message"),
        ({"message": " \n"}, "message"),
        ({"message": "x" * 10_001}, "message"),
        ({"message": 1}, "message"),
        ({"message": "x", "title": "y" * 101}, "title"),
        ({"message": "x", "level": "loud"}, "level"),
    ],
)
async def test_bad_arguments_are_refused_with_their_path_and_nothing_is_sent(
    tmp_path: Path, given: dict[str, Any], path: str
) -> None:
    telegram = chat("telegram")
    async with desk(tmp_path, telegram) as here:
        with pytest.raises(ToolInputError) as refused:
            await here.notify(**{"message": None, **given})
        assert f"\n{path}: given " in str(refused.value)
        assert str(refused.value).startswith("Validation error: ")
    assert not telegram.notices
