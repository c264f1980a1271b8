"""Answers in words: in a thread, as a reply, and as a plain message in a private room."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from chatbridge.core.cards.phrases import clock_time
from chatbridge.core.forms import form
from chatbridge.core.model import Answer, Option
from tests.fakes.clock import StillClock
from tests.fakes.inbox import CONFIRM, MULTI, OPTIONAL, SELECT, TEXT
from tests.fakes.matrix_desk import Matrix, running_matrix
from tests.fakes.matrix_person import Person
from tests.fakes.matrix_timeline import Message
from tests.fakes.synapse import Synapse
from tests.matrix_asks import plain

POSTGRES = replace(
    SELECT,
    options=(
        Option(label="PostgreSQL"),
        Option(label="SQLite"),
        Option(label="Postgres on a server"),
    ),
)
ONLY_TEXT = "Only text can be an answer here."


async def answer_to(matrix: Matrix, message: str) -> Message:
    return await matrix.ada.sees(lambda m: m.in_reply_to == message, room=matrix.room)


# ── in the thread ─────────────────────────────────────────────────────────────────────────────────


async def test_words_that_do_not_fit_get_a_helpful_answer_and_change_nothing(
    matrix: Matrix,
) -> None:
    ask = await matrix.desk.ask(POSTGRES, CONFIRM)
    root = await matrix.card(ask)
    for text, why in (
        ("post", "“post” fits 1 PostgreSQL and 3 Postgres on a server. Reply with the number."),
        ("7", "There is no option 7. This question has options 1 to 3."),
        ("!skip", form.REQUIRED.why),
    ):
        sent = await matrix.say(ask, text)
        told = await answer_to(matrix, sent)
        assert plain(told.body) == why
        assert (told.msgtype, told.mentions) == ("m.notice", ())
        assert (told.thread, told.falls_back) == (root.event_id, False)
    assert await matrix.now(ask) == ask
    await matrix.say(ask, "3")
    await matrix.say(ask, "perhaps")
    await matrix.told("Is this yes or no to")
    assert (await matrix.now(ask)).draft.at == 1


async def test_only_what_a_person_writes_as_text_and_once_is_an_answer(matrix: Matrix) -> None:
    ask, room = await matrix.desk.ask(SELECT), matrix.room
    root = await matrix.card(ask)
    thread = {"rel_type": "m.thread", "event_id": root.event_id}
    place = {"msgtype": "m.location", "body": "1", "geo_uri": "geo:51.5,0.1"}
    await matrix.ada.send_raw(room, "m.room.message", place | {"m.relates_to": thread})
    assert (await matrix.told(ONLY_TEXT)).thread == root.event_id
    notice = {"msgtype": "m.notice", "body": "1", "m.relates_to": thread}
    await matrix.ada.send_raw(room, "m.room.message", notice)
    sent = await matrix.say(ask, "7")
    await matrix.told("There is no option 7.")
    await matrix.ada.edit(room, sent, "1")
    reply = {"m.in_reply_to": {"event_id": root.event_id}}  # some clients repeat it
    edit = {"msgtype": "m.text", "body": "1", "m.new_content": {"msgtype": "m.text", "body": "1"}}
    edit["m.relates_to"] = {"rel_type": "m.replace", "event_id": sent, **reply}
    await matrix.ada.send_raw(room, "m.room.message", edit)
    await matrix.dealt_with()
    assert await matrix.now(ask) == ask
    quote = f"> <{matrix.bot.user_id}> ❓ shop-api\n> Which database?\n> 1 PostgreSQL\n\nsqlite"
    await matrix.ada.reply(room, quote, to=root.event_id)
    await matrix.dealt_with()
    assert await matrix.answers(ask) == (Answer(values=("SQLite",)),)
    assert len(matrix.said()) == 3


async def test_without_reactions_everything_is_typed(tmp_path: Path, synapse: Synapse) -> None:
    async with running_matrix(tmp_path, synapse, reactions=False) as matrix:
        ask = await matrix.desk.ask(SELECT, MULTI, OPTIONAL, timeout=3600)
        ends = f"Ends {clock_time(ask.deadline or 0)}."
        numbers, words = "Reply with the numbers, for example 1,3.", "explain or cancel."
        for hint, text in (
            (f"Reply with a number or your own words. Or reply {words}", "1"),
            (f"{numbers} Or reply back, {words}", "and lint"),
            (f"{numbers} Or reply done, back, {words}", "done"),
            ("Reply in this thread. Or reply !skip, !back, !explain or !cancel.", "!back"),
            (f"{numbers} Or reply done, back, {words}", "1,3"),
            ("Reply in this thread. Or reply !skip, !back, !explain or !cancel.", "!skip"),
            (
                f"Reply send to send, or with a number to change one. Or reply back, {words}",
                "send",
            ),
        ):
            card = await matrix.card(ask)
            # With a real clock: shortly before the morning more time is offered.
            last = card.body.splitlines()[-1].partition(" Reply “")[0]
            assert last == f"{hint} {ends}"
            assert card.reactions == {}
            await matrix.say(ask, text)
        assert await matrix.answers(ask) == (
            Answer(values=("PostgreSQL in Docker (recommended)",)),
            Answer(values=("Unit tests", "Load test"), custom_text="and lint"),
            Answer(),
        )
        other = await matrix.desk.ask(CONFIRM)
        await matrix.say(other, "cancel")
        notice = await matrix.card(other)
        assert notice.reactions == {}
        assert "or cancel to give none. Reply back to keep it open." in notice.body
        await matrix.say(other, "no")
        await matrix.say(other, "n")
        assert await matrix.answers(other) == (Answer(values=("no",)),)


# ── a plain message ───────────────────────────────────────────────────────────────────────────────


async def test_a_plain_message_in_a_private_room_is_for_the_one_question_that_waits(
    tmp_path: Path, synapse: Synapse
) -> None:
    clock = StillClock(time.time() - 60)  # the homeserver's clock tells when a message was written
    async with running_matrix(tmp_path, synapse, clock=clock) as matrix:
        ada, room = matrix.ada, matrix.room
        first = await ada.say(room, "hello?")
        nothing = await matrix.told("Nothing is waiting.")
        assert (nothing.msgtype, nothing.in_reply_to, nothing.thread) == ("m.notice", first, None)
        await ada.say(room, "Help")
        await matrix.told("Your agents' questions arrive here.\nReact to answer, or reply: ")
        select, text = await matrix.desk.ask(SELECT), await matrix.desk.ask(TEXT)
        for ask in (select, text):
            await matrix.card(ask)
        await matrix.dealt_with()  # and the bot has seen that they are there
        await ada.say(room, "feat: it")
        await matrix.dealt_with()
        assert await matrix.answers(text) == (Answer(values=("feat: it",)),)
        assert (await matrix.now(select)).open
        asks = [await matrix.desk.ask(question, timeout=600) for question in (TEXT, OPTIONAL)]
        for ask in asks:
            await matrix.card(ask)
        await matrix.dealt_with()
        await ada.say(room, "Which is it?")
        offer = await matrix.told("Which question is this for?")
        assert offer.msgtype == "m.notice"
        listed = [line.split(" · ")[0] for line in plain(offer.body).splitlines()[1:]]
        assert listed == [f"{i}. shop-api: {q.text}" for i, q in ((1, TEXT), (2, OPTIONAL))]
        assert [(await matrix.now(ask)).open for ask in asks] == [True, True]
        await ada.react(room, offer.event_id, "2️⃣")
        await ada.until(room, offer.event_id, lambda m: m.redacted)
        assert await matrix.answers(asks[1]) == (Answer(values=("Which is it?",)),)
        assert (await matrix.now(asks[0])).open


async def test_of_what_was_written_while_no_hub_was_there_only_the_last_is_asked_about(
    tmp_path: Path, synapse: Synapse
) -> None:
    async with Person.online(synapse, "Ada", tmp_path / "ada") as ada:
        clock = StillClock(time.time())
        async with running_matrix(tmp_path, synapse, clock=clock, ada=ada) as before:
            ask = await before.desk.ask(TEXT)
            await before.card(ask)
        for words in ("hello?", "are you there?", "feat: it"):
            await ada.say(before.room, words)
        clock = StillClock(time.time() + 60)
        async with running_matrix(
            tmp_path, synapse, clock=clock, ada=ada, bot=before.bot, room=before.room
        ) as after:
            offer = await after.told("Use this as your answer to")
            assert (await after.now(ask)).open
            assert len(after.said()) == 2
            await ada.react(after.room, offer.event_id, "👍")
            await after.dealt_with()
            assert await after.answers(ask) == (Answer(values=("feat: it",)),)


async def test_a_plain_message_in_a_shared_room_is_left_alone(
    matrix: Matrix, tmp_path: Path, synapse: Synapse
) -> None:
    async with Person.online(synapse, "Eve", tmp_path / "eve") as eve:
        await matrix.ada.invite(matrix.room, eve.user_id)
        await eve.join(matrix.room)
        await matrix.dealt_with()
        ask = await matrix.desk.ask(TEXT)
        root = await matrix.card(ask)
        said = await eve.say(matrix.room, "Shall we eat?")
        await matrix.ada.say(matrix.room, "help")
        await matrix.ada.reply(matrix.room, "Yes", to=said)
        await matrix.ada.in_thread(matrix.room, "At noon", root=said)
        await matrix.say(ask, "!done")
        await matrix.told(form.UNFIT.why)
        assert await matrix.now(ask) == ask
        assert len(matrix.said()) == 2
        await matrix.ada.reply(matrix.room, "feat: lunch", to=root.event_id)
        await matrix.dealt_with()
        assert await matrix.answers(ask) == (Answer(values=("feat: lunch",)),)
