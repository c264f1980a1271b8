"""A terminal's screen as HTML, in its colours."""

from __future__ import annotations

from html import escape
from itertools import groupby

import pyte

STYLE = """
.screen { margin: 0; font: 12.6px/1.5 ui-monospace, "DejaVu Sans Mono", monospace; white-space: pre;
  color: #dbe6e0 }
.screen .bold { font-weight: 700; color: #fff } .screen .green { color: #7fe0ae }
.screen .brightblack { color: #8da39a } .screen .cursor { background: #dbe6e0; color: #0f1a16 }
"""


def drawn(written: bytes, *, columns: int, rows: int) -> str:
    """The screen after a program has written this."""
    screen = pyte.Screen(columns, rows)
    pyte.ByteStream(screen).feed(written)
    lines = "\n".join(_line(screen, row) for row in range(rows))
    return f'<pre class="screen">{lines}</pre>'


def _line(screen: pyte.Screen, row: int) -> str:
    def kind(column: int) -> str:
        cell = screen.buffer[row][column]
        if (screen.cursor.y, screen.cursor.x) == (row, column):
            return "cursor"
        return " ".join(["bold"] * cell.bold + [cell.fg] * (cell.fg != "default"))

    return "".join(
        f'<span class="{name}">{escape("".join(screen.buffer[row][c].data for c in run))}</span>'
        for name, run in groupby(range(screen.columns), kind)
    )
