"""Messages to agents where services differ: forms, commands that leave no message, captions, names
of bots, and words instead of buttons."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from chatbridge.channels.chat import agents as words
from chatbridge.channels.chat.commands import COMMANDS
from chatbridge.channels.chat.message_status import WrittenAt
from chatbridge.channels.chat.receiver import NOT_FOR_YOU
from chatbridge.channels.slack.render import FIELD
from chatbridge.channels.slack.setup import MANIFEST
from chatbridge.core.messages.agents import ConnectedAgent
from chatbridge.core.messages.message import OwnerMessage
from chatbridge.core.model import Project
from tests.fakes.clock import StillClock
from tests.fakes.discord.server import answered
from tests.fakes.discord_desk import DiscordDesk, running_discord
from tests.fakes.inbox import CLAUDE, SHOP, TEXT, Desk
from tests.fakes.sample_files import png
from tests.fakes.slack.server import Slack, running_slack
from tests.fakes.slack_desk import SlackDesk, read, running_channel
from tests.fakes.telegram.people import file
from tests.fakes.telegram_desk import Telegram, running_telegram

WEB = Project(key="/code/web", name="web")
PHOTO = png(40, 30)


def connect(desk: Desk, project: Project = SHOP, link: str = "link") -> ConnectedAgent:
    return desk.inbox.messages.agents.seen(link, project, CLAUDE)


def sent(desk: Desk) -> list[tuple[str, str]]:
    return [(each.link, each.text) for each in desk.inbox.messages.waiting()]


def only(desk: Desk) -> OwnerMessage:
    (message,) = desk.inbox.messages.waiting()
    return message


def written_at(desk: Desk) -> WrittenAt:
    found = WrittenAt.from_text(only(desk).reply_to)
    assert found is not None
    return found


# ── Slack ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
async def slack() -> AsyncIterator[Slack]:
    async with running_slack(StillClock()) as found:
        yield found


@pytest.fixture
async def channel(slack: Slack, tmp_path: Path) -> AsyncIterator[SlackDesk]:
    assert isinstance(slack.clock, StillClock)
    async with running_channel(tmp_path, slack, slack.clock) as found:
        yield found


def test_slack_lists_all_commands_behind_its_only_one() -> None:
    features = MANIFEST["features"]
    assert isinstance(features, dict)
    (command,) = features["slash_commands"]
    assert command["usage_hint"] == " | ".join(name for name, _ in COMMANDS)


async def test_slack_asks_in_a_modal_what_an_agent_is_to_be_told(channel: SlackDesk) -> None:
    slack, desk = channel.slack, channel.desk
    web = connect(desk, WEB)
    await channel.acknowledged(await slack.command(channel.ada, channel.room, "agents"))
    listed = await channel.sees("1 agent is connected")
    assert await channel.press(listed, "Tell web") == ""
    (view,) = slack.views.values()
    assert (view["title"]["text"], view["blocks"][0]["label"]["text"]) == (
        "web",
        "What should web be told?",
    )
    assert await channel.acknowledged(await slack.submit(channel.eve, view, "mine")) is None
    assert sent(desk) == []
    text = "use <tabs> & \n\tnot spaces"
    assert await channel.acknowledged(await slack.submit(channel.ada, view, text)) is None
    assert sent(desk) == [("link", text)]
    assert written_at(desk) == WrittenAt(room=channel.room.id)
    desk.inbox.messages.agents.closed(web.link)
    said = await channel.acknowledged(await slack.submit(channel.ada, view, "more"))
    assert said == {"response_action": "errors", "errors": {FIELD: words.GONE}}
    assert await channel.press(listed, "Tell web") == words.GONE


async def test_in_slack_a_message_says_whom_it_is_for_with_a_tap(channel: SlackDesk) -> None:
    connect(channel.desk)
    connect(channel.desk, WEB, link="other")
    said = await channel.say("/tell use tabs")
    asked = await channel.sees("Which agent is this for?")
    assert await channel.press(asked, "web") == ""
    assert sent(channel.desk) == [("other", "use tabs")]
    ts = said.payload["event"]["ts"]
    assert written_at(channel.desk) == WrittenAt(room=channel.room.id, message=ts, root=ts)
    await channel.until(lambda: channel.room.messages[ts].get("reactions") == ["+1"])


async def test_slacks_command_leaves_no_message_to_act_on(channel: SlackDesk) -> None:
    slack = channel.slack
    connect(channel.desk)
    connect(channel.desk, WEB, link="other")
    await channel.acknowledged(await slack.command(channel.ada, channel.room, "tell  use tabs"))
    asked = await channel.sees("Which agent is this for?")
    assert not [each for each in asked["blocks"] if each["type"] == "actions"]
    typed = "use tabs" + " and more" * 50
    await channel.acknowledged(await slack.command(channel.ada, channel.room, f"tell {typed}"))
    assert typed in read(await channel.sees("and more"))
    line = "tell web use  tabs\nand more"
    await channel.acknowledged(await slack.command(channel.ada, channel.room, line))
    assert sent(channel.desk) == [("other", "use  tabs\nand more")]
    assert written_at(channel.desk) == WrittenAt(room=channel.room.id)


async def test_what_slacks_command_could_not_send_is_given_back(channel: SlackDesk) -> None:
    slack, typed = channel.slack, "use tabs" + " and more" * 50
    await channel.acknowledged(await slack.command(channel.ada, channel.room, f"tell {typed}"))
    said = read(await channel.sees("No agent is connected. Nothing was sent."))
    assert typed in said


# ── Discord ───────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
async def discord(tmp_path: Path) -> AsyncIterator[DiscordDesk]:
    """Ada's direct messages."""
    async with running_discord(tmp_path) as desk:
        yield desk


