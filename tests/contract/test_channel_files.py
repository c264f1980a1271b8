"""What every chat promises about the files of questions and notices.

A chat that takes no files fails here: each of ours does.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
import pytest_asyncio

from chatbridge.channels.chat.attachments import WITHIN
from chatbridge.channels.chat.capabilities import Files
from chatbridge.channels.chat.document import File, Upload
from chatbridge.channels.chat.scene import CardRequest
from chatbridge.channels.chat.surface import ChatSurface
from chatbridge.channels.chat.writer import MessageRejected, Outgoing, Sent
from chatbridge.core.errors import RetryLater
from chatbridge.core.forms import form
from chatbridge.core.model import Ask, Attachment, Level
from tests.contract.drivers import CHATS, DRIVERS, Driver
from tests.fakes.clock import StillClock
from tests.fakes.inbox import SELECT
from tests.fakes.sample_files import BROKEN

pytestmark = pytest.mark.asyncio(loop_scope="module")

IN_THE_INBOX = "could not be sent here; it is in the inbox."


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=CHATS)
async def running_driver(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Driver]:
    async with DRIVERS[request.param](tmp_path_factory.mktemp("chat"), request) as found:
        yield found


class Service:
    """The way to the chat's service, which can be slow and refuse."""

    def __init__(self, chat: ChatSurface[Any]) -> None:
        self.chat = chat
        self.out: list[Outgoing[Any]] = []
        """What has arrived, the oldest first."""
        self.tries = 0
        """Of uploads."""
        self.tried = asyncio.Event()
        self.refuses: Callable[[Upload], Exception | None] = lambda _: None
        self.answers = asyncio.Event()
        self.answers.set()
        self.down = 0
        """How many messages of any kind get lost."""
        self.loses_card = False
        """Once."""
        self.lost = asyncio.Event()
        self._send: Callable[[Outgoing[Any]], Awaitable[Sent]] = chat.send

    async def send(self, new: Outgoing[Any]) -> Sent:
        if self.down:
            self.down -= 1
            raise RetryLater("the network is down")
        if isinstance(new.what, Upload):
            self.tries += 1
            self.tried.set()
            if error := self.refuses(new.what):
                raise error
            await self.answers.wait()
        elif new.card and self.loses_card:
            self.loses_card = False
            self.lost.set()
            raise RetryLater("the network is down")
        sent = await self._send(new)
        self.out.append(new)
        return sent

    @property
    def limits(self) -> Files:
        assert self.chat.files is not None
        return self.chat.files

    @property
    def uploads(self) -> list[Upload]:
        return [new.what for new in self.out if isinstance(new.what, Upload)]

    @property
    def files(self) -> list[File]:
        return [file for upload in self.uploads for file in upload.files]


