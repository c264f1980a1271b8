"""How a hub keeps its channels up: when one that failed is tried again, and what is said of it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path

from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.errors import RetryLater, TokenRejected
from chatbridge.core.ports import Remark, Surface
from chatbridge.hub.process.background import Faults
from chatbridge.hub.wiring.channel_supervisor import MOST_REMARKS, ChannelSupervisor
from tests.fakes.chat import Chat
from tests.fakes.clock import StillClock
from tests.fakes.inbox import CONFIRM, open_desk

PATIENCE = 20.0
AWAY = RetryLater("it cannot be reached")
LIMITED = RetryLater("it asks for a pause", after=30.0)
REFUSED = TokenRejected("it refused the password", after=60.0)


@dataclass(frozen=True, slots=True)
class Try:
    fails_with: Exception
    works_before: bool = False


class Scripted:
    """A channel to nobody, which fails each time it is run as the script says."""

    name = "scripted"
    surfaces: Sequence[Surface] = ()
    remarks: Sequence[str] = ()
    trouble: str | None = None

    def __init__(self, script: list[Try]) -> None:
        self._script = script

    async def run(self, inbox: AskActions, *, ready: Callable[[], None]) -> None:
        this = self._script.pop(0)
        if this.works_before:
            ready()
        raise this.fails_with

    async def tell(self, remark: Remark) -> None: ...

    async def drain(self) -> None: ...


class Pauses(StillClock):
    """Notes how long everybody wants to sleep."""

    def __init__(self) -> None:
        super().__init__()
        self._asked: asyncio.Queue[float] = asyncio.Queue()

    def sleep(self, seconds: float) -> Coroutine[None, None, None]:
        self._asked.put_nowait(seconds)
        return super().sleep(seconds)

    async def next(self) -> float:
        async with asyncio.timeout(PATIENCE):
            return await self._asked.get()


async def tried(folder: Path, *script: Try) -> list[tuple[float, str | None]]:
    """After each of these tries: the pause before the next, and what is said to be the matter."""
    clock, left = Pauses(), list(script)
    async with open_desk(folder, clock=StillClock(), channel=Scripted([])) as desk:
        line_up = ChannelSupervisor(desk.delivery, clock=clock)
        line_up.add("scripted", lambda: Scripted(left))
        running = asyncio.create_task(line_up.run(desk.inbox))
        found = []
        try:
            for _ in script:
                pause = await clock.next()
                found.append((pause, line_up.troubles()["scripted"]))
                if left:
                    clock.advance(pause)
        finally:
            running.cancel()
            await asyncio.wait({running})
    return found


async def test_a_channel_that_is_away_is_tried_less_and_less_often_and_soon_once_it_has_worked(
    tmp_path: Path,
) -> None:
    outcomes = await tried(tmp_path, *[Try(AWAY)] * 8, Try(AWAY, works_before=True), Try(AWAY))
    assert [pause for pause, _ in outcomes] == [1, 2, 4, 8, 16, 32, 60, 60, 1, 2]


async def test_after_a_password_was_refused_the_next_try_is_a_minute_later_and_not_a_second(
    tmp_path: Path,
) -> None:
    script = [Try(REFUSED), Try(REFUSED), Try(REFUSED, works_before=True)]
    assert await tried(tmp_path, *script) == [(60.0, str(REFUSED))] * 3


async def test_a_pause_that_a_service_asks_for_is_kept_and_hides_nothing_that_is_the_matter(
    tmp_path: Path,
) -> None:
    away, limited, refused = str(AWAY), str(LIMITED), str(REFUSED)
    script = [Try(AWAY), Try(LIMITED), Try(REFUSED), Try(LIMITED)]
    expected = [(1.0, away), (30.0, away), (60.0, refused), (30.0, refused)]
    assert await tried(tmp_path, *script) == expected
    assert await tried(tmp_path, Try(LIMITED, works_before=True)) == [(30.0, limited)]


class Connecting(Scripted):
    """Never is ready."""

    def __init__(self) -> None:
        super().__init__([])

    async def run(self, inbox: AskActions, *, ready: Callable[[], None]) -> None:
        await asyncio.Event().wait()


class Listening(Scripted):
    """Works, and notes what it is to tell."""

    def __init__(self) -> None:
        super().__init__([])
        self.told: asyncio.Queue[str] = asyncio.Queue()

    async def run(self, inbox: AskActions, *, ready: Callable[[], None]) -> None:
        ready()
        await asyncio.Event().wait()

    async def tell(self, remark: Remark) -> None:
        self.told.put_nowait(remark.text)


async def test_that_pages_are_open_is_known_once_they_are_or_fail_while_a_chat_is_still_built(
    tmp_path: Path,
) -> None:
    page, begun, goes_on = Listening(), asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def late() -> Listening:
        loop.call_soon_threadsafe(begun.set)
        assert goes_on.wait(PATIENCE)
        return page

    async with open_desk(tmp_path, clock=StillClock(), channel=Scripted([])) as desk:
        line_up = ChannelSupervisor(desk.delivery, clock=StillClock())
        line_up.add("page", late, unwatched="no page is open")
        line_up.add("broken", lambda: Scripted([Try(AWAY)]), unwatched="it fails")
        line_up.add("chat", Connecting)
        running = asyncio.create_task(line_up.run(desk.inbox))
        opening = asyncio.create_task(line_up.pages_open())
        try:
            async with asyncio.timeout(PATIENCE):
                await begun.wait()
                assert not opening.done()
                goes_on.set()
                await opening
            assert line_up.troubles() == {"page": None, "broken": str(AWAY), "chat": None}
        finally:
            goes_on.set()
            running.cancel()
            await asyncio.wait({running})


async def test_what_agents_make_it_say_is_bounded_and_keeps_no_other_news_back(
    tmp_path: Path,
) -> None:
    channel = Listening()
    async with open_desk(tmp_path, clock=StillClock(), channel=channel) as desk:
        line_up = ChannelSupervisor(desk.delivery, clock=StillClock())
        line_up.add("listening", lambda: channel)
        remarks = [f"The agent in {number} has other settings." for number in range(30)]
        for remark in remarks:
            line_up.tell(remark)
        line_up.tell_again("Somebody new may answer.")
        running = asyncio.create_task(line_up.run(desk.inbox))
        try:
            async with asyncio.timeout(PATIENCE):
                told = [await channel.told.get() for _ in range(MOST_REMARKS + 1)]
            assert told == [*remarks[:MOST_REMARKS], "Somebody new may answer."]
        finally:
            running.cancel()
            await asyncio.wait({running})


class Stumbling(Chat):
    """Whoever brings it up to date meets a bug the first time."""

    @property
    def persistent(self) -> bool:  # type: ignore[override]
        self.looked = getattr(self, "looked", 0) + 1
        if self.looked == 1:
            raise KeyError("persistent")
        return True


class Lasting(Scripted):
    """Works, with one surface."""

    def __init__(self, surface: Surface) -> None:
        super().__init__([])
        self.surfaces = (surface,)
        self.told: asyncio.Queue[str] = asyncio.Queue()

    async def run(self, inbox: AskActions, *, ready: Callable[[], None]) -> None:
        ready()
        await asyncio.Event().wait()

    async def tell(self, remark: Remark) -> None:
        if remark.text == "odd":
            raise ValueError(remark.text)
        self.told.put_nowait(remark.text)


async def test_a_lane_that_meets_a_bug_is_begun_again_and_said_while_the_channel_goes_on(
    tmp_path: Path,
) -> None:
    clock, chat = StillClock(), Stumbling()
    channel, faults = Lasting(chat), Faults(clock=clock)  # type: ignore[arg-type]
    async with open_desk(tmp_path, clock=clock, channel=Scripted([])) as desk:
        ask = await desk.ask()
        line_up = ChannelSupervisor(desk.delivery, clock=clock, faults=faults)
        line_up.add("scripted", lambda: channel)
        running = asyncio.create_task(line_up.run(desk.inbox))
        try:
            async with asyncio.timeout(PATIENCE):
                line_up.tell_again("odd")
                line_up.tell_again("even")
                while chat.shown.empty() or channel.told.empty():
                    clock.advance(0.1)
                    await asyncio.sleep(0.001)
            place, _ = chat.shown.get_nowait()
            assert chat.asks[place] == ask.id
            assert channel.told.get_nowait() == "even"
            assert line_up.troubles() == {"scripted": None}
        finally:
            running.cancel()
            await asyncio.wait({running})
    lane, remarks = sorted(faults.listed())
    assert f"{chat.name} (KeyError, once" in lane
    assert "remarks to scripted (ValueError, once" in remarks


async def test_a_channel_that_ends_by_itself_is_begun_again_and_said(tmp_path: Path) -> None:
    class Ends(Scripted):
        async def run(self, inbox: AskActions, *, ready: Callable[[], None]) -> None:
            ready()

    clock = Pauses()
    async with open_desk(tmp_path, clock=StillClock(), channel=Scripted([])) as desk:
        line_up = ChannelSupervisor(desk.delivery, clock=clock)
        line_up.add("scripted", lambda: Ends([]))
        running = asyncio.create_task(line_up.run(desk.inbox))
        try:
            assert await clock.next() == 1.0
            assert line_up.troubles() == {"scripted": "scripted has ended, and is started again"}
        finally:
            running.cancel()
            await asyncio.wait({running})


class Chats(Listening):
    """Its chats come and go while it runs."""

    def __init__(self, *surfaces: Surface) -> None:
        super().__init__()
        self.surfaces = surfaces

    async def run(self, inbox: AskActions, *, ready: Callable[[], None]) -> None:
        self.changed = ready
        await super().run(inbox, ready=ready)


async def test_a_surface_that_comes_catches_up_and_one_that_goes_gets_nothing_more(
    tmp_path: Path,
) -> None:
    first, second = Chat(), Chat()
    first.name, second.name = "first", "second"
    channel = Chats(first)
    async with open_desk(tmp_path, clock=StillClock(), channel=Scripted([])) as desk:
        line_up = ChannelSupervisor(desk.delivery, clock=StillClock())
        line_up.add("chats", lambda: channel)
        running = asyncio.create_task(line_up.run(desk.inbox))
        try:
            async with asyncio.timeout(PATIENCE):
                ask = await desk.ask()
                await first.shown.get()
                channel.surfaces = (first, second)
                channel.changed()
                await second.shown.get()
                channel.surfaces = (second,)
                channel.changed()
                later = await desk.ask(CONFIRM)
                await second.shown.get()
        finally:
            running.cancel()
            await asyncio.wait({running})
    assert [*first.asks.values()] == [ask.id]
    assert [*second.asks.values()] == [ask.id, later.id]
