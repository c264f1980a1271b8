"""What a line typed at `chatbridge answer` leads to."""

from __future__ import annotations

from typing import Any

import pytest

from chatbridge.cli.questions.answer_form import AnswerForm
from chatbridge.core.model import Answer

Json = dict[str, Any]


def question(text: str, type: str = "text", *options: str, required: bool = True) -> Json:
    listed = [{"label": label} for label in options]
    return {"id": text, "question": text, "type": type, "options": listed, "required": required}


def form(*questions: Json, title: str | None = None) -> AnswerForm:
    return AnswerForm({"title": title, "questions": list(questions)})


COLOUR = question("Which colour?", "select", "Red (recommended)", "Blue")
SURE = question("Sure?", "confirm")


def test_a_single_question_is_shown_without_a_number() -> None:
    assert form(question("Why?")).screen() == "Why?\n\nType your answer."
    assert form(question("Why?"), title="Cause").screen() == "Cause\n\nWhy?\n\nType your answer."


def test_several_questions_are_counted() -> None:
    assert form(SURE, COLOUR, title="Both").screen().startswith("Both · 1 of 2\n\nSure?")
    assert form(SURE, COLOUR).screen().startswith("1 of 2\n\nSure?")


@pytest.mark.parametrize("line", ["2", "blue", " BLUE "])
def test_an_option_is_named_by_its_number_or_its_words(line: str) -> None:
    assert form(COLOUR).take(line.strip()).answers == (Answer(values=("Blue",)),)


@pytest.mark.parametrize("line", ["red", "Red (recommended)", "1"])
def test_a_recommended_option_may_be_named_without_the_advice(line: str) -> None:
    assert form(COLOUR).take(line).answers == (Answer(values=("Red (recommended)",)),)


@pytest.mark.parametrize(
    ("line", "value"), [("yes", "yes"), ("Y", "yes"), ("no", "no"), ("n", "no"), ("2", "no")]
)
def test_a_confirm_takes_yes_and_no(line: str, value: str) -> None:
    assert form(SURE).take(line).answers == (Answer(values=(value,)),)


@pytest.mark.parametrize("line", ["perhaps", "yesterday", "0", "3"])
def test_a_confirm_takes_nothing_else(line: str) -> None:
    reply = form(SURE).take(line)
    assert reply.answers is None
    assert reply.text == "Type yes or no."


def test_own_words_are_an_answer_beside_options() -> None:
    assert form(COLOUR).take("green").answers == (Answer(custom_text="green"),)


def test_at_the_review_a_number_is_a_question_and_no_option() -> None:
    both = form(COLOUR, SURE, title="Both")
    assert both.take("blue").answers is None
    assert "check and send" in both.take("yes").text
    assert "Which colour?" in both.take("1").text
    both.take("red")
    assert both.take("").answers == (
        Answer(values=("Red (recommended)",)),
        Answer(values=("yes",)),
    )
