"""What an approval is about, made legible: nothing gets out of sight behind much that is blank."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.core.draw_approval import legible

BLANKS = " \t\u00a0\u2003"


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("ls" + " " * 2_000 + "; rm -rf ~", "ls ⟨2,000 spaces⟩ ; rm -rf ~"),
        ("ls" + "\u2003\t" * 100 + "; rm", "ls ⟨200 spaces⟩ ; rm"),
        ("ls" + "\n" * 61 + "rm -rf ~\n" + " \n" * 60 + "ls", None),
        ("if x:\n\n\n" + " " * 40 + "y\n" * 50, "as it is"),
        ("a\u202e" + "\n" * 12 + "b", "a⟨U+202E⟩\n⟨11 empty lines⟩\nb"),
    ],
)
def test_padding_is_told_and_not_shown(code: str, shown: str | None) -> None:
    if shown is None:
        shown = "ls\n⟨60 empty lines⟩\nrm -rf ~\n⟨60 empty lines⟩\nls"
    assert legible(code) == (code if shown == "as it is" else shown)


@given(st.text(st.sampled_from("a;\n" + BLANKS) | st.sampled_from([" "] * 9), max_size=600))
def test_all_that_can_be_read_is_still_there_and_no_blank_fills_a_screen(code: str) -> None:
    shown = legible(code)
    told = re.sub(r"⟨[\d,]+ (?:spaces|empty lines)⟩", "", shown)
    assert "".join(told.split()) == "".join(code.split())
    assert not re.search(r"[^\S\n]{80}|\n(?:[^\S\n]*\n){10}", shown)
