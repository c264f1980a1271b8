"""Who may mean another question than the one that waits, and for how long."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.channels.chat.card_visibility import (
    ABANDONED,
    REMEMBERED,
    UNNOTICED,
    CardVisibility,
)
from chatbridge.core.model import Ask, Outcome, Person, QuestionType, Status
from tests.contract.asks import an_ask, answered, timed_out

ADA = Person(name="Ada", channel="telegram", place="7")
BOB = replace(ADA, name="Bob", place="8")
WEB = Person(name="Ada", channel="web", place="7")
PEOPLE = st.sampled_from([ADA, BOB, WEB, None])


def lag(by: Person | None) -> float:
    return 0.0 if by is ADA else UNNOTICED


def question(type: QuestionType = QuestionType.TEXT, number: int = 0) -> Ask:
    ask = an_ask()
    questions = tuple(replace(each, type=type) for each in ask.questions)
    return replace(ask, id=f"ask-{number}", questions=questions)


def ended(ask: Ask, by: Person | None = None) -> Ask:
    return replace(answered(ask), outcome=Outcome(at=1.0, by=by))


def shown(attention: CardVisibility, *asks: Ask, at: float = 1000.0, new: bool = False) -> None:
    for ask in asks:
        attention.shown(ask, at=at, viewer="7", new=new)


@pytest.fixture
def attention() -> CardVisibility:
    return CardVisibility("telegram")


def test_a_card_that_asks_for_text_may_be_meant_for_as_long_as_it_does(
    attention: CardVisibility,
) -> None:
    shown(attention, question(), new=True)
    assert attention.is_ambiguous(1e12, than="another")
    assert not attention.is_ambiguous(1e12, than="ask-0")


@given(PEOPLE, st.floats(-200, 200))
def test_who_ended_it_here_knows_at_once_and_everybody_else_within_a_minute(
    by: Person | None, later: float
) -> None:
    attention = CardVisibility("telegram")
    shown(attention, question(), at=500.0, new=True)
    shown(attention, ended(question(), by))
    written = 1000.0 + later
    assert attention.is_ambiguous(written, than="another") == (written < 1000.0 + lag(by))


@given(PEOPLE, st.floats(-200, 200))
def test_the_same_holds_for_a_form_that_moved_on_whatever_it_asks_next(
    by: Person | None, later: float
) -> None:
    attention = CardVisibility("telegram")
    shown(attention, question(), at=500.0, new=True)
    ask = question()
    shown(attention, replace(ask, draft=replace(ask.draft, step=1, by=by)))
    written = 1000.0 + later
    assert attention.is_ambiguous(written, than="ask-0") == (written < 1000.0 + lag(by))


@given(PEOPLE)
def test_a_late_answer_is_one_more_end(by: Person | None) -> None:
    attention, late = CardVisibility("telegram"), timed_out(question())
    late = replace(late, draft=replace(late.draft, step=1, late=True))
    shown(attention, question(), at=500.0, new=True)
    shown(attention, late, at=600.0)
    assert attention.is_ambiguous(900.0, than="another")
    shown(attention, replace(late, late=Outcome(at=2.0, by=by)))
    assert not attention.is_ambiguous(1000.0 + UNNOTICED, than="another")
    assert attention.is_ambiguous(1000.0, than="another") == (by is not ADA)


def test_a_late_form_that_was_closed_may_be_meant_for_a_minute(attention: CardVisibility) -> None:
    closed = timed_out(question())
    late = replace(closed, draft=replace(closed.draft, step=1, late=True, by=ADA))
    shown(attention, late, at=500.0, new=True)
    shown(attention, replace(closed, draft=replace(closed.draft, step=2)))
    assert attention.is_ambiguous(1000.0, than="another")
    assert not attention.is_ambiguous(1000.0 + UNNOTICED, than="another")


def test_who_does_something_with_a_card_has_seen_what_became_of_it(
    attention: CardVisibility,
) -> None:
    over = timed_out(question())
    shown(attention, question(), at=500.0, new=True)
    shown(attention, over, at=999.0)
    shown(attention, replace(over, draft=replace(over.draft, step=1, late=True, by=ADA)))
    assert not attention.is_ambiguous(1000.0, than="ask-0")


def test_what_a_card_says_later_of_its_answer_is_no_other_end(attention: CardVisibility) -> None:
    shown(attention, question(), at=500.0, new=True)
    shown(attention, ended(question(), WEB))
    shown(attention, ended(question(), WEB), at=2000.0)
    assert not attention.is_ambiguous(1000.0 + UNNOTICED, than="another")


@pytest.mark.parametrize("new", [True, False], ids=["this hub's", "an earlier one's"])
def test_a_card_that_never_asked_for_text_is_not_meant(
    attention: CardVisibility, new: bool
) -> None:
    confirm = question(QuestionType.CONFIRM)
    if new:
        shown(attention, confirm, at=500.0, new=True)
    shown(attention, ended(confirm, WEB))
    # What an earlier hub showed before is not known.
    assert attention.is_ambiguous(1000.0, than="another") == (not new)


@pytest.mark.parametrize("new", [True, False], ids=["this hub's", "an earlier one's"])
def test_a_step_that_came_without_the_person_is_not_meant_for_a_minute(
    attention: CardVisibility, new: bool
) -> None:
    ask = question()
    if new:
        shown(attention, question(QuestionType.CONFIRM), at=500.0, new=True)
    shown(attention, replace(ask, draft=replace(ask.draft, step=1, by=WEB)))
    assert attention.is_ambiguous(1000.0, than="ask-0")
    assert not attention.is_ambiguous(1000.0 + UNNOTICED, than="ask-0")


def test_a_card_that_is_about_to_ask_for_text_may_be_meant(attention: CardVisibility) -> None:
    confirm = question(QuestionType.CONFIRM)
    shown(attention, confirm, at=500.0, new=True)
    attention.showing(replace(question(), draft=replace(confirm.draft, step=1, by=WEB)))
    assert attention.is_ambiguous(1e12, than="another")
    shown(attention, ended(confirm, WEB))  # whoever showed the step heard nothing of it
    assert attention.is_ambiguous(1000.0, than="another")
    assert not attention.is_ambiguous(1000.0 + UNNOTICED, than="another")


def test_a_card_of_an_earlier_hub_that_is_drawn_anew_is_the_same(attention: CardVisibility) -> None:
    for ask in (question(), question(QuestionType.CONFIRM, number=1)):
        attention.showing(ask)
        shown(attention, ask)
    assert not attention.is_ambiguous(0.0, than="ask-0")


def test_a_late_form_that_nobody_went_on_with_is_not_meant_for_ever(
    attention: CardVisibility,
) -> None:
    over = timed_out(question())
    shown(attention, question(), at=500.0, new=True)
    shown(attention, replace(over, draft=replace(over.draft, step=1, late=True, by=ADA)))
    assert attention.is_ambiguous(1000.0 + ABANDONED - 1, than="another")
    assert not attention.is_ambiguous(1000.0 + ABANDONED, than="another")


def test_a_card_that_is_gone_is_not_meant(attention: CardVisibility) -> None:
    shown(attention, question(), new=True)
    attention.gone(question())
    assert not attention.is_ambiguous(0.0, than="another")
    assert not attention.knows(question())


@pytest.mark.parametrize("newer", [REMEMBERED - 1, REMEMBERED])
def test_so_many_cards_are_remembered_and_no_more(attention: CardVisibility, newer: int) -> None:
    for number in range(newer + 1):
        shown(attention, question(number=number), new=True)
    assert attention.knows(question()) == (newer < REMEMBERED)


def test_every_way_to_end_is_one(attention: CardVisibility) -> None:
    for status in (Status.CANCELLED, Status.WITHDRAWN, Status.TIMED_OUT):
        shown(attention, question(), at=500.0, new=True)
        shown(attention, replace(ended(question()), status=status))
        assert not attention.is_ambiguous(1000.0 + UNNOTICED, than="another")
