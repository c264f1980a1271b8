"""Logging in to Matrix: once, kept, and what happens when it no longer counts."""

from __future__ import annotations

import asyncio
import json
import stat
from pathlib import Path

import pytest

from chatbridge.channels.matrix.account import log_in
from chatbridge.core.errors import TokenRejected
from chatbridge.core.model import Status
from tests.fakes.inbox import TEXT
from tests.fakes.matrix_desk import Matrix, running_matrix
from tests.fakes.matrix_person import Person
from tests.fakes.relay import Relay
from tests.fakes.synapse import Login, Synapse

PATIENCE = 20.0
PASSWORD = "bot has a password"


def registered(synapse: Synapse) -> Login:
    """An account that nobody has logged in to."""
    return Login(synapse.register("bot").user_id, "", "")


def kept(folder: Path) -> dict[str, str]:
    found: dict[str, str] = json.loads((folder / "matrix" / "session.json").read_text())
    return found


async def ends(matrix: Matrix) -> TokenRejected:
    """What the channel ends with, which must be that its log-in does not count."""
    async with asyncio.timeout(PATIENCE):
        await asyncio.wait({matrix.running})
    error = matrix.running.exception()
    assert isinstance(error, TokenRejected)
    return error


async def test_a_password_is_used_once_and_the_log_in_is_kept_for_nobody_else_to_read(
    tmp_path: Path, synapse: Synapse, monkeypatch: pytest.MonkeyPatch
) -> None:
    bot = await asyncio.to_thread(registered, synapse)
    hidden: list[str] = []
    monkeypatch.setattr(log_in, "hide", hidden.append)
    async with Person.online(synapse, "Ada", tmp_path / "ada") as ada:
        room = await ada.create_room(invite=[bot.user_id])
        for _ in range(2):
            async with running_matrix(
                tmp_path, synapse, ada=ada, bot=bot, room=room, password=PASSWORD
            ) as matrix:
                await matrix.card(await matrix.desk.ask())
    session = kept(tmp_path)
    assert hidden == [session["access_token"]] * 2
    assert stat.S_IMODE((tmp_path / "matrix" / "session.json").stat().st_mode) == 0o600
    found = await asyncio.to_thread(
        synapse.request, "GET", "/_matrix/client/v3/devices", token=session["access_token"]
    )
    assert [device["device_id"] for device in found["devices"]] == [session["device_id"]]


async def test_a_log_in_that_does_not_count_is_said_after_one_try(
    tmp_path: Path, synapse: Synapse
) -> None:
    bot = await asyncio.to_thread(registered, synapse)
    async with (
        Person.online(synapse, "Ada", tmp_path / "ada") as ada,
        Relay.running(synapse.port) as relay,
    ):
        bot = Login(bot.user_id, "", ada.login.access_token)
        for password, wanted in (
            ("wrong", f"matrix refused the password of {bot.user_id} (M_FORBIDDEN)"),
            (None, f"the access token belongs to {ada.user_id}, not to {bot.user_id}"),
        ):
            before = len(relay.requests)
            async with running_matrix(
                tmp_path,
                synapse,
                ada=ada,
                bot=bot,
                room="!any:localhost",
                password=password,
                address=relay.address,
                ready=False,
            ) as matrix:
                said = str(await ends(matrix))
            assert wanted in said
            assert "Check matrix.access_token, then run: chatbridge restart" in said
            assert len(relay.requests) == before + 1
    assert not (tmp_path / "matrix" / "session.json").exists()


async def test_a_token_that_stops_counting_ends_the_channel_with_a_clear_word_and_no_storm(
    tmp_path: Path, synapse: Synapse
) -> None:
    async with (
        Relay.running(synapse.port) as relay,
        running_matrix(tmp_path, synapse, address=relay.address) as matrix,
    ):
        await asyncio.to_thread(synapse.log_out, matrix.bot.access_token)
        said = str(await ends(matrix))
        assert "refused the access token (M_UNKNOWN_TOKEN). Check matrix.access_token" in said
        assert "Open questions wait" in said
        await asyncio.wait_for(matrix.channel.drain(), PATIENCE)  # nobody waits for it in vain
        before = len(relay.requests)
        async with running_matrix(
            tmp_path,
            synapse,
            ada=matrix.ada,
            bot=matrix.bot,
            room=matrix.room,
            address=relay.address,
            ready=False,
        ) as again:
            await ends(again)
        assert len(relay.requests) == before + 1


@pytest.mark.parametrize("soft", [True, False], ids=["soft", "hard"])
async def test_after_a_log_out_the_password_brings_the_bot_back_to_an_encrypted_room(
    tmp_path: Path, synapse: Synapse, soft: bool
) -> None:
    bot = await asyncio.to_thread(registered, synapse)
    async with Person.online(synapse, "Ada", tmp_path / "ada", encrypted=True) as ada:
        room = await ada.create_room(invite=[bot.user_id], encrypted=True)
        async with running_matrix(
            tmp_path, synapse, ada=ada, bot=bot, room=room, password=PASSWORD
        ) as matrix:
            ask = await matrix.desk.ask(TEXT)
            assert (await matrix.card(ask)).readable
            before = kept(tmp_path)
            log_out = synapse.soft_log_out if soft else synapse.log_out
            await asyncio.to_thread(log_out, before["access_token"])
            waiting = asyncio.ensure_future(matrix.channel.drain())
            await ends(matrix)
            await asyncio.wait_for(waiting, PATIENCE)
        async with running_matrix(
            tmp_path, synapse, ada=ada, bot=bot, room=room, password=PASSWORD
        ) as matrix:
            after = kept(tmp_path)
            assert after["access_token"] != before["access_token"]
            assert (after["device_id"] == before["device_id"]) is soft
            await matrix.dealt_with()
            await ada.sees_device(bot.user_id, after["device_id"])
            await matrix.say(ask, "fix: log in again")
            assert (await matrix.now(ask)).status is Status.ANSWERED
            assert "fix: log in again" in (await matrix.root(ask)).body
            assert all(it.readable for it in ada.messages(room))
