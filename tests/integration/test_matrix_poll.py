"""What people do in Matrix is put in exactly once: whenever a hub ends, whatever the store does,
however long nobody read."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from chatbridge.channels.matrix.outbound.visibility import BATCHES
from chatbridge.core.forms.typed_input import interpret
from chatbridge.core.model import Ask, Status
from chatbridge.core.policy import Policy
from tests.fakes.clock import StillClock
from tests.fakes.disk import failing
from tests.fakes.inbox import MULTI, TEXT
from tests.fakes.matrix_desk import Matrix, running_matrix
from tests.fakes.matrix_person import Person
from tests.fakes.synapse import Synapse
from tests.fakes.telegram_log import warnings

SOON = 600.0
QUARTER = 900.0
PATIENT = Policy(max_timeout=10_000.0)
HELP = "questions arrive here"
SPOIL = "UPDATE posts SET place = 'no JSON' WHERE ask = (SELECT seq FROM asks WHERE id = ?)"


async def crash(matrix: Matrix) -> None:
    """The channel ends in the middle of whatever it does. Ada stays."""
    matrix.running.cancel()
    await asyncio.wait({matrix.running})


def more(ask: Ask) -> float:
    assert ask.deadline is not None
    return ask.deadline - ask.created_at - SOON


async def more_time(matrix: Matrix, ask: Ask) -> None:
    """The one answer that counts twice if it is put in twice."""
    root = (await matrix.place(ask)).root.event
    await matrix.ada.in_thread(matrix.room, "+15", root=root)


def earlier() -> StillClock:
    """What is said now is said while the hub is there, by its clock."""
    return StillClock(at=time.time() - 3600.0)


async def noise(ada: Person, room: str, count: int) -> None:
    await asyncio.gather(
        *(ada.send_raw(room, "test.noise", {"n": number}) for number in range(count))
    )


def spoil(folder: Path, ask: Ask) -> None:
    """Nobody can tell any more where this ask's card is."""
    with closing(sqlite3.connect(folder / "chatbridge.db")) as database, database:
        database.execute(SPOIL, [ask.id])


async def picture(ada: Person, room: str, root: str) -> str:
    """Is no answer, and the bot says so."""
    thread = {"rel_type": "m.thread", "event_id": root}
    content = {"msgtype": "m.image", "body": "cat.png", "m.relates_to": thread}
    return await ada.send_raw(room, "m.room.message", content)


def replied_to(matrix: Matrix) -> list[str | None]:
    found = matrix.ada.messages(matrix.room)
    return [it.in_reply_to for it in found if it.sender == matrix.bot.user_id]


# ── while no hub was there ────────────────────────────────────────────────────────────────────────


async def test_thirty_messages_and_taps_while_no_hub_was_there_are_dealt_with_once_and_in_order(
    tmp_path: Path, synapse: Synapse
) -> None:
    async with running_matrix(tmp_path, synapse, policy=PATIENT) as matrix:
        ask = await matrix.desk.ask(MULTI, timeout=SOON)
        card = (await matrix.card(ask)).event_id
        ada, room = matrix.ada, matrix.room
        await crash(matrix)
        said = [await picture(ada, room, card) for _ in range(14)]
        await ada.react(room, card, "1️⃣")
        mistake = await ada.react(room, card, "2️⃣")
        await ada.react(room, card, "3️⃣")
        await ada.redact(room, mistake)
        await more_time(matrix, ask)
        said += [await picture(ada, room, card) for _ in range(14)]
        await ada.react(room, card, "✅")
        await ada.react(room, card, "2️⃣")  # too late: it has been sent
        async with running_matrix(tmp_path, synapse, ada=ada, bot=matrix.bot, room=room) as after:
            now = await after.now(ask)
            assert [it.values for it in await after.answers(ask)] == [("Unit tests", "Load test")]
            assert (now.status, more(now)) == (Status.ANSWERED, QUARTER)
            await after.until(lambda: set(said) <= set(replied_to(after)))
            await after.card(ask)
            assert sorted(it for it in replied_to(after) if it in said) == sorted(said)


async def test_a_gap_is_read_back_to_where_the_last_hub_was_and_no_further(
    tmp_path: Path, synapse: Synapse
) -> None:
    async with running_matrix(tmp_path, synapse, policy=PATIENT) as matrix:
        ask = await matrix.desk.ask(TEXT, timeout=SOON)
        await more_time(matrix, ask)
        await matrix.dealt_with()
        await crash(matrix)
        await more_time(matrix, ask)
        await noise(matrix.ada, matrix.room, 120)
        async with running_matrix(
            tmp_path, synapse, ada=matrix.ada, bot=matrix.bot, room=matrix.room, policy=PATIENT
        ) as after:
            assert more(await after.now(ask)) == 2 * QUARTER


async def test_what_was_said_before_the_first_start_or_before_the_bot_came_is_not_for_it(
    tmp_path: Path, synapse: Synapse
) -> None:
    account = await asyncio.to_thread(synapse.register, "bot")
    bot = await asyncio.to_thread(synapse.log_in, account)
    async with Person.online(synapse, "Ada", tmp_path / "ada") as ada:
        old = await ada.create_room("old", invite=[bot.user_id])
        await asyncio.to_thread(
            synapse.request, "POST", f"/_matrix/client/v3/join/{old}", {}, token=bot.access_token
        )
        await ada.say(old, "help")
        new = await ada.create_room("new")
        async with running_matrix(
            tmp_path, synapse, clock=earlier(), ada=ada, bot=bot, room=new, rooms=[old, new]
        ):
            await ada.say(new, "help")
            await ada.invite(new, bot.user_id)
            await ada.sees_member(new, bot.user_id)
            for room in (old, new):
                asked = await ada.say(room, "help")
                answer = await ada.sees(lambda it: HELP in it.body, room=room)
                assert answer.in_reply_to == asked


