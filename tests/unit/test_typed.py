"""What a typed text stands for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.core.forms.form import Choose, Event, Text, Toggle
from chatbridge.core.forms.typed_input import (
    YES_OR_NO,
    Unclear,
    interpret,
    interpret_beside_buttons,
    takes_text,
)
from chatbridge.core.model import Ask, Draft, Entry, Option, Question, QuestionType, View
from chatbridge.core.text import one_line
from tests import telegram_strategies as some
from tests.fakes.loop_watch import calls_in_this_thread
from tests.telegram_asks import NEXT_TIME, ask, confirm, select, text

SELECT = select("Which database?", "PostgreSQL in Docker (recommended)", "SQLite", "3 replicas")
MULTI = select("Which checks?", "Unit tests", "Load, and more", "7", multi=True)


def events(question: Question, said: str) -> tuple[Event, ...] | Unclear:
    return interpret_beside_buttons(ask(question), said)


def toggles(*options: int) -> tuple[Event, ...]:
    return tuple(Toggle(step=0, option=option, on=True) for option in options)


@pytest.mark.parametrize(
    ("said", "option"),
    [
        ("SQLite", 1),
        (" sqlite\n", 1),
        ("2", 1),
        ("1", 0),
        ("PostgreSQL in Docker", 0),
        ("postgresql in docker (recommended)", 0),
        ("3 replicas", 2),
    ],
)
def test_a_label_or_a_number_picks(said: str, option: int) -> None:
    assert events(SELECT, said) == (Choose(step=0, option=option),)


@pytest.mark.parametrize(
    "said", ["0", "4", "-1", "²", "٢", "1.", "SQL", "1,2", "", "0000000012", "10" * 3000]
)
def test_anything_else_is_a_text_of_its_own(said: str) -> None:
    assert events(SELECT, said) == (Text(text=said, step=0),)


@pytest.mark.parametrize(
    ("said", "options"),
    [
        ("1,3", (0, 2)),
        ("1 2", (0, 1)),
        ("3; 1", (2, 0)),
        ("unit tests, 2", (0, 1)),
        ("Load, and more", (1,)),
        ("7", (2,)),
        ("1,,3,", (0, 2)),
    ],
)
def test_a_list_picks_several(said: str, options: tuple[int, ...]) -> None:
    assert events(MULTI, said) == toggles(*options)


@pytest.mark.parametrize("said", ["1,9", "1 and 3", "Unit tests and more", ",", " "])
def test_a_list_with_anything_unknown_in_it_is_a_text(said: str) -> None:
    assert events(MULTI, said) == (Text(text=said, step=0),)


@pytest.mark.parametrize(("said", "option"), [("yes", 0), ("No", 1), ("Y", 0), (" n ", 1)], ids=str)
def test_yes_and_no_in_words(said: str, option: int) -> None:
    assert events(confirm("Go?"), said) == (Choose(step=0, option=option),)


def test_a_yes_takes_a_remark() -> None:
    said = events(confirm("Go?"), "yes, but back up first")
    assert said == (Choose(step=0, option=0, remark="but back up first"),)


@pytest.mark.parametrize("said", ["1", "maybe", "yes?"])
def test_a_confirm_takes_nothing_else(said: str) -> None:
    assert events(confirm("Go?"), said) == YES_OR_NO


def test_a_number_is_the_answer_where_a_text_is_asked_for() -> None:
    assert events(text("How many?"), "1") == (Text(text="1", step=0),)


@pytest.mark.parametrize("view", [View.OTHER, View.CANCEL])
def test_on_the_screens_for_words_a_label_is_words(view: View) -> None:
    found = ask(SELECT)
    found = replace(found, draft=replace(found.draft, view=view, step=4))
    assert takes_text(found)
    assert interpret_beside_buttons(found, "SQLite") == (Text(text="SQLite", step=4),)


def test_the_review_waits_for_no_text() -> None:
    draft = Draft(entries=(Entry(), Entry()), view=View.REVIEW, at=2, step=3)
    found = ask(text("One?"), text("Two?"), draft=draft)
    assert not takes_text(found)
    assert interpret_beside_buttons(found, "1") == (Text(text="1", step=3),)


@pytest.mark.parametrize(
    ("question", "waits"),
    [(SELECT, False), (MULTI, False), (confirm("?"), False), (text("?"), True)],
)
def test_only_a_text_question_waits_for_text_by_itself(question: Question, waits: bool) -> None:
    assert takes_text(ask(question)) is waits


@given(some.asks(), st.text() | st.integers(min_value=0).map(str))
def test_every_text_stands_for_events_of_the_present_step(found: Ask, said: str) -> None:
    meant = interpret_beside_buttons(found, said)
    if not isinstance(meant, Unclear):
        assert {event.step for event in meant} == {found.draft.step}


@given(st.integers(min_value=1, max_value=150), st.integers(min_value=0, max_value=10**12))
def test_a_number_never_picks_what_is_not_there(count: int, number: int) -> None:
    options = tuple(Option(label=f"option {i}") for i in range(count))
    question = Question(id="q", text="?", type=QuestionType.SELECT, options=options)
    found = events(question, str(number))
    assert not isinstance(found, Unclear)
    (event,) = found
    if 1 <= number <= count:
        assert event == Choose(step=0, option=number - 1)
    else:
        assert isinstance(event, Text)


@pytest.mark.parametrize(
    "reads",
    [interpret_beside_buttons, partial(interpret, next_time=NEXT_TIME)],
    ids=["beside_buttons", "typed"],
)
def test_a_long_list_is_compared_with_many_options_that_are_folded_once(
    reads: Callable[[Ask, str], object],
) -> None:
    many = 50
    question = select("Which?", *(f"Option {i}" for i in range(many)), multi=True)
    with calls_in_this_thread(one_line) as orphaned:
        reads(ask(question), "Option 1")
    with calls_in_this_thread(one_line) as listed:
        reads(ask(question), ",".join(f"Option {i}" for i in range(many)))
    assert len(listed) <= len(orphaned) + many
