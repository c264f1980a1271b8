"""Delivery: whatever fails in between, each channel ends up showing each ask's newest state."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from chatbridge.core.delivery.delivery import Delivery
from chatbridge.core.delivery.queue import MAX_PASSED_OVER
from chatbridge.core.errors import ChatRefused, RetryLater
from chatbridge.core.forms import form
from chatbridge.core.model import Ask, Question
from chatbridge.core.ports import Shown, Surface
from chatbridge.core.tasks import FIRST_PAUSE_SECONDS
from tests.fakes.chat import Chat
from tests.fakes.core_env import BLUE, COLOUR, OWNER, PATIENCE, World, name, request, world
from tests.fakes.disk import failing
from tests.fakes.inbox import more_time
from tests.telegram_asks import approval


@asynccontextmanager
async def serving(hub: World, *surfaces: Surface) -> AsyncIterator[None]:
    """Delivery to these surfaces, fed by the world's changes."""
    delivery = Delivery(hub.store, clock=hub.clock)

    async def feed() -> None:
        while True:
            delivery.changed(await hub.changes.get())

    ready = asyncio.Event()
    ready.set()
    tasks = [asyncio.ensure_future(delivery.serve(each, ready=ready)) for each in surfaces]
    tasks.append(asyncio.ensure_future(feed()))
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def shown(chat: Chat, ask: Ask) -> str:
    """Wait until the chat shows this revision, and the store knows; where."""
    async with asyncio.timeout(PATIENCE):
        while True:
            place, revision = await chat.shown.get()
            if revision >= ask.revision and chat.asks[place] == ask.id:
                return place


async def test_an_ask_is_posted_once_and_then_edited(tmp_path: Path) -> None:
    chat = Chat()
    async with world(tmp_path) as hub, serving(hub, chat):
        ask = await hub.ask()
        place = await shown(chat, ask)
        ended = await hub.inbox.answer(ask.id, BLUE, person=OWNER)
        assert await shown(chat, ended) == place
        assert list(chat.messages) == [place]


async def test_changes_that_come_faster_than_the_pace_become_one_edit(tmp_path: Path) -> None:
    chat = Chat(pace=1.0)
    async with world(tmp_path) as hub, serving(hub, chat):
        ask = await hub.ask(timeout=100.0)
        place = await shown(chat, ask)
        for _ in range(5):
            newest = await more_time(hub.inbox, ask.id, person=OWNER)
        hub.clock.advance(1)
        await shown(chat, newest)
        assert chat.messages[place] == [ask.revision, newest.revision]


async def test_a_page_is_told_of_many_ends_together(tmp_path: Path) -> None:
    page = Chat()
    page.persistent = False
    async with world(tmp_path) as hub:
        questions = [replace(COLOUR, text=f"Colour {number}?") for number in range(20)]
        asks = [await hub.ask(each, number=number) for number, each in enumerate(questions)]
        ended = [await hub.inbox.answer(ask.id, BLUE, person=OWNER) for ask in asks]
        delivery, ready = Delivery(hub.store, clock=hub.clock), asyncio.Event()
        ready.set()
        serving = asyncio.ensure_future(delivery.serve(page, ready=ready))
        await asyncio.sleep(0)
        for ask in ended:
            delivery.changed(ask)
        for _ in range(len(ended)):  # turns of the loop, fewer than one for each
            await asyncio.sleep(0)
        assert len(page.messages) == len(ended)
        serving.cancel()
        await asyncio.wait({serving})


async def test_a_card_that_was_long_on_its_way_delays_the_next_by_a_whole_pause(
    tmp_path: Path,
) -> None:
    """The service counts from when it had it, which may be the very end."""

    class Slow(Chat):
        async def show(self, ask: Ask, *, place: str | None) -> Shown:
            hub.clock.advance(0.9)
            return await super().show(ask, place=place)

    chat = Slow(pace=1.0)
    async with world(tmp_path) as hub, serving(hub, chat):
        await shown(chat, await hub.ask(number=1))
        second = await hub.ask(Question(id="q", text="And now?"), number=2)
        await asyncio.wait_for(hub.clock.until_asleep(1.0), PATIENCE)
        hub.clock.advance(1)
        await shown(chat, second)


