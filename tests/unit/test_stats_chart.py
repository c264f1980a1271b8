"""The bars by hour: as high as what they stand for, and inside the picture."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chatbridge.channels.web.stats_chart import HEIGHT, WIDTH, Chart, hour_bars


def drawn(*waited: int) -> Chart:
    by_hour = [*waited, *[0] * (24 - len(waited))]
    return hour_bars(
        [{"hour": n, "asked": n, "waitedSeconds": each} for n, each in enumerate(by_hour)]
    )


def test_a_bar_is_as_high_as_its_share_of_the_upper_end() -> None:
    chart = drawn(3600, 1800, 0, 1)
    assert chart.top_label == "1 h"
    whole = chart.base - chart.top
    assert [bar.height for bar in chart.bars[:4]] == [whole, whole / 2, 0.0, 1.5]
    assert chart.bars[0].y == chart.top
    assert chart.bars[1].title == "01:00, 1 question, waited 30 min"
    assert chart.title.endswith("The most is 1 h, from 00:00 on.")


def test_the_upper_end_is_a_round_time_above_the_highest_bar() -> None:
    assert [drawn(seconds).top_label for seconds in (1, 61, 3601, 40_000, 90_000)] == [
        "1 min", "2 min", "2 h", "12 h", "2 d",
    ]  # fmt: skip


@given(st.lists(st.integers(-100, 10**13), min_size=24, max_size=24))
def test_nothing_is_drawn_outside_whatever_was_waited(waited: list[int]) -> None:
    for bar in drawn(*waited).bars:
        assert 0 <= bar.x <= bar.x + bar.width <= WIDTH
        assert 0 <= bar.y <= bar.y + bar.height <= HEIGHT
