"""What every chat promises for messages to agents: `/agents`, `/tell`, replies and buttons."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from chatbridge.channels.chat import agents as words
from chatbridge.channels.chat.message_status import WrittenAt
from chatbridge.channels.chat.receiver import NOT_FOR_YOU
from chatbridge.core.messages.agents import ConnectedAgent
from chatbridge.core.messages.message import OwnerMessage
from chatbridge.core.model import Agent, Project
from tests.contract.drivers import CHATS, DRIVERS, Driver
from tests.fakes.core_env import OWNER
from tests.fakes.inbox import CLAUDE, CONFIRM, SHOP, TEXT
from tests.fakes.sample_files import png

pytestmark = pytest.mark.asyncio(loop_scope="module")

WEB = Project(key="/code/web", name="web")
CODEX = Agent(client="codex", name="Codex")
PHOTO = png(40, 30)
WHICH = "Which agent is this for?"


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=CHATS)
async def chat(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Driver]:
    async with DRIVERS[request.param](tmp_path_factory.mktemp("agents"), request) as driver:
        yield driver


@pytest_asyncio.fixture(loop_scope="module")
async def driver(chat: Driver) -> AsyncIterator[Driver]:
    yield chat
    messages = chat.desk.inbox.messages
    for message in messages.waiting():
        await messages.take_back(message.id, by=OWNER)
        await shown(chat, message)
    for agent in messages.agents.listed():
        messages.agents.closed(agent.link)
    messages.agents._left = ()


def connect(
    driver: Driver, project: Project = SHOP, agent: Agent = CLAUDE, link: str = "link"
) -> ConnectedAgent:
    return driver.desk.inbox.messages.agents.seen(link, project, agent)


async def shown(driver: Driver, message: OwnerMessage) -> None:
    """Once the chat says what has become of it, and nothing more comes."""
    async with asyncio.timeout(20):
        while (found := await driver.desk.inbox.sent_message(message.id)) is not None:
            if found.shown == found.revision:
                return
            await asyncio.sleep(0.005)


def plain(text: str) -> str:
    """Without the signs that keep names apart."""
    return text.replace("\u2068", "").replace("\u2069", "")


async def hears(driver: Driver, text: str, *, after: int) -> str:
    """The bot's message that has this in it, once it has come after so many."""
    async with asyncio.timeout(20):
        while True:
            for said in (plain(said) for said, _ in driver.heard()[after:]):
                if text in said:
                    return said
            await asyncio.sleep(0.005)


async def command(driver: Driver, text: str, *, said: str) -> str:
    before = len(driver.heard())
    await driver.command(text)
    return await hears(driver, said, after=before)


def sent(driver: Driver) -> list[tuple[str, str]]:
    """What waits, and for whom."""
    return [(each.link, each.text) for each in driver.desk.inbox.messages.waiting()]


def only(driver: Driver) -> OwnerMessage:
    (message,) = driver.desk.inbox.messages.waiting()
    return message


async def test_agents_says_who_is_connected(driver: Driver) -> None:
    await command(driver, "agents", said=words.NOBODY)
    connect(driver)
    connect(driver, WEB, CODEX, link="other")
    listed = await command(driver, "agents", said="2 agents are connected")
    assert "shop-api · Claude Code · since " in listed
    assert "web · Codex · since " in listed


async def test_the_only_agent_is_told_what_follows_the_command(driver: Driver) -> None:
    connect(driver)
    await driver.command("tell use  tabs, not spaces")
    assert sent(driver) == [("link", "use  tabs, not spaces")]
    (surface,) = driver.channel.surfaces
    message = only(driver)
    assert (message.by.name.casefold(), message.surface) == ("ada", surface.name)
    assert message.by.channel == driver.channel.name
    assert WrittenAt.from_text(message.reply_to) is not None


async def test_a_name_picks_one_of_several_and_without_one_nothing_is_sent(driver: Driver) -> None:
    connect(driver)
    connect(driver, WEB, CODEX, link="other")
    assert "use tabs" in await command(driver, "tell use tabs", said=WHICH)
    assert sent(driver) == []
    await driver.command("tell web use tabs")
    assert sent(driver) == [("other", "use tabs")]


