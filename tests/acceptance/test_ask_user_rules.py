"""The rules of `ask_user` beyond the documents' examples: answers, silence, lateness, limits."""

from __future__ import annotations

import asyncio
import re
from datetime import datetime

import pytest

from tests.acceptance.bridge import CARRIERS, MODES, Json, refusal_of, text_of, told, until
from tests.acceptance.connections import Connections
from tests.acceptance.raw_link import raw_link

pytestmark = pytest.mark.asyncio(loop_scope="session")

ANSWERED = {"answered": True, "cancelled": False, "timedOut": False}
TIMED_OUT = {"answered": False, "cancelled": False, "timedOut": True, "answers": []}
COLOURS = ["red", "green", "blue"]


def select(text: str, **more: object) -> Json:
    question = {"id": "c", "question": text, "type": "select", "options": COLOURS, **more}
    return {"questions": [question]}


def multi(text: str, **more: object) -> Json:
    return select(text, type="multi-select", **more)


# ── answers ───────────────────────────────────────────────────────────────────────────────────────


async def test_a_skipped_question_has_no_values(connections: Connections) -> None:
    connection = await connections.get()
    arguments: Json = {
        "questions": [
            {"id": "a", "question": "Anything else?", "required": False},
            {"id": "b", "question": "Sure?", "type": "confirm", "required": False},
            *select("Which colour?", required=False)["questions"],
        ]
    }
    result = await connection.answered(arguments, {"values": []}, {"values": ["no"]}, {})
    assert told(result)["answers"] == [
        {"questionId": "a", "values": []},
        {"questionId": "b", "values": ["no"]},
        {"questionId": "c", "values": []},
    ]


async def test_other_for_a_select_is_custom_text_without_a_value(connections: Connections) -> None:
    connection = await connections.get()
    result = await connection.answered(select("Which one?"), {"customText": "pink"})
    assert told(result) == {
        **ANSWERED,
        "answers": [{"questionId": "c", "values": [], "customText": "pink"}],
    }


async def test_a_multi_select_has_its_labels_in_the_options_order_and_the_custom_text(
    connections: Connections,
) -> None:
    connection = await connections.get()
    given = {"values": ["blue", "red"], "customText": "pink"}
    assert told(await connection.answered(multi("Which ones?"), given))["answers"] == [
        {"questionId": "c", "values": ["red", "blue"], "customText": "pink"}
    ]


async def test_a_multi_select_can_be_answered_with_other_alone(connections: Connections) -> None:
    connection = await connections.get()
    result = await connection.answered(multi("Which other ones?"), {"customText": "pink"})
    assert told(result)["answers"] == [{"questionId": "c", "values": [], "customText": "pink"}]


async def test_options_with_descriptions_are_answered_by_their_label(
    connections: Connections,
) -> None:
    connection = await connections.get()
    options = [{"label": "Keep", "description": "as it is"}, {"label": "Drop"}]
    async with connection.asking(select("Keep it?", options=options)) as (call, ask):
        assert ask["questions"][0]["options"] == options
        await asyncio.to_thread(connection.person.answer, ask, {"values": ["Keep"]})
        assert told(await call)["answers"] == [{"questionId": "c", "values": ["Keep"]}]


async def test_options_on_text_and_confirm_are_ignored(connections: Connections) -> None:
    connection = await connections.get()
    arguments = {
        "questions": [
            {"id": "t", "question": "Name?", "options": ["x"]},
            {"id": "f", "question": "Sure?", "type": "confirm", "options": {"not": "a list"}},
        ]
    }
    result = await connection.answered(arguments, {"values": ["free"]}, {"values": ["yes"]})
    assert [answer["values"] for answer in told(result)["answers"]] == [["free"], ["yes"]]


