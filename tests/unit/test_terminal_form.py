"""What a line typed at a question in the terminal leads to."""

from __future__ import annotations

from typing import Any

import pytest

from chatbridge.cli.questions.terminal_form import TerminalForm
from chatbridge.core.model import Answer

Json = dict[str, Any]

ASK: Json = {
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


def test_files_are_named_above_the_question_with_how_to_see_them() -> None:
    image = {"name": "a\x1b.png", "type": "image/png", "size": 120_000}
    options = [{"label": "A", "image": image}, {"label": "B"}]
    first = {**ASK["questions"][0], "options": options}
    log = {"name": "build.log", "type": "text/plain", "size": 900}
    ask = {"title": None, "short": "3f9a2c", "questions": [first], "attachments": [log]}
    assert (
        TerminalForm(ask)
        .screen()
        .startswith(
            "📎 a⟨U+001B⟩.png (120 KB), build.log (900 bytes)\n"
            "   To see them: chatbridge show 3f9a2c\n\nWhich branch?"
        )
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
        ([], "3", "There is no option 3. This question has options 1 to 2."),
        ([], "0", "There is no option 0. This question has options 1 to 2."),
        ([], "", "Type something first."),
        (["1"], "1 7", "There is no option 7. This question has options 1 to 2."),
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


def question(text: str, type: str = "text", *options: str, required: bool = True) -> Json:
    listed = [{"label": label} for label in options]
    return {"id": text, "question": text, "type": type, "options": listed, "required": required}


def asked(*questions: Json, title: str | None = None) -> TerminalForm:
    return TerminalForm({"title": title, "questions": list(questions)})


COLOUR = question("Which colour?", "select", "Red (recommended)", "Blue")
SURE = question("Sure?", "confirm")


def test_a_single_question_is_shown_without_a_number() -> None:
    assert asked(question("Why?")).screen() == "Why?\n\nType your answer."
    assert asked(question("Why?"), title="Cause").screen() == "Cause\n\nWhy?\n\nType your answer."


def test_several_questions_are_counted() -> None:
    assert asked(SURE, COLOUR, title="Both").screen().startswith("Both · 1 of 2\n\nSure?")
    assert asked(SURE, COLOUR).screen().startswith("1 of 2\n\nSure?")


@pytest.mark.parametrize("line", ["2", "blue", " BLUE "])
def test_an_option_is_named_by_its_number_or_its_words(line: str) -> None:
    assert asked(COLOUR).take(line.strip()).answers == (Answer(values=("Blue",)),)


@pytest.mark.parametrize("line", ["red", "Red (recommended)", "1"])
def test_a_recommended_option_may_be_named_without_the_advice(line: str) -> None:
    assert asked(COLOUR).take(line).answers == (Answer(values=("Red (recommended)",)),)


@pytest.mark.parametrize(
    ("line", "value"), [("yes", "yes"), ("Y", "yes"), ("no", "no"), ("n", "no"), ("2", "no")]
)
def test_a_confirm_takes_yes_and_no(line: str, value: str) -> None:
    assert asked(SURE).take(line).answers == (Answer(values=(value,)),)


@pytest.mark.parametrize("line", ["perhaps", "yesterday", "0", "3"])
def test_a_confirm_takes_nothing_else(line: str) -> None:
    reply = asked(SURE).take(line)
    assert reply.answers is None
    assert reply.text.startswith("Type yes or no first")


def test_a_confirm_takes_a_remark() -> None:
    said = Answer(values=("yes",), custom_text="but back up first")
    assert asked(SURE).take("yes, but back up first").answers == (said,)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("?", "Please explain this in more detail."),
        ("? why not both", "Please explain this in more detail. why not both"),
        ("??", "Please rephrase this in a different way."),
    ],
)
def test_a_question_mark_asks_back(line: str, reason: str) -> None:
    shown = TerminalForm({"title": None, "questions": [COLOUR]}, takes_ask_back=True)
    assert "? and what is unclear asks back" in shown.screen()
    assert shown.take(line).asks_back == reason


@pytest.mark.parametrize(
    ("line", "later"),
    [
        ("+15", ("extend", "15min")),
        ("+1h", ("extend", "60min")),
        ("!snooze 1h", ("snooze", "1h")),
        ("!Snooze until 08:00", ("snooze", "until 08:00")),
    ],
)
def test_more_time_and_snoozing_are_typed_too(line: str, later: tuple[str, str]) -> None:
    shown = TerminalForm({"title": None, "questions": [COLOUR]}, takes_ask_back=True)
    assert "+15 or +1h gives it more time; !snooze 1h puts it off." in shown.screen()
    assert shown.take(line).later == later
    assert asked(COLOUR).take(line).later is None, "nobody waits"
    assert shown.take("snooze 1h").answers == (Answer(custom_text="snooze 1h"),)


def test_where_nobody_waits_a_question_mark_is_an_answer_like_any_other() -> None:
    assert asked(question("Which key?")).take("?").answers == (Answer(values=("?",)),)


def test_what_is_too_long_asks_nothing_back() -> None:
    shown = TerminalForm({"title": None, "questions": [COLOUR]}, takes_ask_back=True)
    reply = shown.take("?" + "x" * 10_001)
    assert reply.asks_back is None
    assert "too long" in reply.text


def test_own_words_are_an_answer_beside_options() -> None:
    assert asked(COLOUR).take("green").answers == (Answer(custom_text="green"),)


def test_at_the_review_a_number_is_a_question_and_no_option() -> None:
    both = asked(COLOUR, SURE, title="Both")
    assert both.take("blue").answers is None
    assert "check and send" in both.take("yes").text
    assert "Which colour?" in both.take("1").text
    both.take("red")
    assert both.take("").answers == (
        Answer(values=("Red (recommended)",)),
        Answer(values=("yes",)),
    )


def test_quick_answers_have_signs_that_no_answer_begins_with() -> None:
    replies = ("Go on", "Stop")
    shown = TerminalForm({"title": None, "questions": [question("Why?")]}, replies=replies)
    assert "  !1  Go on\n  !2  Stop\n" in shown.screen()
    assert shown.take("!2").answers == (Answer(values=("Stop",)),)
    assert shown.take("!3").answers == (Answer(values=("!3",)),)
    other = TerminalForm({"title": None, "questions": [COLOUR]}, replies=replies)
    assert "Go on" not in other.screen()
    assert other.take("!2").answers == (Answer(custom_text="!2"),)
