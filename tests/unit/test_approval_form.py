"""The form of an approval: what a tap leads to, and what no tap or text can do."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.core.forms import form
from chatbridge.core.forms.approval_form import TAP_IT, UNREAD
from chatbridge.core.forms.approval_form import advance_approval as advance
from chatbridge.core.forms.form import AskMore, ShowAll
from chatbridge.core.model import (
    ALLOW,
    ALLOW_SESSION,
    DENY,
    Answer,
    Draft,
    Question,
    QuestionType,
    Subject,
    View,
    new_draft,
)
from tests import strategies as some

SHORT = Question(
    id="a", text="Run this command?", type=QuestionType.APPROVAL, subject=Subject(code="ls")
)
LONG = replace(SHORT, subject=Subject(code="x" * 5_000, whole_first=True))
DESTRUCTIVE = replace(SHORT, subject=Subject(code="rm -r build", destructive=True))
LONG_DESTRUCTIVE = replace(
    SHORT, subject=Subject(code="x" * 5_000, whole_first=True, destructive=True)
)
BEYOND = replace(SHORT, subject=Subject(code="git push", beyond="Allowing it allows more."))
BEYOND_DESTRUCTIVE = replace(
    SHORT, subject=Subject(code="git push -f", beyond="More.", destructive=True)
)
FOLDERS = ("/src/shop/src", "/src/shop")
EDIT = replace(SHORT, subject=Subject(code="+x", file="src/a.py", edits=FOLDERS))
LONG_EDIT = replace(
    SHORT, subject=Subject(code="+x", file="a.py", edits=FOLDERS[1:], whole_first=True)
)
EDITS = [EDIT, LONG_EDIT]
EACH = [SHORT, LONG, DESTRUCTIVE, LONG_DESTRUCTIVE, BEYOND, BEYOND_DESTRUCTIVE, *EDITS]
OPEN = new_draft((SHORT,))


def verdict(step: form.Step) -> Answer:
    assert isinstance(step, form.Answered), step
    return step.answers[0]


def moved(step: form.Step) -> Draft:
    assert isinstance(step, form.Moved), step
    return step.draft


def test_allow_and_deny_are_one_tap() -> None:
    allowed = advance(SHORT, OPEN, form.Choose(step=0, option=ALLOW))
    assert verdict(allowed) == Answer(values=("allow",))
    denied = advance(SHORT, OPEN, form.Choose(step=0, option=DENY))
    assert verdict(denied) == Answer(values=("deny",))


def walk(question: Question, *events: form.Event) -> Draft:
    draft = OPEN
    for event in events:
        draft = moved(advance(question, draft, replace(event, step=draft.step)))
    return draft


MORE, FIRST, SECOND, THIRD = AskMore(step=0), *(form.Pick(step=0, option=i) for i in range(3))


def test_allowing_more_takes_a_time_and_a_last_tap() -> None:
    at_once = advance(SHORT, OPEN, form.Choose(step=0, option=ALLOW_SESSION))
    assert at_once == form.UNFIT
    asked = walk(SHORT, MORE)
    assert asked.view is View.HOW_LONG
    early = advance(SHORT, asked, form.Choose(step=asked.step, option=ALLOW_SESSION))
    assert early == form.UNFIT
    for picked, lasting in ((FIRST, 3600.0), (SECOND, 28800.0), (THIRD, None)):
        last = walk(SHORT, MORE, picked)
        assert (last.view, last.lasting) == (View.CONFIRM_GRANT, lasting)
        sure = advance(SHORT, last, form.Choose(step=last.step, option=ALLOW_SESSION))
        assert verdict(sure) == Answer(values=("session",))
        once = advance(SHORT, last, form.Choose(step=last.step, option=ALLOW))
        assert once == form.UNFIT
    assert walk(SHORT, MORE, THIRD, form.Back(step=0)).view is View.HOW_LONG
    assert walk(SHORT, MORE, form.Back(step=0)).view is View.QUESTION


def test_edits_are_allowed_in_a_folder_that_is_picked_first() -> None:
    assert walk(EDIT, MORE).view is View.SCOPE
    asked = walk(EDIT, MORE, SECOND)
    assert (asked.view, asked.scope) == (View.HOW_LONG, 1)
    assert advance(EDIT, walk(EDIT, MORE), replace(THIRD, step=1)) == form.UNFIT
    assert walk(EDIT, MORE, SECOND, form.Back(step=0)).view is View.SCOPE
    assert walk(EDIT, MORE, FIRST, FIRST).view is View.CONFIRM_GRANT
    again = walk(EDIT, MORE, SECOND, form.Back(step=0), form.Back(step=0), MORE)
    assert (again.view, again.scope) == (View.SCOPE, 0)


def test_a_draft_of_before_says_exactly_this_until_the_session_ends() -> None:
    old = replace(OPEN, view=View("session"), step=1)
    sure = form.Choose(step=1, option=ALLOW_SESSION)
    assert verdict(advance(SHORT, old, sure)) == Answer(values=("session",))
    assert advance(DESTRUCTIVE, old, sure) == form.UNFIT
    assert (old.scope, old.lasting, old.until) == (0, None, None)


def test_a_destructive_command_takes_a_second_tap_on_a_screen_of_its_own() -> None:
    first = form.Choose(step=0, option=ALLOW)
    asked = moved(advance(DESTRUCTIVE, OPEN, first))
    assert asked.view is View.CONFIRM_DESTRUCTIVE
    assert advance(DESTRUCTIVE, asked, first) == form.STALE  # a double tap
    assert advance(DESTRUCTIVE, asked, AskMore(step=asked.step)) == form.UNFIT
    session = form.Choose(step=asked.step, option=ALLOW_SESSION)
    assert advance(DESTRUCTIVE, asked, session) == form.UNFIT
    assert moved(advance(DESTRUCTIVE, asked, form.Back(step=asked.step))).view is View.QUESTION
    denied = advance(DESTRUCTIVE, asked, form.Choose(step=asked.step, option=DENY))
    assert verdict(denied).values == ("deny",)
    sure = advance(DESTRUCTIVE, asked, form.Choose(step=asked.step, option=ALLOW))
    assert verdict(sure) == Answer(values=("allow",))


def test_of_a_destructive_command_no_more_than_one_use_can_be_allowed() -> None:
    assert advance(DESTRUCTIVE, OPEN, AskMore(step=0)) == form.UNFIT


def test_what_allows_more_than_itself_has_no_second_way_to_do_so() -> None:
    assert advance(BEYOND, OPEN, AskMore(step=0)) == form.UNFIT
    once = advance(BEYOND, OPEN, form.Choose(step=0, option=ALLOW))
    assert verdict(once) == Answer(values=("allow",))


def test_a_reason_is_typed_on_its_own_screen_and_denies() -> None:
    asked = moved(advance(SHORT, OPEN, form.Other(step=0)))
    denied = advance(SHORT, asked, form.Text(text=" Not on a Friday. ", step=asked.step))
    assert verdict(denied) == Answer(values=("deny",), custom_text="Not on a Friday.")


@pytest.mark.parametrize("text", ["allow", "yes", "1", "👍", "ok, run it"])
def test_no_word_allows_anything(text: str) -> None:
    assert advance(SHORT, OPEN, form.Text(text=text)) == TAP_IT


def test_what_was_not_shown_whole_cannot_be_allowed() -> None:
    assert advance(LONG, OPEN, form.Choose(step=0, option=ALLOW)) == UNREAD
    assert advance(LONG, OPEN, AskMore(step=0)) == UNREAD
    assert verdict(advance(LONG, OPEN, form.Choose(step=0, option=DENY))).values == ("deny",)
    shown = moved(advance(LONG, OPEN, ShowAll(step=0)))
    allowed = advance(LONG, shown, form.Choose(step=shown.step, option=ALLOW))
    assert verdict(allowed).values == ("allow",)


def test_there_is_nothing_to_cancel() -> None:
    assert advance(SHORT, OPEN, form.Cancel(step=0)) == form.UNFIT
    assert advance(SHORT, OPEN, form.AskCancel(step=0)) == form.UNFIT


_allowing: st.SearchStrategy[some.Move] = st.sampled_from(
    [
        lambda _, draft: form.Choose(step=draft.step, option=ALLOW),
        lambda _, draft: form.Choose(step=draft.step, option=ALLOW_SESSION),
        lambda _, draft: form.Choose(step=draft.step - 1, option=ALLOW),
        lambda _, draft: AskMore(step=draft.step),
        lambda _, draft: form.Pick(step=draft.step, option=0),
        lambda _, draft: form.Pick(step=draft.step, option=2),
        lambda _, draft: ShowAll(step=draft.step),
        lambda _, draft: form.Back(step=draft.step),
        lambda _, draft: form.Other(step=draft.step),
    ]
)


@pytest.mark.parametrize("question", EACH)
@given(moves=st.lists(_allowing, max_size=6) | st.lists(some.any_moves | _allowing, max_size=12))
def test_only_a_fitting_tap_ever_allows(question: Question, moves: list[some.Move]) -> None:
    draft = OPEN
    subject = question.subject
    assert subject
    taps = 0
    """On the way to a yes, since the question was shown last."""
    for move in moves:
        event = move((question,), draft)
        step = advance(question, draft, event)
        match step:
            case form.Moved(draft=after):
                assert after.step > draft.step
                taps = 0 if after.view is View.QUESTION else taps + 1
                draft = after
            case form.Answered(answers=(answer,)):
                if answer.values != ("deny",):
                    assert isinstance(event, form.Choose)
                    assert event.step == draft.step
                    assert draft.whole or not subject.whole_first
                    session = answer.values == ("session",)
                    assert session == (draft.view is View.CONFIRM_GRANT)
                    assert not (session and (subject.beyond or subject.destructive))
                    assert (draft.view is View.CONFIRM_DESTRUCTIVE) == subject.destructive
                    if session:
                        assert draft.scope < len(subject.scopes)
                        assert taps >= len(subject.scopes[:2]) + 1
                    else:
                        assert taps == (1 if subject.destructive else 0)
                return
            case form.Refused(why=why):
                assert why
            case _:
                raise AssertionError(step)
