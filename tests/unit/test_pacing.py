"""The pace of a surface: bursts at once, then a steady rate, and never more than allowed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chatbridge.channels.telegram.outbound.chat import PRIVATE
from chatbridge.core.delivery.queue import RateLimit, RateLimiter


def sent_at(pace: RateLimit, requests: list[tuple[float, bool]]) -> list[float]:
    """When each message or edit goes out, if each is wished for so long after the one before."""
    meter, now, times = RateLimiter(pace), 0.0, []
    for gap, edit in requests:
        now += gap
        now += meter.pause(now)
        meter.spend(now, edit=edit)
        times.append(now)
    return times


def test_a_burst_goes_out_at_once_and_the_rest_at_a_steady_rate() -> None:
    assert sent_at(PRIVATE, [(0.0, False)] * 7) == [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 2.0]


def test_a_pause_lets_the_next_burst_grow_to_its_limit_and_no_further() -> None:
    times = sent_at(PRIVATE, [(0.0, False)] * 5 + [(1000.0, False)] + [(0.0, False)] * 5)
    assert times[5:] == [1000.0, 1000.0, 1000.0, 1000.0, 1000.0, 1001.0]


def test_without_a_pace_nothing_waits() -> None:
    assert sent_at(RateLimit(), [(0.0, False)] * 100) == [0.0] * 100


@given(st.lists(st.tuples(st.floats(0, 5), st.booleans()), max_size=80), st.floats(1, 60))
def test_in_no_stretch_of_time_is_more_spent_than_its_length_and_one_burst(
    requests: list[tuple[float, bool]], stretch: float
) -> None:
    times = sent_at(PRIVATE, requests)
    costs = [PRIVATE.edit if edit else PRIVATE.message for _, edit in requests]
    for start in times:
        spent = sum(c for t, c in zip(times, costs, strict=True) if start <= t < start + stretch)
        assert spent <= stretch + PRIVATE.burst + PRIVATE.message + 1e-6