async def test_what_comes_while_a_chat_is_refusing_has_it_tried_again_at_once(
    tmp_path: Path,
) -> None:
    """Somebody has let the bot in, just before it is told that it is not there."""

    class Door(Chat):
        async def show(self, ask: Ask, *, place: str | None) -> Shown:
            if not tried.is_set():
                tried.set()
                await let_in.wait()
                raise ChatRefused("the bot is not in the room")
            return await super().show(ask, place=place)

    tried, let_in, chat = asyncio.Event(), asyncio.Event(), Door()
    async with world(tmp_path) as hub, serving(hub, chat):
        ask = await hub.ask()
        await asyncio.wait_for(tried.wait(), PATIENCE)
        await hub.inbox.redraw(ask.id)
        while not hub.changes.empty():  # noqa: ASYNC110 - until delivery has heard of it
            await asyncio.sleep(0)
        let_in.set()
        await shown(chat, await hub.now(ask))


async def test_what_a_tap_changed_is_shown_before_new_questions_that_wait(tmp_path: Path) -> None:
    chat = Chat(pace=1.0)
    async with world(tmp_path) as hub, serving(hub, chat):
        first = await hub.ask(number=1)
        await shown(chat, first)
        for number in range(2, 6):
            await hub.ask(Question(id="q", text=f"Number {number}?"), number=number)
        ended = await hub.inbox.answer(first.id, BLUE, person=OWNER)
        hub.clock.advance(1)
        _, revision = await asyncio.wait_for(chat.shown.get(), PATIENCE)
        assert revision == ended.revision


# ── many agents at one surface ────────────────────────────────────────────────────────────────────


class Order(Chat):
    """A chat that takes one message a second, and notes which projects they are from."""

    def __init__(self) -> None:
        super().__init__(pace=1.0)
        self.projects: asyncio.Queue[str] = asyncio.Queue()

    async def show(self, ask: Ask, *, place: str | None) -> Shown:
        self.projects.put_nowait(ask.project.name)
        return await super().show(ask, place=place)

    async def next(self, hub: World, count: int) -> list[str]:
        """The projects of the next so many messages."""
        found = []
        async with asyncio.timeout(PATIENCE):
            for _ in range(count):
                await hub.clock.until_asleep(1.0)
                while not hub.changes.empty():  # noqa: ASYNC110 - until delivery has heard of it
                    await asyncio.sleep(0)
                while not self.projects.empty():
                    self.projects.get_nowait()
                hub.clock.advance(1.0)
                found.append(await self.projects.get())
        return found


async def asks_of(hub: World, project: str, count: int, *questions: Question) -> list[Ask]:
    """Several links of a project ask, each as much as it may."""
    made = []
    for number in range(count):
        own = questions or (Question(id="q", text=f"Number {number}?"),)
        asked = request(*own, project=project)
        made.append((await hub.broker.ask(asked, name(f"{project}-{number}")))[0])
    return made


async def test_an_approval_is_shown_next_though_another_project_has_eighty_questions(
    tmp_path: Path,
) -> None:
    chat = Order()
    async with world(tmp_path, max_open_asks=80) as hub, serving(hub, chat):
        await asks_of(hub, "/src/flood", 80)
        assert await chat.next(hub, 3) == ["flood"] * 3
        await asks_of(hub, "/src/shop", 1, approval())
        assert await chat.next(hub, 1) == ["shop"]


async def test_projects_take_turns_however_much_one_of_them_asks(tmp_path: Path) -> None:
    chat = Order()
    async with world(tmp_path, max_open_asks=80) as hub, serving(hub, chat):
        await asks_of(hub, "/src/flood", 80)
        await asks_of(hub, "/src/shop", 2)
        await asks_of(hub, "/src/blog", 2)
        assert sorted(await chat.next(hub, 3)) == ["blog", "flood", "shop"]
        assert sorted(await chat.next(hub, 3)) == ["blog", "flood", "shop"]


