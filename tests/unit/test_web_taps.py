"""What a sheet of the page puts in leads where the screens lead one after another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from chatbridge.channels.web.request_parsing import events_of
from chatbridge.core.asks import transitions
from chatbridge.core.forms import filling, form
from chatbridge.core.forms.form import AskMore
from chatbridge.core.model import Ask, Status, View
from tests import strategies as some


def put(ask: Ask, events: Sequence[form.Event]) -> tuple[Ask, form.Step]:
    """As the intake puts several in."""
    for event in events:
        step = transitions.apply_event(ask, event)
        if not isinstance(step, form.Moved):
            return ask, step
        ask = replace(ask, draft=step.draft)
    return ask, step


open_asks = some.asks(statuses=[Status.OPEN])
sheets = st.sampled_from([form.Done, form.Other, form.Rephrase, form.Explain])


@given(ask=open_asks, sheet=sheets, text=some.texts)
def test_a_sheet_that_is_refused_leaves_the_form_as_it_was(
    ask: Ask, sheet: type[form.Done], text: str
) -> None:
    after, step = put(ask, events_of(ask, sheet(step=ask.draft.step), text))
    if isinstance(step, form.Refused) and sheet is not form.Done:
        assert after == ask


@given(ask=open_asks, sheet=sheets, text=some.texts, off=st.sampled_from([-1, 1, 7]))
def test_a_sheet_of_another_step_is_stale(
    ask: Ask, sheet: type[form.Done], text: str, off: int
) -> None:
    action = sheet(step=ask.draft.step + off)
    assert put(ask, events_of(ask, action, text)) == (ask, form.STALE)


@given(ask=open_asks, text=some.texts)
def test_asking_back_from_any_screen_is_asking_back_from_its_own(ask: Ask, text: str) -> None:
    if ask.approval or not filling.can_ask_back(ask.questions, ask.draft):
        return
    from_here = put(ask, events_of(ask, form.Explain(step=ask.draft.step), text))[1]
    there = replace(ask, draft=replace(ask.draft, view=View.EXPLAIN))
    from_there = put(there, events_of(there, form.Explain(step=there.draft.step), text))[1]
    assert type(from_here) is type(from_there)
    assert isinstance(from_here, form.Cancelled | form.Moved | form.Answered)
    if isinstance(from_here, form.Cancelled):
        assert from_here == from_there


@given(ask=open_asks, action=st.sampled_from([form.Skip, form.Back, form.Submit, AskMore]))
def test_any_other_tap_is_what_it_is(ask: Ask, action: type[form.Skip]) -> None:
    tap = action(step=ask.draft.step)
    assert events_of(ask, tap, "words") == (tap,)
