"""What is known of a room's cards before, when and if their messages come back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chatbridge.channels.chat.card_visibility import UNNOTICED
from chatbridge.channels.matrix.outbound.visibility import BATCHES, Echoes, Sightings
from chatbridge.core.model import Outcome, Person, QuestionType, View
from tests.contract.asks import an_ask, answered
from tests.fakes.clock import StillClock

ADA = Person(name="Ada", channel="matrix", place="@ada:localhost")
WAITING = an_ask(id="waits")
ASK = an_ask(id="ends")
ENDED = replace(answered(ASK), outcome=Outcome(at=1.0, by=ADA))


@pytest.fixture
def echoes() -> Echoes:
    return Echoes()


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture
def sightings(echoes: Echoes, clock: StillClock) -> Sightings:
    sightings = Sightings(echoes=echoes, clock=clock)
    for ask in (WAITING, ASK):
        sightings.posted(ask, by="$card", viewer=ADA.place)
    return sightings


def is_clear(sightings: Sightings) -> bool:
    return not sightings.is_ambiguous(than=WAITING)


def test_an_end_counts_once_its_message_has_come_back(sightings: Sightings, echoes: Echoes) -> None:
    assert not is_clear(sightings)
    sightings.shown(ENDED, by="$end", viewer=ADA.place)
    assert not is_clear(sightings)
    echoes.passed("$end")
    sightings.came_back("$end")
    assert is_clear(sightings)


def test_an_end_whose_message_came_back_before_the_answer_to_it_counts_at_once(
    sightings: Sightings, echoes: Echoes
) -> None:
    echoes.passed("$end")
    sightings.shown(ENDED, by="$end", viewer=ADA.place)
    assert is_clear(sightings)


def test_a_message_that_never_comes_back_is_not_waited_for(
    sightings: Sightings, echoes: Echoes
) -> None:
    sightings.shown(ENDED, by="$end", viewer=ADA.place)
    for _ in range(BATCHES):
        assert not is_clear(sightings)
        sightings.read_on()
    assert is_clear(sightings)
    assert not echoes.is_ahead("$end")


def test_what_somebody_else_ended_counts_for_a_minute_of_which_all_has_been_read(
    sightings: Sightings, echoes: Echoes, clock: StillClock
) -> None:
    echoes.passed("$end")
    sightings.shown(replace(ENDED, outcome=Outcome(at=1.0)), by="$end", viewer=ADA.place)
    clock.advance(UNNOTICED)
    assert not is_clear(sightings)  # it may have been written all that time ago
    sightings.read_on()
    assert is_clear(sightings)


def test_after_an_outage_the_minute_begins_with_the_first_reading(
    sightings: Sightings, echoes: Echoes, clock: StillClock
) -> None:
    clock.advance(10 * UNNOTICED)
    echoes.passed("$end")
    sightings.shown(replace(ENDED, outcome=Outcome(at=1.0)), by="$end", viewer=ADA.place)
    clock.advance(UNNOTICED - 1)
    sightings.read_on()
    assert not is_clear(sightings)
    clock.advance(1)
    sightings.read_on()
    assert is_clear(sightings)


def test_an_end_of_what_an_earlier_hub_showed_counts_once_its_message_has_come_back(
    echoes: Echoes, clock: StillClock
) -> None:
    sightings = Sightings(echoes=echoes, clock=clock)
    sightings.shown(ENDED, by="$end", viewer=ADA.place)
    assert not is_clear(sightings)
    echoes.passed("$end")
    sightings.came_back("$end")
    assert is_clear(sightings)


def test_an_older_message_that_never_comes_back_does_not_undo_a_newer_one(
    sightings: Sightings, echoes: Echoes
) -> None:
    step = replace(ASK, draft=replace(ASK.draft, step=1, by=ADA))
    sightings.shown(step, by="$step", viewer=ADA.place)
    sightings.shown(ENDED, by="$end", viewer=ADA.place)
    echoes.passed("$end")
    sightings.came_back("$end")
    for _ in range(BATCHES):
        sightings.read_on()
    assert is_clear(sightings)


def test_approvals_never_count(sightings: Sightings, echoes: Echoes) -> None:
    echoes.passed("$end")
    sightings.shown(ENDED, by="$end", viewer=ADA.place)
    question = replace(ASK.questions[0], type=QuestionType.APPROVAL)
    reason = replace(ASK.draft, view=View.CANCEL)  # it waits for words, in its thread
    approval = replace(ASK, id="approval", questions=(question,), draft=reason)
    sightings.posted(approval, by="$card", viewer=ADA.place)
    sightings.shown(approval, by="$reason", viewer=ADA.place)
    assert is_clear(sightings)
