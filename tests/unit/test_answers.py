"""Whole answers: what fits is put in order, what does not is refused with its path."""

from __future__ import annotations

import pytest

from chatbridge.core.asks.answers import check_answers
from chatbridge.core.errors import InvalidAnswer
from chatbridge.core.forms.form import MAX_TEXT
from chatbridge.core.model import Answer, Option, Question, QuestionType

OPTIONS = (Option(label="red"), Option(label="blue"), Option(label="green"))
SELECT = Question(id="s", text="Colour?", type=QuestionType.SELECT, options=OPTIONS)
MULTI = Question(id="m", text="Colours?", type=QuestionType.MULTI_SELECT, options=OPTIONS)
TEXT = Question(id="t", text="Name?")
CONFIRM = Question(id="c", text="Sure?", type=QuestionType.CONFIRM)
OPTIONAL = Question(id="o", text="Anything else?", required=False)


def test_answers_come_out_in_the_questions_order() -> None:
    given = {"c": Answer(values=("no",)), "s": Answer(values=("blue",))}
    assert check_answers([SELECT, CONFIRM], given) == (given["s"], given["c"])


def test_an_optional_question_may_be_left_out_or_left_empty() -> None:
    assert check_answers([OPTIONAL], {}) == (Answer(),)
    assert check_answers([OPTIONAL], {"o": Answer()}) == (Answer(),)


def test_labels_of_a_multi_select_come_in_the_options_order_and_once() -> None:
    given = {"m": Answer(values=("green", "red", "green"), custom_text="mauve")}
    (answer,) = check_answers([MULTI], given)
    assert answer == Answer(values=("red", "green"), custom_text="mauve")


def test_other_answers_a_select_alone() -> None:
    given = {"s": Answer(custom_text="mauve")}
    assert check_answers([SELECT], given) == (given["s"],)


def test_a_yes_or_no_takes_a_remark() -> None:
    given = {"c": Answer(values=("yes",), custom_text="Back up first.")}
    assert check_answers([CONFIRM], given) == (given["c"],)


def test_a_given_answer_cannot_claim_to_be_a_default() -> None:
    for question in (SELECT, MULTI):
        given = {question.id: Answer(values=("red",), decided_by="timeout")}
        assert check_answers([question], given) == (Answer(values=("red",)),)


def test_half_a_surrogate_pair_becomes_something_that_can_be_sent_on() -> None:
    assert check_answers([TEXT], {"t": Answer(values=("\ud800",))}) == (Answer(values=("\ufffd",)),)


@pytest.mark.parametrize(
    ("question", "answer", "path", "problem"),
    [
        (TEXT, Answer(), "answers[0]", "needs an answer"),
        (TEXT, Answer(values=("a", "b")), "answers[0].values", "one value"),
        (TEXT, Answer(values=(" ",)), "answers[0].values[0]", "empty"),
        (TEXT, Answer(values=("x" * (MAX_TEXT + 1),)), "answers[0].values[0]", "10,001"),
        (TEXT, Answer(custom_text="x"), "answers[0].customText", "takes none"),
        (CONFIRM, Answer(custom_text="x"), "answers[0].values", "takes one value"),
        (CONFIRM, Answer(values=("yes",), custom_text=" "), "answers[0].customText", "empty"),
        (CONFIRM, Answer(values=("maybe",)), "answers[0].values[0]", "yes, no"),
        (CONFIRM, Answer(values=("yes", "no")), "answers[0].values", "one value"),
        (SELECT, Answer(values=("red", "pink")), "answers[0].values[1]", "red, blue, green"),
        (SELECT, Answer(values=("red", "blue")), "answers[0].values", "one value"),
        (SELECT, Answer(values=("red",), custom_text="x"), "answers[0].values", "one value"),
        (SELECT, Answer(custom_text=""), "answers[0].customText", "empty"),
        (MULTI, Answer(values=("pink",)), "answers[0].values[0]", "'pink' is not one of"),
        (MULTI, Answer(), "answers[0]", "needs an answer"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_path(
    question: Question, answer: Answer, path: str, problem: str
) -> None:
    with pytest.raises(InvalidAnswer) as refused:
        check_answers([question], {question.id: answer})
    assert refused.value.path == path
    assert problem in refused.value.problem


def test_a_missing_required_answer_is_refused() -> None:
    with pytest.raises(InvalidAnswer, match=r"^answers: question 't' needs an answer$"):
        check_answers([TEXT], {})


def test_an_unknown_question_is_refused_with_the_known_ones() -> None:
    given = {"t": Answer(values=("Ada",)), "x": Answer(values=("b",))}
    with pytest.raises(InvalidAnswer, match="'x' is not one of t, o") as refused:
        check_answers([TEXT, OPTIONAL], given)
    assert refused.value.path == "answers[1].questionId"
