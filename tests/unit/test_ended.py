"""What is said of an operation's end, and what people see of what it printed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.core.cards.operation_summary import (
    CHARACTERS,
    CHUNK_BYTES,
    LINES,
    for_people,
    strip_escapes,
    summarize_operation,
)
from chatbridge.core.cards.phrases import format_duration
from chatbridge.core.model import OperationEnd
from chatbridge.core.text import visible
from tests.ended_operations import BADLY, HOSTILE, WELL, ends


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0 s"),
        (0.04, "0.1 s"),
        (0.44, "0.4 s"),
        (1.9, "1 s"),
        (58.4, "58 s"),
        (60, "1 min"),
        (252, "4 min 12 s"),
        (3600, "1 h"),
        (7384, "2 h 3 min"),
        (86_400 + 7200, "1 d 2 h"),
    ],
)
def test_a_duration_is_said_in_its_two_largest_units(seconds: float, said: str) -> None:
    assert format_duration(seconds) == said


def test_an_end_says_what_it_was_how_it_ended_and_how_long_it_took() -> None:
    well, badly = summarize_operation(WELL), summarize_operation(BADLY)
    assert (well.glyph, well.title, well.word, well.how, well.tail) == (
        *("✅", "cargo build", "finished", "4 min 12 s"),
        "",
    )
    assert (badly.glyph, badly.word, badly.how) == ("❌", "failed", "exit 1 after 4 min 12 s")
    assert badly.tail == BADLY.tail
    assert summarize_operation(replace(WELL, tail="ok")).tail == "", "of a success nobody needs it"


def test_of_much_output_the_end_is_shown() -> None:
    many = "\n".join(f"line {i}" for i in range(50)) + "\n\n  \n"
    assert summarize_operation(replace(BADLY, tail=many)).tail == "\n".join(
        f"line {i}" for i in range(38, 50)
    )
    wide = summarize_operation(replace(BADLY, tail="x" * 5_000 + "the end")).tail
    assert len(wide) == CHARACTERS
    assert wide.startswith("…x")
    assert wide.endswith("xthe end")


@pytest.mark.parametrize(
    ("printed", "read"),
    [
        ("\x1b[1;31merror\x1b[0m: \x1b[38;2;1;2;3mno\x1b[m", "error: no"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;https://example.org\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b(Bplain\x1b=\x1b>", "plain"),
        ("10 %\r50 %\r\x1b[K100 %\r\nnext", "100 %\nnext"),
        ("done\r", "done"),
        ("\x1b]never closed\nnext", "never closed\nnext"),
        ("\x1b[31", "31"),
        ("alone \x1b", "alone ⟨U+001B⟩"),
        ("\u202e\x00\x08", "⟨U+202E⟩⟨U+0000⟩⟨U+0008⟩"),
    ],
)
def test_what_was_meant_for_a_terminal_is_not_shown_to_people(printed: str, read: str) -> None:
    assert for_people(printed) == read


@given(ends)
def test_nothing_in_an_end_is_hidden_or_forges_a_line(end: OperationEnd) -> None:
    said = summarize_operation(end)
    for line in (said.title, said.how):
        assert "\n" not in line
        assert visible(line) == line
    assert visible(said.tail) == said.tail
    assert said.tail.count("\n") < LINES
    assert len(said.tail) <= CHARACTERS


def test_a_title_with_everything_in_it_is_one_visible_line() -> None:
    assert summarize_operation(HOSTILE).title == "</b></pre><script>1</script> ❓ ⟨U+202E⟩shop"
    assert summarize_operation(HOSTILE).tail.endswith("\nE   link")


@given(st.lists(st.sampled_from([b"a", b"\x1b[31m", b"\x1b", b"\n", b"\xff", b"\xe2\x82\xac"])))
def test_a_whole_output_keeps_every_byte_but_the_sequences(parts: list[bytes]) -> None:
    kept = strip_escapes(b"".join(parts))
    assert b"\x1b[31m" not in kept
    for byte in (b"\n", b"\xff", b"\xe2\x82\xac"):
        assert kept.count(byte) == parts.count(byte)


def test_a_long_output_is_the_same_whether_it_has_lines_or_not() -> None:
    line = b"x" * 99
    lines = b"".join(b"\x1b[32m" + line + b"\x1b[0m\n" for _ in range(CHUNK_BYTES // 50))
    assert strip_escapes(lines) == (line + b"\n") * (CHUNK_BYTES // 50)
    endless = b"\x1b[32m" + b"y" * (3 * CHUNK_BYTES)
    assert strip_escapes(endless) == b"y" * (3 * CHUNK_BYTES)
