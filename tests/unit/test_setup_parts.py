"""What the set-up finds in a paste, what a QR code looks like, and how long is how long."""

from __future__ import annotations

import pytest
import segno
from hypothesis import given, settings
from hypothesis import strategies as st

from chatbridge.channels.discord.settings import FORM
from chatbridge.channels.slack.settings import BOT_TOKEN
from chatbridge.channels.telegram.setup import token_in
from chatbridge.cli.setup.bots import only
from chatbridge.cli.ui import prompts
from chatbridge.cli.ui.qr import coloured, qr_lines

PARTS = {" ": (0, 0), "▀": (1, 0), "▄": (0, 1), "█": (1, 1)}
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
TOKENS = st.builds(
    "{}:{}".format,
    st.integers(10**7, 10**11),
    st.text(LETTERS, min_size=35, max_size=35),
)
WORDS = st.text("abcdefgh ,.!\n\t", max_size=60)


@given(token=TOKENS, before=WORDS, after=WORDS)
def test_a_token_is_found_in_whatever_words_stand_around_it(
    token: str, before: str, after: str
) -> None:
    assert token_in(f"{before}\n{token}\n{after}") == token
    assert token_in(f"{before} {token} {after}") == token


@given(token=TOKENS, data=st.data())
def test_spaces_and_line_breaks_inside_the_long_row_do_not_matter(
    token: str, data: st.DataObject
) -> None:
    at = data.draw(st.integers(token.index(":"), len(token) - 1))
    assert token_in(f"  {token[:at]} \n{token[at:]}  ") == token


@given(token=st.builds("{}:{}".format, st.integers(10**5, 10**15), st.text(LETTERS, min_size=30)))
def test_a_token_of_another_length_is_found_as_well(token: str) -> None:
    assert token_in(f" {token}\n") == token
    assert token_in(f"Use this token: {token}\nKeep it.") == token


@given(text=WORDS)
def test_where_there_is_none_none_is_found(text: str) -> None:
    assert token_in(text) is None
    assert token_in(f"123456:ABC-DEF {text}") is None


def test_two_different_ones_are_not_chosen_between() -> None:
    one, two = (f"123456:{letter * 35}" for letter in "ab")
    assert token_in(f"{one}\n{two}") is None
    assert token_in(f"{one}\n{one}") == one


SLACK = st.text("ABCDEFabcdef0123456789-", min_size=8, max_size=60).map("xoxb-{}".format)
DISCORD = st.tuples(
    st.text(LETTERS, min_size=24, max_size=28),
    st.text(LETTERS, min_size=6, max_size=6),
    st.text(LETTERS, min_size=27, max_size=38),
).map(".".join)
FORMS = {BOT_TOKEN: SLACK, FORM: DISCORD}


@pytest.mark.parametrize("form", FORMS, ids=["slack", "discord"])
@given(data=st.data(), before=WORDS, after=WORDS)
def test_a_token_of_another_service_is_found_among_words_and_not_chosen_from_two(
    form: str, data: st.DataObject, before: str, after: str
) -> None:
    token, other = data.draw(FORMS[form]), data.draw(FORMS[form])
    find = only(form)
    assert find(f"{before}\n{token}\n{after}") == token
    assert find(f'"{token}" {token}') == token
    assert find(f"{token} {other}") == (token if token == other else None)
    assert find(f"{before} {after}") is None


def modules(lines: list[str]) -> list[list[int]]:
    """The picture's light modules, row by row."""
    return [[PARTS[char][half] for char in line] for line in lines for half in (0, 1)]


@settings(max_examples=6)  # each takes a tenth of a second
@given(name=st.text("abcdefgh_", min_size=5, max_size=32))
def test_the_picture_is_the_links_code_with_a_light_margin_of_two_modules(name: str) -> None:
    link = f"https://t.me/{name}?start=p_7Q4K2MXD"
    lines = qr_lines(link)
    code = segno.make(link, error="l", micro=False, boost_error=False)
    expected = [[1 - int(bool(dark)) for dark in row] for row in code.matrix_iter(border=2)]
    drawn = modules(lines)
    assert drawn[: len(expected)] == expected
    assert all(all(row) for row in drawn[len(expected) :])
    assert len({len(line) for line in lines}) == 1
    inverted = modules(qr_lines(link, inverted=True))
    assert inverted == [[1 - module for module in row] for row in drawn]


def test_a_usual_link_fits_a_terminal_of_24_rows() -> None:
    lines = qr_lines("https://t.me/a_rather_long_name_for_a_bot?start=p_7Q4K2MXD")
    assert len(lines) <= 19
    assert len(lines[0]) <= 37


def test_colours_are_left_out_where_they_are_not_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert coloured("█") == "\x1b[97;40m█\x1b[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    assert coloured("█") == "█"


def test_keys_stand_at_the_right_edge_and_the_longest_hint_that_fits_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def in_window(columns: int) -> str:
        monkeypatch.setenv("COLUMNS", str(columns))
        return prompts.with_key("  … waiting", "i: invert   Esc: later", "Esc: later")

    assert in_window(80) == f"  … waiting{'i: invert   Esc: later':>68}"
    assert in_window(200) == in_window(80)
    assert in_window(30) == f"  … waiting{'Esc: later':>18}"
    assert in_window(20) == "  … waiting"
