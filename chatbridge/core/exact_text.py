"""Text to the letter: what an approval is about, drawn so that no two texts look the same.

Only what is known to be visible is shown as it is. Everything else is shown by a code such as
`⟨U+00A0⟩`, or told, such as `⟨80 spaces⟩`. The bracket that begins these is itself shown by its
code, so that no text can contain what looks like one. Letters that are written from right to left
turn nothing around: a mark of ours stands on both sides of them. Letters of two scripts that look
alike are not told apart.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import takewhile

from chatbridge.core.text import (
    CACHE_SIZE,
    CARD_CACHE_SIZE,
    HIDDEN,
    LOOKS_BLANK,
    Kinds,
    one_line,
    replace_matches,
    split_slices,
)

TAB = "⇥"
LEFT_TO_RIGHT = "\u200e"
"""Cannot be seen. One of the text's own is shown by its code."""
_BRACKET = "⟨"
_SHAPELESS = HIDDEN | LOOKS_BLANK | {_BRACKET, TAB}
"""With our own signs."""
_JAMO = (("\u1100", "\u11ff"), ("\ua960", "\ua97f"), ("\ud7b0", "\ud7ff"))
_MARK = "\ufdd0"
"""Stands before each mark until it is known what it belongs to. No text has it: it is no character,
and shown by its code."""
_MARKS = 8
"""More than a letter of any script has. A tower of them covers other lines."""
_LONG, _MANY_LINES = 80, 11
COMPARED = 200

_MARKED = re.compile(rf"(.?)((?:{_MARK}.)+)", re.DOTALL)
_REPEATED = re.compile(r"⟨(U\+[0-9A-F]{4,6})⟩(?:⟨\1⟩){3,}")
_SPACES = re.compile(rf"(?<! )(?: {{{_LONG},}}| +(?=\n|\Z))")
_LINE_BREAKS = re.compile(rf"\A\n+|(?<!\n)\n+\Z|\n{{{_MANY_LINES},}}")
_NOT_SEEN = re.compile(rf"⟨[^⟩]*⟩|\s|{TAB}")
_SPACES_IN_LINE = re.compile(r"\A +| {2,}| +\Z")


@lru_cache(maxsize=CARD_CACHE_SIZE)
def exact(text: str) -> str:
    """All of `text`, with its lines. Blanks at the end of a line, and many anywhere, are told."""
    return "".join(
        _LINE_BREAKS.sub(_told_breaks, _SPACES.sub(_told_spaces, _with_codes(part)))
        for part in split_slices(text)
    )


def exact_line(text: str) -> str:
    """The same as one line, for paths and names: every blank but a single one between others is
    told."""
    told = _with_codes(text, kept="")
    return _SPACES_IN_LINE.sub(lambda found: _told(len(found[0]), "space"), told)


def distinguish_labels(labels: Sequence[str]) -> list[str]:
    """Each label as one line, like any other words of an agent. If some of them would look the
    same, all are shown to the letter."""
    return list(_told_apart(tuple(labels)))


@lru_cache(maxsize=CARD_CACHE_SIZE)
def _told_apart(labels: tuple[str, ...]) -> tuple[str, ...]:
    alike = len(set(map(_look, labels))) < len(labels)
    return tuple(exact_line(label) if alike else one_line(label) for label in labels)


def _look(label: str) -> str:
    """The same for all labels that look the same, whatever their blanks and hidden characters, and
    whatever letters from right to left turn around. Only their beginning counts: bringing marks
    into order takes the square of their number."""
    begin = unicodedata.normalize("NFC", label[:COMPARED])
    seen = _NOT_SEEN.sub("", exact_line(begin)) + label[COMPARED:]
    return "".join(sorted(seen)) if LEFT_TO_RIGHT in seen else seen


# ── characters ────────────────────────────────────────────────────────────────────────────────────


def _shown_as(char: str) -> str:
    kind = unicodedata.category(char)[0]
    if char == "\t":
        return TAB
    if char in " \n":
        return char
    if kind not in "LNPSM" or char in _SHAPELESS or _is_selector(char) or _is_jamo(char):
        return _code(char)
    if unicodedata.normalize("NFC", char) != char:  # a double, as U+037E is of the semicolon
        return _code(char)
    return f"{_MARK}{char}" if kind == "M" else char


_shown = Kinds(_shown_as)


def _is_selector(char: str) -> bool:
    return "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef"


def _is_jamo(char: str) -> bool:
    """Part of a Hangul syllable, which has a character of its own."""
    return any(first <= char <= last for first, last in _JAMO)


def _code(char: str) -> str:
    return f"⟨U+{ord(char):04X}⟩"


def _with_codes(text: str, *, kept: str = "\n") -> str:
    """Only `kept` of the line breaks stay."""
    text = text.translate(_shown)
    if not kept:
        text = text.replace("\n", _code("\n"))
    if _MARK in text:
        text = _MARKED.sub(_after_letter, text)
    if not text.isascii():
        text = _in_order(text)
    return _REPEATED.sub(_counted, text) if _BRACKET in text else text


def _after_letter(found: re.Match[str]) -> str:
    """Marks stay only where scripts need them: few, after a letter of the same script, and in the
    order and form that Unicode calls normal. There are others that look the same. An ASCII letter
    needs none: those with common marks have characters of their own, and some marks cannot be seen
    on it."""
    before, marks = found[1], found[2][1::2]
    kept = 0
    if before.isalpha() and not before.isascii():
        scripts = "COMBINING", _script(before)
        kept = len(list(takewhile(lambda mark: _script(mark) in scripts, marks[:_MARKS])))
        if not unicodedata.is_normalized("NFC", before + marks[:kept]):
            kept = 0
    return before + marks[:kept] + "".join(map(_code, marks[kept:]))


@lru_cache(maxsize=CACHE_SIZE)
def _script(char: str) -> str:
    """The first word of its name, such as HEBREW; COMBINING: of any script."""
    return unicodedata.name(char, "?").split()[0]


def _in_order(text: str) -> str:
    """Everything is drawn where it stands in the text, except that the letters of one unbroken run
    from right to left are read in that direction: or `א/1` would be drawn as `1/א` is."""
    return replace_matches(
        _TURNED, text, _directions, lambda run: f"{LEFT_TO_RIGHT}{run}{LEFT_TO_RIGHT}"
    )


def _direction(char: str) -> str:
    kind = unicodedata.bidirectional(char)
    return "R" if kind in ("R", "AL", "AN") else "M" if kind == "NSM" else "."


_TURNED, _directions = re.compile("R[RM]*"), Kinds(_direction)


# ── counts ────────────────────────────────────────────────────────────────────────────────────────


def _counted(found: re.Match[str]) -> str:
    times = len(found[0]) // (len(found[1]) + 2)
    return f"⟨{found[1]} × {times:,}⟩"


def _told(count: int, what: str) -> str:
    return f"⟨{count:,} {what}{'s' if count > 1 else ''}⟩"


def _told_spaces(found: re.Match[str]) -> str:
    told = _told(len(found[0]), "space")
    at_end = found.end() == len(found.string) or found.string[found.end()] == "\n"
    return told if at_end else f" {told} "  # a long line may be broken beside it


def _told_breaks(found: re.Match[str]) -> str:
    count = len(found[0])
    if found.start() == 0 or found.end() == len(found.string):
        return _told(count, "line break")
    return f"\n{_told(count - 1, 'empty line')}\n"
