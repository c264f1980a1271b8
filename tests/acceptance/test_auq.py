"""auq's tools as their document and its examples have them, whichever way a client connects."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp_types import CallToolResult

from tests.acceptance.bridge import (
    CARRIERS,
    MODES,
    PATIENCE,
    Connection,
    Json,
    connected,
    new_home,
    refusal_of,
    text_of,
)
from tests.acceptance.connections import Connections
from tests.auq_asks import BOTH, CHECKS, DATABASE, about, golden
from tests.fakes.machine import house

pytestmark = pytest.mark.asyncio(loop_scope="session")
ANSWERS: dict[str, tuple[Json, Json]] = {
    "answered": (
        {"values": ["PostgreSQL (recommended)"]},
        {"values": ["Contract tests", "Unit tests"]},
    ),
    "other": (
        {"values": [], "customText": 'Kim\'s "old" one'},
        {"values": ["Load test"], "customText": "the linter's"},
    ),
    "nothing_chosen": ({"values": []}, {"values": []}),
}


async def called(connection: Connection, tool: str, arguments: Json) -> CallToolResult:
    result = await connection.client.call_tool(tool, arguments, read_timeout_seconds=PATIENCE)
    assert result.structured_content is None
    return result


@asynccontextmanager
async def asking(
    connection: Connection, arguments: Json
) -> AsyncIterator[tuple[asyncio.Task[CallToolResult], Json]]:
    """The waiting call, and what the person sees of it."""
    call = asyncio.create_task(called(connection, "ask_user_questions", arguments))
    try:
        yield call, await connection.sees(arguments["questions"][0]["prompt"])
    finally:
        call.cancel()
        await asyncio.wait({call})


async def submitted(connection: Connection, arguments: Json) -> Json:
    """What the person sees of a call that does not wait."""
    arguments = {**arguments, "nonBlocking": True}
    assert not (await called(connection, "ask_user_questions", arguments)).is_error
    return await connection.sees(arguments["questions"][0]["prompt"])


async def fetched(connection: Connection, session: str, **arguments: bool) -> CallToolResult:
    given = {"session_id": session, **arguments}
    return await called(connection, "get_answered_questions", given)


def is_pending(result: CallToolResult, name: str, ask: Json) -> bool:
    """Whether it has this text; what may follow is that nobody could be reached."""
    text, _, more = text_of(result).partition("\n\nNobody could be reached")
    assert not result.is_error
    return text == golden(name, session=ask["id"]) and more.count("\n") == 0


@pytest.mark.parametrize(("name", "answers"), ANSWERS.items(), ids=list(ANSWERS))
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("carrier", CARRIERS)
async def test_answers_come_back_in_the_contracts_words(
    connections: Connections, carrier: str, mode: str, name: str, answers: tuple[Json, Json]
) -> None:
    connection = await connections.get(carrier=carrier, mode=mode)
    async with asking(connection, BOTH) as (call, ask):
        await asyncio.to_thread(connection.person.answer, ask, *answers)
        result = await call
    assert text_of(result) == golden(name, session=ask["id"])
    assert not result.is_error


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("carrier", CARRIERS)
async def test_a_rejection_comes_back_with_its_reason_and_can_be_fetched(
    connections: Connections, carrier: str, mode: str
) -> None:
    connection = await connections.get(carrier=carrier, mode=mode)
    for reason, name in ((None, "rejected"), ('Ask "Kim" first.', "rejected_reason")):
        async with asking(connection, BOTH) as (call, ask):
            await asyncio.to_thread(connection.person.cancel, ask["id"], reason=reason)
            result = await call
        assert text_of(result) == golden(name, session=ask["id"])
        again = await fetched(connection, ask["id"], blocking=True)
        assert text_of(again) == golden(f"fetched_{name}", session=ask["id"])
        assert not result.is_error
        assert not again.is_error


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("carrier", CARRIERS)
async def test_a_call_that_does_not_wait_is_fetched_later_as_often_as_wanted(
    connections: Connections, carrier: str, mode: str
) -> None:
    connection = await connections.get(carrier=carrier, mode=mode)
    arguments = {**BOTH, "nonBlocking": True}
    first = await called(connection, "ask_user_questions", arguments)
    ask = await connection.sees(DATABASE["prompt"])
    assert text_of(first) == golden("submitted", session=ask["id"])
    short = ask["id"][:8]
    assert is_pending(await fetched(connection, short), "pending", ask)
    assert is_pending(await connection.wait_for(ask["id"], waitSeconds=0), "submitted", ask)

    waiting = asyncio.create_task(fetched(connection, short, blocking=True))
    await asyncio.to_thread(connection.person.answer, ask, *ANSWERS["answered"])
    expected = golden("answered", session=ask["id"])
    assert text_of(await waiting) == expected
    assert text_of(await fetched(connection, ask["id"])) == expected
    assert text_of(await fetched(connection, short)) == expected
    assert text_of(await connection.wait_for(ask["id"])) == expected


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("carrier", CARRIERS)
async def test_no_question_is_an_error_with_the_documented_sentence(
    connections: Connections, carrier: str, mode: str
) -> None:
    connection = await connections.get(carrier=carrier, mode=mode)
    sentence, details = refusal_of(
        await called(connection, "ask_user_questions", {"questions": []})
    )
    assert sentence == "At least one question is required"
    assert details == "questions: given []; accepted: 1 to 5 questions"


async def test_the_tools_are_annotated_as_the_document_says(connections: Connections) -> None:
    connection = await connections.get()
    listed = (await connection.client.list_tools(cache_mode="bypass")).tools
    tools = {tool.name: tool for tool in listed}
    ask, fetch = tools["ask_user_questions"], tools["get_answered_questions"]
    for tool in (ask, fetch):
        assert tool.annotations
        assert tool.annotations.open_world_hint is True
        assert tool.annotations.idempotent_hint is True
        assert tool.output_schema is None
    assert ask.annotations
    assert ask.annotations.read_only_hint is False


async def test_a_session_of_another_project_is_unknown(connections: Connections) -> None:
    here = await connections.get(project="here")
    there = await connections.get(project="there")
    ours, theirs = (
        await submitted(here, about("Ours")),
        await submitted(there, about("Theirs")),
    )
    sentence, details = refusal_of(await fetched(here, theirs["id"]))
    assert sentence == "No session with this session_id in this project"
    assert ours["id"] in details
    assert is_pending(await fetched(there, theirs["id"]), "pending", theirs)


async def test_before_the_limit_of_one_call_comes_the_text_of_one_that_does_not_wait(
    connections: Connections,
) -> None:
    connection = await connections.get("night")
    result = await called(connection, "ask_user_questions", BOTH)
    ask = await connection.sees(DATABASE["prompt"])
    assert is_pending(result, "submitted", ask)
    assert is_pending(await fetched(connection, ask["id"], blocking=True), "pending", ask)
    await asyncio.to_thread(connection.person.answer, ask, *ANSWERS["answered"])
    result = await fetched(connection, ask["id"], blocking=True)
    assert text_of(result) == golden("answered", session=ask["id"])


async def test_the_owner_sets_how_much_may_be_asked_and_for_how_long() -> None:
    limits = {"AUQ_MAX_QUESTIONS": "2", "AUQ_MAX_OPTIONS": "3"}
    with new_home(AUQ_TIMEOUT="1", MIN_TIMEOUT="1", WEB__ENABLED="false", **limits) as home:
        async with connected(home, home.project("shop"), carrier="standalone") as connection:
            listed = (await connection.client.list_tools()).tools
            (schema,) = [t.input_schema for t in listed if t.name == "ask_user_questions"]
            questions = schema["properties"]["questions"]
            assert questions["maxItems"] == 2
            assert questions["items"]["properties"]["options"]["maxItems"] == 3

            for given in ([DATABASE] * 3, [{**CHECKS, "options": CHECKS["options"] * 2}]):
                arguments: Json = {"questions": given}
                refusal_of(await called(connection, "ask_user_questions", arguments))

            result = await called(connection, "ask_user_questions", BOTH)
            assert result.is_error
            header, *said, nobody = text_of(result).split("\n\n")
            assert header.endswith(" | Status: timed_out]")
            assert said == [golden("timed_out").split("\n\n")[1]]
            assert nobody == "Nobody could be reached: no channel is set up."


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
async def test_the_same_set_after_the_agent_was_killed_is_one_card(how: signal.Signals) -> None:
    await asyncio.to_thread(reattached, how)


def reattached(how: signal.Signals) -> None:
    params: dict[str, Any] = {"name": "ask_user_questions", "arguments": BOTH}
    with house() as home:
        with home.agent() as agent:
            agent.initialize()
            agent.request(1, "tools/call", params)
            asked = home.until()
            agent.process.send_signal(how)
            agent.process.wait(PATIENCE)
        with home.agent() as agent:
            agent.initialize()
            agent.request(1, "tools/call", params)
            home.until_it(asked, lambda ask: ask["revision"] > asked["revision"])
            assert [ask["id"] for ask in home.asks()] == [asked["id"]]
            values = [answer["values"] for answer in ANSWERS["answered"]]
            ids = [question["id"] for question in asked["questions"]]
            answers = [{"questionId": i, "values": v} for i, v in zip(ids, values, strict=True)]
            home.api(f"/api/asks/{asked['id']}/answer", {"answers": answers})
            (block,) = agent.result()["content"]
            assert block["text"] == golden("answered", session=asked["id"])
