"""What every chat says about a message to an agent that was written there, until it is over."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest
import pytest_asyncio

from chatbridge.core.cards.phrases import clock_time, use_zone
from chatbridge.core.errors import MessageRefused
from chatbridge.core.messages.message import MessageState, OwnerMessage, Way
from chatbridge.core.messages.messages import OwnerMessages
from chatbridge.core.model import CallName, Level, QuietRule
from chatbridge.core.nights.policy import NightPolicy
from tests.contract.drivers import CHATS, DRIVERS, Driver
from tests.fakes.clock import StillClock
from tests.fakes.core_env import OWNER
from tests.fakes.inbox import CLAUDE, SHOP

pytestmark = pytest.mark.asyncio(loop_scope="module")

WAITS = "shop-api gets it with its next step."
EXPIRED = "shop-api did not collect your message in time. It was not delivered."
TAKEN_BACK = "Taken back. shop-api does not get it."
EXPIRE_AFTER = 12 * 3600.0
Heard = list[tuple[str, bool]]


@pytest.fixture(scope="module", autouse=True)
def in_utc() -> Iterator[None]:
    use_zone(UTC)
    yield
    use_zone(None)


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=CHATS)
async def chat(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Driver]:
    async with DRIVERS[request.param](tmp_path_factory.mktemp("messages"), request) as driver:
        driver.desk.inbox.messages.agents.seen("link", SHOP, CLAUDE)
        yield driver


@pytest_asyncio.fixture(loop_scope="module")
async def driver(chat: Driver) -> AsyncIterator[Driver]:
    yield chat
    chat.desk.inbox.nights.policy = NightPolicy()
    messages = messages_of(chat)
    for message in messages.waiting():
        with suppress(MessageRefused):
            await messages.take_back(message.id, by=OWNER)


def messages_of(driver: Driver) -> OwnerMessages:
    return driver.desk.inbox.messages


def heard(driver: Driver) -> Heard:
    """Without the signs that keep names apart, and without the text of a message that stands
    nowhere else."""
    found = ((text.removeprefix("use tabs\n\n"), rings) for text, rings in driver.heard())
    return [(text.replace("\u2068", "").replace("\u2069", ""), rings) for text, rings in found]


async def walk(driver: Driver) -> None:
    """The clock goes on, or whoever pauses after an error of the service would never try again."""
    assert isinstance(driver.desk.clock, StillClock)
    driver.desk.clock.advance(0.005)
    await asyncio.sleep(0.005)


async def hears(driver: Driver, is_so: Callable[[Heard], bool]) -> Heard:
    async with asyncio.timeout(20):
        while True:
            found = heard(driver)
            if is_so(found):
                return found
            await walk(driver)


async def tell(driver: Driver) -> tuple[OwnerMessage, int]:
    """The message, and how many the bot had said before it; once the chat says that it waits."""
    before = len(heard(driver))
    await driver.command("tell use tabs")
    (message,) = messages_of(driver).waiting()
    await hears(driver, lambda found: len(found) > before and WAITS in found[-1][0])
    assert len(heard(driver)) == before + 1
    return message, before


def says_only_that_it_expired(found: Heard) -> bool:
    """What stood there before goes after the new message has come."""
    return EXPIRED in found[-1][0] and not any(WAITS in text for text, _ in found)


async def deliver(driver: Driver, message: OwnerMessage) -> None:
    name = CallName(link="link", request=message.id)
    taken = await messages_of(driver).hand_over(name, link="link", project=SHOP, way=Way.RESULT)
    assert [each.id for each in taken] == [message.id]
    await messages_of(driver).delivered(name)


def delivered_at(clock: StillClock) -> str:
    return (
        f"Delivered to Claude Code in shop-api, {clock_time(clock.time())}, with its next result."
    )


async def recorded(driver: Driver, message: OwnerMessage) -> OwnerMessage:
    """Once the store knows that the chat shows the newest state."""
    async with asyncio.timeout(20):
        while (found := await driver.desk.inbox.sent_message(message.id)) is not None:
            if found.shown == found.revision:
                return found
            await walk(driver)
    raise AssertionError


async def test_it_is_said_without_a_sound_that_it_waits_and_then_there_that_it_is_delivered(
    driver: Driver,
) -> None:
    message, before = await tell(driver)
    assert not heard(driver)[-1][1]
    await deliver(driver, message)
    found = await hears(driver, lambda found: "Delivered" in found[-1][0])
    assert isinstance(driver.desk.clock, StillClock)
    assert (found[-1], len(found)) == ((delivered_at(driver.desk.clock), False), before + 1)
    (surface,) = driver.channel.surfaces
    assert (await recorded(driver, message)).surface == surface.name


async def test_the_button_takes_it_back_and_is_gone_then(driver: Driver) -> None:
    message, before = await tell(driver)
    if await driver.press("Take back") is None:  # there are no buttons
        assert heard(driver)[-1][0] == f"{WAITS} Reply “take back” to take it back."
        await driver.reply("Take back", to=WAITS)
    found = await hears(driver, lambda found: TAKEN_BACK in found[-1][0])
    assert (found[-1], len(found)) == ((TAKEN_BACK, False), before + 1)
    after = await recorded(driver, message)
    assert after.state is MessageState.TAKEN_BACK
    assert messages_of(driver).waiting() == []
    if driver.channel.name != "matrix":
        with pytest.raises((LookupError, AssertionError, RuntimeError)):
            await driver.press("Take back")


async def test_a_stranger_takes_nothing_back(driver: Driver) -> None:
    message, before = await tell(driver)
    if await driver.press("Take back", stranger=True) is None:
        await driver.reply("take back", to=WAITS, stranger=True)
    assert messages_of(driver).waiting() == [message]
    assert WAITS in heard(driver)[before][0]


async def test_that_it_expired_is_another_message_with_a_sound(driver: Driver) -> None:
    clock = driver.desk.clock
    assert isinstance(clock, StillClock)
    message, before = await tell(driver)
    clock.advance(EXPIRE_AFTER)
    found = await hears(driver, says_only_that_it_expired)
    assert (found[-1], len(found)) == ((EXPIRED, True), before + 1)
    after = await recorded(driver, message)
    assert after.state is MessageState.EXPIRED


async def test_in_quiet_hours_that_comes_without_a_sound(driver: Driver) -> None:
    clock = driver.desk.clock
    assert isinstance(clock, StillClock)
    message, _ = await tell(driver)
    clock.advance(EXPIRE_AFTER - 60)
    now = datetime.fromtimestamp(clock.time(), UTC)
    hours = f"{now - timedelta(hours=1):%H:%M}-{now + timedelta(hours=1):%H:%M}"
    quiet = QuietRule(hours=(hours,) * 7, zone="UTC")
    driver.desk.inbox.nights.policy = NightPolicy(quiet=quiet)
    clock.advance(60)
    found = await hears(driver, says_only_that_it_expired)
    assert found[-1] == (EXPIRED, False)
    await recorded(driver, message)


async def test_what_became_of_it_while_no_hub_was_there_is_said_once(driver: Driver) -> None:
    message, before = await tell(driver)
    await recorded(driver, message)
    desk, ready = driver.desk, asyncio.Event()
    await desk.end_deliveries()
    await deliver(driver, message)
    ready.set()
    served = (desk.delivery.serve(each, ready=ready) for each in driver.channel.surfaces)
    desk.deliveries = [asyncio.ensure_future(each) for each in served]
    found = await hears(driver, lambda found: "Delivered" in found[-1][0])
    await recorded(driver, message)
    assert len(found) == len(heard(driver)) == before + 1


async def test_a_reply_to_a_notice_is_for_the_agent_that_sent_it(driver: Driver) -> None:
    notice = await driver.desk.notify("The build is green.", level=Level.WARNING)
    await hears(driver, lambda found: any("The build is green." in text for text, _ in found))
    assert await driver.desk.shown_on(notice)
    await driver.reply("deploy it", to="The build is green.", stranger=True)
    assert messages_of(driver).waiting() == []
    await driver.reply("deploy it", to="The build is green.")
    (message,) = messages_of(driver).waiting()
    assert (message.text, message.link) == ("deploy it", "link")
    await hears(driver, lambda found: WAITS in found[-1][0])


async def test_a_reply_to_a_list_of_notices_is_for_the_agent_of_the_last(driver: Driver) -> None:
    messages_of(driver).agents.seen("second", SHOP, CLAUDE)
    texts = [f"Step {number} is done." for number in range(6)]
    for text in texts:
        link = "second" if text == texts[-1] else "link"
        assert await driver.desk.shown_on(await driver.desk.notify(text, link=link))
    await hears(driver, lambda found: any(texts[-1] in text for text, _ in found))
    await driver.reply("go on", to=texts[-1])
    (message,) = messages_of(driver).waiting()
    assert (message.text, message.link) == ("go on", "second")
    await hears(driver, lambda found: WAITS in found[-1][0])
    messages_of(driver).agents.closed("second")
