"""Whether anybody can have seen a question: Telegram and the web inbox, up, down and late."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from chatbridge.core.asks.reach import Reach
from chatbridge.core.delivery.delivery import Delivery
from chatbridge.core.errors import StoreError
from chatbridge.core.model import Ask
from chatbridge.hub.wiring.channel_supervisor import ON_ITS_WAY_SECONDS, ChannelSupervisor
from chatbridge.tools.waiting import Waiting
from tests.fakes.clock import StillClock
from tests.fakes.core_env import BLUE, OWNER, world
from tests.fakes.telegram_hub import PATIENCE, Scene, TelegramHub
from tests.fakes.web import visitor


async def reach(hub: TelegramHub, ask: Ask) -> Reach:
    names = ["web", f"telegram:{hub.chat.id}"]
    posts = [await hub.desk.inbox.post(ask.id, surface=name) for name in names]
    return hub.line_up.reach([post.surface for post in posts if post], since=ask.created_at)


@asynccontextmanager
async def page(hub: TelegramHub, *, person: bool = True) -> AsyncIterator[None]:
    """An open inbox: a person's browser, or a script with the token."""
    address = str(hub.web.base_url).rstrip("/")
    async with visitor(address, {"Origin": address}) as browser:
        code = (await hub.web.post("/api/login-codes")).json()["code"]
        assert (await browser.post("/login", data={"code": code})).status_code == 303
        reader = browser if person else hub.web
        async with reader.stream("GET", "/api/events") as events:
            async for _ in events.aiter_lines():
                yield
                return


async def until_seen(hub: TelegramHub, ask: Ask) -> Reach:
    async with asyncio.timeout(PATIENCE):
        while not (found := await reach(hub, ask)).shown:
            hub.clock.advance(0.0)
            await asyncio.sleep(0.002)
    return found


async def test_a_question_that_is_on_the_phone_has_reached_somebody_also_for_the_next_hub(
    scene: Scene,
) -> None:
    async with scene.hub() as hub:
        ask = await hub.ask()
        await hub.until_noted(ask)
        found = await reach(hub, ask)
        assert found.nobody is None
        assert found.places == "Telegram"
    scene.api.go_down()
    async with scene.hub(up=False) as hub:
        hub.clock.advance(ON_ITS_WAY_SECONDS)
        assert (await reach(hub, ask)).nobody is None


async def test_while_telegram_is_down_and_no_page_is_open_nobody_is_reached_and_it_says_why(
    scene: Scene,
) -> None:
    async with scene.hub() as hub:
        scene.api.go_down()
        ask = await hub.ask()
        await hub.until(lambda: hub.trouble, step=0.5)
        hub.clock.advance(ON_ITS_WAY_SECONDS)
        found = await reach(hub, ask)
        assert not found.coming
        said = found.nobody
        assert said
        assert said.startswith("Nobody could be reached. ")
        assert "Telegram: " in said
        assert "Web inbox: no page was open" in said
        scene.api.come_back()
        await hub.in_time(hub.sees())
        assert (await hub.in_time(until_seen(hub, ask))).nobody is None


async def test_of_a_question_that_was_asked_just_now_nothing_is_said(scene: Scene) -> None:
    async with scene.hub() as hub:
        hold = scene.api.hold("sendMessage")
        ask = await hub.ask()
        assert (await reach(hub, ask)).nobody is None
        hub.clock.advance(ON_ITS_WAY_SECONDS)
        found = await reach(hub, ask)
        assert found.nobody
        assert "Telegram: not shown yet" in found.nobody
        assert found.coming
        hold.release()


async def test_a_page_that_is_opened_later_has_reached_somebody_and_a_script_that_reads_has_not(
    scene: Scene,
) -> None:
    async with scene.hub() as hub:
        scene.api.go_down()
        ask = await hub.ask()
        hub.clock.advance(ON_ITS_WAY_SECONDS)
        async with page(hub, person=False):
            assert (await reach(hub, ask)).nobody
        async with page(hub):
            found = await until_seen(hub, ask)
            assert found.nobody is None
            assert found.places == "web inbox"
    async with scene.hub(up=False) as hub:
        assert (await reach(hub, ask)).nobody is None


async def test_a_page_that_is_open_when_a_question_comes_has_reached_somebody(
    scene: Scene,
) -> None:
    async with scene.hub() as hub:
        scene.api.go_down()
        async with page(hub):
            ask = await hub.ask()
            assert (await until_seen(hub, ask)).places == "web inbox"


async def test_without_a_channel_that_is_said_at_once(tmp_path: Path) -> None:
    clock = StillClock()
    async with world(tmp_path, clock) as hub:
        line_up = ChannelSupervisor(Delivery(hub.store, clock=clock), clock=clock)
        found = line_up.reach([], since=clock.time())
        assert found.nobody == "Nobody could be reached: no channel is set up."


async def test_a_store_that_cannot_be_read_withholds_no_answer(tmp_path: Path) -> None:
    async def fails(ask_id: str) -> Reach:
        raise StoreError("the disk is gone")

    async with world(tmp_path) as hub:
        found = await Waiting(hub.broker, fails).reach(await hub.ask())
        assert found.nobody is None
        assert found.places == ""


async def test_where_an_answered_question_was_shown_is_not_looked_up(tmp_path: Path) -> None:
    async def never(ask_id: str) -> Reach:
        raise AssertionError("an answer waited for the store")

    async with world(tmp_path) as hub:
        ask = await hub.ask()
        await hub.inbox.answer(ask.id, BLUE, person=OWNER)
        assert (await Waiting(hub.broker, never).reach(await hub.now(ask))).nobody is None
