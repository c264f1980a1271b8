"""Setting Slack up, and what doctor finds: tokens, scopes, conversations, and who may answer."""

from __future__ import annotations

import argparse
import asyncio
import json
import tomllib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from chatbridge import settings
from chatbridge.channels.checks import Mark
from chatbridge.channels.slack import doctor
from chatbridge.channels.slack import setup as set_up
from chatbridge.channels.slack.api import SCOPES
from chatbridge.channels.slack.spec import SLACK
from chatbridge.cli.doctor.run import channel_check
from chatbridge.cli.setup.state import Setup
from chatbridge.cli.ui.running import WrongUsage
from chatbridge.core.errors import ChatbridgeError
from tests.documents.pages import blocks
from tests.fakes.clock import StillClock
from tests.fakes.doctor import Machine
from tests.fakes.slack.server import APP_TOKEN, BOT, BOT_TOKEN, Fault, Room, Slack, running_slack

CHECK = channel_check(SLACK)


@pytest.fixture
async def slack() -> AsyncIterator[Slack]:
    async with running_slack(StillClock()) as found:
        yield found


@pytest.fixture
def room(slack: Slack, machine: Machine) -> Room:
    """A channel that a hub of this machine uses."""
    ada = slack.person("Ada")
    room = slack.channel(ada)
    machine.set(
        CHATBRIDGE_SLACK__BOT_TOKEN=BOT_TOKEN,
        CHATBRIDGE_SLACK__APP_TOKEN=APP_TOKEN,
        CHATBRIDGE_SLACK__ALLOWED_USERS=ada,
        CHATBRIDGE_SLACK__CHANNEL_ID=room.id,
        CHATBRIDGE_SLACK__API_BASE=f"{slack.base}/api",
    )
    return room


# ── doctor ────────────────────────────────────────────────────────────────────────────────────────


async def test_an_app_in_its_channel_is_fine_and_no_connection_takes_taps(
    machine: Machine, slack: Slack, room: Room
) -> None:
    (found,) = await machine.look(CHECK)
    assert (found.mark, found.what) == (Mark.FINE, "the app in Acme can write to 1 conversation")
    assert slack.connected == 0
    assert BOT_TOKEN not in str(found.json())


@pytest.mark.parametrize("code", ["invalid_auth", "token_revoked"])
@pytest.mark.parametrize("method", ["auth.test", "apps.connections.open"])
async def test_either_token_can_be_wrong(
    machine: Machine, slack: Slack, room: Room, method: str, code: str
) -> None:
    slack.faults[method] = Fault(error=code)
    (found,) = await machine.look(CHECK)
    assert (found.mark, found.what) == (Mark.PROBLEM, f"slack rejected a token ({code})")
    assert "Check the tokens of slack in" in found.fix[0]


async def test_missing_scopes_are_named(machine: Machine, slack: Slack, room: Room) -> None:
    slack.scopes -= {"files:write", "commands"}
    (found,) = await machine.look(CHECK)
    assert found.mark is Mark.PROBLEM
    assert found.what == "the app lacks scopes: commands, files:write"


async def test_a_channel_without_the_bot_or_archived_is_said(
    machine: Machine, slack: Slack, room: Room
) -> None:
    room.members.discard(BOT)
    (found,) = await machine.look(CHECK)
    assert found.what == f"the bot is not in the channel {room.id}"
    assert "/invite" in found.fix[0]
    room.archived = True
    (found,) = await machine.look(CHECK)
    assert found.what == f"the channel {room.id} is archived"


async def test_slack_out_of_reach_is_said_with_its_host(
    machine: Machine, slack: Slack, room: Room
) -> None:
    machine.set(CHATBRIDGE_SLACK__API_BASE="http://127.0.0.1:9/api")
    (found,) = await machine.look(CHECK)
    assert found.mark is Mark.PROBLEM
    assert "127.0.0.1 cannot be used: slack cannot be reached" in found.what


async def test_people_are_called_what_slack_calls_them(slack: Slack, room: Room) -> None:
    table = settings.load().table(SLACK)
    (ada,) = table.allowed_users
    assert await doctor.names(table, [ada, "U9999999"]) == {ada: ("Ada", "ada")}


