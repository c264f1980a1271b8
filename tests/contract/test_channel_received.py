"""What every chat promises about the files that people send.

A chat that hands over none fails here: each of ours does.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from chatbridge.core.forms import form
from chatbridge.core.model import Answer, Ask
from tests.contract.drivers import CHATS, DRIVERS, Driver
from tests.fakes.inbox import COMMAND, SELECT, TEXT
from tests.fakes.sample_files import png
from tests.fakes.sample_store import SampleStore

pytestmark = pytest.mark.asyncio(loop_scope="module")

PHOTO, SCREENSHOT = png(40, 30), png(30, 40)


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=CHATS)
async def running_driver(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Driver]:
    async with DRIVERS[request.param](tmp_path_factory.mktemp("chat"), request) as found:
        yield found


async def shown(driver: Driver, *questions: object) -> Ask:
    ask = await driver.desk.ask(*questions)  # type: ignore[arg-type]
    await driver.shown(ask)
    return ask


async def answer(driver: Driver, ask: Ask) -> Answer:
    ended = await driver.desk.inbox.ask(ask.id)
    assert ended.outcome is not None, ended.draft
    return ended.outcome.answers[0]


def contents(driver: Driver, given: Answer) -> list[bytes]:
    paths = [driver.desk.files.path(each) for each in given.attachments]
    return [Path(path).read_bytes() for path in paths if path is not None]


def told(driver: Driver, before: int) -> str:
    return "\n".join(text for text, _ in driver.heard()[before:])


async def test_a_photo_as_a_reply_answers_a_question_for_text(driver: Driver) -> None:
    ask, before = await shown(driver, TEXT), driver.fetched
    await driver.attach(ask, PHOTO, caption="this is the error")
    given = await answer(driver, ask)
    assert given.values == ("this is the error",)
    assert contents(driver, given) == [PHOTO]
    assert driver.fetched == before + 1
    assert "this is the error" in await driver.shown(await driver.desk.inbox.ask(ask.id))


async def test_a_photo_without_a_word_is_an_answer(driver: Driver) -> None:
    ask = await shown(driver, TEXT)
    await driver.attach(ask, PHOTO)
    assert contents(driver, await answer(driver, ask)) == [PHOTO]


async def test_photos_beside_the_options_are_the_remark_of_the_tap(driver: Driver) -> None:
    ask = await shown(driver, SELECT)
    await driver.attach(ask, PHOTO, SCREENSHOT)
    waiting = await driver.desk.inbox.ask(ask.id)
    assert waiting.open
    assert "📎" in await driver.shown(waiting)
    await driver.tap(ask, form.Choose(step=waiting.draft.step, option=1))
    given = await answer(driver, ask)
    assert given.values == ("SQLite",)
    assert contents(driver, given) == [PHOTO, SCREENSHOT]


async def test_a_strangers_file_is_not_fetched(driver: Driver) -> None:
    ask, before = await shown(driver, TEXT), driver.fetched
    said = len(driver.heard())
    await driver.attach(ask, PHOTO, caption="take this", stranger=True)
    assert driver.fetched == before
    assert await driver.desk.inbox.ask(ask.id) == ask
    assert told(driver, said) == ""


async def test_a_file_for_an_approval_is_not_fetched(driver: Driver) -> None:
    ask, before = await shown(driver, COMMAND), driver.fetched
    await driver.attach(ask, PHOTO, caption="allow")
    assert driver.fetched == before
    assert (await driver.desk.inbox.ask(ask.id)).open


async def test_what_is_too_large_is_told(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SampleStore, "largest", len(PHOTO) - 1)
    ask, said = await shown(driver, TEXT), len(driver.heard())
    await driver.attach(ask, PHOTO)
    assert f"{len(PHOTO) - 1} bytes together" in told(driver, said)
    assert await driver.desk.inbox.ask(ask.id) == ask


async def test_a_file_that_is_not_handed_out_is_told_and_the_next_one_is_taken(
    driver: Driver,
) -> None:
    ask, said = await shown(driver, TEXT), len(driver.heard())
    driver.lose_file()
    await driver.attach(ask, PHOTO)
    assert "Send it again" in told(driver, said)
    assert (await driver.desk.inbox.ask(ask.id)).open
    await driver.attach(ask, SCREENSHOT)
    assert contents(driver, await answer(driver, ask)) == [SCREENSHOT]
