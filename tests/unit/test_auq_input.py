"""What auq's tools take, and how they refuse the rest."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.core.errors import ToolInputError
from chatbridge.core.model import Option, Question, QuestionType
from chatbridge.tools.auq import (
    AuqInput,
    GetAnsweredQuestions,
    Limits,
    ask_schema,
    parse,
    parse_fetch,
)
from tests.auq_asks import BOTH, CHECKS, DATABASE, SESSION, Json

LIMITS = Limits(questions=5, options=5)


def parsed(arguments: Any, limits: Limits = LIMITS) -> AuqInput:
    return parse(arguments, limits)


def refusal(arguments: Any, limits: Limits = LIMITS) -> tuple[str, str]:
    with pytest.raises(ToolInputError) as refused:
        parse(arguments, limits)
    sentence, details = str(refused.value).split("\n")
    return sentence, details


def options(count: int) -> list[Json]:
    return [{"label": f"option {i}"} for i in range(count)]


def test_questions_become_selects_that_can_be_skipped_and_asked_back_about() -> None:
    found = parsed(BOTH)
    assert found.wait
    assert found.questions == (
        Question(
            id="q1",
            text="Which database should the tests use?",
            title="Database",
            type=QuestionType.SELECT,
            options=(
                Option(label="PostgreSQL (recommended)", description="One container for each run"),
                Option(label="SQLite"),
            ),
            required=False,
            takes_ask_back=True,
        ),
        Question(
            id="q2",
            text="Which checks must pass?",
            title="Checks",
            type=QuestionType.MULTI_SELECT,
            options=(
                Option(label="Unit tests", description="About two minutes"),
                Option(label="Contract tests"),
                Option(label="Load test", description="An hour"),
            ),
            required=False,
            takes_ask_back=True,
        ),
    )


@pytest.mark.parametrize("given", [{}, {"multiSelect": None}])
def test_without_a_word_about_it_one_option_is_chosen(given: Json) -> None:
    plain = {name: value for name, value in DATABASE.items() if name != "multiSelect"}
    (question,) = parsed({"questions": [{**plain, **given}]}).questions
    assert question.type is QuestionType.SELECT


@pytest.mark.parametrize(
    ("given", "wait"), [({}, True), ({"nonBlocking": False}, True), ({"nonBlocking": True}, False)]
)
def test_only_a_non_blocking_call_does_not_wait(given: Json, wait: bool) -> None:
    assert parsed({**BOTH, **given}).wait is wait


@pytest.mark.parametrize("arguments", [{}, {"questions": []}, {"questions": None}])
def test_no_question_is_refused_with_the_documented_sentence(arguments: Json) -> None:
    sentence, details = refusal(arguments)
    assert sentence == "At least one question is required"
    assert details == (
        f"questions: given {arguments.get('questions')!r}; accepted: 1 to 5 questions"
    )


@pytest.mark.parametrize("limit", [1, 5, 10])
def test_as_many_questions_are_taken_as_the_owner_allows_and_no_more(limit: int) -> None:
    limits = Limits(questions=limit, options=5)
    assert len(parsed({"questions": [DATABASE] * limit}, limits).questions) == limit
    sentence, details = refusal({"questions": [DATABASE] * (limit + 1)}, limits)
    assert sentence.startswith("Validation error: ")
    assert details == (
        f"questions: given '{limit + 1} questions'; accepted: 1 to {limit} questions"
    )


@pytest.mark.parametrize("limit", [2, 5, 10])
def test_as_many_options_are_taken_as_the_owner_allows_and_at_least_two(limit: int) -> None:
    limits = Limits(questions=5, options=limit)
    for count in (2, limit):
        given = {**DATABASE, "options": options(count)}
        (question,) = parsed({"questions": [given]}, limits).questions
        assert len(question.options) == count
    for count in (0, 1, limit + 1):
        given = {**DATABASE, "options": options(count)}
        _, details = refusal({"questions": [CHECKS | {"options": options(2)}, given]}, limits)
        assert details == (
            f"questions[1].options: given '{count} options'; accepted: 2 to {limit} options"
        )


@pytest.mark.parametrize(
    ("changed", "path"),
    [
        ({"prompt": ""}, "questions[0].prompt"),
        ({"prompt": " \n"}, "questions[0].prompt"),
        ({"prompt": 5}, "questions[0].prompt"),
        ({"prompt": "x" * 100_001}, "questions[0].prompt"),
        ({"prompt": "half \ud83d pair"}, "questions[0].prompt"),
        ({"title": ""}, "questions[0].title"),
        ({"title": None}, "questions[0].title"),
        ({"title": "x" * 1_001}, "questions[0].title"),
        ({"options": None}, "questions[0].options"),
        ({"options": ["A", "B"]}, "questions[0].options[0]"),
        ({"options": [{"label": "A"}, {"label": " "}]}, "questions[0].options[1].label"),
        ({"options": [{"label": "A"}, {"label": " A"}]}, "questions[0].options[1].label"),
        ({"options": [{"label": "A"}, {}]}, "questions[0].options[1].label"),
        (
            {"options": [{"label": "A"}, {"label": "B", "description": "\ud83d"}]},
            "questions[0].options[1].description",
        ),
        ({"multiSelect": "yes"}, "questions[0].multiSelect"),
    ],
)
def test_a_question_that_does_not_fit_is_refused_with_its_path(changed: Json, path: str) -> None:
    sentence, details = refusal({"questions": [{**DATABASE, **changed}]})
    assert sentence.startswith("Validation error: ")
    assert details.startswith(f"{path}: given ")
    assert "; accepted: " in details
    assert len(details) < 700


@pytest.mark.parametrize("name", ["prompt", "title", "options"])
def test_a_question_needs_each_of_its_parts(name: str) -> None:
    part = {key: value for key, value in DATABASE.items() if key != name}
    sentence, _ = refusal({"questions": [part]})
    assert sentence == f"Validation error: questions[0].{name} is required"


@pytest.mark.parametrize("session", [SESSION, SESSION[:8], f" {SESSION.upper()}\n"])
def test_a_session_is_named_whole_or_by_its_beginning_in_any_case(session: str) -> None:
    found, wait = parse_fetch({"session_id": session, "blocking": True})
    assert wait
    assert SESSION.startswith(found)


@pytest.mark.parametrize("given", [{}, {"blocking": None}, {"blocking": False}])
def test_a_fetch_waits_only_if_it_is_told_to(given: Json) -> None:
    assert parse_fetch({"session_id": SESSION, **given}) == (SESSION, False)


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ({}, "session_id"),
        ({"session_id": ""}, "session_id"),
        ({"session_id": SESSION[:7]}, "session_id"),
        ({"session_id": None}, "session_id"),
        ({"session_id": ["x" * 100_000]}, "session_id"),
        ({"session_id": "\ud83d" * 8}, "session_id"),
        ({"session_id": SESSION, "blocking": "yes"}, "blocking"),
    ],
)
def test_a_fetch_that_names_no_session_is_refused(arguments: Json, path: str) -> None:
    with pytest.raises(ToolInputError) as refused:
        parse_fetch(arguments)
    sentence, details = str(refused.value).split("\n")
    assert sentence.startswith("Validation error: ")
    assert details.startswith(f"{path}: given ")
    assert len(details) < 700


def test_the_schemas_show_the_limits_in_force_and_no_choice_at_their_top() -> None:
    schema = ask_schema(Limits(questions=7, options=9))
    questions = schema["properties"]["questions"]
    shown = questions["items"]["properties"]["options"]
    assert (questions["minItems"], questions["maxItems"]) == (1, 7)
    assert (shown["minItems"], shown["maxItems"]) == (2, 9)
    for found in (schema, GetAnsweredQuestions.schema):
        assert not found.keys() & {"anyOf", "oneOf", "allOf"}


NAMES = [
    "questions", "nonBlocking", "prompt", "title", "options", "multiSelect", "label",
    "description", "session_id", "blocking",
]  # fmt: skip
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["", "a", "\n"])
    | st.text(max_size=10)
)  # fmt: skip
ANY_JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner),
    max_leaves=8,
)
LIKELY_OPTION = st.fixed_dictionaries(
    {"label": st.text(max_size=3) | ANY_JSON}, optional={"description": ANY_JSON}
)
LIKELY_QUESTION = st.fixed_dictionaries(
    {
        "prompt": st.text(min_size=1, max_size=5) | ANY_JSON,
        "title": st.text(min_size=1, max_size=5) | ANY_JSON,
        "options": st.lists(LIKELY_OPTION, max_size=7) | ANY_JSON,
    },
    optional={"multiSelect": ANY_JSON},
)
ARGUMENTS = st.dictionaries(st.sampled_from(NAMES), ANY_JSON) | st.fixed_dictionaries(
    {"questions": st.lists(LIKELY_QUESTION, max_size=7)}, optional={"nonBlocking": ANY_JSON}
)


@given(arguments=ARGUMENTS)
def test_whatever_the_arguments_are_they_are_questions_or_a_refusal_of_two_short_lines(
    arguments: Json,
) -> None:
    try:
        found = parsed(arguments)
    except ToolInputError as refused:
        sentence, details = str(refused).split("\n")
        documented = sentence == "At least one question is required"
        assert documented or sentence.startswith("Validation error: ")
        assert re.match(r"[\w.\[\]]+: given .+; accepted: .+", details, re.DOTALL)
        assert len(details) < 700
    else:
        assert 1 <= len(found.questions) <= 5
        for question in found.questions:
            assert question.text.strip()
            assert question.title
            assert 2 <= len({option.label.strip() for option in question.options}) <= 5