async def test_links_outside_of_any_project_have_one_turn_together(tmp_path: Path) -> None:
    chat = Order()
    async with world(tmp_path, max_open_asks=80) as hub, serving(hub, chat):
        for number in range(20):
            await asks_of(hub, f"link:{number}/made-up", 1)
        await asks_of(hub, "/src/shop", 1)
        assert "shop" in await chat.next(hub, 2)


async def test_approvals_without_end_do_not_keep_a_question_waiting_for_ever(
    tmp_path: Path,
) -> None:
    chat = Order()
    async with world(tmp_path, max_open_asks=80) as hub, serving(hub, chat):
        for number in range(20):
            await asks_of(hub, "/src/flood", 1, approval(f"make {number}"))
        await asks_of(hub, "/src/shop", 1)
        assert "shop" in await chat.next(hub, MAX_PASSED_OVER + 1)


async def test_an_agent_that_moves_its_own_deadline_does_not_go_before_others(
    tmp_path: Path,
) -> None:
    chat = Order()
    async with world(tmp_path) as hub, serving(hub, chat):
        (mine,) = await asks_of(hub, "/src/flood", 1)
        await shown(chat, mine)
        await asks_of(hub, "/src/shop", 1, approval())
        for number in range(5):
            asked = request(*mine.questions, project="/src/flood", timeout=400.0 + number)
            await hub.broker.ask(asked, name("/src/flood-0", 10 + number))
        assert await chat.next(hub, 1) == ["shop"]


async def test_what_a_person_is_filling_in_comes_before_approvals(tmp_path: Path) -> None:
    chat = Order()
    async with world(tmp_path) as hub, serving(hub, chat):
        (form_ask,) = await asks_of(hub, "/src/form", 1, COLOUR, Question(id="q", text="Why?"))
        await shown(chat, form_ask)
        await asks_of(hub, "/src/flood", 3, approval())
        await hub.inbox.put(form_ask.id, form.Choose(step=0, option=1), person=OWNER)
        assert await chat.next(hub, 2) == ["form", "flood"]


async def test_a_pause_that_the_service_asks_for_is_kept(tmp_path: Path) -> None:
    chat = Chat()
    chat.faults = [RetryLater("slow down", after=30.0)]
    async with world(tmp_path) as hub, serving(hub, chat):
        ask = await hub.ask()
        while chat.faults:
            await asyncio.wait_for(asyncio.sleep(0), PATIENCE)
        hub.clock.advance(29)
        assert chat.messages == {}
        hub.clock.advance(2)
        await shown(chat, ask)


async def test_a_card_that_was_deleted_is_posted_again_while_the_ask_is_open(
    tmp_path: Path,
) -> None:
    chat = Chat()
    async with world(tmp_path) as hub, serving(hub, chat):
        ask = await hub.ask()
        gone = await shown(chat, ask)
        del chat.messages[gone]
        chat.messages["another"] = []
        again = await shown(chat, await more_time(hub.inbox, ask.id, person=OWNER))
        assert again != gone


async def test_a_deleted_card_of_an_ask_that_has_ended_is_left_and_not_looked_for_again(
    tmp_path: Path,
) -> None:
    chat = Chat()
    async with world(tmp_path) as hub, serving(hub, chat):
        ask = await hub.ask()
        del chat.messages[await shown(chat, ask)]
        chat.messages["another"] = []
        await hub.inbox.cancel(ask.id, reason=None, person=OWNER)
        after = await hub.ask(Question(id="q", text="Second?"), number=2)
        place = await shown(chat, after)
        assert [*chat.messages] == ["another", place]
        behind = await hub.inbox.behind(surface=chat.name)
        assert ask.id not in [each.id for each in behind]