async def test_a_reply_to_a_card_with_the_command_is_for_its_agent_and_no_answer(
    driver: Driver,
) -> None:
    connect(driver)
    connect(driver, WEB, CODEX, link="other")
    ask = await driver.desk.ask(TEXT)
    await driver.shown(ask)
    await driver.reply("/tell use tabs:\n  if x:\n    y", to=TEXT.text)
    assert sent(driver) == [("link", "use tabs:\n  if x:\n    y")]
    at = WrittenAt.from_text(only(driver).reply_to)
    assert at is not None
    assert at.message
    assert (await driver.desk.inbox.ask(ask.id)).open
    await driver.desk.broker.time_out(ask.id)


async def test_a_tap_says_which_agent_a_reply_is_for(driver: Driver) -> None:
    """The one that has asked is gone, and two of its project are there."""
    connect(driver, link="one")
    connect(driver, link="two")
    connect(driver, WEB, link="other")
    ask = await driver.desk.ask(TEXT)
    await driver.shown(ask)
    before = len(driver.heard())
    await driver.reply("/tell use tabs", to=TEXT.text)
    asked = await hears(driver, WHICH, after=before)
    assert sent(driver) == []
    assert await driver.press("shop-api-2", stranger=True) in (None, "", NOT_FOR_YOU)
    assert sent(driver) == []
    told = await driver.press("shop-api-2")
    if told is None:
        assert "shop-api-2" in asked  # without buttons it is sent again with a name
    elif told != words.MESSAGE_GONE:  # a chat may not know what the bot has replied to
        assert sent(driver) == [("two", "use tabs")]
    await driver.desk.broker.time_out(ask.id)


async def test_files_with_the_command_go_along(driver: Driver) -> None:
    connect(driver)
    ask = await driver.desk.ask(TEXT)
    await driver.shown(ask)
    await driver.attach(ask, PHOTO, caption="/tell like this")
    assert sent(driver) == [("link", "like this")]
    (attachment,) = only(driver).attachments
    assert content(driver.desk.files.path(attachment)) == PHOTO
    assert (await driver.desk.inbox.ask(ask.id)).open
    await driver.desk.broker.time_out(ask.id)


def content(path: str | None) -> bytes:
    assert path is not None
    return Path(path).read_bytes()


async def test_a_stranger_sends_nothing_and_learns_nothing(driver: Driver) -> None:
    connect(driver)
    connect(driver, WEB, CODEX, link="other")
    ask, before, fetched = await driver.desk.ask(TEXT), len(driver.heard()), driver.fetched
    await driver.shown(ask)
    before = len(driver.heard())
    for text in ("tell use tabs", "tell web use tabs", "tell", "agents"):
        await driver.command(text, stranger=True)
        await driver.reply(f"/{text}", to=TEXT.text, stranger=True)
    await driver.attach(ask, PHOTO, caption="/tell like this", stranger=True)
    assert (sent(driver), driver.fetched) == ([], fetched)
    last = await driver.desk.ask(CONFIRM)  # what the bot says then comes after all that it said
    await driver.shown(last)
    said = [plain(text) for text, _ in driver.heard()[before:]]
    assert not [text for text in said if "agent" in text or "web" in text or "tell" in text]
    for each in (ask, last):
        await driver.desk.broker.time_out(each.id)


@pytest.mark.parametrize("text", ["\\x  y", "`*_[x](http://a.example)_*`", "<!channel> @x"])
async def test_what_is_told_is_quoted_harmlessly_and_kept_to_the_letter(
    driver: Driver, text: str
) -> None:
    connect(driver)
    connect(driver, WEB, CODEX, link="other")
    assert text.split(maxsplit=1)[0] in await command(driver, f"tell {text}", said=WHICH)
    await driver.command(f"tell web {text}")
    assert sent(driver) == [("other", text)]


async def test_control_characters_do_no_harm(driver: Driver) -> None:
    connect(driver)
    connect(driver, WEB, CODEX, link="other")
    assert "\x1b" not in await command(driver, "tell \x1b[2J\u202ex", said=WHICH)
    await driver.command("tell web \x1b[2J\u202ex")
    assert only(driver).text.endswith("x")  # a service may take some away
