"""From `ask_user`'s arguments to questions. Refusals over the wire are in the acceptance tests."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.core.errors import ToolInputError
from chatbridge.core.model import Answer, Option, Priority, Question, QuestionType
from chatbridge.tools.ask_user import AskUserInput, Limits, input_schema, parse

LIMITS = Limits(default=300.0, longest=1800.0)
Json = dict[str, Any]


def parsed(arguments: Json, *, declared: bool = True) -> AskUserInput:
    return parse(arguments, LIMITS, declared_defaults=declared)


def only(question: Json, *, declared: bool = True) -> Question:
    (found,) = parsed({"questions": [question]}, declared=declared).questions
    return found


def test_a_question_is_a_required_text_with_a_generated_id_unless_it_says_otherwise() -> None:
    question = only({"question": " Which? "})
    assert re.fullmatch(r"q_[0-9a-f]{6}", question.id)
    assert question == Question(id=question.id, text=" Which? ", type=QuestionType.TEXT)


def test_all_fields_of_a_question_arrive() -> None:
    question = only(
        {
            "id": "own",
            "question": "Which?",
            "type": "multi-select",
            "options": ["a", {"label": "b", "description": "bee"}],
            "required": False,
            "placeholder": "e.g. a",
            "onTimeout": ["b", "a"],
        }
    )
    assert question == Question(
        id="own",
        text="Which?",
        type=QuestionType.MULTI_SELECT,
        options=(Option(label="a"), Option(label="b", description="bee")),
        required=False,
        placeholder="e.g. a",
        on_timeout=Answer(values=("a", "b")),
    )


def test_a_set_has_its_title_time_out_and_wish_to_wait() -> None:
    given = parsed(
        {"questions": [{"question": "?"}], "title": " T ", "timeout": 10_000, "wait": False}
    )
    assert (given.dialect, given.title, given.timeout, given.wait) == (
        "questions",
        "T",
        10.0,
        False,
    )


def test_what_is_left_out_or_null_is_the_default() -> None:
    nothing = parsed({"questions": [{"question": "?"}]})
    null = parsed({"questions": [{"question": "?", "id": None, "options": None}]} | NULLS)
    for found in (nothing, null):
        assert (found.title, found.timeout, found.wait) == (None, 300.0, True)


NULLS: Json = {
    "question": None,
    "options": None,
    "multiSelect": None,
    "title": None,
    "timeout": None,
    "wait": None,
}


@pytest.mark.parametrize("title", ["", "  "])
def test_a_blank_title_is_none(title: str) -> None:
    assert parsed({"question": "?", "title": title}).title is None


@pytest.mark.parametrize("timeout", [10_000, 10_000.0, 1_800_000])
def test_the_limits_themselves_and_whole_floats_are_time_outs(timeout: float) -> None:
    assert parsed({"question": "?", "timeout": timeout}).timeout == timeout / 1000


@pytest.mark.parametrize(
    "timeout",
    [9_999, 1_800_001, 10**400, -(10**400)],
    ids=["too short", "too long", "huge", "minus huge"],
)
def test_a_time_out_beyond_the_limits_is_refused_however_far(timeout: int) -> None:
    with pytest.raises(ToolInputError, match="timeout is out of range"):
        parsed({"question": "?", "timeout": timeout})


@pytest.mark.parametrize(
    ("more", "kind"),
    [
        ({}, QuestionType.TEXT),
        ({"options": []}, QuestionType.TEXT),
        ({"options": [], "multiSelect": True}, QuestionType.TEXT),
        ({"options": ["a"]}, QuestionType.SELECT),
        ({"options": ["a"], "multiSelect": False}, QuestionType.SELECT),
        ({"options": ["a"], "multiSelect": True}, QuestionType.MULTI_SELECT),
    ],
)
def test_a_single_question_gets_its_type_from_its_options(more: Json, kind: QuestionType) -> None:
    found = parsed({"question": "Which?", **more})
    (question,) = found.questions
    assert (found.dialect, question.type, question.required) == ("question", kind, True)


@pytest.mark.parametrize("kind", ["text", "confirm"])
def test_options_on_text_and_confirm_are_left_out(kind: str) -> None:
    assert only({"question": "?", "type": kind, "options": ["a", "a"]}).options == ()


def test_a_declared_default_is_checked_but_not_kept_where_the_owner_does_not_allow_it() -> None:
    assert only({"question": "?", "onTimeout": "x"}, declared=False).on_timeout is None
    with pytest.raises(ToolInputError, match="onTimeout does not fit"):
        only({"question": "?", "type": "confirm", "onTimeout": "yes"}, declared=False)


def test_a_default_may_be_given_as_a_text_or_as_a_list_of_one() -> None:
    select = {"question": "?", "type": "select", "options": ["a", "b"]}
    for default in ("b", ["b"]):
        assert only({**select, "onTimeout": default}).on_timeout == Answer(values=("b",))


def test_a_refusals_path_names_the_field_and_nothing_of_how_it_was_checked() -> None:
    with pytest.raises(ToolInputError) as refused:
        only({"question": "?", "onTimeout": {"a": 1}})
    assert str(refused.value).splitlines()[1].startswith("questions[0].onTimeout: given {'a': 1}; ")


def test_the_schema_shows_the_limits_in_force_in_milliseconds() -> None:
    schema = input_schema(Limits(default=3600.0, longest=8 * 3600.0))
    shown = schema["properties"]["timeout"]
    assert (shown["minimum"], shown["maximum"], shown["default"]) == (10_000, 28_800_000, 3_600_000)


def test_the_schema_shows_how_much_can_be_asked_and_in_which_ways() -> None:
    shown = input_schema(LIMITS)["properties"]
    assert (shown["questions"]["minItems"], shown["questions"]["maxItems"]) == (1, 10)
    assert shown["title"]["maxLength"] == 100
    asked = shown["questions"]["items"]["properties"]
    assert (asked["question"]["minLength"], asked["question"]["maxLength"]) == (1, 1000)
    assert asked["type"]["enum"] == ["text", "select", "multi-select", "confirm"]


def test_an_agent_cannot_make_up_an_approval() -> None:
    with pytest.raises(ToolInputError, match=r"questions\[0\].type: given 'approval'; ") as refused:
        only({"question": "Run this command?", "type": "approval"})
    assert str(refused.value).endswith("'text', 'select', 'multi-select' or 'confirm'")


def test_the_schema_requires_nothing_at_its_top_as_either_form_will_do() -> None:
    assert not input_schema(LIMITS).keys() & {"required", "anyOf", "oneOf", "allOf"}


QUESTION_NAMES = ["id", "question", "type", "options", "required", "placeholder", "onTimeout"]
NAMES = [*QUESTION_NAMES, *NULLS, "questions", "label", "description"]
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(["text", "select", "multi-select", "confirm", "yes", "a", "", "\n"])
    | st.text(max_size=10)
)
ANY_JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner),
    max_leaves=8,
)
LIKELY_QUESTION = st.fixed_dictionaries(
    {"question": st.text(min_size=1, max_size=10)},
    optional={
        "id": ANY_JSON,
        "type": st.sampled_from(list(QuestionType)) | ANY_JSON,
        "options": st.lists(st.text(max_size=3), max_size=4) | ANY_JSON,
        "onTimeout": st.text(max_size=3) | ANY_JSON,
        "required": ANY_JSON,
    },
)
ARGUMENTS = st.dictionaries(st.sampled_from(NAMES), ANY_JSON) | st.fixed_dictionaries(
    {"questions": st.lists(LIKELY_QUESTION, max_size=3)}, optional={"timeout": ANY_JSON}
)


@given(arguments=ARGUMENTS)
def test_whatever_the_arguments_are_they_are_questions_or_a_refusal_of_two_short_lines(
    arguments: Json,
) -> None:
    try:
        found = parsed(arguments)
    except ToolInputError as refused:
        sentence, details = str(refused).split("\n")
        assert sentence.startswith("Validation error: ")
        assert re.match(r"[\w.\[\]]+: given .+; accepted: .+", details, re.DOTALL)
        assert len(details) < 700
    else:
        assert 1 <= len(found.questions) <= 10
        assert len({question.id for question in found.questions}) == len(found.questions)
        assert all(question.text.strip() for question in found.questions)
        assert 10.0 <= found.timeout <= 1800.0


@pytest.mark.parametrize(
    ("given", "priority"),
    [({}, "normal"), ({"priority": None}, "normal"), *(({"priority": p}, p) for p in Priority)],
)
def test_a_priority_is_normal_unless_it_says_otherwise(given: Json, priority: str) -> None:
    for form in ({"question": "Which?"}, {"questions": [{"question": "Which?"}]}):
        assert parsed({**form, **given}).priority == priority


@pytest.mark.parametrize("given", ["high", "URGENT", "", 1, True, ["urgent"], {"urgent": True}])
def test_another_priority_is_refused_with_those_that_there_are(given: object) -> None:
    with pytest.raises(ToolInputError) as error:
        parsed({"question": "Which?", "priority": given})
    assert error.value.path == "priority"
    assert "'low', 'normal' or 'urgent'" in str(error.value)


def test_the_schema_offers_the_priorities() -> None:
    offered = input_schema(LIMITS)["properties"]["priority"]
    assert (offered["enum"], offered["default"]) == (["low", "normal", "urgent"], "normal")
    assert all(type(each) is str for each in (*offered["enum"], offered["default"]))
