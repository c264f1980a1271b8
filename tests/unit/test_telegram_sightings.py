"""What is known of a chat's cards by Telegram's clock."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chatbridge.channels.chat.card_visibility import Visibility
from tests.fakes.clock import StillClock


@given(st.integers(0, 2**33), st.floats(0, 1e7))
def test_a_date_is_the_one_that_telegram_says(told: int, passed: float) -> None:
    clock = StillClock()
    clock.advance(passed)
    assert Visibility("telegram", clock=clock).date(float(told)) == told


@given(st.floats(-1e6, 1e6))
def test_where_telegram_says_none_it_is_reckoned_from_the_last_whatever_the_hubs_clock(
    step: float,
) -> None:
    clock = StillClock()
    visibility = Visibility("telegram", clock=clock)
    assert visibility.date(None) == clock.time()
    visibility.date(5_000.0)
    clock.step(step)
    clock.advance(30.0)
    assert visibility.date(None) == 5_030.0
