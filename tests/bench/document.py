"""Writes figures into the documentation: the tables of its page, and its picture.

What stands between the page's two marks is made here; the rest is written by hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.bench import picture
from tests.bench.computer import in_words
from tests.bench.machine import ROOT, Json
from tests.bench.rows import Row, sections

PAGE = ROOT / "docs" / "figures.md"
PICTURE = ROOT / "docs" / "pictures" / "figures.svg"
BEGIN, END = "<!-- made by python -m tests.bench draw -->\n", "<!-- made until here -->\n"


def draw(figures: Json, *, page: Path = PAGE, svg: Path = PICTURE) -> Iterator[Path]:
    """The files that were written."""
    before, _, rest = page.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}{text(figures)}{END}{after}")
    yield page
    svg.write_text(picture.draw(figures))
    yield svg


def text(figures: Json) -> str:
    run = "A quick run, which only shows that it works" if figures["quick"] else "One run"
    parts = [f"{run}, {figures['date']}: {in_words(figures['machine'])}.\n"]
    parts += [_section(it.title, it.columns, rows) for it, rows in sections(figures)]
    return "\n".join(parts)


def _section(title: str, columns: Row, rows: list[Row]) -> str:
    lines = [_line(columns), "|" + "---|" * len(columns), *map(_line, rows)]
    return "\n".join([f"### {title}", *lines, ""])


def _line(cells: Row) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
