"""Asking back instead of answering: an answer where the tool has a place for it, else a reason."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chatbridge.core.forms import filling, form
from chatbridge.core.model import (
    Answer,
    AskBack,
    Draft,
    Option,
    Question,
    QuestionType,
    View,
    new_draft,
)

PLAIN = Question(id="a", text="Which database?", type=QuestionType.TEXT)
TAKING = Question(
    id="b",
    text="Which checks?",
    type=QuestionType.MULTI_SELECT,
    options=(Option(label="unit"), Option(label="load")),
    takes_ask_back=True,
    required=False,
)


Bare = type[form.AskCancel | form.AskExplain | form.Explain | form.Rephrase]


def after(questions: tuple[Question, ...], draft: Draft, *kinds: Bare) -> form.Step:
    for kind in kinds[:-1]:
        step = filling.advance(questions, draft, kind(step=draft.step))
        assert isinstance(step, form.Moved), step
        draft = step.draft
    return filling.advance(questions, draft, kinds[-1](step=draft.step))


def explaining(questions: tuple[Question, ...], draft: Draft) -> Draft:
    step = after(questions, draft, form.AskExplain)
    assert isinstance(step, form.Moved)
    assert step.draft.view is View.EXPLAIN
    return step.draft


def test_where_there_is_no_place_for_it_asking_back_cancels_and_the_reason_says_so() -> None:
    draft = new_draft((PLAIN,))
    rephrase = after((PLAIN,), draft, form.AskExplain, form.Rephrase)
    assert rephrase == form.Cancelled(reason="Please rephrase this in a different way.")
    asked = explaining((PLAIN,), draft)
    bare = filling.advance((PLAIN,), asked, form.Explain(step=asked.step))
    assert bare == form.Cancelled(reason="Please explain this in more detail.")
    said = filling.advance((PLAIN,), asked, form.Text(text=" Why not SQLite? ", step=asked.step))
    assert said == form.Cancelled(reason="Please explain this in more detail. Why not SQLite?")


def test_of_several_questions_the_reason_names_the_one_that_was_shown() -> None:
    questions = (PLAIN, replace(PLAIN, id="c"))
    draft = replace(new_draft(questions), at=1)
    step = after(questions, draft, form.AskExplain, form.Rephrase)
    assert step == form.Cancelled(reason="Please rephrase question 2 in a different way.")


def test_where_there_is_a_place_it_is_that_questions_answer_and_the_form_goes_on() -> None:
    questions = (TAKING, replace(TAKING, id="c"))
    asked = explaining(questions, new_draft(questions))
    step = filling.advance(questions, asked, form.Text(text="What is load?", step=asked.step))
    assert isinstance(step, form.Moved)
    assert (step.draft.view, step.draft.at) == (View.QUESTION, 1)
    given = filling.entry_answer(TAKING, step.draft.entries[0])
    assert given == Answer(ask_back=AskBack.EXPLAIN, custom_text="What is load?")


def test_as_the_only_question_it_is_answered_with_that() -> None:
    step = after((TAKING,), new_draft((TAKING,)), form.AskExplain, form.Rephrase)
    assert isinstance(step, form.Answered)
    assert step.answers == (Answer(ask_back=AskBack.REPHRASE),)


def test_who_picks_something_afterwards_takes_it_back() -> None:
    questions = (TAKING, PLAIN)
    step = after(questions, new_draft(questions), form.AskExplain, form.Rephrase)
    assert isinstance(step, form.Moved)
    draft = replace(step.draft, at=0)
    kept = filling.advance(questions, draft, form.Done(step=draft.step))
    assert isinstance(kept, form.Moved)
    assert filling.entry_answer(TAKING, kept.draft.entries[0]).ask_back is AskBack.REPHRASE
    toggled = filling.advance(questions, draft, form.Toggle(step=draft.step, option=1, on=True))
    assert isinstance(toggled, form.Moved)
    assert filling.entry_answer(TAKING, toggled.draft.entries[0]) == Answer(values=("load",))


@pytest.mark.parametrize("view", [View.QUESTION, View.REVIEW])
def test_back_leads_to_where_it_came_from_and_changes_nothing(view: View) -> None:
    questions = (PLAIN, replace(PLAIN, id="c"))
    draft = replace(new_draft(questions), view=view, at=2 if view is View.REVIEW else 1)
    asked = explaining(questions, draft)
    step = filling.advance(questions, asked, form.Back(step=asked.step))
    assert isinstance(step, form.Moved)
    assert step.draft == replace(draft, step=2)


def test_who_was_about_to_cancel_may_ask_back_instead() -> None:
    step = after((PLAIN,), new_draft((PLAIN,)), form.AskCancel, form.AskExplain)
    assert isinstance(step, form.Moved)
    assert step.draft.view is View.EXPLAIN


@pytest.mark.parametrize("kind", [form.Rephrase, form.Explain])
def test_it_is_sent_from_no_screen_but_its_own(kind: Bare) -> None:
    draft = new_draft((PLAIN,))
    assert filling.advance((PLAIN,), draft, kind(step=draft.step)) == form.UNFIT


def test_a_late_answer_cannot_ask_back_where_that_would_only_cancel() -> None:
    draft = replace(new_draft((PLAIN,)), late=True)
    assert filling.advance((PLAIN,), draft, form.AskExplain(step=draft.step)) == form.UNFIT


def test_in_the_review_there_is_no_one_question_to_ask_back_about() -> None:
    questions = (TAKING, replace(TAKING, id="c"))
    draft = replace(new_draft(questions), at=2, view=View.REVIEW)
    assert filling.advance(questions, draft, form.AskExplain(step=draft.step)) == form.UNFIT


@pytest.mark.parametrize(("text", "why"), [(" \n", form.EMPTY), ("x" * 10_001, form.TOO_LONG)])
def test_an_empty_or_endless_text_is_refused(text: str, why: form.Refused) -> None:
    asked = explaining((PLAIN,), new_draft((PLAIN,)))
    assert filling.advance((PLAIN,), asked, form.Text(text=text, step=asked.step)) == why
