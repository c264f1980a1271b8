"""doctor looks at Discord, and `setup` writes what it was given, against the pretended one."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from chatbridge.channels.checks import Mark
from chatbridge.channels.discord import setup as discord_setup
from chatbridge.channels.discord.doctor import names
from chatbridge.channels.discord.settings import Discord as Table
from chatbridge.channels.discord.spec import DISCORD, bot_id
from chatbridge.cli.doctor.run import channel_check
from chatbridge.cli.setup.state import Setup
from chatbridge.cli.ui.running import WrongUsage
from chatbridge.core.errors import ChatbridgeError
from tests.fakes.clock import StillClock
from tests.fakes.discord.server import Discord
from tests.fakes.discord.world import ATTACH, HISTORY, SEND, VIEW, User
from tests.fakes.doctor import Machine, screen

CHECK = channel_check(DISCORD)


@pytest.fixture
async def discord() -> AsyncIterator[Discord]:
    async with Discord.running(StillClock()) as found:
        yield found
        assert not found.gateway.identified  # which is the hub's alone


@pytest.fixture
def ada(discord: Discord) -> User:
    return discord.world.user("Ada")


def use(machine: Machine, discord: Discord, **more: str) -> None:
    machine.set(
        CHATBRIDGE_DISCORD__TOKEN=discord.token,
        CHATBRIDGE_DISCORD__API_BASE=discord.address,
        **more,
    )


# ── doctor ────────────────────────────────────────────────────────────────────────────────────────


async def test_a_bot_that_can_write_is_fine(machine: Machine, discord: Discord, ada: User) -> None:
    use(machine, discord, CHATBRIDGE_DISCORD__ALLOWED_USERS=ada.id)
    assert screen(await machine.look(CHECK)) == (
        "✓ discord          chatbridge can write to 1 chat\n"
    )
    assert not [1 for method, path, _ in discord.rest.requests if path.endswith("/messages")]


async def test_nobody_who_may_answer_is_a_problem(machine: Machine, discord: Discord) -> None:
    use(machine, discord)
    (found,) = await machine.look(CHECK)
    assert (found.mark, found.fix) == (Mark.PROBLEM, ("chatbridge pair discord",))


async def test_a_channel_that_the_bot_cannot_see_is_a_problem(
    machine: Machine, discord: Discord, ada: User
) -> None:
    room = discord.world.channel(ada)
    room.allows = 0
    use(
        machine,
        discord,
        CHATBRIDGE_DISCORD__ALLOWED_USERS=ada.id,
        CHATBRIDGE_DISCORD__CHANNEL_ID=room.id,
    )
    (found,) = await machine.look(CHECK)
    assert found.mark is Mark.PROBLEM
    assert "50001" in found.what
    assert found.fix == ("Add the bot to the server, and let it see the channel",)


async def test_a_stale_token_is_a_problem_without_the_token(
    machine: Machine, discord: Discord, ada: User
) -> None:
    use(machine, discord, CHATBRIDGE_DISCORD__ALLOWED_USERS=ada.id)
    discord.rest.token = "reset"
    (found,) = await machine.look(CHECK)
    assert found.mark is Mark.PROBLEM
    assert "401" in found.what
    assert discord.token not in str(found)


async def test_names_are_what_discord_says_and_cannot_steer_a_terminal(
    discord: Discord, ada: User
) -> None:
    evil = discord.world.user("\x1b[2J\nRoot\u202e" + "x" * 99)
    table = Table.model_validate({"token": discord.token, "api_base": discord.address})
    found = await names(table, [int(ada.id), int(evil.id), 7])
    assert found[int(ada.id)] == ("Ada", "ada")
    assert found[int(evil.id)].name.startswith("⟨U+001B⟩[2J Root⟨U+202E⟩")
    assert 7 not in found


# ── setup ─────────────────────────────────────────────────────────────────────────────────────────


def given(**flags: object) -> argparse.Namespace:
    none: dict[str, object] = {
        "discord_token_file": None,
        "discord_user": [],
        "discord_channel": [],
    }
    return argparse.Namespace(**{**none, **flags})


async def carry_out(flags: argparse.Namespace) -> Setup:
    def work() -> Setup:
        setup = Setup.here()
        for each in discord_setup.plan(setup, flags):
            each()
        return setup

    return await asyncio.to_thread(work)


async def test_a_script_sets_the_bot_and_its_people(
    machine: Machine, discord: Discord, ada: User, tmp_path: Path
) -> None:
    machine.set(CHATBRIDGE_DISCORD__API_BASE=discord.address)
    file = tmp_path / "token"
    file.write_text(f"Bot {discord.token}\n")
    setup = await carry_out(given(discord_token_file=str(file), discord_user=[ada.id]))
    assert discord.token not in machine.config.read_text()
    table = Setup.here().settings.table(DISCORD)
    assert table.token
    assert table.token.get_secret_value() == discord.token
    assert table.allowed_users == (int(ada.id),)
    assert setup.kept == ["the bot's token", "who may answer on Discord"]


async def test_a_token_that_discord_does_not_know_is_not_written(
    machine: Machine, discord: Discord, tmp_path: Path
) -> None:
    machine.set(CHATBRIDGE_DISCORD__API_BASE=discord.address)
    file = tmp_path / "token"
    file.write_text(discord.token[:-1] + "x")
    with pytest.raises(ChatbridgeError, match="Discord does not know this token"):
        await carry_out(given(discord_token_file=str(file)))
    assert not machine.config.exists()


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ({"discord_user": ["7"]}, "there is no bot yet"),
        ({"discord_token_file": "FILE", "discord_user": ["@ada"]}, "people are given by their ids"),
        ({"discord_token_file": "FILE", "discord_channel": ["#x"]}, "channels are given by"),
    ],
)
async def test_wrong_flags_are_said_and_nothing_is_written(
    machine: Machine, discord: Discord, tmp_path: Path, flags: dict[str, object], said: str
) -> None:
    file = tmp_path / "token"
    file.write_text(discord.token)
    flags = {key: str(file) if value == "FILE" else value for key, value in flags.items()}
    with pytest.raises(WrongUsage, match=said):
        await carry_out(given(**flags))
    assert not machine.config.exists()


def test_the_invitation_asks_for_the_least() -> None:
    for channel, needed in ((False, 0), (True, VIEW | SEND | ATTACH | HISTORY)):
        link = parse_qs(urlsplit(discord_setup.invitation("42", channel=channel)).query)
        assert link["client_id"] == ["42"]
        assert link["scope"] == ["bot applications.commands"]
        assert link["permissions"] == [str(needed)]


def test_the_public_part_of_a_token_is_the_bots_id() -> None:
    token = "MTIzNDU2Nzg5MDEyMzQ1Njc4.AbCdEf.abcdefghijklmnopqrstuvwx"
    assert bot_id(Table.model_validate({"token": token})) == "123456789012345678"
