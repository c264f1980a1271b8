"""When a card changes by itself."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chatbridge.core.asks import deadlines
from tests.contract.asks import an_ask

MINUTE = 60.0


@pytest.mark.parametrize(
    ("minutes", "left"),
    [
        (1, (0.2,)),
        (5, (1,)),
        (20, (15, 4)),
        (30, (15, 6)),
        (60, (15, 10)),
        (480, (15, 10)),
    ],
)
def test_a_card_turns_when_so_many_minutes_are_left(
    minutes: float, left: tuple[float, ...]
) -> None:
    ask = replace(an_ask(), created_at=1000.0, deadline=1000.0 + minutes * MINUTE)
    assert ask.deadline is not None
    assert deadlines.redraw_times(ask) == pytest.approx([ask.deadline - m * MINUTE for m in left])


def test_an_ask_without_a_deadline_never_turns() -> None:
    assert deadlines.redraw_times(replace(an_ask(), deadline=None)) == ()
