"""doctor looks at Matrix, against a real homeserver."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from chatbridge.channels.checks import Mark
from chatbridge.channels.matrix import spec
from chatbridge.channels.matrix.account import log_in
from chatbridge.channels.matrix.account.log_in import Session
from chatbridge.cli.doctor.run import channel_check
from chatbridge.core.model import ChannelState
from chatbridge.store.sqlite.store import SqliteStore
from tests.fakes.chat_settings import matrix_settings
from tests.fakes.doctor import Machine, screen
from tests.fakes.matrix_desk import running_matrix
from tests.fakes.matrix_hub import new_bot
from tests.fakes.matrix_person import Person
from tests.fakes.synapse import Login, Synapse

MATRIX = channel_check(spec.MATRIX)


@asynccontextmanager
async def a_room(
    machine: Machine, synapse: Synapse, *, encrypted: bool = False, joined: bool = True
) -> AsyncIterator[tuple[Person, Login, str]]:
    """Ada, the bot, and the room that they are in."""
    _, bot = await asyncio.to_thread(new_bot, synapse)
    async with Person.online(synapse, "Ada", machine.home / "ada") as ada:
        room = await ada.create_room("agents", invite=[bot.user_id], encrypted=encrypted)
        if joined:
            await asyncio.to_thread(join, synapse, bot, room)
        machine.set(**matrix_settings(synapse, bot, ada.user_id, room=room))
        yield ada, bot, room


def join(synapse: Synapse, who: Login, room: str) -> None:
    synapse.request("POST", f"/_matrix/client/v3/join/{room}", {}, token=who.access_token)


def somebody(synapse: Synapse, name: str) -> Login:
    return synapse.log_in(synapse.register(name))


async def test_a_bot_in_its_room_is_fine_and_says_whether_it_is_encrypted(
    machine: Machine, synapse: Synapse
) -> None:
    async with a_room(machine, synapse) as (_, bot, _):
        (found,) = await machine.look(MATRIX)
    assert (found.mark, found.what) == (
        Mark.FINE,
        f"{bot.user_id} can write to 1 room, not encrypted",
    )
    assert found.details["device"] == bot.device_id
    assert bot.access_token not in str(found.json())


async def test_strangers_in_the_room_are_counted(machine: Machine, synapse: Synapse) -> None:
    async with a_room(machine, synapse) as (ada, _, room):
        for name in ("Eve", "Mallory"):
            other = await asyncio.to_thread(somebody, synapse, name)
            await ada.invite(room, other.user_id)
        await asyncio.to_thread(join, synapse, other, room)
        shown = screen(await machine.look(MATRIX))
    assert shown == (
        "! matrix           Strangers are in the room: 2\n"
        "                   → They cannot answer, but they can read. Use a private room.\n"
    )


async def test_a_token_that_is_refused_is_a_problem(machine: Machine, synapse: Synapse) -> None:
    async with a_room(machine, synapse) as (_, bot, _):
        await asyncio.to_thread(synapse.log_out, bot.access_token)
        shown = screen(await machine.look(MATRIX))
    assert shown == (
        "✗ matrix           access token refused\n"
        "                   → chatbridge setup, choose Matrix; open questions wait\n"
    )


async def test_a_token_of_somebody_else_is_a_problem(machine: Machine, synapse: Synapse) -> None:
    async with a_room(machine, synapse):
        _, other = await asyncio.to_thread(new_bot, synapse)
        machine.set(CHATBRIDGE_MATRIX__ACCESS_TOKEN=other.access_token)
        (found,) = await machine.look(MATRIX)
    assert found.what.startswith(f"the access token belongs to {other.user_id}, not to ")


async def test_a_room_that_the_bot_is_not_in_is_a_problem(
    machine: Machine, synapse: Synapse
) -> None:
    async with a_room(machine, synapse, joined=False) as (_, bot, room):
        (found,) = await machine.look(MATRIX)
    assert found.what == f"the bot is not in the room {room}"
    assert found.fix == (f"Invite {bot.user_id} there, from an account in matrix.allowed_users",)


async def test_a_room_where_the_bot_may_not_write_is_a_problem(
    machine: Machine, synapse: Synapse
) -> None:
    async with a_room(machine, synapse) as (ada, bot, room):
        await ada.set_power(room, bot.user_id, -1)
        (found,) = await machine.look(MATRIX)
    assert found.what == f"the bot may not write to the room {room}"


async def test_a_room_without_anybody_who_may_answer_is_a_problem(
    machine: Machine, synapse: Synapse
) -> None:
    async with a_room(machine, synapse) as (_, _, room):
        machine.set(CHATBRIDGE_MATRIX__ALLOWED_USERS="@nobody:elsewhere.example")
        found = await machine.look(MATRIX)
    assert [finding.mark for finding in found] == [Mark.PROBLEM, Mark.REMARK]
    assert found[0].what == f"nobody who may answer is in the room {room}"


async def test_nobody_who_may_answer_is_a_problem(machine: Machine, synapse: Synapse) -> None:
    async with a_room(machine, synapse):
        machine.set(CHATBRIDGE_MATRIX__ALLOWED_USERS="")
        found = await machine.look(MATRIX)
    assert found[0].what == "matrix.allowed_users is empty, so nobody can answer there"


async def test_a_device_that_nobody_has_signed_is_a_remark_in_an_encrypted_room(
    machine: Machine, synapse: Synapse
) -> None:
    async with a_room(machine, synapse, encrypted=True) as (_, bot, _):
        (found,) = await machine.look(MATRIX)
    assert found.mark is Mark.REMARK
    assert found.what == (
        f"the homeserver does not have the keys of the bot's device {bot.device_id}"
    )


async def test_the_device_of_a_bot_that_has_been_up_is_signed(
    machine: Machine, synapse: Synapse, tmp_path: Path
) -> None:
    async with running_matrix(tmp_path, synapse, encrypted=True) as running:
        machine.set(**matrix_settings(synapse, running.bot, running.ada.user_id, room=running.room))
        async with asyncio.timeout(20):  # it signs itself beside its other work
            while (found := await machine.look(MATRIX))[0].mark is not Mark.FINE:
                assert found[0].mark is Mark.REMARK
    assert found[0].what == f"{running.bot.user_id} can write to 1 room, encrypted"


async def test_a_device_that_is_not_verified_is_told_in_the_hubs_words(
    machine: Machine, synapse: Synapse
) -> None:
    said = "Matrix marks what the bot says as not verified: somebody else made an identity. Log in"
    async with a_room(machine, synapse, encrypted=True):
        with machine.hub(remarks=[said]):
            (found,) = await machine.look(MATRIX)
    assert found.mark is Mark.REMARK
    assert found.what.startswith("Matrix marks what the bot says as not verified")


async def test_before_anybody_has_invited_the_bot_there_is_no_room(
    machine: Machine, synapse: Synapse
) -> None:
    async with a_room(machine, synapse) as (ada, _, room):
        machine.set(CHATBRIDGE_MATRIX__ROOM_ID="")
        (found,) = await machine.look(MATRIX)
        assert found.what == "nobody has invited the bot yet"
        machine.state.mkdir(mode=0o700)
        store = await SqliteStore.open(machine.state / "chatbridge.db")
        note = ChannelState(channel="matrix", key=f"room:{ada.user_id}", value=room, at=1.0)
        await store.write(lambda tx: tx.save_note(note))
        await store.close()
        assert [found.mark for found in await machine.look(MATRIX)] == [Mark.FINE]


async def test_with_a_password_it_looks_with_the_log_in_that_was_kept_and_makes_none(
    machine: Machine, synapse: Synapse
) -> None:
    async with a_room(machine, synapse) as (_, bot, _):
        machine.set(CHATBRIDGE_MATRIX__ACCESS_TOKEN="", CHATBRIDGE_MATRIX__PASSWORD="unused here")
        (found,) = await machine.look(MATRIX)
        assert found.mark is Mark.REMARK
        assert found.what.startswith("not logged in yet")
        folder = machine.state / "matrix"
        folder.mkdir(parents=True)
        kept = Session(user_id=bot.user_id, device_id=bot.device_id, access_token=bot.access_token)
        log_in.save(folder, kept, homeserver=synapse.address)
        assert [found.mark for found in await machine.look(MATRIX)] == [Mark.FINE]


async def test_without_a_network_it_ends_with_what_cannot_be_reached(machine: Machine) -> None:
    machine.set(
        CHATBRIDGE_MATRIX__HOMESERVER="http://127.0.0.1:9",
        CHATBRIDGE_MATRIX__USER_ID="@bot:example.org",
        CHATBRIDGE_MATRIX__ACCESS_TOKEN="syt_a_token_that_is_long",
        CHATBRIDGE_MATRIX__ALLOWED_USERS="@ada:example.org",
    )
    (found,) = await machine.look(MATRIX)
    assert found.mark is Mark.PROBLEM
    assert found.what.startswith("the homeserver cannot be reached")
