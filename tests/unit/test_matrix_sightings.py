"""What is known of a room's cards before, when and if their messages come back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chatbridge.channels.chat.card_visibility import UNNOTICED
from chatbridge.channels.matrix.outbound.visibility import BATCHES, OwnEvents, Visibility
from chatbridge.core.model import Outcome, Person, QuestionType, View
from tests.contract.asks import an_ask, answered
from tests.fakes.clock import StillClock

ADA = Person(name="Ada", channel="matrix", place="@ada:localhost")
WAITING = an_ask(id="waits")
ASK = an_ask(id="ends")
ENDED = replace(answered(ASK), outcome=Outcome(at=1.0, by=ADA))


@pytest.fixture
def own_events() -> OwnEvents:
    return OwnEvents()


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture
def visibility(own_events: OwnEvents, clock: StillClock) -> Visibility:
    visibility = Visibility(own_events=own_events, clock=clock)
    for ask in (WAITING, ASK):
        visibility.posted(ask, by="$card", viewer=ADA.place)
    return visibility


def is_clear(visibility: Visibility) -> bool:
    return not visibility.is_ambiguous(than=WAITING)


def test_an_end_counts_once_its_message_has_come_back(
    visibility: Visibility, own_events: OwnEvents
) -> None:
    assert not is_clear(visibility)
    visibility.shown(ENDED, by="$end", viewer=ADA.place)
    assert not is_clear(visibility)
    own_events.passed("$end")
    visibility.came_back("$end")
    assert is_clear(visibility)


def test_an_end_whose_message_came_back_before_the_answer_to_it_counts_at_once(
    visibility: Visibility, own_events: OwnEvents
) -> None:
    own_events.passed("$end")
    visibility.shown(ENDED, by="$end", viewer=ADA.place)
    assert is_clear(visibility)


def test_a_message_that_never_comes_back_is_not_waited_for(
    visibility: Visibility, own_events: OwnEvents
) -> None:
    visibility.shown(ENDED, by="$end", viewer=ADA.place)
    for _ in range(BATCHES):
        assert not is_clear(visibility)
        visibility.read_on()
    assert is_clear(visibility)
    assert not own_events.is_ahead("$end")


def test_what_somebody_else_ended_counts_for_a_minute_of_which_all_has_been_read(
    visibility: Visibility, own_events: OwnEvents, clock: StillClock
) -> None:
    own_events.passed("$end")
    visibility.shown(replace(ENDED, outcome=Outcome(at=1.0)), by="$end", viewer=ADA.place)
    clock.advance(UNNOTICED)
    assert not is_clear(visibility)  # it may have been written all that time ago
    visibility.read_on()
    assert is_clear(visibility)


def test_after_an_outage_the_minute_begins_with_the_first_reading(
    visibility: Visibility, own_events: OwnEvents, clock: StillClock
) -> None:
    clock.advance(10 * UNNOTICED)
    own_events.passed("$end")
    visibility.shown(replace(ENDED, outcome=Outcome(at=1.0)), by="$end", viewer=ADA.place)
    clock.advance(UNNOTICED - 1)
    visibility.read_on()
    assert not is_clear(visibility)
    clock.advance(1)
    visibility.read_on()
    assert is_clear(visibility)


def test_an_end_of_what_an_earlier_hub_showed_counts_once_its_message_has_come_back(
    own_events: OwnEvents, clock: StillClock
) -> None:
    visibility = Visibility(own_events=own_events, clock=clock)
    visibility.shown(ENDED, by="$end", viewer=ADA.place)
    assert not is_clear(visibility)
    own_events.passed("$end")
    visibility.came_back("$end")
    assert is_clear(visibility)


def test_an_older_message_that_never_comes_back_does_not_undo_a_newer_one(
    visibility: Visibility, own_events: OwnEvents
) -> None:
    step = replace(ASK, draft=replace(ASK.draft, step=1, by=ADA))
    visibility.shown(step, by="$step", viewer=ADA.place)
    visibility.shown(ENDED, by="$end", viewer=ADA.place)
    own_events.passed("$end")
    visibility.came_back("$end")
    for _ in range(BATCHES):
        visibility.read_on()
    assert is_clear(visibility)


def test_approvals_never_count(visibility: Visibility, own_events: OwnEvents) -> None:
    own_events.passed("$end")
    visibility.shown(ENDED, by="$end", viewer=ADA.place)
    question = replace(ASK.questions[0], type=QuestionType.APPROVAL)
    reason = replace(ASK.draft, view=View.CANCEL)  # it waits for words, in its thread
    approval = replace(ASK, id="approval", questions=(question,), draft=reason)
    visibility.posted(approval, by="$card", viewer=ADA.place)
    visibility.shown(approval, by="$reason", viewer=ADA.place)
    assert is_clear(visibility)
