"""Patterns mean what they mean to Python and in JSON Schema, and no text makes them slow."""

from __future__ import annotations

import re
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.commands.definitions.patterns import matcher

PATTERNS = (
    "", "a|b", "v[0-9]+", r"\d+", r"\D*", r"[\d.]+", r"[^\s]+", r"\w\W?\s", r"[\w-]*", "[]a]+",
    "[^]a]+", "[[a]*", "[a[^b]+", "[&^]+", "[a&&b]+", "[a~~b]+", "[^^]+", r"[\]\[]+", "(?i)ab",
    "(-[a-z]+)*", "([a-z]+)*[0-9]", "^[a-z]*$", "(?P<it>a)b?", r"\$\^", "a{2,3}b?", ".*",
)  # fmt: skip
TEXTS = st.text("ab01 .-[]^&~$\\\n٣é_", max_size=6)


@given(st.sampled_from(PATTERNS), TEXTS)
def test_a_pattern_takes_what_python_takes(pattern: str, text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of what classes may mean one day
        expected = re.fullmatch(pattern, text, re.ASCII) is not None
    if "$" in pattern and text.endswith("\n"):
        expected = False  # there Python's $ means the end or the line break before it
    assert matcher(pattern)(text) == expected


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(", "unterminated"),
        ("(?=a)", "look-around"),
        (r"(a)\1", "backreferences"),
        ("[z-a]", "bad character range"),
        ("(?:a{999}){999}", "too large"),
        (r"a\Z", "escape"),
    ],
)
def test_what_cannot_be_used_says_why(pattern: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        matcher(pattern)


@given(st.text("ab[](){}|*+?^$\\.-&~0dwsDWS:P<>=!", max_size=12))
def test_any_text_is_a_pattern_or_refused_with_a_reason(text: str) -> None:
    try:
        found = matcher(text)
    except ValueError as error:
        reason = str(error)
    else:
        reason = f"it is {found('a')}"
    assert reason
