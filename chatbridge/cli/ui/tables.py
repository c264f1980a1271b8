"""Tables: with rich on a terminal, as plain aligned text in a pipe.

A cell may contain an agent's text. It is one visible line that cannot move the cursor, set colours,
hide anything, or reverse the rest of the row.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from chatbridge.core.text import isolated, one_line

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

GAP = 3
NARROWEST = 8
"""The least width of a column that gives way."""
LEAST = 4
"""The least width of a column with a bound: the time that is left must not be cut."""
LONGEST_CELL = 2_000
"""Characters of a text that are looked at. No terminal shows that many of a cell."""
PIPED = 100
"""The widest column where the width of the reader is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    title: str
    right: bool = False
    gives_way: bool = False
    """It is cut where the row would be wider than the terminal."""
    most: int = PIPED
    strong: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    columns: tuple[Column, ...]
    rows: Sequence[Sequence[str]]
    headed: bool = True


def cell(text: str) -> str:
    """An agent's or a person's text as it may stand in a table."""
    line = one_line(text[:LONGEST_CELL])
    turning = any(unicodedata.bidirectional(char) in ("R", "AL", "AN") for char in line)
    return isolated(line) if turning else line


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
        over = _narrowed(widths, [i for i, it in enumerate(columns) if it.gives_way], over)
        _narrowed(widths, [i for i, it in enumerate(columns) if it.most < PIPED], over, least=LEAST)
    return widths


def _narrowed(widths: list[int], which: Sequence[int], over: int, *, least: int = NARROWEST) -> int:
    """Take from the widest of these until it fits; what could not be taken."""
    while over > 0 and (wide := [i for i in which if widths[i] > least]):
        widths[max(wide, key=lambda i: widths[i])] -= 1
        over -= 1
    return over


def _titles(table: Table) -> list[list[str]]:
    return [[column.title for column in table.columns]] if table.headed else []


def plain(table: Table, widths: Sequence[int]) -> str:
    """Aligned with spaces, so that it reads the same everywhere and can be cut by columns."""
    return "".join(f"{line}\n" for line in _aligned(table, widths))


def _aligned(table: Table, widths: Sequence[int]) -> Iterator[str]:
    for row in [*_titles(table), *table.rows]:
        padded = []
        for text, wide, column in zip(row, widths, table.columns, strict=True):
            shown = cut(text, wide)
            room = " " * (wide - width(shown))
            padded.append(room + shown if column.right else shown + room)
        yield (" " * GAP).join(padded).rstrip()


def on_terminal() -> bool:
    return sys.stdout.isatty()


def console() -> Console:
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False)


def rendered(part: Table | str, widths: Sequence[int] = ()) -> RenderableType:
    from rich.table import Table as RichTable
    from rich.text import Text

    if isinstance(part, str):
        return Text(part)
    found = RichTable(box=None, show_header=part.headed, pad_edge=False, padding=(0, GAP, 0, 0))
    for column, wide in zip(part.columns, widths, strict=True):
        found.add_column(
            Text(column.title, style="bold"),
            justify="right" if column.right else "left",
            width=wide,
            no_wrap=True,
            overflow="ellipsis",
            style="bold" if column.strong else "",
        )
    for row in part.rows:
        found.add_row(*(Text(cut(t, wide)) for t, wide in zip(row, widths, strict=True)))
    return found


def write(*parts: Table | str) -> None:
    """One after another; a text is a line of ours, and all tables have the same columns."""
    tables = [part for part in parts if isinstance(part, Table)]
    if not on_terminal():
        widths = layout(tables, None) if tables else []
        for part in parts:
            sys.stdout.write(plain(part, widths) if isinstance(part, Table) else f"{part}\n")
        return
    screen = console()
    for drawn in pictures(parts, screen):
        screen.print(drawn)


def pictures(parts: Sequence[Table | str], screen: Console) -> list[RenderableType]:
    tables = [part for part in parts if isinstance(part, Table)]
    widths = layout(tables, screen.width) if tables else []
    return [rendered(part, widths) for part in parts]
