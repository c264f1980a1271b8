"""When a card changes by itself."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chatbridge.core.asks.deadlines import Due, all_due
from chatbridge.core.model import Ask
from chatbridge.core.policy import Policy
from tests.contract.asks import an_ask

MINUTE = 60.0


def turns(ask: Ask) -> list[float]:
    due = all_due(ask, now=ask.created_at, policy=Policy())
    return [at for at, what in due if what is Due.REDRAW]


@pytest.mark.parametrize(("minutes", "left"), [(1, 0.2), (5, 1), (30, 6), (60, 10), (480, 10)])
def test_a_card_turns_when_so_many_minutes_are_left(minutes: float, left: float) -> None:
    ask = replace(an_ask(), created_at=1000.0, deadline=1000.0 + minutes * MINUTE)
    assert ask.deadline is not None
    assert turns(ask) == pytest.approx([ask.deadline - left * MINUTE])


def test_an_ask_without_a_deadline_never_turns() -> None:
    assert turns(replace(an_ask(), deadline=None)) == []
