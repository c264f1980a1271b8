"""Agents' text made safe to show: what cannot be seen, or turns other text around, becomes visible.

Used by the card for every string an agent wrote. Escaping for HTML is each channel's own.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import lru_cache

RECOMMENDED = "(recommended)"

_VIRAMA = 9
_MARKS = 8
"""So many marks on one letter is more than any script has; a tower of them covers other lines."""
HIDDEN = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2028\u2029\u2065\u3164\uffa0"
    "\ufff0\ufff1\ufff2\ufff3\ufff4\ufff5\ufff6\ufff7\ufff8"
)
"""Nothing, or line breaks, though their category does not say so."""
LOOKS_BLANK = frozenset("\u2800\u303f\ufffc\U00013441\U00013442\U00016fe4\U0001d159")
"""Drawn like a space, though their category is none of a space."""
_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n){3,}")
_BLANKS = re.compile(r"[ \t]{80,}")
CACHE_SIZE = 4_096
LONG, CARD_CACHE_SIZE = 4_000, 32
"""A card is drawn several times while it is open: what takes long is done once."""
SLICE, NEAR = 16_000, 1_000


def visible(text: str) -> str:
    """`text` with direction, zero-width, private and control characters, and marks over nothing or
    in towers, as `⟨U+202E⟩`."""
    if text.isascii() and text.isprintable():
        return text
    return replace_matches(
        _TRICKY, text.replace("\r\n", "\n"), _kinds, lambda run: "".join(map(_code, run))
    )


def _code(char: str) -> str:
    return f"⟨U+{ord(char):04X}⟩"


# ── what a character can do ───────────────────────────────────────────────────────────────────────


class Kinds(dict[int, str]):
    """What each character counts as, by its number; for `str.translate`."""

    def __init__(self, kind_of: Callable[[str], str]) -> None:
        super().__init__()
        self._kind_of = kind_of

    def __missing__(self, point: int) -> str:
        if len(self) >= CACHE_SIZE:
            self.clear()
        kind = self[point] = self._kind_of(chr(point))
        return kind


def replace_matches(
    pattern: re.Pattern[str], text: str, kinds: Kinds, by: Callable[[str], str]
) -> str:
    """`text` with other words for what the pattern finds among the kinds of its characters, each of
    which is one letter. A pattern with the characters themselves would be slow: `re` compares with
    rare ones one by one."""
    parts: list[str] = []
    at = 0
    for found in pattern.finditer(text.translate(kinds)):
        parts += text[at : found.start()], by(text[found.start() : found.end()])
        at = found.end()
    return "".join([*parts, text[at:]]) if parts else text


def split_slices(text: str) -> Iterator[str]:
    """`text` in parts that take a few milliseconds each: in a thread, others have their turn in
    between. It is cut before a letter or digit without a blank in front, if there is one near."""
    at = 0
    while len(text) - at > SLICE:
        near = range(at + SLICE, at + SLICE - NEAR, -1)
        end = next((i for i in near if text[i].isalnum() and not text[i - 1].isspace()), near[0])
        yield text[at:end]
        at = end
    yield text[at:]


def _kind_of(char: str) -> str:
    """As one letter: (J)oiner and (N)on-joiner, (E) and (F) selectors of emoji, other (S)electors,
    (H)idden, (M)arks, (V) those that end a syllable and (v) letters that do, (Y) symbols that can
    be joined, (P) other symbols, punctuation and numbers, (A) letters that can be parted, (B) both
    of the last two, (C) Chinese characters, (_) blanks."""
    category = unicodedata.category(char)
    if char in _ALONE:
        return _ALONE[char]
    if "\ufe00" <= char <= "\ufe0d" or "\U000e0100" <= char <= "\U000e01ef":
        return "S"
    if char in HIDDEN or category in _UNSEEN or "\U000e0000" <= char <= "\U000e0fff":
        return "H"
    if category in ("Mn", "Me"):
        return "V" if unicodedata.combining(char) == _VIRAMA else "M"
    if category in ("So", "Sk"):
        return "Y"
    parted = unicodedata.bidirectional(char) == "AL"
    if category[0] in "SPN":
        return "B" if parted else "P"
    if parted:
        return "A"
    if category == "Lo" and unicodedata.name(char, "").startswith("CJK"):
        return "C"
    if unicodedata.combining(char) == _VIRAMA:
        return "v"
    return "_" if char.isspace() else "."


_ALONE = {
    "\u200d": "J", "\u200c": "N", "\ufe0e": "E", "\ufe0f": "F",
    "↔": "Y", "ℹ": "P", "\n": "_", "\t": "_",
}  # fmt: skip
_UNSEEN = ("Cc", "Cf", "Cs", "Co")
_kinds = Kinds(_kind_of)
_TRICKY = re.compile(
    rf"""
    [HSEFJNMV] (?:  # first of all, so that the rest of a text costs nothing
      (?<=H)
    | (?<=S) (?<!CS)
    | (?<=[EF]) (?<![YPB][EF]) J?
    | (?<=J) (?<![Vv]J) (?: (?<![YF]J) | (?!Y) )          # emoji can be several joined symbols
    | (?<=N) (?<![Vv]N) (?: (?<![AB]N) | (?![AB]) )       # Persian and its relatives part letters
    | (?<=[MV]) (?<![^_H][MV]) [MV]* [JN]?                # over nothing
    | (?<=[MV]{{{_MARKS + 1}}}) [JN]?                     # over too many others
    )
    """,
    re.VERBOSE,
)
"""What could deceive where it stands. What a script or an emoji needs there is no trick: it changes
how the neighbours look."""
_HIDDEN_KINDS = "HSEFJN"
_RUN = re.compile(f"[{_HIDDEN_KINDS}MV]{{{_MARKS + 1},}}")


# ── texts ─────────────────────────────────────────────────────────────────────────────────────────


def prose(text: str) -> str:
    """`text` as `visible` shows it, without blanks that push other words out of sight: what only
    looks blank becomes spaces, and of many spaces or blank lines few are left."""
    return _long_prose(text) if len(text) > LONG else _prose(text)


def _prose(text: str) -> str:
    for char in set(text) - {" "}:
        if char in LOOKS_BLANK or unicodedata.category(char) == "Zs":
            text = text.replace(char, " ")
    text = visible(text)
    return _BLANKS.sub(" ", _BLANK_LINES.sub("\n\n\n", text))


_long_prose = lru_cache(maxsize=CARD_CACHE_SIZE)(_prose)


def encodable(text: str) -> str:
    """`text` without lone surrogates, which JSON can carry and neither a store nor a chat can."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def one_line(text: str) -> str:
    """`text` as one visible line, for places where a line break could forge a second one."""
    return " ".join(prose(text).split())


def isolated(text: str) -> str:
    """`text` so that its direction cannot change that of the words around it."""
    return f"\u2068{text}\u2069"


def shortened(text: str, limit: int) -> str:
    """At most `limit` characters, cut with an ellipsis."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def split_recommended(label: str) -> tuple[str, bool]:
    """A label without its "(recommended)" at the end, and whether it had one."""
    if label.lower().endswith(RECOMMENDED) and len(label) > len(RECOMMENDED):
        return label[: -len(RECOMMENDED)].rstrip(), True
    return label, False


def collapse_runs(text: str) -> str:
    """`text` with every long run of hidden characters or marks as one counted marker, such as
    `⟨U+200B ×98000⟩`."""
    return replace_matches(_RUN, text, _kinds, _counted)


def count_hidden(text: str) -> int:
    """How many of its characters may have to be shown by a code."""
    kinds = text.translate(_kinds)
    return sum(map(kinds.count, _HIDDEN_KINDS))


def _counted(run: str) -> str:
    kinds = sorted(set(run))
    names = ", ".join(f"U+{ord(char):04X}" for char in kinds[:3])
    return f"⟨{names}{', …' if len(kinds) > 3 else ''} ×{len(run)}⟩"