@pytest_asyncio.fixture(loop_scope="module")
async def service(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> Service:
    (chat,) = driver.channel.surfaces
    assert isinstance(chat, ChatSurface)
    found = Service(chat)
    monkeypatch.setattr(chat, "send", found.send)
    return found


async def passing(driver: Driver, there: Callable[[], bool]) -> None:
    """Let time pass until this is so."""
    assert isinstance(driver.desk.clock, StillClock)
    async with asyncio.timeout(20):
        while not there():
            driver.desk.clock.advance(1.0)
            await asyncio.sleep(0.02)


async def ask_with(driver: Driver, *files: Attachment) -> Ask:
    return await driver.desk.ask(SELECT, attachments=files)


# ── questions ─────────────────────────────────────────────────────────────────────────────────────


async def test_pictures_of_options_come_above_the_card_with_the_numbers_of_its_buttons(
    driver: Driver, service: Service
) -> None:
    stored = driver.desk.files
    first, second = [
        replace(option, image=await stored.picture(f"{number}.png"))
        for number, option in enumerate(SELECT.options)
    ]
    last = await stored.picture("now.png", caption="How it looks now")
    ask = await driver.desk.ask(replace(SELECT, options=(first, second)), attachments=(last,))
    shown = await driver.shown(ask)
    captions = ["1 · PostgreSQL in Docker", "2 · SQLite", "How it looks now"]
    assert [file.caption for file in service.files] == captions
    assert all(file.size == (40, 30) and file.type == "image/png" for file in service.files)
    assert all(len(upload.files) <= service.limits.album for upload in service.uploads)
    assert len(service.uploads) == -(-3 // service.limits.album)
    assert isinstance(service.out[0].what, Upload)
    assert not isinstance(service.out[-1].what, Upload)
    assert "3 pictures" in shown
    assert "in the inbox" not in shown


async def test_two_options_with_the_same_picture_have_one_each(
    driver: Driver, service: Service
) -> None:
    image = await driver.desk.files.picture("same.png", size=(11, 11))
    options = tuple(replace(option, image=image) for option in SELECT.options)
    await driver.shown(await driver.desk.ask(replace(SELECT, options=options)))
    captions = ["1 · PostgreSQL in Docker", "2 · SQLite"]
    assert [file.caption for file in service.files] == captions


async def test_a_fault_of_the_store_does_not_hold_up_the_question(
    driver: Driver, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def path(_: Attachment) -> str:
        raise OSError("the disk is gone")

    log = await driver.desk.files.text("d.log", "d")
    monkeypatch.setattr(driver.desk.files, "path", path)
    shown = await driver.shown(await ask_with(driver, log))
    assert "d.log" in shown
    assert IN_THE_INBOX in shown


async def test_a_text_comes_as_a_file_and_the_card_shows_how_it_begins(
    driver: Driver, service: Service
) -> None:
    log = await driver.desk.files.text(
        "build.log", "first line\nsecond line\n", caption="All of it"
    )
    shown = await driver.shown(await ask_with(driver, log))
    (file,) = service.files
    assert (file.name, file.caption, file.size) == ("build.log", "All of it", None)
    assert "📎 " in shown
    assert "1 file (build.log, 23 bytes)" in shown
    assert "second line" in shown


async def test_a_picture_that_is_refused_comes_as_a_file(driver: Driver, service: Service) -> None:
    picture = await driver.desk.files.picture("wide.png", size=(300, 2))

    def refuses(upload: Upload) -> Exception | None:
        return MessageRejected("too wide") if upload.files[0].size else None

    service.refuses = refuses
    shown = await driver.shown(await ask_with(driver, picture))
    (file,) = service.files
    assert file.path == driver.desk.files.path(picture)
    assert "in the inbox" not in shown


async def test_what_only_looks_like_a_picture_comes_as_a_file(
    driver: Driver, service: Service
) -> None:
    stored = driver.desk.files
    broken = await stored.sample(BROKEN, name="half.png")
    assert await stored.preview(broken) is None
    shown = await driver.shown(await ask_with(driver, broken))
    (file,) = service.files
    assert (file.path, file.size) == (stored.path(broken), None)
    assert "in the inbox" not in shown


@pytest.mark.parametrize(
    "error",
    [MessageRejected("no"), RetryLater("cut"), OSError("no such file"), ValueError("a fault")],
    ids=["refused", "cut off", "unreadable", "broken"],
)
async def test_a_file_that_cannot_be_sent_is_named_and_the_question_is_there(
    driver: Driver, service: Service, error: Exception
) -> None:
    stored = driver.desk.files
    log, plan = [await stored.text(name, f"{name} {error}") for name in ("a.log", "plan.txt")]

    def refuses(upload: Upload) -> Exception | None:
        return error if any(file.name == "a.log" for file in upload.files) else None

    service.refuses = refuses
    ask = await ask_with(driver, log, plan)
    shown = await driver.shown(ask)
    assert SELECT.text in shown
    assert "a.log" in shown
    assert "in the inbox" in shown
    tries = service.tries
    await driver.tap(ask, form.AskExplain(step=0))
    await driver.tap(ask, form.Back(step=1))
    shown = await driver.shown(await driver.desk.inbox.ask(ask.id))
    assert "in the inbox" in shown
    assert service.tries == tries


async def test_a_file_that_is_no_longer_kept_is_named(driver: Driver, service: Service) -> None:
    picture = await driver.desk.files.picture("gone.png", size=(9, 9))
    driver.desk.files.remove(picture)
    shown = await driver.shown(await ask_with(driver, picture))
    assert "gone.png" in shown
    assert IN_THE_INBOX in shown


async def test_a_slow_upload_does_not_hold_up_the_question(
    driver: Driver, service: Service
) -> None:
    service.answers.clear()
    ask = await ask_with(driver, await driver.desk.files.text("slow.log", "slow"))
    shown = await slowly(driver, ask, service.tried)
    assert SELECT.text in shown
    assert "slow.log" in shown
    assert IN_THE_INBOX in shown
    assert service.tries == 1


async def test_a_picture_that_takes_long_to_shrink_does_not_hold_up_the_question(
    driver: Driver, service: Service
) -> None:
    stored = driver.desk.files
    bomb = await stored.picture("bomb.png", size=(7, 7))
    stored.ready.clear()
    stored.wanted.clear()
    try:
        shown = await slowly(driver, await ask_with(driver, bomb), stored.wanted)
    finally:
        stored.ready.set()
    assert SELECT.text in shown
    assert IN_THE_INBOX in shown


async def test_with_the_network_down_everything_is_tried_again(
    driver: Driver, service: Service
) -> None:
    service.down = 2
    ask = await ask_with(driver, await driver.desk.files.text("later.log", "later"))
    await passing(driver, lambda: service.tries == 1)
    shown = await driver.shown(ask)
    assert [file.name for file in service.files] == ["later.log"]
    assert "in the inbox" not in shown


async def test_a_pause_that_the_service_asks_for_is_kept(driver: Driver, service: Service) -> None:
    pauses = [RetryLater("slow down", after=2.0)]
    service.refuses = lambda _: pauses.pop() if pauses else None
    ask = await ask_with(driver, await driver.desk.files.text("paced.log", "paced"))
    await passing(driver, lambda: service.tries == 2)
    shown = await driver.shown(ask)
    assert [file.name for file in service.files] == ["paced.log"]
    assert "in the inbox" not in shown


async def test_a_card_that_comes_again_does_not_bring_its_files_again(
    driver: Driver, service: Service
) -> None:
    ask = await ask_with(driver, await driver.desk.files.text("once.log", "once"))
    await driver.shown(ask)
    service.chat.requests[ask.id] = CardRequest(repost=True)
    await driver.desk.inbox.redraw(ask.id)
    again = await driver.desk.inbox.ask(ask.id)
    assert "once.log" in await driver.shown(again)
    cards = [new for new in service.out if new.card]
    assert len(cards) == 2
    assert len(service.files) == 1


async def test_files_that_are_out_wait_for_their_card(driver: Driver, service: Service) -> None:
    service.loses_card = True
    ask = await ask_with(driver, await driver.desk.files.text("first.log", "first"))
    await service.lost.wait()
    await passing(driver, lambda: any(new.card for new in service.out))
    assert "in the inbox" not in await driver.shown(ask)
    assert [file.name for file in service.files] == ["first.log"]


async def test_after_a_crash_files_come_again_as_the_same_ones(
    driver: Driver, service: Service
) -> None:
    """Where the service knows their keys, they come once."""
    service.loses_card = True
    ask = await ask_with(driver, await driver.desk.files.text("crash.log", "crash"))
    await service.lost.wait()
    service.chat.memory.uploads.clear()
    await passing(driver, lambda: service.tries == 2)
    assert "in the inbox" not in await driver.shown(ask)
    first, second = (new.key for new in service.out if isinstance(new.what, Upload))
    assert first == second


# ── pictures that are shown smaller ───────────────────────────────────────────────────────────────


async def test_the_originals_of_shrunk_pictures_come_on_a_tap(
    driver: Driver, service: Service
) -> None:
    large, small = await driver.desk.files.picture("large.png", size=(2_000, 1_000)), (40, 30)
    both = (large, await driver.desk.files.picture("small.png", size=small))
    ask = await ask_with(driver, *both)
    shown = await driver.shown(ask)
    assert [file.size for file in service.files] == [(1_568, 784), small]
    told = await driver.press("Originals") if "Originals" in shown else None
    assert (told is None) == (driver.channel.name == "matrix"), "which has no buttons"
    if told is not None:
        assert told == "They come as files."
        await arrived(lambda: service.uploads[-1].files[0].size is None)
        (file,) = service.uploads[-1].files
        assert file.path == driver.desk.files.path(large)


async def test_an_original_that_is_too_large_for_the_chat_is_in_the_inbox(
    driver: Driver, service: Service
) -> None:
    picture = await driver.desk.files.picture("huge.png", size=(2_000, 1_001))
    shown = await driver.shown(await ask_with(driver, replace(picture, size=10**12)))
    assert "in the inbox" not in shown
    if "Originals" in shown:
        assert not await driver.press("Originals"), "no file comes"
        await arrived(lambda: IN_THE_INBOX in str(service.out[-1].what))
        assert "huge.png" in str(service.out[-1].what)


async def test_originals_that_are_gone_are_not_promised(
    driver: Driver, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    picture = await driver.desk.files.picture("large.png", size=(300, 202))
    shown = await driver.shown(await ask_with(driver, picture))

    async def none(_: Attachment) -> None:
        return None

    monkeypatch.setattr(driver.desk.files, "preview", none)
    if "Originals" in shown:
        assert await driver.press("Originals") == "These pictures are no longer kept."


# ── notices ───────────────────────────────────────────────────────────────────────────────────────


async def test_the_files_of_a_notice_come_below_it(driver: Driver, service: Service) -> None:
    log = await driver.desk.files.text("nightly.log", "all green\n")
    notice = await driver.desk.notify("It is done", level=Level.WARNING, attachments=(log,))
    assert await driver.desk.shown_on(notice)
    said, upload = service.out
    assert isinstance(upload.what, Upload)
    assert not isinstance(said.what, Upload)
    assert upload.root
    assert "nightly.log" in str(said.what.text)
    assert "all green" in str(said.what.text)


async def test_a_notice_says_which_file_could_not_be_sent(driver: Driver, service: Service) -> None:
    service.refuses = lambda _: MessageRejected("no")
    log = await driver.desk.files.text("refused.log", "refused\n")
    notice = await driver.desk.notify("The run is over", level=Level.WARNING, attachments=(log,))
    assert await driver.desk.shown_on(notice)
    _, told = service.out
    assert "refused.log" in str(told.what)
    assert IN_THE_INBOX in str(told.what)
    assert told.root


async def arrived(there: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not there():  # noqa: ASYNC110 - it is in the service
            await asyncio.sleep(0.002)


async def slowly(driver: Driver, ask: Ask, begun: asyncio.Event) -> str:
    """What is shown once a card has waited for its files as long as it does."""
    assert isinstance(driver.desk.clock, StillClock)
    async with asyncio.timeout(20):
        await begun.wait()
    driver.desk.clock.advance(WITHIN)
    return await driver.shown(ask)
