"""`AskUserQuestion` as a form: which inputs are one, and how answers are put into them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given as examples
from hypothesis import strategies as st

from chatbridge.core.model import Answer, Attachment, Option, Question, QuestionType
from chatbridge.tools.approvals.tool import answered, questions_of
from tests.unit.test_approval_subject import JSON

COLOUR: dict[str, Any] = {
    "question": "Which colour?",
    "header": "Colour",
    "options": [{"label": "red", "description": "like fire"}, {"label": "blue"}],
    "multiSelect": False,
}
CHECKS: dict[str, Any] = {
    "question": "Which checks?",
    "options": [{"label": "unit"}, {"label": "load"}],
    "multiSelect": True,
}


def test_its_questions_become_a_form() -> None:
    assert questions_of({"questions": [COLOUR, CHECKS]}) == (
        Question(
            id="q_1",
            text="Which colour?",
            title="Colour",
            type=QuestionType.SELECT,
            options=(Option(label="red", description="like fire"), Option(label="blue")),
        ),
        Question(
            id="q_2",
            text="Which checks?",
            type=QuestionType.MULTI_SELECT,
            options=(Option(label="unit"), Option(label="load")),
        ),
    )


@pytest.mark.parametrize(
    ("question", "answer", "said"),
    [
        (COLOUR, Answer(values=("red",)), "red"),
        (COLOUR, Answer(custom_text="green"), "green"),
        (CHECKS, Answer(values=("unit", "load")), ["unit", "load"]),
        (CHECKS, Answer(values=("unit",)), ["unit"]),
        (CHECKS, Answer(values=("unit",), custom_text="smoke"), ["unit", "smoke"]),
    ],
)
def test_an_answer_stands_under_the_questions_text(
    question: dict[str, Any], answer: Answer, said: object
) -> None:
    given = {"questions": [question], "more": 1}
    assert answered(given, (answer,)) == {
        "questions": [question],
        "answers": {question["question"]: said},
    }


@pytest.mark.parametrize(
    ("question", "path", "said"),
    [
        (COLOUR, "/received/a.png", "red (attached: /received/a.png)"),
        (CHECKS, "/received/a.png", ["red", "(attached: /received/a.png)"]),
        (COLOUR, None, "red (attached: photo.png)"),
    ],
)
def test_what_was_sent_with_an_answer_is_told_with_it(
    question: dict[str, Any], path: str | None, said: object
) -> None:
    photo = Attachment(digest="0" * 64, name="photo.png", type="image/png", size=9, path=path)
    answer = Answer(values=("red",), attachments=(photo,))
    found = answered({"questions": [question]}, (answer,))
    assert found["answers"] == {question["question"]: said}


@pytest.mark.parametrize(
    "questions",
    [
        None,
        [],
        ["Which colour?"],
        [{}],
        [{**COLOUR, "question": " "}],
        [{**COLOUR, "options": []}],
        [{**COLOUR, "options": [{"label": "red"}, {"label": "red"}]}],
        [{**COLOUR, "options": ["red", "blue"]}],
        [{**COLOUR, "multiSelect": "yes"}],
        [COLOUR, COLOUR],
        [{**COLOUR, "question": f"{n}?"} for n in range(11)],
    ],
)
def test_what_is_no_form_to_the_letter_is_none(questions: object) -> None:
    assert questions_of({"questions": questions}) is None


@examples(JSON | st.lists(st.fixed_dictionaries({}, optional=dict.fromkeys(COLOUR, JSON))))
def test_nothing_makes_it_fail(questions: object) -> None:
    found = questions_of({"questions": questions})
    assert found is None or len(found) == len(questions)  # type: ignore[arg-type]
