"""The documents' own examples give the documents' own outputs, whichever way a client connects."""

from __future__ import annotations

import re

import pytest

from tests.acceptance.bridge import CARRIERS, MODES, Connection, Json, text_of, told
from tests.acceptance.connections import Connections
from tests.acceptance.examples import QUESTIONS_EXAMPLES, SINGLE_EXAMPLES, Example

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.parametrize("mode", MODES),
    pytest.mark.parametrize("carrier", CARRIERS),
]

GENERATED = re.compile(r"q_[0-9a-z]{6,}")


def with_generated_ids_hidden(output: Json) -> Json:
    answers = [
        {**answer, "questionId": None} if GENERATED.fullmatch(answer["questionId"]) else answer
        for answer in output["answers"]
    ]
    return {**output, "answers": answers}


@pytest.mark.parametrize("example", QUESTIONS_EXAMPLES, ids=lambda example: example.name)
async def test_a_documented_questions_call_has_the_documented_output(
    connections: Connections, carrier: str, mode: str, example: Example
) -> None:
    connection = await connections.get(carrier=carrier, mode=mode)
    if example.given is None:
        result = await connection.cancelled(example.arguments)
    else:
        result = await connection.answered(example.arguments, *example.given)
    assert with_generated_ids_hidden(told(result)) == example.output


@pytest.mark.parametrize("example", SINGLE_EXAMPLES, ids=lambda example: example.name)
async def test_a_documented_single_question_has_the_documented_text_and_nothing_else(
    connections: Connections, carrier: str, mode: str, example: Example
) -> None:
    connection = await connections.get(carrier=carrier, mode=mode)
    assert example.given is not None
    result = await connection.answered(example.arguments, *example.given)
    assert text_of(result) == example.output
    assert not result.is_error
    assert result.structured_content is None


async def test_a_cancelled_single_question_is_an_error_that_says_so(
    connections: Connections, carrier: str, mode: str
) -> None:
    connection = await connections.get(carrier=carrier, mode=mode)
    assert await single_cancelled(connection, None) == "User cancelled the question."
    assert await single_cancelled(connection, "Ask Kim.") == "User cancelled the question. Ask Kim."


async def single_cancelled(connection: Connection, reason: str | None) -> str:
    arguments = {"question": "May I go on?", "options": [{"label": "Yes"}]}
    result = await connection.cancelled(arguments, reason=reason)
    assert result.is_error
    assert result.structured_content is None
    return text_of(result)
