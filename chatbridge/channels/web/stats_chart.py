"""The picture of the statistics: a bar for each hour of the day, as high as agents waited.

Owns where bars, lines and labels are; the template draws them as SVG, and the style sheet gives
them colours. No style and no script is in the page itself: its security policy allows neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from chatbridge.core.cards.phrases import format_duration

WIDTH, HEIGHT, TOP, FOOT = 360, 156, 18, 18
STEP = WIDTH / 24
BAR = 11.0
LEAST = 1.5  # Height of a bar that is not nothing
HOUR, MINUTE, DAY = 3600, 60, 86400
MARKS = (
    *(MINUTE * n for n in (1, 2, 3, 5, 10, 15, 20, 30, 45)),
    *(HOUR * n for n in (1, 2, 3, 4, 6, 8, 12, 18)),
    *(DAY * n for n in (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700)),
)
"""What the upper end of the picture can stand for, in seconds."""


@dataclass(frozen=True, slots=True)
class Bar:
    x: float
    y: float
    width: float
    height: float
    title: str


@dataclass(frozen=True, slots=True)
class Chart:
    bars: Sequence[Bar]
    labels: Sequence[tuple[float, str]]  # Hours below the bars, by their middle
    top: float
    top_label: str  # What a bar up to there would stand for
    base: float
    view: str
    title: str


def hour_bars(hours: Sequence[dict[str, Any]]) -> Chart:
    """`hours`: as `statistics_object` has them."""
    waited = [max(hour["waitedSeconds"], 0) for hour in hours]
    most, base = max(waited), HEIGHT - FOOT
    top = next((mark for mark in MARKS if mark >= most), most)
    scale = (base - TOP) / top
    bars = []
    for hour, seconds in zip(hours, waited, strict=True):
        height = round(max(seconds * scale, LEAST), 1) if seconds else 0.0
        x = round(hour["hour"] * STEP + (STEP - BAR) / 2, 1)
        bars.append(Bar(x, round(base - height, 1), BAR, height, _title(hour)))
    return Chart(
        bars=bars,
        labels=[(round((hour + 0.5) * STEP, 1), f"{hour:02}") for hour in range(0, 24, 3)],
        top=TOP,
        top_label=format_duration(top),
        base=base,
        view=f"0 0 {WIDTH} {HEIGHT}",
        title=_whole(hours, waited),
    )


def _title(hour: dict[str, Any]) -> str:
    asked = hour["asked"]
    questions = "1 question" if asked == 1 else f"{asked:,} questions"
    waited = format_duration(max(hour["waitedSeconds"], 0))
    return f"{hour['hour']:02}:00, {questions}, waited {waited}"


def _whole(hours: Sequence[dict[str, Any]], waited: Sequence[int]) -> str:
    """The picture in a sentence, for those who do not see it."""
    worst = max(range(len(waited)), key=waited.__getitem__)
    return (
        "Bars for the 24 hours of the day: how long agents waited for what they asked in that "
        f"hour. The most is {format_duration(waited[worst])}, from {hours[worst]['hour']:02}:00 on."
    )
