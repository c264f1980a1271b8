"""Who may still mean a question that has ended, and for how long."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.core.attention import REMEMBERED, UNNOTICED, Attention
from chatbridge.core.model import Ask, Outcome, Person
from tests.contract.asks import an_ask, answered

ADA = Person(name="Ada", channel="telegram", place="7")
BOB = replace(ADA, name="Bob", place="8")
WEB = Person(name="Ada", channel="web", place="7")


def ended(by: Person | None = None, number: int = 0) -> Ask:
    return replace(answered(an_ask()), id=f"ask-{number}", outcome=Outcome(at=1.0, by=by))


@given(st.sampled_from([ADA, BOB, WEB, None]), st.floats(-200, 200))
def test_who_ended_it_here_knows_at_once_and_everybody_else_within_a_minute(
    by: Person | None, later: float
) -> None:
    attention = Attention("telegram")
    attention.ended(ended(by), at=1000.0, viewer="7")
    patience = 0.0 if by is ADA else UNNOTICED
    assert attention.may_miss_an_end(1000.0 + later, but=()) == (1000.0 + later < 1000.0 + patience)


def test_while_nobody_knows_whether_the_card_says_so_it_may_be_meant() -> None:
    attention, ask = Attention("telegram"), ended(ADA)
    attention.ended(ask, at=math.inf, viewer="7")
    assert attention.may_miss_an_end(1e12, but=())
    attention.ended(ask, at=1000.0, viewer="7")
    assert not attention.may_miss_an_end(1000.0, but=())


def test_what_its_card_says_later_is_no_other_end() -> None:
    attention, ask = Attention("telegram"), ended(WEB)
    attention.ended(ask, at=1000.0, viewer="7")
    attention.ended(ask, at=2000.0, viewer="7")
    assert not attention.may_miss_an_end(1000.0 + UNNOTICED, but=())
    attention.ended(replace(ask, late=Outcome(at=2.0, by=WEB)), at=2000.0, viewer="7")
    assert attention.may_miss_an_end(2000.0, but=())


def test_one_that_is_still_answered_here_is_not_missed() -> None:
    attention = Attention("telegram")
    attention.ended(ended(WEB), at=1000.0, viewer="7")
    assert not attention.may_miss_an_end(1000.0, but=["ask-0"])


def test_who_gave_a_late_answer_here_knows_it() -> None:
    attention = Attention("telegram")
    attention.ended(replace(ended(), late=Outcome(at=2.0, by=ADA)), at=1000.0, viewer="7")
    assert not attention.may_miss_an_end(1000.0, but=())


@pytest.mark.parametrize("newer", [REMEMBERED - 1, REMEMBERED])
def test_so_many_ends_are_remembered_and_no_more(newer: int) -> None:
    attention, first = Attention("telegram"), ended(WEB)
    attention.ended(first, at=1000.0, viewer="7")
    for number in range(newer):
        attention.ended(ended(WEB, number + 1), at=0.0, viewer="7")
    assert attention.knows_end_of(first) == (newer < REMEMBERED)
    assert attention.may_miss_an_end(1000.0, but=()) == (newer < REMEMBERED)
