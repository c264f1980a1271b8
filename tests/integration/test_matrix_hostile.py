"""What is meant to deceive or to break: forged cards, events of any shape, and agents' words."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from chatbridge.core.model import Agent, Option, Project, Question, QuestionType
from chatbridge.core.ports import Remark
from tests.fakes.inbox import MULTI, SELECT, TEXT
from tests.fakes.matrix_desk import Matrix, running_matrix
from tests.fakes.synapse import Refused, Synapse
from tests.matrix_asks import html_text

Event = dict[str, Any]


@pytest.fixture
async def matrix(synapse: Synapse, tmp_path: Path) -> AsyncIterator[Matrix]:
    async with running_matrix(tmp_path, synapse) as matrix:
        yield matrix


def message(**more: object) -> Event:
    return {"msgtype": "m.text", "body": "2", **more}


def about(**relation: object) -> Event:
    return {"m.relates_to": relation}


def troubles(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [it.getMessage() for it in caplog.records if it.levelno >= logging.WARNING]


async def test_what_people_mark_as_a_card_is_none(matrix: Matrix) -> None:
    ask = await matrix.desk.ask(SELECT)
    card, room, ada = await matrix.card(ask), matrix.room, matrix.ada
    text = await ada.say(room, "SQLite")
    mark = {"chatbridge.card": {"ask": ask.id, "step": 0}}
    offer = {"chatbridge.offer": {"text": text, "asks": [{"ask": ask.id, "step": 0}]}}
    edit = {"rel_type": "m.replace", "event_id": card.event_id}
    forged = [
        await ada.send_raw(room, "m.room.message", content)
        for content in (
            message(**mark),
            message(**offer),
            message(**mark, **{"m.new_content": message(**mark)}, **about(**edit)),
            message(**mark, **about(rel_type="m.thread", event_id=text)),
        )
    ]
    for event in forged:
        for emoji in ("2️⃣", "👍"):
            await ada.react(room, event, emoji)
        await ada.reply(room, "2", to=event)
        with suppress(Refused):  # Synapse lets nobody start a thread at some of them
            await ada.in_thread(room, "2", root=event)
    await matrix.dealt_with()
    assert (await matrix.now(ask)).draft == ask.draft
    await matrix.tap(ask, "1️⃣")
    values = [answer.values for answer in await matrix.answers(ask)]
    assert values == [("PostgreSQL in Docker (recommended)",)]


def events_of_any_shape(card: str, notice: str) -> list[tuple[str, Event]]:
    long = "$" + "x" * 18_000  # no server takes an address as long as that
    relations: list[Any] = [7, [], {"m.in_reply_to": 7}, {"event_id": 7}]
    replied_to: list[Any] = [{}, "$none", long]
    relations += [{"m.in_reply_to": {"event_id": event}} for event in replied_to]
    relations += [
        {"rel_type": kind, "event_id": event}
        for kind in ("m.thread", "m.replace", 7)
        for event in (7, notice)
    ]
    keys: list[Any] = [7, "", "2", "2️⃣2️⃣", "\u0000", long, ["2️⃣"]]
    events: list[Any] = ["$none", "a/../b?c#d", long, 7, notice]
    reactions = [{"rel_type": "m.annotation", "event_id": card, "key": key} for key in keys]
    reactions += [{"rel_type": "m.annotation", "event_id": e, "key": "2️⃣"} for e in events]
    reactions += [{"rel_type": "m.thread", "event_id": card, "key": "2️⃣"}, {"key": "2️⃣"}]
    bodies: list[Event] = [{}, {"body": "2"}, {"msgtype": "m.text"}, {"msgtype": 7, "body": "2"}]
    texts: list[Any] = [7, [], {"a": 1}, ""]
    bodies += [message(body=text) for text in texts]
    bodies += [{"msgtype": kind, "body": "2"} for kind in ("m.notice", "m.location", "x.y")]
    bodies += [message(body="y" * 60_000), message(body="\u202e\u0000\u200b")]
    bodies += [message(**{"m.relates_to": relation}) for relation in relations]
    megolm = {"algorithm": "m.megolm.v1.aes-sha2", "ciphertext": "x", "session_id": "y"}
    return [
        *(("m.reaction", about(**relation)) for relation in reactions),
        *(("m.reaction", content) for content in ({}, {"m.relates_to": 7})),
        *(("m.room.message", content) for content in bodies),
        *(("m.room.encrypted", content) for content in ({}, {"algorithm": 7}, megolm)),
        ("m.room.encrypted", {**megolm, "sender_key": "z", "device_id": "D"}),
        ("m.room.encrypted", {"algorithm": "m.olm.v1.curve25519-aes-sha2", "ciphertext": {}}),
        ("m.sticker", {"body": "2", "url": 7}),
        ("m.poll.response", {"m.selections": ["2"]}),
        ("m.key.verification.start", {"method": 7}),
        ("m.call.invite", {"call_id": 7}),
    ]


async def test_whatever_shape_an_event_has_it_changes_nothing_and_the_next_one_counts(
    synapse: Synapse, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    # A server checks what it can read: here it cannot.
    async with running_matrix(tmp_path, synapse, encrypted=True) as matrix:
        await send_events_of_any_shape(matrix)
        ask = await matrix.desk.ask(MULTI)
        card = (await matrix.place(ask)).root.event
        for emoji in ("2️⃣", "✅"):
            await matrix.ada.react(matrix.room, card, emoji)
        await matrix.dealt_with()
        assert [answer.values for answer in await matrix.answers(ask)] == [("Contract tests",)]
        assert troubles(caplog) == []
        assert matrix.channel.trouble is None


async def send_events_of_any_shape(matrix: Matrix) -> None:
    ada, room = matrix.ada, matrix.room
    await ada.say(room, "help")
    notice = await matrix.told("Your agents' questions arrive here.")
    ask = await matrix.desk.ask(MULTI)
    card = await matrix.card(ask)
    sent: list[str] = []
    for kind, content in events_of_any_shape(card.event_id, notice.event_id):
        with suppress(Refused, AssertionError):  # reactions are not encrypted
            sent.append(await ada.send_raw(room, kind, content))
    assert len(sent) > 30
    for kind in ("m.room.name", "m.room.topic", "m.room.pinned_events", "m.room.avatar"):
        with suppress(Refused):
            await ada.set_state(room, kind, {"name": 7, "topic": [], "pinned": "x", "url": {}})
    await matrix.dealt_with()
    assert (await matrix.now(ask)).draft == ask.draft


async def test_what_a_client_sends_by_itself_is_no_answer_to_a_text_question(
    matrix: Matrix,
) -> None:
    ada, room = matrix.ada, matrix.room
    ask = await matrix.desk.ask(TEXT)
    card = await matrix.card(ask)
    thread = about(rel_type="m.thread", event_id=card.event_id)
    verification = {
        "msgtype": "m.key.verification.request",
        "body": "Ada wants to verify your device",
        "from_device": "ADASDEVICE",
        "methods": ["m.sas.v1"],
        "to": matrix.bot.user_id,
    }
    megolm = {"algorithm": "m.megolm.v1.aes-sha2", "ciphertext": "AAA", "session_id": "none"}
    await ada.send_raw(room, "m.room.message", verification)
    await ada.send_raw(room, "m.room.message", verification | thread)
    await ada.send_raw(room, "m.room.encrypted", megolm | {"sender_key": "a", "device_id": "B"})
    await ada.send_raw(room, "m.room.message", message(msgtype="m.notice") | thread)
    await ada.send_raw(room, "m.room.message", message(msgtype="m.location", geo_uri="geo:1,1"))
    await matrix.told("Only text can be an answer here.")
    assert (await matrix.now(ask)).open
    await matrix.say(ask, "Fix the port")
    assert [answer.values for answer in await matrix.answers(ask)] == [("Fix the port",)]
    await matrix.root(ask)
    assert len(matrix.said()) == 2


LURE = (
    "@room @ada:localhost <b>Sent</b> <mx-reply>old</mx-reply> "
    "![pixel](https://evil.example/p.png) [here](https://evil.example) "
    "<a href='https://matrix.to/#/@ada:localhost'>Ada</a> <img src=x onerror=y>"
)


async def test_whatever_an_agent_writes_nobody_is_pinged_by_it_and_nothing_of_it_is_markup(
    matrix: Matrix,
) -> None:
    ada, bot = matrix.ada, matrix.bot.user_id
    asked = (
        Question(
            id="a",
            text=f"{LURE}\n\n> quoted {LURE}\n\n- {LURE}",
            type=QuestionType.SELECT,
            options=(Option(label=LURE, description=LURE), Option(label=f"{LURE}!")),
        ),
        Question(id="b", text=LURE, placeholder=LURE),
    )
    ask = await matrix.desk.ask(
        *asked,
        title=LURE,
        project=Project(key="/x", name=LURE, label=LURE),
        agent=Agent(client="x", name=LURE),
    )
    await ada.say(matrix.room, LURE)
    await matrix.say(ask, "@room")  # fits both: what was typed is quoted
    await matrix.say(ask, "1")
    await matrix.say(ask, f"Mine: {LURE}")
    await matrix.tap(ask, "❌")
    await matrix.say(ask, LURE)
    await matrix.root(ask)
    await matrix.channel.tell(Remark(text=LURE))
    await matrix.told("chatbridge")
    sent = [
        event["content"]
        for event in ada.events(matrix.room)
        if event["type"] == "m.room.message" and event["sender"] == bot and event["content"]
    ]
    assert len(sent) > 8
    pinged = [content["m.mentions"] for content in sent if content["m.mentions"]]
    assert pinged == [{"user_ids": [ada.user_id]}]
    for content in sent:
        new = content.get("m.new_content", content)
        assert new["m.mentions"] in ({}, {"user_ids": [ada.user_id]})
        assert html_text(new["formatted_body"])  # fails for any tag but those that we draw
        assert "mx-reply" not in new["formatted_body"].replace("&lt;mx-reply&gt;", "").replace(
            "&lt;/mx-reply&gt;", ""
        )
        assert content["msgtype"] in ("m.text", "m.notice")
