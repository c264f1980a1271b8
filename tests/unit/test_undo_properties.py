"""What holds of an answer that can be undone, whatever people and time do."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from chatbridge.core.asks import transitions
from chatbridge.core.asks.deadlines import Due, all_due, apply_due
from chatbridge.core.forms import form
from chatbridge.core.model import Answer, Ask, Person, Status, View
from chatbridge.core.policy import Policy
from tests.telegram_asks import NOW, ask, confirm, select

ADA = Person(name="Ada", channel="telegram", place="1")
POLICY = Policy(undo=5.0)
ASKS = st.sampled_from(
    [
        ask(select("Which?", "red", "blue"), deadline=NOW + 20),
        ask(confirm("Sure?"), deadline=None),
        ask(confirm("Sure?"), deadline=NOW + 7),
    ]
)
MOVES = st.lists(
    st.sampled_from(["red", "blue", "undo", "cancel"]) | st.floats(0.1, 9.0), max_size=12
)


def put(shown: Ask, event: form.Event, now: float) -> Ask:
    """As `AskActions` does."""
    step = transitions.apply_event(shown, event)
    step = transitions.delay_sending(shown, step, now=now, policy=POLICY)
    assert not isinstance(step, form.Answered)
    if isinstance(step, form.Moved):
        return replace(shown, draft=replace(step.draft, by=ADA))
    return shown


def due(shown: Ask, now: float) -> Ask:
    for when, what in sorted(all_due(shown, now=now, policy=POLICY)):
        if when <= now and what in (Due.SEND, Due.DEADLINE):
            shown = apply_due(what, shown, now=now, policy=POLICY)
    return shown


@given(ASKS, MOVES)
def test_the_last_answer_that_was_not_undone_goes_out_and_only_when_its_time_has_come(
    shown: Ask, moves: list[str | float]
) -> None:
    now, given_at, last = NOW, NOW, ""
    for move in moves:
        if not shown.open:
            break
        step = shown.draft.step
        if isinstance(move, float):
            now += move
            sending = shown.draft.view is View.SENDING
            shown = due(shown, now)
            if sending and shown.open:
                assert now < given_at + POLICY.undo
                assert shown.deadline is None or now < shown.deadline
            elif sending:
                assert shown.status is Status.ANSWERED
        elif move in ("red", "blue"):
            before = shown
            shown = put(shown, form.Choose(step=step, option=("red", "blue").index(move)), now)
            if shown is not before:
                given_at, last = now, move
        elif move == "undo":
            shown = put(shown, form.Undo(step=step), now)
        else:
            shown = put(shown, form.AskCancel(step=step), now)
            shown = put(shown, form.Back(step=shown.draft.step), now)
    if shown.status is Status.ANSWERED:
        assert shown.outcome
        index = ("red", "blue").index(last)
        assert shown.outcome.answers == (Answer(values=(shown.questions[0].choices[index].label,)),)
        assert shown.outcome.by == ADA
    elif not shown.open:
        assert shown.status is Status.TIMED_OUT
        assert shown.draft.view is not View.SENDING
