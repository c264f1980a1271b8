"""The people of the Matrix tests see of one another what clients show, on the real homeserver."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.fakes.matrix_person import Person
from tests.fakes.synapse import Refused, Synapse


@asynccontextmanager
async def two_in_a_room(
    synapse: Synapse, folder: Path, *, encrypted: bool
) -> AsyncIterator[tuple[Person, Person, str]]:
    async with (
        Person.online(synapse, "Ada", folder / "ada", encrypted=encrypted) as ada,
        Person.online(synapse, "Bob", folder / "bob", encrypted=encrypted) as bob,
    ):
        room = await ada.create_room("Two", invite=[bob.user_id], encrypted=encrypted)
        assert await bob.sees_invite() == room
        await bob.join(room)
        await ada.sees_member(room, bob.user_id)
        yield ada, bob, room


@pytest.mark.parametrize("encrypted", [False, True], ids=["plain", "encrypted"])
async def test_what_one_says_answers_and_takes_back_is_what_the_other_sees(
    synapse: Synapse, tmp_path: Path, encrypted: bool
) -> None:
    async with two_in_a_room(synapse, tmp_path, encrypted=encrypted) as (ada, bob, room):
        question = await ada.say(room, "Which colour?")
        seen = await bob.until(room, question, lambda it: it.readable)
        assert (seen.body, seen.sender, seen.encrypted) == ("Which colour?", ada.user_id, encrypted)

        reply = await bob.reply(room, "blue", to=question)
        in_thread = await bob.in_thread(room, "or red", root=question, last=reply)
        answer = await ada.until(room, reply, lambda it: it.readable)
        assert (answer.body, answer.in_reply_to, answer.thread) == ("blue", question, None)
        threaded = await ada.until(room, in_thread, lambda it: it.readable)
        assert (threaded.thread, threaded.in_reply_to) == (question, reply)
        assert threaded.falls_back
        assert threaded.encrypted is encrypted

        reaction = await bob.react(room, question, "2️⃣")
        await ada.until(room, question, lambda it: it.reactions == {"2️⃣": [bob.user_id]})
        await bob.redact(room, reaction)
        await ada.until(room, question, lambda it: not it.reactions)

        await ada.edit(room, question, "Which size?")
        edited = await bob.until(room, question, lambda it: it.edits == 1)
        assert (edited.body, edited.original["body"]) == ("Which size?", "Which colour?")

        await bob.redact(room, reply)
        gone = await ada.until(room, reply, lambda it: it.redacted)
        assert (gone.body, gone.readable) == ("", False)
        assert [it.event_id for it in ada.messages(room)] == [question, reply, in_thread]


async def test_an_edit_of_somebody_elses_message_changes_nothing(
    synapse: Synapse, tmp_path: Path
) -> None:
    async with two_in_a_room(synapse, tmp_path, encrypted=False) as (ada, bob, room):
        question = await ada.say(room, "Which colour?")
        forged = await bob.edit(room, question, "Give me the password")
        await ada.sees_event(room, forged)
        assert (ada.message(room, question).body, ada.message(room, question).edits) == (
            "Which colour?",
            0,
        )


async def test_a_client_that_comes_back_reads_what_it_missed_and_nothing_twice(
    synapse: Synapse, tmp_path: Path
) -> None:
    async with two_in_a_room(synapse, tmp_path, encrypted=True) as (ada, bob, room):
        async with Person.online(synapse, "Cyd", tmp_path / "cyd", encrypted=True) as cyd:
            await ada.invite(room, cyd.user_id)
            await cyd.join(room)
            await ada.sees_member(room, cyd.user_id)
            await bob.sees_member(room, cyd.user_id)
        said = [await ada.say(room, f"message {number}") for number in range(25)]
        async with Person.online(
            synapse, "Cyd", tmp_path / "cyd", encrypted=True, login=cyd.login
        ) as cyd:
            await cyd.until(room, said[-1], lambda it: it.readable)
            assert [it.event_id for it in cyd.messages(room)] == said
            assert all(it.readable and it.encrypted for it in cyd.messages(room))


async def test_a_room_has_the_powers_and_the_successor_that_its_owner_gives_it(
    synapse: Synapse, tmp_path: Path
) -> None:
    async with two_in_a_room(synapse, tmp_path, encrypted=False) as (ada, bob, room):
        await ada.set_state(room, "m.room.power_levels", {"events_default": 10})
        with pytest.raises(Refused) as refusal:
            await bob.say(room, "may I?")
        assert refusal.value.errcode == "M_FORBIDDEN"
        await ada.set_power(room, bob.user_id, 10)
        await bob.say(room, "I may")
        successor = await ada.upgrade_room(room)
        tombstone = await bob.sees_state(room, "m.room.tombstone")
        assert tombstone["replacement_room"] == successor
        await ada.kick(room, bob.user_id)
        await bob.sees_member(room, bob.user_id, "leave")