async def test_questions_without_an_id_get_different_generated_ones(
    connections: Connections,
) -> None:
    connection = await connections.get()
    arguments = {"questions": [{"question": "One?"}, {"question": "Two?"}]}
    result = await connection.answered(arguments, {"values": ["1"]}, {"values": ["2"]})
    one, two = (answer["questionId"] for answer in told(result)["answers"])
    assert re.fullmatch(r"q_\w+", one)
    assert re.fullmatch(r"q_\w+", two)
    assert one != two


async def test_a_cancellation_carries_its_reason(connections: Connections) -> None:
    connection = await connections.get()
    result = await connection.cancelled(select("Which of them?"), reason="Ask Kim.")
    assert told(result) == {
        "answered": False,
        "cancelled": True,
        "timedOut": False,
        "answers": [],
        "reason": "Ask Kim.",
    }


# ── silence ───────────────────────────────────────────────────────────────────────────────────────


async def test_a_declared_default_answers_where_the_owner_allows_it_and_says_who_decided(
    connections: Connections,
) -> None:
    connection = await connections.get("declared")
    arguments = {
        "questions": [
            {"id": "t", "question": "Name?", "onTimeout": "main"},
            *multi("Colours?", onTimeout=["blue", "red"])["questions"],
            {"id": "o", "question": "Anything else?", "required": False},
        ]
    }
    assert told(await connection.ask(arguments)) == {
        "answered": True,
        "cancelled": False,
        "timedOut": True,
        "answers": [
            {"questionId": "t", "values": ["main"], "decidedBy": "timeout"},
            {"questionId": "c", "values": ["red", "blue"], "decidedBy": "timeout"},
            {"questionId": "o", "values": []},
        ],
    }


async def test_declared_defaults_do_not_answer_while_a_required_question_has_none(
    connections: Connections,
) -> None:
    connection = await connections.get("declared")
    arguments = select("Colour?", onTimeout="red")
    arguments["questions"].append({"question": "Sure?", "type": "confirm"})
    assert told(await connection.ask(arguments)) == TIMED_OUT


async def test_a_declared_default_is_no_answer_unless_the_owner_allows_it(
    connections: Connections,
) -> None:
    connection = await connections.get("hasty")
    assert told(await connection.ask(select("Colour?", onTimeout="red"))) == TIMED_OUT


@pytest.mark.parametrize("settings", ["hasty", "declared"])
@pytest.mark.parametrize(
    "question",
    [
        {"question": "Sure?", "type": "confirm", "onTimeout": "yes"},
        {"question": "Name?", "onTimeout": " "},
        {"question": "Name?", "onTimeout": ["a", "b"]},
        *select("Colour?", onTimeout="pink")["questions"],
        *select("Colour?", onTimeout=["red", "blue"])["questions"],
        *multi("Colours?", onTimeout=["red", "pink"])["questions"],
        *multi("Colours?", onTimeout=[])["questions"],
    ],
)
async def test_a_default_that_nobody_could_give_is_refused(
    connections: Connections, question: Json, settings: str
) -> None:
    connection = await connections.get(settings)
    sentence, details = refusal_of(await connection.ask({"questions": [question]}))
    assert sentence == "Validation error: onTimeout does not fit the question"
    assert details.startswith("questions[0].onTimeout: given ")


# ── late answers ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("mode", MODES)
async def test_an_answer_that_comes_after_the_client_has_cancelled_waits_for_the_next_identical_ask(
    connections: Connections, carrier: str, mode: str
) -> None:
    connection = await connections.get(carrier=carrier, mode=mode)
    async with connection.asking(select("Which now?")) as (_, ask):
        pass
    await connection.client.list_tools(cache_mode="bypass")  # the hub has read the cancellation
    await asyncio.to_thread(connection.person.answer, ask, {"values": ["green"]})
    path = f"/api/asks/{ask['id']}"
    request = connection.person.request
    await asyncio.to_thread(until, lambda: request(path)["kept"] or None, "the answer to be kept")

    again = select("Which now?", id="other")
    assert told(await connection.ask(again)) == {
        **ANSWERED,
        "answers": [{"questionId": "other", "values": ["green"]}],
        "late": True,
    }
    async with connection.asking(again) as (_, new):
        assert new["id"] != ask["id"], "a kept answer was handed over twice"


