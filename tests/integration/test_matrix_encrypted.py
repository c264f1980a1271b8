"""Encrypted rooms: both ways, over restarts, for new devices, and when keys come late or never."""

from __future__ import annotations

import asyncio
import logging
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import pytest

from chatbridge.core.model import Ask, Status
from chatbridge.core.policy import DAY
from tests.fakes.clock import StillClock
from tests.fakes.disk import failing
from tests.fakes.inbox import CONFIRM, SELECT, TEXT
from tests.fakes.matrix_desk import Matrix, running_matrix
from tests.fakes.matrix_person import MEGOLM, Person
from tests.fakes.relay import Relay
from tests.fakes.synapse import Account, Synapse

LONG = 10 * DAY
SOON = 600.0
GRACE = 10.0
QUARTER = 900.0
READ = "NEW.key LIKE 'unreadable:%' AND NEW.value = '[]'"
"""The note that says that it has been read."""
HINT = "I could not read your last message"
IN_CLEAR = {"m.room.member", "m.reaction", "m.room.redaction"}


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Whatever happens to keys, nio says nothing of its own, in no test here."""
    yield
    records = caplog.get_records("call")
    loud = [it for it in records if it.name.startswith("nio") and it.levelno >= logging.WARNING]
    assert not [it.getMessage() for it in loud]


async def sent_by(matrix: Matrix) -> list[dict[str, Any]]:
    """What the bot sent, as the server has it."""
    path = f"/rooms/{quote(matrix.room)}/messages?dir=f&limit=200"
    found = (await matrix.ada.request("GET", path))["chunk"]
    return [event for event in found if event["sender"] == matrix.bot.user_id]


async def without_key(ada: Person, room: str, content: dict[str, Any]) -> tuple[str, object]:
    """A message whose key is still on its way; the message, and the key to `hand_over`."""
    client = ada._client
    client.invalidate_outbound_session(room)
    await client.joined_members(room)
    if missing := client.get_missing_sessions(room):
        await client.keys_claim(missing)
    assert client.olm
    _, keys = client.olm.share_group_session(
        room, list(client.rooms[room].users), ignore_unverified_devices=True
    )
    client.olm.outbound_group_sessions[room].shared = True
    kind, encrypted = client.encrypt(room, "m.room.message", content)
    return await ada.send_raw(room, kind, dict(encrypted), plain=True), keys


async def hand_over(ada: Person, keys: object) -> None:
    await ada.request("PUT", f"/sendToDevice/m.room.encrypted/{uuid4().hex}", keys)


async def more_time_without_key(matrix: Matrix, ask: Ask) -> object:
    """Ada asks for more time, which would count twice if it were put in twice; the key."""
    content = {
        "msgtype": "m.text",
        "body": "+15",
        "m.relates_to": {"rel_type": "m.thread", "event_id": (await matrix.root(ask)).event_id},
    }
    _, keys = await without_key(matrix.ada, matrix.room, content)
    return keys


async def crash(matrix: Matrix) -> None:
    matrix.running.cancel()
    await asyncio.wait({matrix.running})


async def unreadable(matrix: Matrix) -> str:
    content = {
        "algorithm": MEGOLM,
        "ciphertext": "AwgAEnACgAkLmt6qF84IK",
        "device_id": "NOBODYS",
        "sender_key": "IlRMeOPX2e0MurIyfWEucYBRVOEEUMrOHqn/8mLqMjA",
        "session_id": f"no such session {uuid4().hex}",
    }
    return await matrix.ada.send_raw(matrix.room, "m.room.encrypted", content, plain=True)


def more(ask: Ask) -> float:
    assert ask.deadline is not None
    return ask.deadline - ask.created_at - SOON


def hints(matrix: Matrix) -> list[str | None]:
    """The messages that it was said about."""
    return [m.in_reply_to for m in matrix.ada.messages(matrix.room) if HINT in m.body]


# ── both ways ─────────────────────────────────────────────────────────────────────────────────────


async def test_a_form_is_answered_in_an_encrypted_room_across_a_restart(
    tmp_path: Path, synapse: Synapse
) -> None:
    async with running_matrix(tmp_path, synapse, encrypted=True) as matrix:
        ask = await matrix.desk.ask(SELECT, TEXT, timeout=LONG)
        root = await matrix.card(ask)
        assert (root.readable, root.encrypted) == (True, True)
        await matrix.tap(ask, "2️⃣")
        first = matrix
    # The person's client is gone with the first hub: both come back with what they have on disk.
    async with (
        Person.online(
            synapse, "Ada", tmp_path / "ada", encrypted=True, login=first.ada.login
        ) as ada,
        running_matrix(tmp_path, synapse, ada=ada, bot=first.bot, room=first.room) as matrix,
    ):
        step = await matrix.card(ask)
        assert (step.readable, step.encrypted, step.thread) == (True, True, root.event_id)
        await matrix.say(ask, "feat: encrypted")
        await matrix.tap(ask, "✅")
        assert (await matrix.now(ask)).status is Status.ANSWERED
        assert [it.values or it.custom_text for it in await matrix.answers(ask)] == [
            ("SQLite",),
            ("feat: encrypted",),
        ]
        summary = await matrix.root(ask)
        assert summary.edits
        assert "Answered" in summary.body
        kinds = {event["type"] for event in await sent_by(matrix)}
        assert kinds == {"m.room.encrypted"} | IN_CLEAR
    keys = tmp_path / "matrix" / first.bot.device_id
    assert {stat.S_IMODE(it.stat().st_mode) for it in (keys, keys.parent)} == {0o700}
    assert (keys / "crypto.db").exists()


async def test_a_new_device_of_the_person_reads_the_next_card_and_answers_it(
    tmp_path: Path, synapse: Synapse
) -> None:
    async with running_matrix(tmp_path, synapse, encrypted=True) as matrix:
        await matrix.card(await matrix.desk.ask(SELECT, timeout=LONG))
        account = Account(matrix.ada.user_id, "Ada has a password")
        login = await asyncio.to_thread(synapse.log_in, account)
        async with Person.online(
            synapse, "Ada", tmp_path / "tablet", encrypted=True, login=login
        ) as tablet:
            await matrix.dealt_with()
            ask = await matrix.desk.ask(TEXT, timeout=LONG)
            card = await matrix.card(ask)
            seen = await tablet.until(matrix.room, card.event_id, lambda it: it.readable)
            assert "What should the commit say?" in seen.body
            await tablet.in_thread(matrix.room, "fix: from a tablet", root=card.event_id)
            await matrix.dealt_with()
            assert (await matrix.now(ask)).status is Status.ANSWERED


# ── keys that come late, or never ─────────────────────────────────────────────────────────────────


async def test_an_unreadable_message_gets_one_polite_hint_a_day(
    tmp_path: Path, synapse: Synapse
) -> None:
    clock = StillClock()
    async with running_matrix(tmp_path, synapse, encrypted=True, clock=clock) as matrix:
        first = await unreadable(matrix)
        await matrix.dealt_with()
        clock.advance(GRACE)
        await matrix.told(HINT)
        await crash(matrix)
        async with running_matrix(
            tmp_path, synapse, ada=matrix.ada, bot=matrix.bot, room=matrix.room, clock=clock
        ) as after_a_restart:
            await unreadable(matrix)
            await after_a_restart.dealt_with()
            clock.advance(GRACE)
            await after_a_restart.settled()
            clock.advance(DAY)
            third = await unreadable(matrix)
            await after_a_restart.dealt_with()
            clock.advance(GRACE)
            await matrix.ada.sees(lambda it: it.in_reply_to == third, room=matrix.room)
        assert hints(matrix) == [first, third]


@pytest.mark.parametrize(
    ("fails", "restart"),
    [(True, False), (False, True), (True, True)],
    ids=["fails", "restart", "both"],
)
async def test_a_message_whose_key_comes_late_counts_after_all(
    tmp_path: Path, synapse: Synapse, fails: bool, restart: bool
) -> None:
    """To a hub whose store fails just then, to the next one, or the next one finds it there."""
    clock = StillClock()
    async with running_matrix(tmp_path, synapse, encrypted=True, clock=clock) as matrix:
        ask = await matrix.desk.ask(TEXT, timeout=SOON)
        keys = await more_time_without_key(matrix, ask)
        await matrix.dealt_with()
        assert more(await matrix.now(ask)) == 0
        if fails:
            async with failing(tmp_path, "notes", when=READ):
                await hand_over(matrix.ada, keys)
                await matrix.until(lambda: "nothing is read" in (matrix.channel.trouble or ""))
                if restart:
                    await crash(matrix)
        else:
            await crash(matrix)
            await hand_over(matrix.ada, keys)
        if not restart:
            await matrix.dealt_with()
            assert more(await matrix.now(ask)) == QUARTER
            await crash(matrix)
        async with running_matrix(
            tmp_path, synapse, ada=matrix.ada, bot=matrix.bot, room=matrix.room, clock=clock
        ) as after_a_restart:
            assert more(await after_a_restart.now(ask)) == QUARTER
            clock.advance(GRACE)
            await after_a_restart.settled()
            assert not hints(matrix), "it was read, so there is nothing to be said about it"


async def test_a_message_whose_key_comes_late_counts_for_the_step_it_was_written_at(
    tmp_path: Path, synapse: Synapse
) -> None:
    clock = StillClock(at=time.time() - 3600.0)
    async with running_matrix(tmp_path, synapse, encrypted=True, clock=clock) as matrix:
        ask = await matrix.desk.ask(SELECT, TEXT, timeout=SOON)
        confirm = await matrix.desk.ask(CONFIRM, timeout=SOON)
        keys = []
        for asked, words in ((ask, "my own words for the first"), (confirm, "perhaps")):
            relation = {"rel_type": "m.thread", "event_id": (await matrix.root(asked)).event_id}
            content = {"msgtype": "m.text", "body": words, "m.relates_to": relation}
            keys.append((await without_key(matrix.ada, matrix.room, content))[1])
        await matrix.dealt_with()
        await matrix.tap(ask, "2️⃣")
        await matrix.card(ask)
        clock.advance(GRACE + 1)
        await matrix.told(HINT)
        for held in keys:
            await hand_over(matrix.ada, held)
        await matrix.told("That was an older step.")
        assert (await matrix.now(ask)).draft.entries[1].text is None
        await matrix.told("Is this yes or no to")  # the hint was not all that is ever said


async def test_a_device_is_signed_when_it_is_first_in_an_encrypted_room(
    tmp_path: Path, synapse: Synapse
) -> None:
    account = await asyncio.to_thread(synapse.register, "bot")
    bot = await asyncio.to_thread(synapse.log_in, account)
    async with (
        Person.online(synapse, "Ada", tmp_path / "ada", encrypted=True) as ada,
        running_matrix(tmp_path, synapse, bot=bot, ada=ada, room="", rooms=[]) as matrix,
    ):
        await ada.create_room("later", invite=[bot.user_id], encrypted=True)

        async def signed() -> bool:
            found = await ada.request("POST", "/keys/query", {"device_keys": {bot.user_id: []}})
            device = found["device_keys"][bot.user_id][bot.device_id]
            return len(device["signatures"][bot.user_id]) == 2

        async with asyncio.timeout(20):
            while not await signed():
                await matrix.dealt_with()


# ── requests about keys that fail ─────────────────────────────────────────────────────────────────


async def test_a_hub_that_dies_while_it_makes_its_keys_known_can_be_written_to_afterwards(
    tmp_path: Path, synapse: Synapse
) -> None:
    async with Relay.running(synapse.port) as relay:
        lost = relay.lose("keys/upload")
        async with running_matrix(
            tmp_path, synapse, encrypted=True, address=relay.address, ready=False
        ) as matrix:
            await lost.came()
            await crash(matrix)
            before = StillClock(at=time.time() - 3600.0)  # what is said now is said to this hub
            async with running_matrix(
                tmp_path, synapse, ada=matrix.ada, bot=matrix.bot, room=matrix.room, clock=before
            ):
                await matrix.ada.sees_member(matrix.room, matrix.bot.user_id)
                await matrix.ada.sees_device(matrix.bot.user_id, matrix.bot.device_id)
                await matrix.ada.say(matrix.room, "help")
                await matrix.told("questions arrive here")


async def test_no_card_goes_out_whose_key_did_not(tmp_path: Path, synapse: Synapse) -> None:
    limited = {"errcode": "M_LIMIT_EXCEEDED", "error": "Too fast", "retry_after_ms": 500}
    async with (
        Relay.running(synapse.port) as relay,
        running_matrix(tmp_path, synapse, encrypted=True, address=relay.address) as matrix,
    ):
        relay.lose("keys/claim")
        relay.refuse("sendToDevice/m.room.encrypted", status=429, body=limited)
        ask = await matrix.desk.ask(SELECT, timeout=LONG)
        card = await matrix.in_time(matrix.card(ask))
        assert card.readable
        assert relay.count("sendToDevice") == 2
        await matrix.tap(ask, "2️⃣")
        assert (await matrix.now(ask)).status is Status.ANSWERED
        assert [it for it in matrix.ada.messages(matrix.room) if not it.readable] == []