# ── the store ─────────────────────────────────────────────────────────────────────────────────────


async def test_while_the_store_fails_the_cursor_stays_and_afterwards_it_counts_once(
    tmp_path: Path, synapse: Synapse, caplog: pytest.LogCaptureFixture
) -> None:
    async with running_matrix(tmp_path, synapse, policy=PATIENT) as matrix:
        ask = await matrix.desk.ask(TEXT, timeout=SOON)
        await matrix.card(ask)
        await matrix.dealt_with()  # so that only what comes now has to be noted
        async with failing(tmp_path, "notes"):
            await more_time(matrix, ask)
            await matrix.until(lambda: "nothing is read" in (matrix.channel.trouble or ""))
            assert more(await matrix.now(ask)) == 0
        await matrix.dealt_with()
        assert more(await matrix.now(ask)) == QUARTER
        assert matrix.channel.trouble is None
        await more_time(matrix, ask)
        await matrix.dealt_with()
        assert more(await matrix.now(ask)) == 2 * QUARTER
    assert len([it for it in warnings(caplog) if "nothing is read" in it]) == 1, "it says so once"


async def test_a_crash_between_two_commits_of_one_batch_repeats_nothing(
    tmp_path: Path, synapse: Synapse
) -> None:
    async with running_matrix(tmp_path, synapse, policy=PATIENT) as matrix:
        first, second = [await matrix.desk.ask(TEXT, title=it, timeout=SOON) for it in "12"]
        for ask in (first, second):
            await matrix.card(ask)
        await crash(matrix)
        for ask in (first, second, first):
            await more_time(matrix, ask)
        again: dict[str, Any] = {"ada": matrix.ada, "bot": matrix.bot, "room": matrix.room}
        again["policy"] = PATIENT
        async with (
            failing(tmp_path, "asks", when=f"NEW.id = '{second.id}'"),
            running_matrix(tmp_path, synapse, ready=False, **again) as dying,
        ):
            await dying.until(lambda: "nothing is read" in (dying.channel.trouble or ""))
            assert more(await dying.now(first)) == QUARTER
        async with running_matrix(tmp_path, synapse, **again) as after:
            assert more(await after.now(first)) == 2 * QUARTER
            assert more(await after.now(second)) == QUARTER


async def test_an_answer_counts_though_it_cannot_be_read_where_its_card_is(
    tmp_path: Path, synapse: Synapse
) -> None:
    """Where nobody answers, the card is sent again: its transaction finds the one that is there."""
    async with Person.online(synapse, "Ada", tmp_path / "ada") as ada:
        async with running_matrix(tmp_path, synapse, ada=ada, policy=PATIENT) as matrix:
            asks = [await matrix.desk.ask(TEXT, title=it, timeout=SOON) for it in "12"]
            roots = [(await matrix.card(it)).event_id for it in asks]
        for ask in asks:
            await asyncio.to_thread(spoil, tmp_path, ask)
        await ada.in_thread(matrix.room, "fix: it", root=roots[0])
        async with running_matrix(
            tmp_path, synapse, ada=ada, bot=matrix.bot, room=matrix.room, policy=PATIENT
        ) as after:
            await after.dealt_with()
            assert (await after.now(asks[0])).status is Status.ANSWERED
            await after.card(asks[1])
            for _ in range(BATCHES):
                await after.dealt_with()
            await after.say(asks[1], "fix: that")
            assert (await after.now(asks[1])).status is Status.ANSWERED


async def test_an_event_that_meets_a_bug_is_passed_over(
    tmp_path: Path,
    synapse: Synapse,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def buggy(ask: Ask, text: str, **more: Any) -> object:
        if ask.title == "1":
            raise KeyError(text)
        return interpret(ask, text, **more)

    monkeypatch.setattr("chatbridge.channels.chat.inbound.interpret", buggy)
    async with running_matrix(tmp_path, synapse, policy=PATIENT) as matrix:
        broken, ask = [await matrix.desk.ask(TEXT, title=it, timeout=SOON) for it in "12"]
        roots = [(await matrix.card(it)).event_id for it in (broken, ask)]
        for root in roots:
            await matrix.ada.in_thread(matrix.room, "fix: it", root=root)
        await matrix.dealt_with()
        assert (await matrix.now(ask)).status is Status.ANSWERED
        assert (await matrix.now(broken)).open
    assert "was passed over" in caplog.text


async def test_a_server_that_does_not_know_the_place_any_more_is_read_from_now_on(
    tmp_path: Path, synapse: Synapse, caplog: pytest.LogCaptureFixture
) -> None:
    async with Person.online(synapse, "Ada", tmp_path / "ada") as ada:
        async with running_matrix(tmp_path, synapse, ada=ada) as matrix:
            ask = await matrix.desk.ask(TEXT)
            await matrix.card(ask)
        with closing(sqlite3.connect(tmp_path / "chatbridge.db")) as database, database:
            elsewhere = '{"since": "not of this server", "done": []}'
            database.execute("UPDATE notes SET value = ? WHERE key LIKE 'since:%'", (elsewhere,))
        async with running_matrix(
            tmp_path, synapse, ada=ada, bot=matrix.bot, room=matrix.room
        ) as after:
            await after.say(ask, "feat: it")
            assert (await after.now(ask)).status is Status.ANSWERED
    assert any("is passed over" in warning for warning in warnings(caplog))
