"""Arguments that do not fit: always a tool error of two lines, whatever they are."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp import MCPError
from mcp_types import INVALID_PARAMS

from tests.acceptance.bridge import CARRIERS, MODES, Json, refusal_of, text_of
from tests.acceptance.connections import Connections

pytestmark = pytest.mark.asyncio(loop_scope="session")

NO_QUESTION = "Validation error: questions array must have at least 1 item"
TOO_MANY = "Validation error: questions array exceeds maximum of 10"
NO_OPTIONS = "Validation error: Options required for select/multi-select types"
NO_TEXT = "Validation error: question text is required"
UNIQUE_IDS = "Validation error: question ids must be unique"
UNIQUE_LABELS = "Validation error: option labels must be unique"

Q: Json = {"question": "Which?"}
SELECT: Json = {"question": "Which?", "type": "select", "options": ["a", "b"]}


def asking(*questions: object) -> Json:
    return {"questions": list(questions)}


REFUSED: list[tuple[Json, str, str]] = [
    ({}, NO_QUESTION, "questions: given None; "),
    ({"questions": None}, NO_QUESTION, "questions: given None; "),
    (asking(), NO_QUESTION, "questions: given []; accepted: 1 to 10 questions"),
    (asking(*[Q] * 11), TOO_MANY, "questions: given '11 questions'; accepted: 1 to 10 questions"),
    (asking(Q, {**SELECT, "options": []}), NO_OPTIONS, "questions[1].options: given []; "),
    (asking({**SELECT, "options": None}), NO_OPTIONS, "questions[0].options: given None; "),
    (asking({**SELECT, "type": "multi-select", "options": []}), NO_OPTIONS, "questions[0].options"),
    (asking({"question": "Which?", "type": "select"}), NO_OPTIONS, "questions[0].options: "),
    (asking(Q, {"question": ""}), NO_TEXT, "questions[1].question: given ''; "),
    (asking({"question": " \n\t"}), NO_TEXT, "questions[0].question: given ' \\n\\t'; "),
    (asking({"type": "text"}), NO_TEXT, "questions[0].question: given None; "),
    ({"question": ""}, NO_TEXT, "question: given ''; "),
    ({"question": "  "}, NO_TEXT, "question: given '  '; "),
    (asking({**Q, "id": "a"}, {**Q, "id": "a"}), UNIQUE_IDS, "questions[1].id: given 'a'; "),
    (asking({**SELECT, "options": ["a", "b", "a"]}), UNIQUE_LABELS, "questions[0].options[2]: "),
    ({"question": "Which?", "options": ["a", " a "]}, UNIQUE_LABELS, "options[1]: given 'a'; "),
    (
        {**asking(Q), "question": "Which?"},
        "Validation error: give either question or questions, not both",
        "question: given 'Which?'; ",
    ),
    (
        asking({"question": "x" * 1001}),
        "Validation error: question is too long",
        "questions[0].question: given 1,001 characters; ",
    ),
    (
        asking({"question": "x" * 1_000_000}),
        "Validation error: question is too long",
        "questions[0].question: given 1,000,000 characters; ",
    ),
    (
        {"question": "x" * 1_000_000},
        "Validation error: question is too long",
        "question: given 1,000,000 characters; ",
    ),
    (
        {**asking(Q), "title": "x" * 101},
        "Validation error: title is too long",
        "title: given 101 characters; ",
    ),
    (
        asking({**SELECT, "options": [" "]}),
        "Validation error: an option needs a label",
        "questions[0].options[0]: given ' '; ",
    ),
    ({**asking(Q), "timeout": 1}, "Validation error: timeout is out of range", "timeout: given 1;"),
]


@pytest.mark.parametrize(("arguments", "sentence", "details"), REFUSED)
async def test_a_call_that_breaks_a_rule_is_refused_with_the_rule_and_the_place(
    connections: Connections, arguments: Json, sentence: str, details: str
) -> None:
    connection = await connections.get()
    said = refusal_of(await connection.ask(arguments))
    assert said[0] == sentence
    assert said[1].startswith(details)
    assert len(said[1]) < 700


STRINGS = [5, True, [], {"a": 1}]
AT_THE_TOP: list[tuple[str, list[Any]]] = [
    ("title", STRINGS),
    ("question", STRINGS),
    ("options", [5, True, "a", {"a": 1}, [5], [None], [["a"]], [{"description": "no label"}]]),
    ("multiSelect", [5, "yes", [], {}]),
    ("timeout", ["60000", True, 60_000.5, [], {}, [60_000]]),
    ("wait", [0, "false", [], {}]),
    ("questions", [5, True, "Which?", {"question": "Which?"}, [5], [None], ["Which?"], [[]]]),
]
IN_A_QUESTION: list[tuple[str, list[Any]]] = [
    ("id", [5, True, [], {}, "", "x" * 201]),
    ("question", [None, *STRINGS]),
    ("type", [5, True, [], {}, "", "TEXT", "number", "approval", None]),
    ("options", [5, True, "a", {"a": 1}, [5], [None], [["a"]], [""], [{"label": 5}]]),
    ("required", [0, "yes", [], {}, None]),
    ("placeholder", STRINGS),
    ("onTimeout", [5, True, {"a": 1}, [5], [["a"]]]),
]


@pytest.mark.parametrize(
    ("field", "value"), [(field, value) for field, values in AT_THE_TOP for value in values]
)
async def test_a_field_of_the_wrong_type_is_refused_and_named(
    connections: Connections, field: str, value: object
) -> None:
    connection = await connections.get()
    base: Json = {"question": "Which?"} if field != "questions" else {}
    sentence, details = refusal_of(await connection.ask({**base, field: value}))
    assert sentence.startswith("Validation error: ")
    assert re.match(rf"{field}(\[\d+\])*(\.label)?: given ", details), details


@pytest.mark.parametrize(
    ("field", "value"), [(field, value) for field, values in IN_A_QUESTION for value in values]
)
async def test_a_questions_field_of_the_wrong_type_is_refused_and_named(
    connections: Connections, field: str, value: object
) -> None:
    connection = await connections.get()
    sentence, details = refusal_of(await connection.ask(asking(Q, {**SELECT, field: value})))
    assert sentence.startswith("Validation error: ")
    assert re.match(rf"questions\[1\]\.{field}(\[\d+\])*(\.label)?: given ", details), details


async def test_a_long_single_question_and_unknown_fields_are_accepted(
    connections: Connections,
) -> None:
    connection = await connections.get()
    arguments = {"question": "x" * 50_000, "wait": False, "colour": "red", "": None}
    result = await connection.ask(arguments)
    assert not result.is_error


async def test_labels_with_line_breaks_make_no_third_line(connections: Connections) -> None:
    connection = await connections.get()
    question = {**SELECT, "options": ["a\nb", "c"] + ["x" * 900 + str(i) for i in range(50)]}
    _, details = refusal_of(await connection.ask(asking({**question, "onTimeout": "d"})))
    assert len(details) < 700


FIELDS = st.sampled_from(
    [field for field, _ in (*AT_THE_TOP, *IN_A_QUESTION)] + ["label", "description", "waitSeconds"]
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(("text", "select", "multi-select", "confirm", "yes", "a", ""))
    | st.text(max_size=20)
)
ANY_JSON = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(FIELDS | st.text(max_size=5), inner)
    ),
    max_leaves=12,
)


@settings(max_examples=40)
@given(arguments=st.dictionaries(FIELDS, ANY_JSON, max_size=5))
async def test_whatever_the_arguments_are_the_result_is_a_ticket_or_a_refusal_of_two_lines(
    connections: Connections, arguments: Json
) -> None:
    connection = await connections.get()
    result = await connection.ask({**arguments, "wait": False})
    ticket = re.search(r"[0-9a-f]{8}-[0-9a-f-]{27}", text_of(result))
    if not result.is_error and ticket:
        await asyncio.to_thread(connection.person.cancel, ticket[0])
        return
    sentence, details = refusal_of(result)
    assert sentence.startswith("Validation error: ")
    assert re.match(r"[\w.\[\]]+: given .+; accepted: .+", details), details
    refusal_of(await connection.client.call_tool("wait_for_answer", {**arguments, "askId": "x"}))


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("mode", MODES)
async def test_an_unknown_tool_is_a_protocol_error_that_lists_the_known_ones(
    connections: Connections, carrier: str, mode: str
) -> None:
    connection = await connections.get(carrier=carrier, mode=mode)
    for name in ("ask_the_cat", "x" * 100_000):
        with pytest.raises(MCPError) as error:
            await connection.client.call_tool(name, {})
        assert error.value.code == INVALID_PARAMS
        assert error.value.message.startswith("Unknown tool: ")
        assert "ask_user, wait_for_answer" in error.value.message
        assert len(error.value.message) < 300
