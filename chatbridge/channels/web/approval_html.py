"""What an approval is about, as HTML: to the letter, a command by its arguments, a diff by its
lines. Every character of the code is on the page, and nothing is added to it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from markupsafe import Markup, escape

from chatbridge.core.model import Subject

SHELLS = frozenset({"bash", "sh", "shell", "zsh"})
DIFF = "diff"
FIRST, LAST = 14, 8
"""Lines at both ends of a long diff that are shown at once; the others open on a tap."""
SPLIT_UP_TO = 20_000
"""A longer command is shown in one piece: an element for each argument would slow the page."""

_ARGUMENT = re.compile(
    r"""(?: [^\s'"\\] | \\. | '[^']*' | "(?:\\.|[^"\\])*" | ['"\\] )+""", re.DOTALL | re.VERBOSE
)

_LINE = re.compile(r"[^\n]*\n|[^\n]+")


def is_command(subject: Subject) -> bool:
    return subject.language in SHELLS


def is_diff(subject: Subject) -> bool:
    return subject.language == DIFF


def command(code: str) -> Markup:
    """Each argument is an element of its own, so that a line never breaks inside one."""
    if len(code) > SPLIT_UP_TO:
        return Markup("{}").format(code)
    parts, end = [], 0
    for found in _ARGUMENT.finditer(code):
        parts.append(Markup("{}<span>{}</span>").format(code[end : found.start()], found.group()))
        end = found.end()
    return Markup("").join([*parts, Markup("{}").format(code[end:])])


def diff(about: Subject) -> tuple[Markup, Markup, Markup, int]:
    """A diff's beginning, middle and end, and how many lines are in the middle: none, unless it is
    so long that hiding them pays, and may be allowed unread."""
    lines = [f'<span class="{kind}">{escape(line)}</span>' for kind, line in _kinds(about.code)]
    hidden = len(lines) - FIRST - LAST
    if hidden < FIRST or about.whole_first:
        return _joined(lines), Markup(""), Markup(""), 0
    return _joined(lines[:FIRST]), _joined(lines[FIRST:-LAST]), _joined(lines[-LAST:]), hidden


def changes(code: str) -> tuple[int, int]:
    """How many lines a diff adds and removes."""
    kinds = [kind for kind, _ in _kinds(code)]
    return kinds.count("added"), kinds.count("removed")


def _kinds(code: str) -> Iterator[tuple[str, str]]:
    """Each line and what it does. No files are named in it: "--- a" is a line that goes."""
    for line in _LINE.findall(code):
        if line.startswith("@@"):
            yield "place", line
        elif line.startswith("+"):
            yield "added", line
        elif line.startswith("-"):
            yield "removed", line
        else:
            yield "same", line


def _joined(lines: Sequence[str]) -> Markup:
    """To format each of many lines as markup would take seconds."""
    return Markup("".join(lines))  # noqa: S704 - each line is escaped above
