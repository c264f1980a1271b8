"""What a line typed at a question in the terminal leads to."""

from __future__ import annotations

from typing import Any

import pytest

from chatbridge.cli.questions.terminal_form import TerminalForm
from chatbridge.core.model import Answer

ASK: dict[str, Any] = {
    "title": "Release",
    "questions": [
        {
            "id": "branch",
            "question": "Which **branch**?",
            "type": "select",
            "options": [{"label": "main", "description": "Newest"}, {"label": "stable"}],
            "required": True,
        },
        {
            "id": "checks",
            "question": "Which checks?",
            "type": "multi-select",
            "options": [{"label": "Unit"}, {"label": "Load"}],
            "required": True,
        },
        {"id": "notes", "question": "Notes?", "type": "text", "options": [], "required": False},
    ],
}


def filled(*lines: str) -> TerminalForm:
    form = TerminalForm(ASK)
    for line in lines:
        assert form.take(line).answers is None
    return form


def test_a_question_is_shown_with_its_place_its_options_and_what_to_type() -> None:
    assert filled().screen() == (
        "Release · 1 of 3\n\nWhich branch?\n\n  1  main\n     Newest\n  2  stable\n\n"
        "Type a number, or your own answer."
    )


def test_numbers_and_text_lead_to_the_review_and_enter_sends() -> None:
    form = filled("2", "1 2", "None, really")
    assert "check and send" in form.screen()
    assert form.take("").answers == (
        Answer(values=("stable",)),
        Answer(values=("Unit", "Load")),
        Answer(values=("None, really",)),
    )


def test_text_where_there_are_options_is_an_answer_of_ones_own() -> None:
    assert filled("hotfix", "fuzzing", "").take("").answers == (
        Answer(custom_text="hotfix"),
        Answer(custom_text="fuzzing"),
        Answer(),
    )


@pytest.mark.parametrize(("first", "second"), [("1,2", "fuzzing"), ("fuzzing", "2")])
def test_a_new_line_replaces_what_was_typed_for_several_options(first: str, second: str) -> None:
    given = filled("1", first, "<", second, "").take("").answers
    assert given is not None
    expected = Answer(custom_text="fuzzing") if second == "fuzzing" else Answer(values=("Load",))
    assert given[1] == expected


def test_a_number_in_the_review_changes_that_answer_and_leads_back() -> None:
    form = filled("1", "1", "", "1")
    assert form.screen().startswith("Release · 1 of 3")
    assert "check and send" in form.take("2").text


@pytest.mark.parametrize(
    ("before", "line", "said"),
    [
        ([], "3", "There is no option 3. This question has 1 to 2."),
        ([], "0", "There is no option 0. This question has 1 to 2."),
        ([], "", "Type something first."),
        (["1"], "1 7", "There is no option 7. This question has 1 to 2."),
        (["1"], "", "Pick at least one, or use Other."),
        (["1", "1", ""], "yes", "Enter sends it; 1 to 3 change one."),
        (["1", "1", ""], "4", "Enter sends it; 1 to 3 change one."),
        (["1", "1", ""], "0", "Enter sends it; 1 to 3 change one."),
    ],
)
def test_a_line_that_fits_nothing_is_answered_kindly(
    before: list[str], line: str, said: str
) -> None:
    form = filled(*before)
    screen = form.screen()
    assert form.take(line).text == said
    assert form.screen() == screen
