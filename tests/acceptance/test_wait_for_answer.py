"""Tickets, and `wait_for_answer`, which turns one into the result that the ask would have had."""

from __future__ import annotations

import asyncio
import re
import uuid

import pytest

from tests.acceptance.bridge import (
    CARRIERS,
    MODES,
    Connection,
    Json,
    connected,
    refusal_of,
    text_of,
    told,
)
from tests.acceptance.connections import Connections

pytestmark = pytest.mark.asyncio(loop_scope="session")


def choice(text: str) -> Json:
    options = ["A", "B"]
    return {"questions": [{"id": "own", "question": text, "type": "select", "options": options}]}


def pending(ask_id: str) -> Json:
    """A ticket, but for the sentence that says what to do."""
    return {
        "answered": False,
        "cancelled": False,
        "timedOut": False,
        "answers": [],
        "pending": True,
        "askId": ask_id,
    }


def without_advice(ticket: Json) -> Json:
    assert "wait_for_answer" in ticket["next"]
    return {key: value for key, value in ticket.items() if key != "next"}


async def answer(connection: Connection, text: str, *values: str) -> None:
    ask = await connection.sees(text)
    await asyncio.to_thread(connection.person.answer, ask, {"values": list(values)})


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("mode", MODES)
async def test_a_ticket_becomes_the_result_that_the_ask_would_have_had_as_often_as_wanted(
    connections: Connections, carrier: str, mode: str
) -> None:
    connection = await connections.get(carrier=carrier, mode=mode)
    ticket = told(await connection.ask({**choice("Later?"), "wait": False}))
    ask_id = ticket["askId"]
    assert str(uuid.UUID(ask_id)) == ask_id
    assert without_advice(ticket) == pending(ask_id)
    assert told(await connection.wait_for(ask_id, waitSeconds=0)) == ticket

    waiting = asyncio.create_task(connection.wait_for(ask_id, waitSeconds=30))
    await answer(connection, "Later?", "B")
    expected = {
        "answered": True,
        "cancelled": False,
        "timedOut": False,
        "answers": [{"questionId": "own", "values": ["B"]}],
    }
    assert told(await waiting) == expected
    assert told(await connection.wait_for(ask_id)) == expected
    assert told(await connection.wait_for(ask_id, waitSeconds=0)) == expected


async def test_a_single_questions_ticket_is_one_sentence_and_becomes_its_sentence(
    connections: Connections,
) -> None:
    connection = await connections.get()
    arguments = {"question": "Later, in one?", "options": [{"label": "A"}, {"label": "B"}]}
    ticket = await connection.ask({**arguments, "wait": False})
    assert not ticket.is_error
    assert ticket.structured_content is None
    found = re.search(r"wait_for_answer with askId ([0-9a-f-]{36})\b", text_of(ticket))
    assert found
    assert "\n" not in text_of(ticket)
    assert text_of(await connection.wait_for(found[1], waitSeconds=0.01)) == text_of(ticket)

    await answer(connection, "Later, in one?", "A")
    for _ in range(2):
        result = await connection.wait_for(found[1])
        assert text_of(result) == "User selected: A"
        assert result.structured_content is None


async def test_an_ask_that_was_cancelled_meanwhile_is_told_as_cancelled(
    connections: Connections,
) -> None:
    connection = await connections.get()
    ask_id = await connection.ticket(choice("Later or never?"))
    await asyncio.to_thread(connection.person.cancel, ask_id, reason="never")
    result = told(await connection.wait_for(ask_id))
    assert (result["cancelled"], result["answered"], result["reason"]) == (True, False, "never")


async def test_asking_again_what_there_is_a_ticket_for_goes_on_with_the_same_ask(
    connections: Connections,
) -> None:
    connection = await connections.get()
    ask_id = await connection.ticket(choice("Once more?"))
    async with connection.asking(choice("Once more?")) as (call, ask):
        assert ask["id"] == ask_id
        await asyncio.to_thread(connection.person.answer, ask, {"values": ["A"]})
        assert told(await call)["answers"] == [{"questionId": "own", "values": ["A"]}]


async def test_a_call_returns_its_ticket_before_the_limit_and_the_answer_is_fetched_later(
    connections: Connections,
) -> None:
    connection = await connections.get("night")
    ticket = told(await connection.ask(choice("In time?")))
    assert without_advice(ticket) == pending(ticket["askId"])
    assert told(await connection.wait_for(ticket["askId"])) == ticket
    assert told(await connection.wait_for(ticket["askId"], waitSeconds=3600)) == ticket
    await answer(connection, "In time?", "B")
    result = told(await connection.wait_for(ticket["askId"]))
    assert result["answers"] == [{"questionId": "own", "values": ["B"]}]


async def test_an_unknown_id_is_an_error_that_lists_the_open_asks_of_this_project_only(
    connections: Connections,
) -> None:
    here = await connections.get(project="here")
    there = await connections.get(project="there")
    ours = [await here.ticket(choice("Ours, one?")), await here.ticket(choice("Ours, two?"))]
    theirs = await there.ticket(choice("Theirs?"))

    for unknown in (str(uuid.uuid4()), "nonsense"):
        sentence, details = refusal_of(await here.wait_for(unknown))
        assert sentence == "no question with this id in this project"
        assert details.startswith(f"askId: given {unknown!r}; ")
        assert all(ask_id in details for ask_id in ours)
        assert theirs not in details


async def test_an_ask_of_another_project_cannot_be_fetched_open_or_answered(
    connections: Connections,
) -> None:
    here = await connections.get(project="here")
    there = await connections.get(project="there")
    ask_id = await there.ticket(choice("Only for there?"))
    open_refusal = refusal_of(await here.wait_for(ask_id))
    await answer(there, "Only for there?", "A")
    assert refusal_of(await here.wait_for(ask_id)) == open_refusal
    assert told(await there.wait_for(ask_id))["answered"]


async def test_a_second_agent_of_the_same_project_can_fetch_the_answer(
    connections: Connections,
) -> None:
    connection = await connections.get(project="here")
    ask_id = await connection.ticket(choice("For both?"))
    async with connected(connection.home, connection.project / ".git") as second:
        await answer(connection, "For both?", "A")
        assert told(await second.wait_for(ask_id)) == told(await connection.wait_for(ask_id))


@pytest.mark.parametrize(
    ("arguments", "sentence", "path"),
    [
        ({}, "askId is required", "askId"),
        ({"askId": None}, "askId is required", "askId"),
        ({"askId": ""}, "askId is required", "askId"),
        ({"askId": 5}, "askId is required", "askId"),
        ({"askId": ["x" * 100_000]}, "askId is required", "askId"),
        ({"askId": "x", "waitSeconds": -1}, "waitSeconds is out of range", "waitSeconds"),
        ({"askId": "x", "waitSeconds": "5"}, "waitSeconds is out of range", "waitSeconds"),
        ({"askId": "x", "waitSeconds": True}, "waitSeconds is out of range", "waitSeconds"),
        ({"askId": "x", "waitSeconds": 1e300}, "waitSeconds is out of range", "waitSeconds"),
    ],
)
async def test_arguments_that_do_not_fit_are_refused_with_their_path(
    connections: Connections, arguments: Json, sentence: str, path: str
) -> None:
    connection = await connections.get()
    said, details = refusal_of(await connection.client.call_tool("wait_for_answer", arguments))
    assert said == f"Validation error: {sentence}"
    assert details.startswith(f"{path}: given ")
    assert len(details) < 500
