"""Agents' text made safe to show."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge import markdown
from chatbridge.core.cards.markup import Break, Paragraph, Plain, Quote
from chatbridge.core.text import (
    collapse_runs,
    count_codes,
    encodable,
    one_line,
    prose,
    shortened,
    split_recommended,
    visible,
)
from tests import strategies as some


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("safe\u202egnp.exe", "safe⟨U+202E⟩gnp.exe"),
        ("a\u200bb", "a⟨U+200B⟩b"),
        ("a\u200db", "a⟨U+200D⟩b"),
        ("a\u200cb", "a⟨U+200C⟩b"),
        ("\u2068x\u2069", "⟨U+2068⟩x⟨U+2069⟩"),
        ("\x1b[31m\x00\x85", "⟨U+001B⟩[31m⟨U+0000⟩⟨U+0085⟩"),
        ("a\rb", "a⟨U+000D⟩b"),
        ("a\u2028b", "a⟨U+2028⟩b"),
        ("\u3164\u115f", "⟨U+3164⟩⟨U+115F⟩"),
        ("yes\ufe0f", "yes⟨U+FE0F⟩"),
        ("x\U000e0100", "x⟨U+E0100⟩"),
        ("x\U000e0041", "x⟨U+E0041⟩"),
        ("\ud800", "⟨U+D800⟩"),
        ("\u200d", "⟨U+200D⟩"),
        ("a" + "\u0301" * 10, "a" + "\u0301" * 8 + "⟨U+0301⟩⟨U+0301⟩"),
        ("\u20dd" * 9 + "b\u0301", "⟨U+20DD⟩" * 9 + "b\u0301"),
        ("a \u0301\n\u0316b", "a ⟨U+0301⟩\n⟨U+0316⟩b"),
        ("\ue000\U000f0000", "⟨U+E000⟩⟨U+F0000⟩"),
    ],
)
def test_what_cannot_be_seen_is_made_visible(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "plain, with\nlines and\ttabs",
        "שלום עולם, مرحبا",
        "👩🏽‍💻 ❤️‍🔥 🏳️‍🌈 🙂‍↔️ 🧑‍🤝‍🧑 1️⃣ ℹ️ ☑\ufe0e",
        "می\u200cخواهم",
        "क्\u200dष श्\u200cर",
        "葛\U000e0100",
        "e\u0301",
        "בְּרֵאשִׁ֖ית ཧཱུྃ ที่นี่ Việt",
        "x" + "\u0301" * 8,
    ],
)
def test_what_a_script_or_an_emoji_needs_stays(text: str) -> None:
    assert visible(text) == text


def test_windows_line_ends_are_line_ends() -> None:
    assert visible("a\r\nb") == "a\nb"


def test_many_different_hidden_characters_cost_no_more_than_the_same_one() -> None:
    """No time is measured: with a pattern of the characters themselves this would take minutes."""
    text = "".join(f"a{chr(0xF0000 + n)}" for n in range(60_000))
    assert visible(text).count("⟨U+") == count_codes(collapse_runs(text)) == 60_000


@given(some.texts)
def test_visible_text_holds_nothing_that_turns_or_hides(text: str) -> None:
    allowed = "\n\t\u200c\u200d"
    shown = visible(text)
    assert all(c in allowed or unicodedata.category(c) not in ("Cc", "Cf", "Cs") for c in shown)
    assert visible(shown) == shown


@pytest.mark.parametrize(
    "blank",
    [
        *("\u2800", "\ufffc", "\U0001d159", "\u00a0", "\u3000 \u2003", " ", "` `", "> \u2800"),
        *("\u303f", "\U00013441", "\U00013442", "\U00016fe4"),
    ],
)
def test_lines_that_look_blank_push_nothing_out_of_sight(blank: str) -> None:
    shown = markdown.parse(
        prose("Delete it?\n\n" + f"{blank}\n" * 60 + "\nDenied if nobody answers.")
    )
    apart = markdown.parse("Delete it?\n\nDenied if nobody answers.")
    assert [block for block in shown if block != Quote(())] == list(apart)


def test_breaks_without_words_between_them_are_one() -> None:
    (_, shown) = markdown.parse(prose("a\n\n" + "\\\n" * 60 + "b\\\n` `\\\n\\\n c"))
    assert shown == Paragraph((Plain("b"), Break(), Plain("c")))


def test_many_blanks_in_a_line_push_nothing_out_of_sight() -> None:
    assert prose("a" + "\u2800\u2003 " * 900 + "b") == "a b"
    assert prose("a" + " " * 79 + "b") == "a" + " " * 79 + "b"
    assert prose("a\n\n\n" + "\u3000\n" * 9 + "b\n\n\nc") == "a\n\n\nb\n\n\nc"


@given(some.texts)
def test_prose_holds_nothing_that_turns_hides_or_only_looks_blank(text: str) -> None:
    shown = prose(text)
    assert visible(shown) == shown == prose(shown)
    assert all(char in " \t\n" for char in shown if char.isspace())


def test_one_line_leaves_no_way_to_forge_a_second() -> None:
    assert one_line(" a\n\n✅ Answered\t b ") == "a ✅ Answered b"


def test_one_line_is_not_pushed_away_by_what_looks_blank() -> None:
    assert one_line("a" + "\u2800" * 200 + "b") == "a b"


@given(some.texts)
def test_one_line_is_one_line(text: str) -> None:
    assert len(one_line(text).splitlines()) <= 1


def test_a_long_text_is_cut_with_an_ellipsis() -> None:
    assert shortened("abc", 3) == "abc"
    assert shortened("abcd", 3) == "ab…"
    assert shortened("ab cd", 4) == "ab…"


@given(some.texts, st.integers(1, 20))
def test_a_cut_text_fits(text: str, limit: int) -> None:
    assert len(shortened(text, limit)) <= limit


@pytest.mark.parametrize(
    ("label", "split"),
    [
        ("Fast (recommended)", ("Fast", True)),
        ("Fast (Recommended)", ("Fast", True)),
        ("(recommended)", ("(recommended)", False)),
        ("Fast", ("Fast", False)),
        ("(recommended) Fast", ("(recommended) Fast", False)),
    ],
)
def test_a_recommendation_is_told_from_the_label(label: str, split: tuple[str, bool]) -> None:
    assert split_recommended(label) == split


def test_surrogates_are_paired_or_replaced() -> None:
    assert encodable("\ud83d\ude00 \ud800 \ufeffé") == "😀 \ufffd \ufeffé"
