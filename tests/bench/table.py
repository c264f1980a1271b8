"""The figures on a terminal."""

from __future__ import annotations

from tests.bench.computer import in_words
from tests.bench.machine import Json
from tests.bench.rows import Row, sections


def table(figures: Json) -> str:
    head = f"{figures['date']}: {in_words(figures['machine'])}"
    if figures["quick"]:
        head += "\nA quick run: only to see that it works."
    parts = [_section(it.title, [it.columns, *rows]) for it, rows in sections(figures)]
    return "\n\n".join([head, *parts])


def _section(title: str, rows: list[Row]) -> str:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return "\n".join([title, "-" * len(title), *lines])
