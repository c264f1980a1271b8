"""The whole of `ask_user`, from an official MCP client over a real link and hub to taps on a phone
and back: what the person sees and does, and exactly what the agent gets."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.acceptance.bridge import Json, connected, text_of, texts_of, told
from tests.acceptance.examples import QUESTIONS_EXAMPLES, SINGLE_EXAMPLES, Example
from tests.acceptance.test_ask_user_examples import with_generated_ids_hidden
from tests.acceptance.thumb import Telegram, Thumb, questions_of, telegram_home
from tests.fakes.machine import until_left, until_noted

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def telegram() -> AsyncIterator[Telegram]:
    """A link and a hub for all tests here. A client must be left in the task that entered it."""
    opened: asyncio.Future[Telegram] = asyncio.get_running_loop().create_future()
    closing = asyncio.Event()

    async def keep() -> None:
        with telegram_home() as (home, phone):
            async with connected(home, home.project("shop")) as connection:
                opened.set_result(Telegram(connection=connection, phone=phone))
                await closing.wait()

    keeper = asyncio.create_task(keep())
    either: set[asyncio.Future[Any]] = {keeper, opened}
    await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    if keeper.done():
        await keeper
    yield await opened
    closing.set()
    await keeper


# ── the documents' own examples ───────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("example", QUESTIONS_EXAMPLES, ids=lambda example: example.name)
async def test_a_documented_questions_call_has_the_documented_output(
    telegram: Telegram, example: Example
) -> None:
    def action(thumb: Thumb) -> None:
        if example.given is None:
            thumb.cancels()
        else:
            thumb.fills_in(questions_of(example.arguments), example.given)

    result = await telegram.result(example.arguments, action)
    assert with_generated_ids_hidden(told(result)) == example.output


@pytest.mark.parametrize("example", SINGLE_EXAMPLES, ids=lambda example: example.name)
async def test_a_documented_single_question_has_the_documented_text_and_nothing_else(
    telegram: Telegram, example: Example
) -> None:
    given = example.given
    assert given is not None
    result = await telegram.result(
        example.arguments, lambda thumb: thumb.fills_in(questions_of(example.arguments), given)
    )
    assert text_of(result) == example.output
    assert not result.is_error
    assert result.structured_content is None


# ── what the documents leave open ─────────────────────────────────────────────────────────────────

EVERYTHING: Json = {
    "title": "Release 2.4",
    "questions": [
        {"id": "note", "question": "Anything for the notes?", "type": "text", "required": False},
        {"id": "db", "question": "Which database?", "type": "select", "options": ["A", "B"]},
        {
            "id": "checks",
            "question": "Which checks?",
            "type": "multi-select",
            "options": [
                {"label": "Unit tests", "description": "All of them"},
                {"label": "Load test"},
                {"label": "Lint"},
            ],
        },
        {
            "id": "skip",
            "question": "A second database?",
            "type": "select",
            "options": ["A", {"label": "B"}],
            "required": False,
        },
        {"id": "go", "question": "Push the tag?", "type": "confirm"},
    ],
}
FILLED_IN: tuple[Json, ...] = (
    {},
    {"customText": "CockroachDB"},
    {"values": ["Lint", "Unit tests"], "customText": "A smoke test"},
    {},
    {"values": ["no"]},
)
EVERYTHING_ANSWERED: Json = {
    "answered": True,
    "cancelled": False,
    "timedOut": False,
    "answers": [
        {"questionId": "note", "values": []},
        {"questionId": "db", "values": [], "customText": "CockroachDB"},
        {
            "questionId": "checks",
            "values": ["Unit tests", "Lint"],
            "customText": "A smoke test",
        },
        {"questionId": "skip", "values": []},
        {"questionId": "go", "values": ["no"]},
    ],
}


async def test_every_type_with_skips_and_other_in_one_form_comes_back_exactly(
    telegram: Telegram,
) -> None:
    result = await telegram.result(
        EVERYTHING, lambda thumb: thumb.fills_in(EVERYTHING["questions"], FILLED_IN)
    )
    assert told(result) == EVERYTHING_ANSWERED


async def test_standalone_carries_the_same_form_to_the_phone_and_back() -> None:
    with telegram_home() as (home, phone):
        async with connected(home, home.project("alone"), carrier="standalone") as connection:
            telegram = Telegram(connection=connection, phone=phone)
            result = await telegram.result(
                EVERYTHING, lambda thumb: thumb.fills_in(EVERYTHING["questions"], FILLED_IN)
            )
            assert told(result) == EVERYTHING_ANSWERED


async def test_an_answer_that_was_edited_on_the_review_is_the_one_that_is_sent(
    telegram: Telegram,
) -> None:
    arguments: Json = {
        "questions": [
            {"id": "one", "question": "First?", "type": "select", "options": ["A", "B"]},
            {"id": "two", "question": "Second?", "type": "confirm"},
        ]
    }

    def action(thumb: Thumb) -> None:
        thumb.shows("1 of 2")
        thumb.taps("A")
        thumb.shows("2 of 2")
        thumb.taps("Yes")
        thumb.shows("Nothing has been sent yet.")
        thumb.taps("Edit 1")
        thumb.shows("First?", "1 of 2")
        thumb.taps("B")
        thumb.shows("Nothing has been sent yet.")
        thumb.taps("Send answers")

    assert told(await telegram.result(arguments, action))["answers"] == [
        {"questionId": "one", "values": ["B"]},
        {"questionId": "two", "values": ["yes"]},
    ]


async def test_a_plain_message_answers_the_only_text_question(telegram: Telegram) -> None:
    def action(thumb: Thumb) -> None:
        until_noted(thumb.database, thumb.card)
        while time.time() < thumb.card.date + 1:  # Telegram's times are whole seconds
            time.sleep(0.02)
        sent = thumb.phone.say("by hand")
        thumb.phone.until(sent, lambda it: it.reactions == ("👍",))

    result = await telegram.result({"question": "In your own words?"}, action)
    assert text_of(result) == "User answered: by hand"


async def test_a_reply_to_the_card_picks_by_number_by_label_or_is_other(
    telegram: Telegram,
) -> None:
    options = ["First", "Second"]
    expected = {"2": "selected: Second", "first": "selected: First", "none": "answered: none"}
    for text, outcome in expected.items():

        def action(thumb: Thumb, text: str = text) -> None:
            thumb.replies(text, to=thumb.card)

        arguments: Json = {"question": f"Which, if {text}?", "options": options}
        assert text_of(await telegram.result(arguments, action)) == f"User {outcome}"


@pytest.mark.parametrize("reason", [None, "Ask Kim."])
async def test_a_cancellation_is_told_with_its_reason_in_both_forms(
    telegram: Telegram, reason: str | None
) -> None:
    def action(thumb: Thumb) -> None:
        thumb.cancels(reason)

    asked: Json = {"questions": [{"id": "q", "question": "May I?", "type": "confirm"}]}
    told_so = told(await telegram.result(asked, action))
    assert told_so == {
        "answered": False,
        "cancelled": True,
        "timedOut": False,
        "answers": [],
        **({"reason": reason} if reason else {}),
    }
    result = await telegram.result({"question": "May I go?", "options": ["Yes"]}, action)
    assert result.is_error
    assert result.structured_content is None
    assert text_of(result) == " ".join(filter(None, ("User cancelled the question.", reason)))


# ── after the deadline, and without an agent ──────────────────────────────────────────────────────

LATE: Json = {
    "questions": [{"id": "c", "question": "Which one?", "type": "select", "options": ["A", "B"]}]
}


async def test_an_answer_after_the_deadline_is_kept_and_handed_to_the_next_identical_ask_once() -> (
    None
):
    with telegram_home(MIN_TIMEOUT="2", DEFAULT_TIMEOUT="2") as (home, phone):
        async with connected(home, home.project("shop")) as connection:
            telegram = Telegram(connection=connection, phone=phone)
            async with telegram.asking(LATE) as (call, thumb):
                assert told(await call) == {
                    "answered": False,
                    "cancelled": False,
                    "timedOut": True,
                    "answers": [],
                }

            def answers_late() -> None:
                thumb.shows("Not answered in time", "told that nobody answered.", "Answer anyway")
                thumb.taps("Answer anyway")
                thumb.shows("Late answer", "The agent has moved on. Your answer is kept for it.")
                assert thumb.taps("B") == "Kept: B"
                thumb.shows("kept until", "Discard")

            await asyncio.to_thread(answers_late)
            assert told(await connection.ask(LATE)) == {
                "answered": True,
                "cancelled": False,
                "timedOut": False,
                "answers": [{"questionId": "c", "values": ["B"]}],
                "late": True,
            }
            shown = await asyncio.to_thread(thumb.shows, "delivered ")
            assert shown.rows == ()
            async with telegram.asking(LATE):
                pass  # a card of its own: it is a new ask


async def test_a_single_question_that_times_out_and_is_answered_late_says_so_in_its_own_words() -> (
    None
):
    arguments: Json = {"question": "Is anybody there?"}
    with telegram_home(MIN_TIMEOUT="2", DEFAULT_TIMEOUT="2") as (home, phone):
        async with connected(home, home.project("shop")) as connection:
            telegram = Telegram(connection=connection, phone=phone)
            async with telegram.asking(arguments) as (call, thumb):
                result = await call
            assert result.is_error
            assert texts_of(result)[0].startswith("User did not respond within the timeout period.")

            def answers_late() -> None:
                thumb.shows("Answer anyway")
                thumb.taps("Answer anyway")
                thumb.shows("Late answer")
                thumb.writes("I am")
                thumb.shows("kept until")

            await asyncio.to_thread(answers_late)
            result = await connection.ask(arguments)
            assert not result.is_error
            assert text_of(result) == "User answered: I am"


async def test_an_answer_for_an_agent_that_has_gone_is_kept_until_it_is_discarded() -> None:
    with telegram_home() as (home, phone):
        project = home.project("shop")
        async with connected(home, project) as connection:
            gone = Telegram(connection=connection, phone=phone)
            async with gone.asking(LATE) as (_, thumb):
                pass

        def answers() -> None:
            until_left(thumb.database)
            assert thumb.taps("A") == "Kept: A"
            thumb.shows("kept until", "Discard")
            assert thumb.taps("Discard") == "Discarded."
            thumb.shows("the agent does not get it")

        await asyncio.to_thread(answers)
        async with connected(home, project) as connection:
            telegram = Telegram(connection=connection, phone=phone)
            result = await telegram.result(
                LATE, lambda again: again.fills_in(LATE["questions"], [{"values": ["B"]}])
            )
            assert told(result)["answers"] == [{"questionId": "c", "values": ["B"]}]
            assert "late" not in told(result)
