"""The results as a table: on a terminal, and in the documentation between two marks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.clients.programs import ROOT

Json = dict[str, Any]
PAGE = ROOT / "docs" / "clients.md"
BEGIN, END = "<!-- made by make clients -->\n", "<!-- made until here -->\n"


def as_text(found: Json) -> str:
    rows = _rows(found)
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    return "\n".join([*lines, "", _left_out(found)]).rstrip()


def as_markdown(found: Json) -> str:
    head, *rows = [[cell.replace("|", "\\|") for cell in row] for row in _rows(found)]
    lines = [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]
    said = f"{found['date']}, {found['isolation']}. {_left_out(found)}".rstrip()
    return "\n".join([*lines, "", said, ""])


def write_docs(found: Json, page: Path = PAGE) -> None:
    """:raises ValueError: the page has no marks."""
    before, begin, rest = page.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{page} has no {(END if begin else BEGIN).strip()}")
    page.write_text(f"{before}{BEGIN}{as_markdown(found)}{END}{after}")


def _rows(found: Json) -> list[list[str]]:
    head = ["program", "version", "protocol", *found["headings"]]
    rows = [[it["program"], it["version"], it["era"], *it["cells"]] for it in found["rows"]]
    return [head, *rows]


def _left_out(found: Json) -> str:
    return f"Not installed, so left out: {', '.join(found['leftOut'])}." if found["leftOut"] else ""