async def test_discord_asks_in_a_modal_what_an_agent_is_to_be_told(discord: DiscordDesk) -> None:
    service, desk = discord.discord, discord.desk
    web = connect(desk, WEB)
    await answered(service.command(discord.ada, discord.room, "agents"))
    listed = await service.sees(discord.room, "1 agent is connected")
    tell = listed.key("Tell web")["custom_id"]
    opened = await answered(service.tap(discord.ada, listed, tell))
    assert opened.modal
    assert opened.modal["title"] == "web"
    eve = service.world.user("Eve")
    assert (await answered(service.submit(eve, opened, "mine"))).told in ("", NOT_FOR_YOU)
    await answered(service.submit(discord.ada, opened, "use\n\ttabs"))
    assert sent(desk) == [("link", "use\n\ttabs")]
    assert written_at(desk) == WrittenAt(room=discord.room.id)
    desk.inbox.messages.agents.closed(web.link)
    told = (await answered(service.submit(discord.ada, opened, "more"))).told
    assert words.GONE in told
    assert "more" in told  # nothing that was typed is lost
    assert (await answered(service.tap(discord.ada, listed, tell))).told == words.GONE


async def test_discords_command_is_answered_and_marks_nothing(discord: DiscordDesk) -> None:
    connect(discord.desk)
    done = await answered(discord.discord.command(discord.ada, discord.room, "tell", "use  tabs"))
    assert done.told == "See below."
    assert sent(discord.desk) == [("link", "use  tabs")]
    assert written_at(discord.desk) == WrittenAt(room=discord.room.id)


async def test_in_discord_a_message_says_whom_it_is_for_with_a_tap(discord: DiscordDesk) -> None:
    connect(discord.desk)
    connect(discord.desk, WEB, link="other")
    service = discord.discord
    written = service.say(
        discord.ada, discord.room, "/tell like this", files=[("photo.png", PHOTO)]
    )
    asked = await service.sees(discord.room, "Which agent is this for?")
    await answered(service.tap(discord.ada, asked, asked.key("web")["custom_id"]))
    assert sent(discord.desk) == [("other", "like this")]
    assert len(only(discord.desk).attachments) == 1
    await service.until(lambda: written.reactions)
    assert written.reactions == ["👍"]


# ── Telegram ──────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
async def telegram(tmp_path: Path) -> AsyncIterator[Telegram]:
    async with running_telegram(tmp_path) as found:
        yield found


async def test_telegram_takes_the_command_by_the_bots_own_name_only(telegram: Telegram) -> None:
    connect(telegram.desk)
    await telegram.say("/tell@some_other_bot use tabs")
    ask = await telegram.desk.ask(TEXT)
    telegram.phone.say("/tell@some_other_bot use tabs", reply_to=await telegram.card(ask))
    photo = file(PHOTO, kind="image/png", type="photo")
    telegram.phone.send(photo, caption="/tell@some_other_bot use tabs")
    await telegram.dealt_with()
    assert sent(telegram.desk) == []
    assert (await telegram.now(ask)).open
    await telegram.say(f"/tell@{telegram.api.bot.username} use\ntabs")
    assert sent(telegram.desk) == [("link", "use\ntabs")]


async def test_in_telegram_the_caption_of_a_photo_can_be_the_command(telegram: Telegram) -> None:
    connect(telegram.desk)
    photo = file(PHOTO, kind="image/png", type="photo")
    telegram.phone.send(photo, caption=f"/tell@{telegram.api.bot.username} like this")
    await telegram.dealt_with()
    assert sent(telegram.desk) == [("link", "like this")]
    assert len(only(telegram.desk).attachments) == 1


async def test_in_telegram_a_tap_or_a_reply_to_the_prompt_tells_an_agent(
    telegram: Telegram,
) -> None:
    connect(telegram.desk)
    connect(telegram.desk, WEB, link="other")
    await telegram.say("/agents")
    assert await telegram.tap(await telegram.sees("2 agents"), "Tell web") == ""
    prompt = await telegram.sees("Reply to this message with what")
    written = telegram.phone.say("use tabs", reply_to=prompt)
    await telegram.dealt_with()
    assert sent(telegram.desk) == [("other", "use tabs")]
    number = str(written.id)
    room = written_at(telegram.desk).room
    assert written_at(telegram.desk) == WrittenAt(room=room, message=number, root=number)
    await telegram.tap(prompt, "Never mind")
    await telegram.gone(prompt)


async def test_in_telegram_another_command_with_a_file_stays_its_caption(
    telegram: Telegram,
) -> None:
    ask = await telegram.desk.ask(TEXT)
    card = await telegram.card(ask)
    photo = file(PHOTO, kind="image/png", type="photo")
    telegram.phone.send(photo, caption="/pending", reply_to=card)
    await telegram.dealt_with()
    (answer,) = await telegram.answers(ask)
    assert answer.values == ("/pending",)
