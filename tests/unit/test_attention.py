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


def shown(shown_cards: CardVisibility, *asks: Ask, at: float = 1000.0, new: bool = False) -> None:
    for ask in asks:
        shown_cards.shown(ask, at=at, viewer="7", new=new)


@pytest.fixture
def shown_cards() -> CardVisibility:
    return CardVisibility("telegram")


def test_a_card_that_asks_for_text_may_be_meant_for_as_long_as_it_does(
    shown_cards: CardVisibility,
) -> None:
    shown(shown_cards, question(), new=True)
    assert shown_cards.is_ambiguous(1e12, than="another")
    assert not shown_cards.is_ambiguous(1e12, than="ask-0")


@given(PEOPLE, st.floats(-200, 200))
def test_who_ended_it_here_knows_at_once_and_everybody_else_within_a_minute(
    by: Person | None, later: float
) -> None:
    shown_cards = CardVisibility("telegram")
    shown(shown_cards, question(), at=500.0, new=True)
    shown(shown_cards, ended(question(), by))
    written = 1000.0 + later
    assert shown_cards.is_ambiguous(written, than="another") == (written < 1000.0 + lag(by))


@given(PEOPLE, st.floats(-200, 200))
def test_the_same_holds_for_a_form_that_moved_on_whatever_it_asks_next(
    by: Person | None, later: float
) -> None:
    shown_cards = CardVisibility("telegram")
    shown(shown_cards, question(), at=500.0, new=True)
    ask = question()
    shown(shown_cards, replace(ask, draft=replace(ask.draft, step=1, by=by)))
    written = 1000.0 + later
    assert shown_cards.is_ambiguous(written, than="ask-0") == (written < 1000.0 + lag(by))


@given(PEOPLE)
def test_a_late_answer_is_one_more_end(by: Person | None) -> None:
    shown_cards, late = CardVisibility("telegram"), timed_out(question())
    late = replace(late, draft=replace(late.draft, step=1, late=True))
    shown(shown_cards, question(), at=500.0, new=True)
    shown(shown_cards, late, at=600.0)
    assert shown_cards.is_ambiguous(900.0, than="another")
    shown(shown_cards, replace(late, late=Outcome(at=2.0, by=by)))
    assert not shown_cards.is_ambiguous(1000.0 + UNNOTICED, than="another")
    assert shown_cards.is_ambiguous(1000.0, than="another") == (by is not ADA)


def test_a_late_form_that_was_closed_may_be_meant_for_a_minute(shown_cards: CardVisibility) -> None:
    closed = timed_out(question())
    late = replace(closed, draft=replace(closed.draft, step=1, late=True, by=ADA))
    shown(shown_cards, late, at=500.0, new=True)
    shown(shown_cards, replace(closed, draft=replace(closed.draft, step=2)))
    assert shown_cards.is_ambiguous(1000.0, than="another")
    assert not shown_cards.is_ambiguous(1000.0 + UNNOTICED, than="another")


def test_who_does_something_with_a_card_has_seen_what_became_of_it(
    shown_cards: CardVisibility,
) -> None:
    over = timed_out(question())
    shown(shown_cards, question(), at=500.0, new=True)
    shown(shown_cards, over, at=999.0)
    shown(shown_cards, replace(over, draft=replace(over.draft, step=1, late=True, by=ADA)))
    assert not shown_cards.is_ambiguous(1000.0, than="ask-0")


def test_what_a_card_says_later_of_its_answer_is_no_other_end(shown_cards: CardVisibility) -> None:
    shown(shown_cards, question(), at=500.0, new=True)
    shown(shown_cards, ended(question(), WEB))
    shown(shown_cards, ended(question(), WEB), at=2000.0)
    assert not shown_cards.is_ambiguous(1000.0 + UNNOTICED, than="another")


@pytest.mark.parametrize("new", [True, False], ids=["this hub's", "an earlier one's"])
def test_a_card_that_never_asked_for_text_is_not_meant(
    shown_cards: CardVisibility, new: bool
) -> None:
    confirm = question(QuestionType.CONFIRM)
    if new:
        shown(shown_cards, confirm, at=500.0, new=True)
    shown(shown_cards, ended(confirm, WEB))
    # What an earlier hub showed before is not known.
    assert shown_cards.is_ambiguous(1000.0, than="another") == (not new)


@pytest.mark.parametrize("new", [True, False], ids=["this hub's", "an earlier one's"])
def test_a_step_that_came_without_the_person_is_not_meant_for_a_minute(
    shown_cards: CardVisibility, new: bool
) -> None:
    ask = question()
    if new:
        shown(shown_cards, question(QuestionType.CONFIRM), at=500.0, new=True)
    shown(shown_cards, replace(ask, draft=replace(ask.draft, step=1, by=WEB)))
    assert shown_cards.is_ambiguous(1000.0, than="ask-0")
    assert not shown_cards.is_ambiguous(1000.0 + UNNOTICED, than="ask-0")


def test_a_card_that_is_about_to_ask_for_text_may_be_meant(shown_cards: CardVisibility) -> None:
    confirm = question(QuestionType.CONFIRM)
    shown(shown_cards, confirm, at=500.0, new=True)
    shown_cards.showing(replace(question(), draft=replace(confirm.draft, step=1, by=WEB)))
    assert shown_cards.is_ambiguous(1e12, than="another")
    shown(shown_cards, ended(confirm, WEB))  # whoever showed the step heard nothing of it
    assert shown_cards.is_ambiguous(1000.0, than="another")
    assert not shown_cards.is_ambiguous(1000.0 + UNNOTICED, than="another")


def test_a_card_of_an_earlier_hub_that_is_drawn_anew_is_the_same(
    shown_cards: CardVisibility,
) -> None:
    for ask in (question(), question(QuestionType.CONFIRM, number=1)):
        shown_cards.showing(ask)
        shown(shown_cards, ask)
    assert not shown_cards.is_ambiguous(0.0, than="ask-0")


def test_a_late_form_that_nobody_went_on_with_is_not_meant_for_ever(
    shown_cards: CardVisibility,
) -> None:
    over = timed_out(question())
    shown(shown_cards, question(), at=500.0, new=True)
    shown(shown_cards, replace(over, draft=replace(over.draft, step=1, late=True, by=ADA)))
    assert shown_cards.is_ambiguous(1000.0 + ABANDONED - 1, than="another")
    assert not shown_cards.is_ambiguous(1000.0 + ABANDONED, than="another")


def test_a_card_that_is_gone_is_not_meant(shown_cards: CardVisibility) -> None:
    shown(shown_cards, question(), new=True)
    shown_cards.gone(question())
    assert not shown_cards.is_ambiguous(0.0, than="another")
    assert not shown_cards.knows(question())


@pytest.mark.parametrize("newer", [REMEMBERED - 1, REMEMBERED])
def test_so_many_cards_are_remembered_and_no_more(shown_cards: CardVisibility, newer: int) -> None:
    for number in range(newer + 1):
        shown(shown_cards, question(number=number), new=True)
    assert shown_cards.knows(question()) == (newer < REMEMBERED)


def test_every_way_to_end_is_one(shown_cards: CardVisibility) -> None:
    for status in (Status.CANCELLED, Status.WITHDRAWN, Status.TIMED_OUT):
        shown(shown_cards, question(), at=500.0, new=True)
        shown(shown_cards, replace(ended(question()), status=status))
        assert not shown_cards.is_ambiguous(1000.0 + UNNOTICED, than="another")