async def test_a_channel_that_breaks_is_tried_again_and_disturbs_no_other(tmp_path: Path) -> None:
    broken, sound = Chat(), Chat()
    sound.name = "other"
    broken.faults = [OSError("no route"), ValueError("a bug"), OSError("no route")]
    async with world(tmp_path) as hub, serving(hub, broken, sound):
        ask = await hub.ask()
        await shown(sound, ask)
        async with asyncio.timeout(PATIENCE):
            while broken.faults:
                hub.clock.advance(10)
                await asyncio.sleep(0)
            hub.clock.advance(60)
        await shown(broken, ask)


async def test_after_a_restart_what_was_missed_is_shown_and_nothing_twice(tmp_path: Path) -> None:
    chat = Chat()
    async with world(tmp_path) as hub:
        async with serving(hub, chat):
            seen = await hub.ask(number=1)
            await shown(chat, seen)
            until_noted = await hub.ask(Question(id="q", text="Second?"), number=2)
            await shown(chat, until_noted)
            async with asyncio.timeout(PATIENCE):
                while await hub.store.behind(surface="chat", since=0.0):
                    pass  # the post is noted after it was sent
        ended = await hub.inbox.answer(seen.id, BLUE, person=OWNER)
        missed = await hub.ask(Question(id="q", text="Third?"), number=3)
    async with world(tmp_path, hub.clock) as after, serving(after, chat):
        await shown(chat, ended)
        await shown(chat, missed)
        assert sorted(chat.asks.values()) == sorted([seen.id, until_noted.id, missed.id])


async def test_a_send_with_an_unknown_effect_leaves_a_card_that_works(tmp_path: Path) -> None:
    chat = Chat()
    chat.lose_response = True
    async with world(tmp_path) as hub, serving(hub, chat):
        ask = await hub.ask()
        first = await shown(chat, ask)
        async with asyncio.timeout(PATIENCE):
            while len(chat.messages) < 2:
                hub.clock.advance(1)
                await asyncio.sleep(0)
        assert {chat.asks[first]} == set(chat.asks.values()) == {ask.id}


async def test_what_was_sent_but_not_noted_is_not_sent_again_where_delivery_is_begun_again(
    tmp_path: Path,
) -> None:
    chat, ready = Chat(), asyncio.Event()
    ready.set()
    async with world(tmp_path) as hub:
        ask = await hub.ask()
        delivery = Delivery(hub.store, clock=hub.clock)
        async with asyncio.timeout(PATIENCE):
            async with failing(tmp_path, "posts"):
                serving = asyncio.ensure_future(delivery.serve(chat, ready=ready))
                await hub.clock.until_asleep(FIRST_PAUSE_SECONDS)
                serving.cancel()
                await asyncio.wait({serving})
            serving = asyncio.ensure_future(delivery.serve(chat, ready=ready))
            while not await hub.store.surfaces_of(ask.id):
                hub.clock.advance(1.0)
            serving.cancel()
            await asyncio.wait({serving})
        assert len(chat.messages) == 1


async def test_an_ask_that_ended_before_anybody_saw_it_is_not_posted(tmp_path: Path) -> None:
    chat = Chat()
    async with world(tmp_path) as hub:
        unseen = await hub.ask(number=1)
        await hub.inbox.cancel(unseen.id, reason=None, person=OWNER)
        async with serving(hub, chat):
            ask = await hub.ask(Question(id="q", text="Second?"), number=2)
            await shown(chat, ask)
        assert unseen.id not in chat.asks.values()


async def test_that_a_page_shows_it_is_noted_once_the_disk_takes_it(tmp_path: Path) -> None:
    page = Chat()
    page.persistent = False
    async with world(tmp_path) as hub, serving(hub, page):
        async with failing(tmp_path, "posts"):
            ask = await hub.ask()
            await shown(page, ask)
            assert await hub.store.surfaces_of(ask.id) == []
        async with asyncio.timeout(PATIENCE):
            while not await hub.store.surfaces_of(ask.id):
                hub.clock.advance(1.0)
