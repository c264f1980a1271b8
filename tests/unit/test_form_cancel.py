"""The form's cancel screen, and the form of an ask that has timed out."""

from __future__ import annotations

import pytest

from chatbridge.core.forms import form
from chatbridge.core.forms.form import (
    AnswerAnyway,
    AskCancel,
    Back,
    Cancel,
    Cancelled,
    Choose,
    Other,
    Text,
)
from chatbridge.core.model import View
from tests.unit.test_form import MULTI, SELECT, TEXT, Filling, answers, at_review


def test_cancel_asks_first_and_sends_nothing() -> None:
    filling = Filling(SELECT)
    filling.tap(AskCancel)
    assert filling.shown == (View.CANCEL, 0)
    assert filling.tap(AskCancel) == form.UNFIT
    assert filling.put(Choose(step=filling.draft.step, option=0)) == form.UNFIT


def test_a_cancel_without_a_reason() -> None:
    filling = Filling(SELECT)
    filling.tap(AskCancel)
    assert filling.put(Cancel(step=filling.draft.step)) == Cancelled(reason=None)


def test_a_text_on_the_cancel_screen_is_the_reason() -> None:
    filling = Filling(TEXT)
    filling.tap(AskCancel)
    assert filling.write(" not now ") == Cancelled(reason="not now")


def test_a_blank_text_on_the_cancel_screen_cancels_nothing() -> None:
    filling = Filling(TEXT)
    filling.tap(AskCancel)
    assert filling.write(" ") == form.EMPTY


def test_a_reason_can_come_with_the_cancel_and_has_a_limit() -> None:
    assert Filling(SELECT).put(Cancel(step=0, reason="later")) == Cancelled(reason="later")
    assert Filling(SELECT).put(Cancel(step=0, reason=" ")) == Cancelled(reason=None)
    too_long = "x" * (form.MAX_TEXT + 1)
    assert Filling(SELECT).put(Cancel(step=0, reason=too_long)) == form.TOO_LONG


def test_a_stale_cancel_cancels_nothing() -> None:
    filling = Filling(SELECT)
    filling.tap(AskCancel)
    assert filling.put(Cancel(step=0)) == form.STALE


def test_keep_it_open_returns_to_the_question_with_what_was_put_in() -> None:
    filling = Filling(SELECT, MULTI)
    filling.choose(1)
    filling.toggle(2)
    before = filling.draft.entries
    filling.tap(AskCancel)
    filling.tap(Back)
    assert filling.shown == (View.QUESTION, 1)
    assert filling.draft.entries == before


def test_keep_it_open_returns_to_the_review() -> None:
    filling = at_review()
    filling.tap(AskCancel)
    filling.tap(Back)
    assert filling.shown == (View.REVIEW, 3)


def test_keep_it_open_returns_to_an_edited_question_that_still_leads_to_the_review() -> None:
    filling = at_review()
    filling.edit(0)
    filling.tap(AskCancel)
    filling.tap(Back)
    filling.choose(1)
    assert filling.shown == (View.REVIEW, 3)


def test_keep_it_open_returns_from_other_to_its_question() -> None:
    filling = Filling(SELECT)
    filling.tap(Other)
    filling.tap(AskCancel)
    filling.tap(Back)
    assert filling.shown == (View.QUESTION, 0)
    assert answers(filling.write("mauve"))[0].custom_text == "mauve"


# ── answer anyway ─────────────────────────────────────────────────────────────────────────────────


def test_answer_anyway_goes_on_where_the_form_was_and_makes_older_buttons_stale() -> None:
    filling = Filling(SELECT, TEXT)
    filling.choose(0)
    old = filling.draft.step
    filling.put(AnswerAnyway(step=old))
    assert filling.draft.late
    assert filling.shown == (View.QUESTION, 1)
    assert filling.put(Text(text="Ada", step=old)) == form.STALE
    assert filling.put(AnswerAnyway(step=filling.draft.step)) == form.UNFIT


@pytest.mark.parametrize("from_review", [False, True])
def test_answer_anyway_never_opens_the_cancel_screen(from_review: bool) -> None:
    filling = at_review() if from_review else Filling(SELECT, TEXT)
    shown = filling.shown
    filling.tap(AskCancel)
    filling.put(AnswerAnyway(step=filling.draft.step))
    assert filling.shown == shown
