"""Unambiguous display of text, for the subjects of approvals: no two texts look the same.

Characters that are not known to be visible become a code such as `⟨U+00A0⟩` or a description such
as `⟨80 spaces⟩`, and so does a bracket of the text itself. Right-to-left letters are enclosed in
direction marks. Letters of two scripts that look alike are not distinguished.
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
    MAX_MARKS,
    Kinds,
    format_code,
    one_line,
    replace_matches,
    split_slices,
)

TAB = "⇥"
LEFT_TO_RIGHT = "\u200e"  # An invisible mark. One that is part of the text is shown by its code.
_BRACKET = "⟨"
_INVISIBLE = HIDDEN | LOOKS_BLANK | {_BRACKET, TAB}  # With the signs that this module uses
_HIDDEN_RANGES = (
    ("\u1100", "\u11ff"), ("\ua960", "\ua97f"), ("\ud7b0", "\ud7ff"),
    ("\ufe00", "\ufe0f"), ("\U000e0100", "\U000e01ef"),
)  # fmt: skip
"""Parts of Hangul syllables, which have precomposed characters, and variation selectors."""
_MARK = "\ufdd0"
"""Stands before each combining mark until its base is known. A noncharacter: one that is part of
the text is shown by its code."""
_MAX_SPACES, _MAX_LINE_BREAKS = 80, 11
MAX_COMPARED_CHARACTERS = 200

_MARKED = re.compile(rf"(.?)((?:{_MARK}.)+)", re.DOTALL)
_REPEATED = re.compile(r"⟨(U\+[0-9A-F]{4,6})⟩(?:⟨\1⟩){3,}")
_SPACES = re.compile(rf"(?<! )(?: {{{_MAX_SPACES},}}| +(?=\n|\Z))")
_LINE_BREAKS = re.compile(rf"\A\n+|(?<!\n)\n+\Z|\n{{{_MAX_LINE_BREAKS},}}")
_NOT_SEEN = re.compile(rf"⟨[^⟩]*⟩|\s|{TAB}")
_SPACES_IN_LINE = re.compile(r"\A +| {2,}| +\Z")


@lru_cache(maxsize=CARD_CACHE_SIZE)
def exact(text: str) -> str:
    """Return `text` in an unambiguous form, with its lines. Spaces at the end of a line, and long
    runs of them, are described."""
    return "".join(
        _LINE_BREAKS.sub(_describe_breaks, _SPACES.sub(_describe_spaces, _encode_characters(part)))
        for part in split_slices(text)
    )


def exact_line(text: str) -> str:
    """Return the same as one line, for paths and names. All spaces but single ones between words
    are described."""
    described = _encode_characters(text, kept="")
    return _SPACES_IN_LINE.sub(lambda found: _describe_count(len(found[0]), "space"), described)


def distinguish_labels(labels: Sequence[str]) -> list[str]:
    """Return each label as one line. If some of them would look the same, all are shown in their
    unambiguous form."""
    return list(_distinguish_labels(tuple(labels)))


@lru_cache(maxsize=CARD_CACHE_SIZE)
def _distinguish_labels(labels: tuple[str, ...]) -> tuple[str, ...]:
    alike = len(set(map(_appearance, labels))) < len(labels)
    return tuple(exact_line(label) if alike else one_line(label) for label in labels)


def _appearance(label: str) -> str:
    """Return a key that is equal for labels that look the same, whatever their spaces, hidden
    characters and right-to-left letters. Only the beginning is normalized: ordering marks takes
    quadratic time."""
    begin = unicodedata.normalize("NFC", label[:MAX_COMPARED_CHARACTERS])
    seen = _NOT_SEEN.sub("", exact_line(begin)) + label[MAX_COMPARED_CHARACTERS:]
    return "".join(sorted(seen)) if LEFT_TO_RIGHT in seen else seen


def _display_form(char: str) -> str:
    kind = unicodedata.category(char)[0]
    if char == "\t":
        return TAB
    if char in " \n":
        return char
    hidden = char in _INVISIBLE or any(first <= char <= last for first, last in _HIDDEN_RANGES)
    # A character that is not normal is a duplicate, as U+037E of the semicolon.
    if kind not in "LNPSM" or hidden or unicodedata.normalize("NFC", char) != char:
        return format_code(char)
    return f"{_MARK}{char}" if kind == "M" else char


_display_forms = Kinds(_display_form)


def _encode_characters(text: str, *, kept: str = "\n") -> str:
    """Replace ambiguous characters by codes. Line breaks stay only if they are in `kept`."""
    text = text.translate(_display_forms)
    if not kept:
        text = text.replace("\n", format_code("\n"))
    if _MARK in text:
        text = _MARKED.sub(_filter_marks, text)
    if not text.isascii():  # right-to-left letters must not move the rest: `א/1` looks like `1/א`
        text = replace_matches(
            _TURNED, text, _directions, lambda run: f"{LEFT_TO_RIGHT}{run}{LEFT_TO_RIGHT}"
        )
    return _REPEATED.sub(_describe_repeated, text) if _BRACKET in text else text


def _filter_marks(found: re.Match[str]) -> str:
    """Keep combining marks only where scripts need them: a few, after a letter of the same script,
    in normal form. An ASCII letter needs none: those with common marks have precomposed characters,
    and some marks are invisible on it."""
    before, marks = found[1], found[2][1::2]
    kept = 0
    if before.isalpha() and not before.isascii():
        scripts = "COMBINING", _script(before)
        kept = len(list(takewhile(lambda mark: _script(mark) in scripts, marks[:MAX_MARKS])))
        if not unicodedata.is_normalized("NFC", before + marks[:kept]):
            kept = 0
    return before + marks[:kept] + "".join(map(format_code, marks[kept:]))


@lru_cache(maxsize=CACHE_SIZE)
def _script(char: str) -> str:
    """The first word of the character's name, such as HEBREW. COMBINING fits any script."""
    return unicodedata.name(char, "?").split()[0]


def _direction(char: str) -> str:
    kind = unicodedata.bidirectional(char)
    return "R" if kind in ("R", "AL", "AN") else "M" if kind == "NSM" else "."


_TURNED, _directions = re.compile("R[RM]*"), Kinds(_direction)


def _describe_repeated(found: re.Match[str]) -> str:
    times = len(found[0]) // (len(found[1]) + 2)
    return f"⟨{found[1]} × {times:,}⟩"


def _describe_count(count: int, what: str) -> str:
    return f"⟨{count:,} {what}{'s' if count > 1 else ''}⟩"


def _describe_spaces(found: re.Match[str]) -> str:
    described = _describe_count(len(found[0]), "space")
    at_end = found.end() == len(found.string) or found.string[found.end()] == "\n"
    return described if at_end else f" {described} "  # a long line may be broken beside it


def _describe_breaks(found: re.Match[str]) -> str:
    count = len(found[0])
    if found.start() == 0 or found.end() == len(found.string):
        return _describe_count(count, "line break")
    return f"\n{_describe_count(count - 1, 'empty line')}\n"
