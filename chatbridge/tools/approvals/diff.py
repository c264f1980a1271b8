"""What a file tool would change, as a diff that a person can read.

There are no line numbers: the tools say what is replaced, not where. A line that begins with "@@"
is ours; everything of the agent's begins with a space, "+" or "-".
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator

COMPARED = 100_000
"""As much is compared at most, so that no agent can keep the hub busy with it."""
NO_NEWLINE = "\\ No newline at end of file"


def effort(old: str, new: str) -> int:
    """Comparing two texts takes up to the product of their lines."""
    return len(_lines(old)) * len(_lines(new))


def replaced(old: str, new: str, *, compare: bool = True) -> str:
    """One text in place of another: line by line, or first the old and then the new."""
    before, after = _lines(old), _lines(new)
    if not compare:
        return "\n".join([*(f"-{line}" for line in before), *(f"+{line}" for line in after)])
    everything = len(before) + len(after)
    compared = difflib.unified_diff(before, after, n=everything, lineterm="")
    return "\n".join(_without_header(compared))


def written(content: str) -> str:
    """A whole text, whatever was there before."""
    if not content:
        return ""
    ended = content.endswith("\n")
    lines = [f"+{line}" for line in _lines(content[:-1] if ended else content)]
    if not lines:  # nothing but a line's end
        lines = ["+"]
    return "\n".join(lines if ended else [*lines, NO_NEWLINE])


def _lines(text: str) -> list[str]:
    """Joined by line feeds, they are the text again: no other character ends a line here."""
    return text.split("\n") if text else []


def _without_header(diff: Iterator[str]) -> list[str]:
    """The names of two files and one range of lines, none of which are known."""
    return list(diff)[3:]
