"""What every chat promises for quiet hours by hand: `/quiet`, its buttons, and its words."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from zoneinfo import ZoneInfo

import pytest
import pytest_asyncio

from chatbridge.channels.chat.receiver import NOT_FOR_YOU
from chatbridge.core.cards.phrases import clock_time, use_zone
from chatbridge.core.model import QuietRule
from chatbridge.core.nights.policy import NightPolicy, Sound
from chatbridge.core.policy import Policy
from tests.contract.drivers import CHATS, DRIVERS, Driver
from tests.fakes.inbox import ANYWHERE, CONFIRM, SELECT

pytestmark = pytest.mark.asyncio(loop_scope="module")

HOUR = 3600.0
HOURS = "Quiet hours 12:00–13:00. Now: "
"""Far from now: each chat is in a zone where it is ten in the evening."""


def zone_of(driver: Driver) -> str:
    """Matrix has the real time, the other chats begin at 22:41 UTC."""
    hour = int(driver.desk.clock.time() // HOUR) % 24
    return f"Etc/GMT{12 - (22 - hour + 12) % 24:+d}"


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=CHATS)
async def chat(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Driver]:
    folder = tmp_path_factory.mktemp("quiet")
    policy = Policy(max_timeout=24 * HOUR, approval_channels=ANYWHERE | {"notebook"})
    async with DRIVERS[request.param](folder, request, policy=policy) as driver:
        zone = zone_of(driver)
        use_zone(ZoneInfo(zone))
        rule = QuietRule(hours=("12:00-13:00",) * 7, zone=zone, hold=True)
        driver.desk.inbox.nights.policy = NightPolicy(quiet=rule)
        yield driver
    use_zone(None)


@pytest_asyncio.fixture(loop_scope="module")
async def driver(chat: Driver) -> AsyncIterator[Driver]:
    yield chat
    chat.desk.inbox.nights.switch = None


async def hears(driver: Driver, text: str, *, after: int = 0) -> str:
    """The bot's last message, once it has this in it and comes after so many."""
    async with asyncio.timeout(20):
        while True:
            heard = [said for said, _ in driver.heard()]
            if len(heard) > after and text in heard[-1]:
                return heard[-1]
            await asyncio.sleep(0.005)


async def command(driver: Driver, text: str, *, said: str) -> None:
    before = len(driver.heard())
    await driver.command(text)
    await hears(driver, said, after=before)


def until(driver: Driver, seconds: float) -> str:
    return clock_time(driver.desk.clock.time() + seconds)


def is_quiet(driver: Driver) -> bool:
    return driver.desk.inbox.nights.is_quiet(driver.desk.clock.time())


async def test_quiet_says_how_it_is_and_changes_nothing(driver: Driver) -> None:
    await command(driver, "quiet", said=f"{HOURS}off.")
    assert not is_quiet(driver)


async def test_quiet_with_a_time_switches_it_on_and_off_ends_it(driver: Driver) -> None:
    await command(driver, "quiet 2h", said=f"{HOURS}on until {until(driver, 2 * HOUR)}.")
    assert is_quiet(driver)
    ask = await driver.desk.ask(SELECT, timeout=5 * HOUR)
    assert driver.desk.inbox.nights.sound(ask, now=driver.desk.clock.time()) is Sound.HIDDEN
    await driver.command("quiet off")
    assert SELECT.text in await driver.shown(ask)  # what was held comes
    assert not is_quiet(driver)
    await driver.desk.broker.time_out(ask.id)


async def test_words_that_mean_nothing_are_answered_with_what_to_say(driver: Driver) -> None:
    await command(driver, "quiet please", said="Say for how long, such as 2h")
    assert not is_quiet(driver)


async def test_its_buttons_switch_it_and_show_how_it_is_then(driver: Driver) -> None:
    await command(driver, "quiet", said=f"{HOURS}off.")
    told = await driver.press("Quiet for 2 h")
    if told is None:
        return  # without buttons the words do it
    assert told == f"Quiet until {until(driver, 2 * HOUR)}."
    await hears(driver, f"{HOURS}on until {until(driver, 2 * HOUR)}.")
    assert await driver.press("Off") == "Quiet hours are off."
    await hears(driver, f"{HOURS}off.")
    assert await driver.press("Quiet until 13:00") == "Quiet until 13:00."
    assert is_quiet(driver)


async def test_a_stranger_switches_nothing_and_learns_nothing(driver: Driver) -> None:
    await command(driver, "quiet", said=f"{HOURS}off.")
    before = driver.heard()
    await driver.command("quiet 2h", stranger=True)
    assert await driver.press("Quiet for 2 h", stranger=True) in (None, "", NOT_FOR_YOU)
    ask = await driver.desk.ask(CONFIRM)  # what the bot says then comes after all that it said
    await driver.shown(ask)
    assert not is_quiet(driver)
    assert not [said for said in driver.heard()[len(before) :] if "uiet" in said[0]]
    await driver.desk.broker.time_out(ask.id)
