"""Tables on a terminal and in a pipe, whatever an agent has written."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.cli.ui.tables import Column, Table, cut, lines, width
from chatbridge.cli.ui.wording import cell

COLUMNS = (
    Column(title="ID"),
    Column(title="PROJECT", most=18),
    Column(title="QUESTION", gives_way=True),
    Column(title="LEFT", right=True),
)
HOSTILE = "\x1b[31mred\x1b]8;;http://evil\x07click\u202e\x9b2J\nnext\r\tline\x00"
CURSOR = set("\x1b\x07\x9b\x00\r\n\t\x08\u202e\u2066\u202a")


def in_pipe(*rows: tuple[str, ...], columns: int | None = None) -> str:
    table = Table(columns=COLUMNS, rows=[[cell(text) for text in row] for row in rows])
    return "".join(f"{line}\n" for line in lines([table], columns))


def on_screen(*rows: tuple[str, ...], columns: int) -> str:
    return in_pipe(*rows, columns=columns)


def test_columns_are_aligned_with_spaces_and_numbers_to_the_right() -> None:
    assert in_pipe(("k3f9a2", "shop-api", "Which?", "1:48"), ("p8", "infra", "x", "12 min")) == (
        "ID       PROJECT    QUESTION     LEFT\n"
        "k3f9a2   shop-api   Which?       1:48\n"
        "p8       infra      x          12 min\n"
    )


def test_wide_characters_take_two_columns() -> None:
    assert in_pipe(("a", "日本", "é\u0301", "1"), ("b", "four", "ab", "2")) == (
        "ID   PROJECT   QUESTION   LEFT\n"
        "a    日本      é\u0301             1\n"
        "b    four      ab            2\n"
    )


def test_the_question_gives_way_first_and_then_the_project() -> None:
    row = ("k3f9a2", "a-rather-long-project", "Which database should it be?", "1:48")
    assert on_screen(row, columns=50).splitlines()[1] == (
        "k3f9a2   a-rather-long-pro…   Which databa…   1:48"
    )
    assert on_screen(row, columns=40).splitlines()[1] == "k3f9a2   a-rather-lon…   Which d…   1:48"


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_a_hostile_text_is_one_visible_row_everywhere(columns: int) -> None:
    row = ("k3f9a2", HOSTILE, HOSTILE + "x" * 10_000, "1:48")
    for shown in (in_pipe(row), on_screen(row, columns=columns)):
        assert len(shown.splitlines()) == 2
        assert not CURSOR - {"\n"} & set(shown)
        assert "⟨U+001B⟩" in shown
    assert all(width(line) <= columns for line in on_screen(row, columns=columns).splitlines())


def test_on_a_terminal_the_titles_and_the_first_column_are_bold() -> None:
    table = Table(columns=COLUMNS[:2], rows=[("a", "b")])
    assert [*lines([table], 80, bold=True)] == [
        "\x1b[1mID   PROJECT\x1b[0m",
        "\x1b[1ma \x1b[0m   b",
    ]


def test_a_text_that_runs_the_other_way_cannot_turn_the_row_around() -> None:
    assert cell("שלום") == "\u2068שלום\u2069"
    assert cell("plain") == "plain"
    assert cut(cell("שלום עולם"), 5) == "\u2068שלום…\u2069"


@given(st.text(max_size=60), st.integers(min_value=2, max_value=30))
def test_what_is_cut_fits_and_is_harmless(text: str, room: int) -> None:
    line = cell(text)
    assert width(cut(line, room)) <= room
    assert len(line.splitlines()) <= 1
    tricky = [char for char in line if unicodedata.category(char) == "Cc" or char in CURSOR]
    assert tricky == []