async def test_an_answer_that_crosses_the_clients_cancellation_is_kept(
    connections: Connections,
) -> None:
    home = connections.home()
    project = (await connections.get()).home.project("crossing")
    person, arguments = home.person, select("Which, quickly?")

    def cross() -> Json:
        with raw_link(home) as link:
            link.greet(project)
            link.call(1, arguments)
            ask = person.sees("Which, quickly?", project="crossing")
            person.answer(ask, {"values": ["green"]})
            response = link.hears()
            assert response
            assert response["id"] == 1
            # The link never wrote it: its client had just given up.
            cancelled = {"method": "notifications/cancelled", "params": {"requestId": 1}}
            link.say({"jsonrpc": "2.0", **cancelled})
            link.call(2, arguments)
            again = link.hears()
            assert again
            return again

    again = await asyncio.to_thread(cross)
    assert again["id"] == 2
    assert again["result"]["structuredContent"] == {
        **ANSWERED,
        "answers": [{"questionId": "c", "values": ["green"]}],
        "late": True,
    }


async def test_an_answer_after_the_time_out_is_kept_for_the_next_identical_ask_and_marked_late(
    connections: Connections,
) -> None:
    connection = await connections.get("hasty")
    arguments = select("Which at last?")
    ask_id = await connection.ticket(arguments)
    assert told(await connection.wait_for(ask_id)) == TIMED_OUT
    ask = await asyncio.to_thread(connection.person.request, f"/api/asks/{ask_id}")
    said = await asyncio.to_thread(connection.person.answer, ask, {"values": ["blue"]})
    assert (said["status"], said["late"]) == ("timed_out", True)

    late = {**ANSWERED, "answers": [{"questionId": "c", "values": ["blue"]}], "late": True}
    assert told(await connection.ask(arguments)) == late
    assert told(await connection.wait_for(ask_id)) == late


# ── limits ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("timeout", [1, 9_999, 1_800_001, 10**30])
async def test_a_time_out_outside_the_limits_is_refused_with_the_limits(
    connections: Connections, timeout: int
) -> None:
    connection = await connections.get()
    sentence, details = refusal_of(await connection.ask({**select("Which?"), "timeout": timeout}))
    assert sentence == "Validation error: timeout is out of range"
    assert details == f"timeout: given {timeout}; accepted: milliseconds from 10000 to 1800000"


async def test_a_time_out_under_the_owners_floor_is_raised_to_it_without_a_word(
    connections: Connections,
) -> None:
    connection = await connections.get("night")
    ask_id = await connection.ticket({**select("Which tonight?"), "timeout": 10_000})
    ask = await asyncio.to_thread(connection.person.request, f"/api/asks/{ask_id}")
    open_for = datetime.fromisoformat(ask["deadline"]) - datetime.fromisoformat(ask["createdAt"])
    assert open_for.total_seconds() == pytest.approx(300, abs=1)


async def test_an_agent_with_too_many_open_asks_gets_them_listed_and_the_person_no_more(
    connections: Connections,
) -> None:
    connection = await connections.get("hasty", project="flooding")
    asks = [{**select(f"Which, {i}?"), "timeout": 60_000} for i in range(4)]
    ids = [await connection.ticket(arguments) for arguments in asks[:3]]
    refused = await connection.ask(asks[3])
    assert refused.is_error
    listed = text_of(refused).splitlines()[1:]
    assert listed == [f"- {ask_id}: Which, {i}?" for i, ask_id in enumerate(ids)]

    open_now = await asyncio.to_thread(connection.person.open_asks)
    assert {a["id"] for a in open_now if a["agent"]["project"] == "flooding"} == set(ids)
    await asyncio.to_thread(connection.person.cancel, ids[0])
    await connection.ticket(asks[3])
