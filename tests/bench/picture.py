"""The picture of the figures: dots on a logarithmic axis, ours and the reference's of the same run.

Dots, because a bar has no length where the axis has no zero. Made of text alone, so that it is
sharp at any width, and follows the reader's light or dark.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from xml.sax.saxutils import escape

from tests.bench.computer import in_words
from tests.bench.machine import Json
from tests.bench.rows import CHANNELS, LIBRARIES
from tests.bench.words import ms

WIDTH, LEFT = 520, 18
FROM, TO = 84, 436
"""The axis; beside it is room for what the outermost dots say."""
ROW, AXIS, TITLE = 46, 30, 50
STYLE = """
svg { font: 15px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif }
.page { fill: #fff } .ink { fill: #16201b } .quiet { fill: #56635c; font-size: 13px }
.title { font-size: 17px; font-weight: 600 } .line { stroke: #d9e0dc } .way { stroke: #9aa8a0 }
.ours { fill: #0a7a5a } .other { fill: #fff; stroke: #b3541e; stroke-width: 2.5 }
.aim { stroke: #b3541e; stroke-dasharray: 4 4 } .value { font-size: 13px; font-weight: 600;
  paint-order: stroke; stroke: #fff; stroke-width: 5px; stroke-linejoin: round }
.of-ours { fill: #0a6a50 } .of-other { fill: #9a4416 }
@media (prefers-color-scheme: dark) {
.page { fill: #0e1311 } .value { stroke: #0e1311 } .ink { fill: #e7eeea }
.quiet { fill: #a2b0a9 } .line { stroke: #2a332e }
.way { stroke: #63716a } .ours { fill: #46c79a } .other { fill: #0e1311; stroke: #f0a173 }
.aim { stroke: #f0a173 } .of-ours { fill: #6fdcb4 } .of-other { fill: #f3b58f }
}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dots:
    """One row: what was measured, and the reference beside it."""

    label: str
    ours: float
    other: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    title: str
    other: str
    """What the hollow dots are."""
    unit: str
    rows: tuple[Dots, ...]
    aim: float | None = None
    aim_said: str = ""


def draw(figures: Json) -> str:
    parts: list[str] = []
    top = 16.0
    for panel in panels(figures):
        lines, height = _panel(panel, top)
        parts += lines
        top += height
    parts += _note(figures, top)
    height = math.ceil(top + 46)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
            f'role="img" aria-label="Figures of make bench, ours beside references">',
            f"<style>{STYLE}</style>",
            f'<rect class="page" width="{WIDTH}" height="{height}"/>',
            *parts,
            "</svg>\n",
        ]
    )


def panels(figures: Json) -> Iterator[Panel]:
    if "one_ask" in figures:
        yield _asked(figures["one_ask"], "card_ms", "The card is there", 3000)
        yield _asked(figures["one_ask"], "result_ms", "The agent has the answer", 2000)
    if chats := [name for name in LIBRARIES if name in figures]:
        yield _chats(figures, chats)
    if "startup" in figures:
        yield _starts(figures["startup"])
    if "memory" in figures:
        yield _weights(figures["memory"])


def _asked(part: Json, name: str, title: str, target: float) -> Panel:
    rows = [
        Dots(label=channel, ours=part[key]["warm"][name], other=part[key]["cold"][name])
        for key, channel in CHANNELS.items()
    ]
    return Panel(
        title=f"{title}: the slowest ask",
        other="the same with no hub running",
        unit="ms",
        rows=tuple(rows),
        aim=target,
        aim_said=f"target {target / 1000:g} s",
    )


def _chats(figures: Json, chats: list[str]) -> Panel:
    rows = [
        Dots(
            label=f"{CHANNELS[key]}, {said}",
            ours=figures[key]["ours"][name]["p50"],
            other=figures[key]["server"][name]["p50"],
        )
        for key in chats
        for name, said in (("out_ms", "tool call → message"), ("back_ms", "tap → result"))
    ]
    other = "the bot's library behind a minimal MCP server"
    return Panel(
        title="Beside the least that does the same", other=other, unit="ms", rows=tuple(rows)
    )


def _starts(part: Json) -> Panel:
    rows = tuple(
        Dots(label=label, ours=part[key]["ms"], other=part[key]["sdk_ms"])
        for key, label in (
            ("link", "an agent's link, from its start until it lists its tools"),
            ("first", "the same, with no hub running"),
        )
    )
    return Panel(title="Start", other="an SDK server", unit="ms", rows=rows)


def _weights(part: Json) -> Panel:
    rows = (
        Dots(label="a link, one for each agent", ours=part["link_mb"], other=part["sdk_mb"]),
        Dots(label="the hub, one for all", ours=part["hub_mb"], other=part["sdk_mb"]),
    )
    return Panel(title="Memory", other="an SDK server", unit="MB", rows=rows)


class Scale:
    """Values to places, by their logarithm, between two powers of ten."""

    def __init__(self, panel: Panel) -> None:
        values = [it for row in panel.rows for it in (row.ours, row.other) if it]
        values += [panel.aim] if panel.aim else []
        self._low = math.floor(math.log10(min(values)))
        self._high = max(math.ceil(math.log10(max(values))), self._low + 1)

    def x(self, value: float) -> float:
        share = (math.log10(value) - self._low) / (self._high - self._low)
        return round(FROM + share * (TO - FROM), 1)

    def ticks(self) -> list[float]:
        return [10.0**power for power in range(self._low, self._high + 1)]


def _panel(panel: Panel, top: float) -> tuple[list[str], float]:
    scale = Scale(panel)
    first = top + TITLE + (28 if panel.aim else 14)
    bottom = first + ROW * len(panel.rows)
    parts = [
        _text(LEFT, top + 18, panel.title, "ink title"),
        f'<circle class="ours" cx="{LEFT + 6}" cy="{top + 35}" r="6"/>',
        _text(LEFT + 18, top + 40, "chatbridge", "quiet"),
        f'<circle class="other" cx="{LEFT + 106}" cy="{top + 35}" r="5"/>',
        _text(LEFT + 118, top + 40, panel.other, "quiet"),
    ]
    for tick in scale.ticks():
        x = scale.x(tick)
        parts.append(f'<line class="line" x1="{x}" x2="{x}" y1="{first - 8}" y2="{bottom}"/>')
        parts.append(_text(x, bottom + 16, _tick(tick, panel.unit), "quiet", "middle"))
    if panel.aim is not None:
        x = scale.x(panel.aim)
        parts.append(f'<line class="aim" x1="{x}" x2="{x}" y1="{first - 8}" y2="{bottom}"/>')
        parts.append(_text(x, first - 12, panel.aim_said, "value of-other", "middle"))
    for number, row in enumerate(panel.rows):
        parts += _dots(row, scale, first + ROW * number, panel.unit)
    return parts, bottom + AXIS + 8 - top


def _dots(row: Dots, scale: Scale, top: float, unit: str) -> Iterator[str]:
    y = top + 28
    x = scale.x(row.ours)
    yield _text(LEFT, top + 12, row.label, "ink")
    if row.other is not None:
        other = scale.x(row.other)
        yield f'<line class="way" x1="{x}" x2="{other}" y1="{y}" y2="{y}"/>'
        yield f'<circle class="other" cx="{other}" cy="{y}" r="5"/>'
        yield _value(other, y, _amount(row.other, unit), "of-other", left=row.other < row.ours)
    yield f'<circle class="ours" cx="{x}" cy="{y}" r="6"/>'
    left = row.other is None or row.ours <= row.other
    yield _value(x, y, _amount(row.ours, unit), "of-ours", left=left)


def _value(x: float, y: float, said: str, kind: str, *, left: bool) -> str:
    """Beside its dot, away from the other one."""
    place, anchor = (x - 10, "end") if left else (x + 10, "start")
    return _text(place, y + 5, said, f"value {kind}", anchor)


def _amount(value: float, unit: str) -> str:
    if unit == "ms":
        return ms(value) if value < 1000 else f"{value / 1000:.2f} s"
    return f"{value:g} {unit}"


def _tick(value: float, unit: str) -> str:
    if unit == "ms" and value >= 1000:
        return f"{value / 1000:g} s"
    return f"{value:g} {unit}"


def _note(figures: Json, top: float) -> Iterator[str]:
    machine = figures["machine"]
    run = "A quick run" if figures["quick"] else "One run"
    yield _text(
        LEFT,
        top + 14,
        f"Each scale is logarithmic. {run} of make bench, {figures['date']}:",
        "quiet",
    )
    yield _text(LEFT, top + 32, in_words(machine).partition(";")[0], "quiet")


def _text(x: float, y: float, said: str, kind: str, anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(said)}</text>'
