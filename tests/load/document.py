"""Writes figures into the documentation, between the page's two marks, and onto a terminal."""

from __future__ import annotations

from pathlib import Path

from tests.bench.computer import in_words
from tests.bench.machine import ROOT, Json
from tests.load.figures import setup, tables

PAGE = ROOT / "docs" / "load.md"
BEGIN, END = "<!-- made by python -m tests.load --write-docs -->\n", "<!-- made until here -->\n"


def draw(figures: Json, page: Path = PAGE) -> Path:
    before, _, rest = page.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}{_text(figures)}{END}{after}")
    return page


def _text(figures: Json) -> str:
    parts = [f"{head(figures)}\n"]
    for title, (columns, *rows) in tables(figures):
        lines = [_line(columns), "|" + "---|" * len(columns), *map(_line, rows)]
        parts.append("\n".join([f"### {title}", *lines, ""]))
    return "\n".join(parts)


def _line(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


def head(figures: Json) -> str:
    return f"One run, {figures['date']}: {in_words(figures['machine'])}. {setup(figures)}."


def on_terminal(figures: Json) -> str:
    parts = [head(figures)]
    for title, rows in tables(figures):
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        parts.append("\n".join([title, "-" * len(title), *lines]))
    return "\n\n".join(parts)