# ── setup ─────────────────────────────────────────────────────────────────────────────────────────


def given(file: Path | None = None, **more: Any) -> argparse.Namespace:
    found: dict[str, Any] = {"slack_user": [], "slack_channel": []}
    return argparse.Namespace(slack_token_file=str(file) if file else None, **found | more)


def a_setup(machine: Machine, slack: Slack) -> Setup:
    machine.set(CHATBRIDGE_SLACK__API_BASE=f"{slack.base}/api")
    return Setup(path=machine.config, settings=settings.load(machine.config))


async def plan(setup: Setup, wanted: argparse.Namespace) -> None:
    for work in await asyncio.to_thread(set_up.plan, setup, wanted):
        await asyncio.to_thread(work)


async def test_both_tokens_and_people_are_kept_and_no_token_in_the_file(
    machine: Machine, slack: Slack, tmp_path: Path
) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"bot: {BOT_TOKEN}\napp: {APP_TOKEN}\n")
    setup = a_setup(machine, slack)
    await plan(setup, given(file, slack_user=["U00000007"], slack_channel=["C00000001"]))
    written = tomllib.loads(machine.config.read_text())["slack"]
    assert written == {
        "api_base": f"{slack.base}/api/",
        "allowed_users": ["U00000007"],
        "channel_id": ["C00000001"],
    }
    found = settings.load(machine.config).table(SLACK)
    assert found.tokens == (BOT_TOKEN, APP_TOKEN)
    assert setup.kept == ["the app's tokens", "who may answer in Slack"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (BOT_TOKEN, "no two tokens"),
        (f"{BOT_TOKEN} {BOT_TOKEN}", "no two tokens"),
        (f"xoxb-1-2-another-one {APP_TOKEN}", "rejected a token"),
        (f"{BOT_TOKEN} xapp-1-A1-2-another-one", "rejected a token"),
    ],
)
async def test_tokens_that_cannot_be_used_are_said_and_nothing_is_written(
    machine: Machine, slack: Slack, tmp_path: Path, text: str, why: str
) -> None:
    file = tmp_path / "tokens"
    file.write_text(text)
    with pytest.raises(ChatbridgeError, match=why) as caught:
        await plan(a_setup(machine, slack), given(file))
    assert "xoxb-1" not in str(caught.value)
    assert not machine.config.exists()


async def test_an_app_that_lacks_a_scope_is_not_taken(
    machine: Machine, slack: Slack, tmp_path: Path
) -> None:
    slack.scopes -= {"im:history"}
    file = tmp_path / "tokens"
    file.write_text(f"{BOT_TOKEN}\n{APP_TOKEN}")
    with pytest.raises(ChatbridgeError, match=r"lacks scopes: im:history\. Nothing was written"):
        await plan(a_setup(machine, slack), given(file))


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"slack_user": ["@ada"]}, "there is no app yet"),
        ({"slack_channel": ["C00000001"]}, "there is no app yet"),
    ],
)
async def test_people_without_an_app_are_no_set_up(
    machine: Machine, slack: Slack, more: dict[str, Any], why: str
) -> None:
    with pytest.raises(WrongUsage, match=why):
        await plan(a_setup(machine, slack), given(**more))


async def test_people_are_given_by_their_ids(machine: Machine, slack: Slack, room: Room) -> None:
    wrong: list[dict[str, Any]] = [{"slack_user": ["@ada"]}, {"slack_channel": ["#team"]}]
    for more in wrong:
        with pytest.raises(WrongUsage, match="such as"):
            await plan(a_setup(machine, slack), given(**more))


def test_the_manifest_asks_for_the_scopes_that_are_used_and_switches_socket_mode_on() -> None:
    manifest = json.loads(json.dumps(set_up.MANIFEST))
    assert manifest["oauth_config"]["scopes"]["bot"] == [*SCOPES]
    assert manifest["settings"]["socket_mode_enabled"] is True
    assert manifest["settings"]["interactivity"]["is_enabled"] is True


def test_the_documented_manifest_is_the_one_that_set_up_prints() -> None:
    (block,) = (it for it in blocks() if it.place.page == "docs/slack.md" and it.language == "json")
    assert json.loads(block.text) == set_up.MANIFEST
