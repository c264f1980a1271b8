"""Questions as a form of a client's window, and what comes back as answers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import ElicitRequestFormParams, ElicitResult

from chatbridge.core.errors import InvalidAnswer
from chatbridge.core.model import (
    Answer,
    Attachment,
    AttachmentKind,
    Option,
    Question,
    QuestionType,
)
from chatbridge.tools.elicitation import window_of

AB = (Option(label="A", description="the first"), Option(label="B"))
NAME = Question(id="name", text="What name?", placeholder="e.g. shop")
WAY = Question(id="way", text="Which way?", type=QuestionType.SELECT, options=AB)
WAYS = Question(id="ways", text="Which ways?", type=QuestionType.MULTI_SELECT, options=AB)
SURE = Question(id="sure", text="Are you sure?", type=QuestionType.CONFIRM)
ALL = (NAME, WAY, WAYS, SURE)


def read(content: dict[str, Any], *questions: Question) -> tuple[Answer, ...]:
    return window_of(questions or ALL, title=None).read(content)


def test_files_are_named_as_the_window_cannot_show_them() -> None:
    log = Attachment(digest="0" * 64, name="build.log", type="text/plain", size=12_000)
    shot = Attachment(
        digest="1" * 64, name="a.png", type="image/png", size=9, kind=AttachmentKind.PICTURE
    )
    window = window_of([NAME], title=None, files=(shot, log))
    assert window.message == ("What name?\n📎 1 picture, 1 file (build.log, 12 KB): in the inbox")


def test_every_type_of_question_has_its_flat_field() -> None:
    window = window_of(ALL, title="Set-up")
    assert window.message.splitlines() == [
        "Set-up",
        "1. What name?",
        "2. Which way?",
        "3. Which ways?",
        "4. Are you sure?",
    ]
    other = {
        "type": "string",
        "title": "Other",
        "description": "An answer in your own words, if none of the options fits",
    }
    assert window.schema == {
        "type": "object",
        "properties": {
            "q1": {
                "type": "string",
                "title": "What name?",
                "description": "What name?\ne.g. shop",
            },
            "q2": {
                "type": "string",
                "title": "Which way?",
                "description": "Which way?\nA: the first",
                "enum": ["A", "B"],
            },
            "q2_other": other,
            "q3": {
                "type": "array",
                "title": "Which ways?",
                "description": "Which ways?\nA: the first",
                "items": {"type": "string", "enum": ["A", "B"]},
            },
            "q3_other": other,
            "q4": {
                "type": "boolean",
                "title": "Are you sure?",
                "description": "Are you sure?",
            },
        },
        "required": ["q1", "q4"],
    }
    ElicitRequestFormParams(message=window.message, requested_schema=window.schema)


def test_a_single_question_is_the_forms_message_and_a_long_one_has_a_short_title() -> None:
    long = Question(id="q", text="word " * 100)
    window = window_of([long], title="Not shown")
    assert window.message == long.text
    assert len(window.schema["properties"]["q1"]["title"]) <= 60


def test_a_filled_in_form_is_every_questions_answer_in_order() -> None:
    filled = {"q1": "cart", "q2": "B", "q3": ["B", "A"], "q3_other": "C", "q4": False}
    assert read(filled) == (
        Answer(values=("cart",)),
        Answer(values=("B",)),
        Answer(values=("A", "B"), custom_text="C"),
        Answer(values=("no",)),
    )
    assert read({"q1": True}, SURE) == (Answer(values=("yes",)),)


def test_words_of_ones_own_count_before_an_option_that_was_only_preselected() -> None:
    assert read({"q1": "A", "q1_other": "neither"}, WAY) == (Answer(custom_text="neither"),)
    assert read({"q1": "A", "q1_other": "  "}, WAY) == (Answer(values=("A",)),)


@pytest.mark.parametrize(
    ("question", "content"),
    [
        (NAME, {}),
        (NAME, {"q1": " "}),
        (NAME, {"q1": 5}),
        (NAME, {"q1": None}),
        (NAME, {"name": "cart"}),
        (WAY, {}),
        (WAY, {"q1": "C"}),
        (WAY, {"q1": ["A"]}),
        (WAYS, {"q1": []}),
        (WAYS, {"q1": "A"}),
        (WAYS, {"q1": ["A", "C"]}),
        (SURE, {}),
        (SURE, {"q1": "yes"}),
        (SURE, {"q1": 1}),
    ],
    ids=str,
)
def test_a_form_without_what_is_required_or_with_something_else_is_refused(
    question: Question, content: dict[str, Any]
) -> None:
    with pytest.raises(InvalidAnswer):
        read(content, question)


def test_optional_questions_can_be_left_out() -> None:
    optional = [
        Question(id=q.id, text=q.text, type=q.type, options=q.options, required=False) for q in ALL
    ]
    assert window_of(optional, title=None).schema["required"] == []
    assert read({}, *optional) == (Answer(),) * 4


values = st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.text())


@given(st.dictionaries(st.sampled_from(["q1", "q2", "q2_other", "q3", "q3_other", "q4"]), values))
def test_whatever_a_client_sends_is_answers_that_fit_or_refused(content: dict[str, Any]) -> None:
    sent = ElicitResult(action="accept", content=content).content or {}
    try:
        name, way, ways, sure = window_of(ALL, title=None).read(sent)
    except InvalidAnswer:
        return
    assert name.values[0].strip()
    assert way.values in (("A",), ("B",)) or way.custom_text
    assert ways.custom_text or set(ways.values) & {"A", "B"}
    assert sure.values in (("yes",), ("no",))
