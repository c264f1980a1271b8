"""Tables, as aligned text; on a terminal with the titles and the first column in bold."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from chatbridge.cli.ui.running import columns

GAP = 3
MIN_WIDTH = 8
"""The least width of a column that gives way."""
MIN_BOUNDED_WIDTH = 4
"""The least width of a column with a bound: the time that is left must not be cut."""
PIPED_WIDTH = 100
"""The widest column where the width of the reader is unknown."""


class Column(NamedTuple):
    title: str
    right: bool = False
    gives_way: bool = False
    """It is cut where the row would be wider than the terminal."""
    most: int = PIPED_WIDTH


class Table(NamedTuple):
    columns: tuple[Column, ...]
    rows: Sequence[Sequence[str]]
    headed: bool = True


def width(text: str) -> int:
    """How many columns of a screen a text takes."""
    if text.isascii():
        return len(text)  # without the time that rich takes to be imported
    from rich.cells import cell_len

    return cell_len(text)


def cut(text: str, most: int) -> str:
    if width(text) <= most:
        return text
    if text.isascii():
        return f"{text[: most - 1].rstrip()}…"
    from rich.cells import set_cell_size

    kept = set_cell_size(text, most - 1).rstrip()
    return f"{kept}…\u2069" if kept.startswith("\u2068") else f"{kept}…"


def layout(tables: Sequence[Table], room: int | None) -> list[int]:
    """The widths of the columns that these tables share, within this room."""
    columns = tables[0].columns
    widths = [0] * len(columns)
    for table in tables:
        for row in [*_titles(table), *table.rows]:
            widths = [max(w, width(text)) for w, text in zip(widths, row, strict=True)]
    widths = [min(w, column.most) for w, column in zip(widths, columns, strict=True)]
    if room is not None:
        over = sum(widths) + GAP * (len(widths) - 1) - room
        giving = [i for i, it in enumerate(columns) if it.gives_way]
        bounded = [i for i, it in enumerate(columns) if it.most < PIPED_WIDTH]
        over = _narrowed(widths, giving, over)
        _narrowed(widths, bounded, over, least=MIN_BOUNDED_WIDTH)
    return widths


def _narrowed(widths: list[int], which: Sequence[int], over: int, *, least: int = MIN_WIDTH) -> int:
    """Take from the widest of these until it fits; what could not be taken."""
    while over > 0 and (wide := [i for i in which if widths[i] > least]):
        widths[max(wide, key=lambda i: widths[i])] -= 1
        over -= 1
    return over


def _titles(table: Table) -> list[list[str]]:
    return [[column.title for column in table.columns]] if table.headed else []


def lines(parts: Sequence[Table | str], room: int | None, *, bold: bool = False) -> Iterator[str]:
    """One after another; a text is a line of ours, and all tables have the same columns. Aligned
    with spaces, so that it reads the same everywhere and can be cut by columns."""
    tables = [part for part in parts if isinstance(part, Table)]
    widths = layout(tables, room) if tables else []
    for part in parts:
        if isinstance(part, str):
            yield part
            continue
        for number, row in enumerate([*_titles(part), *part.rows]):
            padded = []
            for text, wide, column in zip(row, widths, part.columns, strict=True):
                shown = cut(text, wide)
                blank = " " * (wide - width(shown))
                padded.append(blank + shown if column.right else shown + blank)
            line = (" " * GAP).join(padded).rstrip()
            line = line if room is None else cut(line, room)
            strong = len(line) if part.headed and not number else len(padded[0])
            yield f"\x1b[1m{line[:strong]}\x1b[0m{line[strong:]}" if bold else line


def on_terminal() -> bool:
    return sys.stdout.isatty()


def supports_escapes() -> bool:
    """Whether there is a terminal that can be more than written to."""
    return on_terminal() and os.environ.get("TERM") not in ("dumb", "unknown")


def write(*parts: Table | str) -> None:
    room = columns() if on_terminal() else None
    sys.stdout.write("".join(f"{line}\n" for line in lines(parts, room, bold=supports_escapes())))
