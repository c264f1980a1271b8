"""`ask_user` in the client's own window as well, where the owner has set `elicit`."""

from __future__ import annotations

import asyncio

import pytest

from tests.acceptance.bridge import CARRIERS, PATIENCE, Json, text_of, told
from tests.acceptance.windows import (
    Windows,
    a_person_closes_it,
    a_person_declines,
    at_once,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")


def choice(text: str) -> Json:
    return {"questions": [{"id": "c", "question": text, "type": "select", "options": ["A", "B"]}]}


def answered(**answer: object) -> Json:
    return {
        "answered": True,
        "cancelled": False,
        "timedOut": False,
        "answers": [{"questionId": "c", **answer}],
    }


@pytest.mark.parametrize("elicit", ["both", "client"])
@pytest.mark.parametrize("carrier", CARRIERS)
async def test_a_form_filled_in_in_the_window_is_the_answer(
    windows: Windows, carrier: str, elicit: str
) -> None:
    seat = await windows.get(elicit, carrier=carrier)
    message = "1. What name?\n2. Which features?\n3. Sure?\n4. Which way?"
    seat.window.fills_in(message, q1="cart", q2=["Y"], q3=True, q4_other="none of them")
    arguments = {
        "questions": [
            {"id": "name", "question": "What name?"},
            {
                "id": "features",
                "question": "Which features?",
                "type": "multi-select",
                "options": ["X", "Y"],
            },
            {"id": "sure", "question": "Sure?", "type": "confirm"},
            {"id": "way", "question": "Which way?", "type": "select", "options": ["A", "B"]},
        ]
    }
    assert told(await seat.tool("ask_user", arguments))["answers"] == [
        {"questionId": "name", "values": ["cart"]},
        {"questionId": "features", "values": ["Y"]},
        {"questionId": "sure", "values": ["yes"]},
        {"questionId": "way", "values": [], "customText": "none of them"},
    ]
    assert "What name?" not in await asyncio.to_thread(seat.open_questions)


async def test_an_answer_on_the_phone_withdraws_the_window(windows: Windows) -> None:
    seat = await windows.get("both")
    text = "On the phone?"
    call = seat.tool("ask_user", choice(text))
    form = await seat.window.shown(text)
    assert form.params.requested_schema["properties"]["q1"]["enum"] == ["A", "B"]
    await seat.answers_on_the_web(text, "B")
    assert told(await call) == answered(values=["B"])
    await asyncio.wait_for(form.withdrawn.wait(), PATIENCE)


async def test_a_person_who_declines_in_the_window_cancels_the_question(windows: Windows) -> None:
    seat = await windows.get("both")
    seat.window.on("Declined?", a_person_declines)
    assert told(await seat.tool("ask_user", choice("Declined?"))) == {
        "answered": False,
        "cancelled": True,
        "timedOut": False,
        "answers": [],
        "reason": "declined in the agent's window",
    }


async def test_a_window_that_is_closed_declined_by_itself_or_left_empty_changes_nothing(
    windows: Windows,
) -> None:
    seat = await windows.get("both")
    seat.window.on("Closed?", a_person_closes_it)
    seat.window.on("At once?", at_once)
    seat.window.fills_in("Empty?")
    seat.window.fills_in("Unknown?", q1="C")
    texts = ["Closed?", "At once?", "Empty?", "Unknown?"]
    calls = [seat.tool("ask_user", choice(text)) for text in texts]
    for text in texts:
        form = await seat.window.shown(text)
        await asyncio.wait_for(form.replied.wait(), PATIENCE)
    for text in texts:
        await seat.answers_on_the_web(text, "A")
    assert [told(await call) for call in calls] == [answered(values=["A"])] * 4


async def test_a_ticket_and_the_single_question_form_go_their_usual_ways(
    windows: Windows,
) -> None:
    seat = await windows.get("both")
    ticket = told(await seat.tool("ask_user", {**choice("Later?"), "wait": False}))
    assert ticket["pending"] is True
    assert seat.window.forms.get("Later?") is None
    seat.window.fills_in("What should it be called?", q1="cart")
    single = await seat.tool("ask_user", {"question": "What should it be called?"})
    assert text_of(single) == "User answered: cart"


@pytest.mark.parametrize(("elicit", "mode"), [("chats", "legacy"), ("both", "2026-07-28")])
async def test_without_the_setting_or_where_a_form_ends_the_call_no_window_opens(
    windows: Windows, elicit: str, mode: str
) -> None:
    seat = await windows.get(elicit, mode=mode)
    call = seat.tool("ask_user", choice("Only there?"))
    await seat.answers_on_the_web("Only there?", "A")
    assert told(await call) == answered(values=["A"])
    assert seat.window.forms == {}
