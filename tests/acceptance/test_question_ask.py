"""`question_ask` and `question_summary` with official clients in both eras, over both carriers."""

from __future__ import annotations

import asyncio
import json
import re

import pytest
import yaml
from mcp_types import ElicitResult, ErrorData, InputRequiredResult, InputResponses

from tests.acceptance.bridge import (
    CARRIERS,
    PATIENCE,
    Json,
    connected,
    new_home,
    text_of,
    told,
    until,
)
from tests.acceptance.windows import (
    Reply,
    Script,
    Seat,
    Windows,
    a_person_closes_it,
    a_person_declines,
    at_once,
    seated,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")
ERAS = ("legacy", "2026-07-28")
everywhere = pytest.mark.parametrize(
    ("carrier", "mode"), [(carrier, mode) for carrier in CARRIERS for mode in ERAS]
)
over_both_carriers = pytest.mark.parametrize("carrier", CARRIERS)


def saved_as(seat: Seat, result: Json) -> Json:
    """The file that a result names, which is the document's to the letter."""
    text = (seat.project / result["saved_to"]).read_text(encoding="utf-8")
    found = yaml.safe_load(text)
    assert isinstance(found, dict)
    time = found.pop("timestamp")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", time)
    assert text == (
        f'# Saved at {time[:10]} {time[11:19]} UTC\ntimestamp: "{time}"\n'
        f'question: "{found["question"]}"\nanswer: "{found["answer"]}"\n'
    )
    assert result["saved_to"].startswith(
        f".chatbridge/questions/{time[:10].replace('-', '')}_{time[11:19].replace(':', '')}"
    )
    return found


@everywhere
async def test_it_is_listed_for_a_client_that_declares_elicitation(
    windows: Windows, carrier: str, mode: str
) -> None:
    seat = await windows.get(carrier=carrier, mode=mode)
    listed = {tool.name: tool for tool in (await seat.connection.client.list_tools()).tools}
    assert listed["question_ask"].input_schema["required"] == ["question"]
    assert "elicitation" in (listed["question_ask"].description or "")
    assert "entries:" in (listed["question_summary"].description or "")
    log = "hub.log" if carrier == "link" else "../stderr.log"
    text = (seat.connection.home.state / log).read_text(encoding="utf-8")
    assert "Client supports elicitation, registering 'question_ask' tool" in text


@over_both_carriers
async def test_an_answer_in_the_clients_window_is_returned_and_saved(
    windows: Windows, carrier: str
) -> None:
    seat = await windows.get(carrier=carrier)
    question = "What is your preferred approach?"
    seat.window.fills_in(question, answer="Option A")
    result = told(await seat.call(question))
    assert result["answer"] == "Option A"
    assert saved_as(seat, result) == {"question": question, "answer": "Option A"}
    form = await seat.window.shown(question)
    assert form.params.requested_schema == {
        "type": "object",
        "properties": {"answer": {"type": "string", "description": question}},
        "required": ["answer"],
    }
    assert question not in await asyncio.to_thread(seat.open_questions)


@over_both_carriers
async def test_an_answer_on_the_phone_withdraws_the_clients_window(
    windows: Windows, carrier: str
) -> None:
    seat = await windows.get(carrier=carrier)
    question = "Select deployment target"
    call = seat.call(question)
    form = await seat.window.shown(question)
    await seat.answers_on_the_web(question, "staging")
    result = told(await call)
    assert result["answer"] == "staging"
    assert saved_as(seat, result) == {"question": question, "answer": "staging"}
    await asyncio.wait_for(form.withdrawn.wait(), PATIENCE)


@over_both_carriers
async def test_where_a_form_ends_the_call_the_chats_are_asked(
    windows: Windows, carrier: str
) -> None:
    seat = await windows.get(carrier=carrier, mode="2026-07-28")
    question = "Which database should we use?"
    call = seat.call(question)
    await seat.answers_on_the_web(question, "PostgreSQL")
    result = told(await call)
    assert saved_as(seat, result) == {"question": question, "answer": "PostgreSQL"}


async def test_where_a_form_ends_the_call_and_no_channel_is_set_up_the_window_is_asked() -> None:
    question = "Which database should we use?"
    with new_home(WEB__ENABLED="false") as home:
        async with seated(home, home.project("shop"), mode="2026-07-28") as seat:
            seat.window.fills_in(question, answer="SQLite")
            result = told(await asyncio.wait_for(seat.call(question), PATIENCE))
            assert saved_as(seat, result) == {"question": question, "answer": "SQLite"}


@pytest.mark.parametrize("elicit", ["client", "both"])
@over_both_carriers
async def test_where_a_form_ends_the_call_the_client_calls_again_with_the_answer(
    windows: Windows, carrier: str, elicit: str
) -> None:
    seat = await windows.get(elicit, carrier=carrier, mode="2026-07-28")
    question = f"Which editor, {elicit}?"
    seat.window.fills_in(question, answer="vi")
    result = told(await seat.call(question))
    assert saved_as(seat, result) == {"question": question, "answer": "vi"}
    assert question not in await asyncio.to_thread(seat.open_questions)


async def test_a_phone_answer_is_returned_at_the_clients_next_call(windows: Windows) -> None:
    seat = await windows.get("both", mode="2026-07-28")
    question = "Which shell?"
    on_the_web = asyncio.Event()

    async def later() -> Reply:
        await on_the_web.wait()
        return ElicitResult(action="accept", content={"answer": "zsh"})

    seat.window.on(question, later)
    call = seat.call(question)
    await seat.window.shown(question)
    await seat.answers_on_the_web(question, "fish")
    on_the_web.set()
    result = told(await call)
    assert saved_as(seat, result) == {"question": question, "answer": "fish"}


async def test_a_forged_state_is_refused_and_nothing_is_saved(windows: Windows) -> None:
    seat = await windows.get("both", mode="2026-07-28")
    question, session = "Which licence?", seat.connection.client.session
    arguments = {"question": question}
    first = await session.call_tool("question_ask", arguments, allow_input_required=True)
    assert isinstance(first, InputRequiredResult)
    assert first.request_state is not None
    replies: InputResponses = {
        "answer": ElicitResult(action="accept", content={"answer": "forged"})
    }
    before = seat.saved()
    payload, _, signature = first.request_state.partition(".")
    for state in (f"{payload}.{signature[::-1]}", f"e30=.{signature}", "", "x"):
        refused = await session.call_tool(
            "question_ask", arguments, input_responses=replies, request_state=state
        )
        assert refused.is_error
        assert "not one that chatbridge gave out" in text_of(refused)
    other = await session.call_tool(
        "question_ask",
        {"question": "Which other?"},
        input_responses=replies,
        request_state=first.request_state,
    )
    assert other.is_error
    assert seat.saved() == before
    assert question in await asyncio.to_thread(seat.open_questions)


@pytest.mark.parametrize(
    ("script", "word"), [(a_person_declines, "declined"), (a_person_closes_it, "closed")]
)
async def test_a_person_who_declines_ends_it_with_an_error_and_nothing_is_saved(
    windows: Windows, script: Script, word: str
) -> None:
    seat = await windows.get()
    question = f"May it be {word}?"
    seat.window.on(question, script)
    before = seat.saved()
    result = await seat.call(question)
    assert result.is_error
    assert text_of(result).startswith("The question was declined, and nothing was saved.")
    assert word in text_of(result)
    assert seat.saved() == before
    assert question not in await asyncio.to_thread(seat.open_questions)


async def refuses() -> Reply:
    return ErrorData(code=-32603, message="no window today")


@pytest.mark.parametrize(("script", "number"), [(at_once, 1), (refuses, 2)])
async def test_a_client_without_a_person_leaves_the_question_to_the_chats(
    windows: Windows, script: Script, number: int
) -> None:
    seat = await windows.get()
    question = f"Is anybody there? {number}"
    seat.window.on(question, script)
    call = seat.call(question)
    await seat.window.shown(question)
    await seat.answers_on_the_web(question, "here")
    assert told(await call)["answer"] == "here"


async def test_a_form_accepted_without_an_answer_is_no_answer(windows: Windows) -> None:
    seat = await windows.get()
    question = "Anything at all?"
    seat.window.fills_in(question)
    result = await seat.call(question)
    assert result.is_error
    assert text_of(result) == "No answer provided"
    assert question not in await asyncio.to_thread(seat.open_questions)


async def test_a_cancelled_call_withdraws_the_window_and_the_question_stays(
    windows: Windows,
) -> None:
    seat = await windows.get()
    question = "Shall I wait?"
    call = seat.call(question)
    form = await seat.window.shown(question)
    call.cancel()
    await asyncio.wait_for(form.withdrawn.wait(), PATIENCE)
    await seat.answers_on_the_web(question, "no")
    await asyncio.to_thread(
        until, lambda: any(question in text for text in seat.saved().values()) or None, "the file"
    )


@everywhere
async def test_answers_are_told_again_by_the_summary(
    windows: Windows, carrier: str, mode: str
) -> None:
    seat = await windows.get(carrier=carrier, mode=mode)
    asked = seat.call("Worth remembering?")
    await seat.answers_on_the_web("Worth remembering?", "yes: # really")
    assert told(await asked)["answer"] == "yes: # really"
    result = told(await seat.tool("question_summary", {"limit": 1}))
    assert result["count"] == 1
    (entry,) = yaml.safe_load(result["summary"])["entries"]
    assert (entry["question"], entry["answer"]) == ("Worth remembering?", "yes: # really")
    everything = told(await seat.tool("question_summary", {}))
    assert everything["count"] == len(yaml.safe_load(everything["summary"])["entries"])
    assert f"# Total Q&A Pairs: {everything['count']}\n" in everything["summary"]


@pytest.mark.parametrize("mode", ERAS)
async def test_without_the_capability_it_is_not_listed_and_says_what_is_missing(mode: str) -> None:
    with new_home(LOG_LEVEL="debug") as home:
        async with connected(home, home.project("shop"), mode=mode) as plain:
            names = [tool.name for tool in (await plain.client.list_tools()).tools]
            assert "question_ask" not in names
            assert "question_summary" in names
            result = await plain.client.call_tool("question_ask", {"question": "Which?"})
            empty = told(await plain.client.call_tool("question_summary", {}))
        log = (home.state / "hub.log").read_text(encoding="utf-8")
    assert result.is_error
    assert "elicitation capability" in text_of(result)
    assert ".chatbridge/questions" in text_of(result)
    assert empty["count"] == 0
    assert empty["summary"].endswith("\nentries: []\n")
    assert "Client does not support elicitation, 'question_ask' tool not available" in log


async def test_an_answer_given_when_the_agent_has_gone_is_saved_and_kept_for_the_next() -> None:
    with new_home() as home:
        project, question = home.project("shop"), "Still needed?"
        async with seated(home, project) as seat:
            call = seat.call(question)
            await seat.window.shown(question)
            ask = await seat.connection.sees(question)
            call.cancel()
        await asyncio.to_thread(home.person.answer, ask, {"values": ["yes"]})
        (path,) = await asyncio.to_thread(until, lambda: list(seat.saved()) or None, "the file")
        async with seated(home, project) as seat:
            again = json.loads(text_of(await seat.call(question)))
            assert again == {"answer": "yes", "saved_to": path, "late": True}
            assert list(seat.saved()) == [path]
