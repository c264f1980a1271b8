"""Safe display of agents' text: hidden and direction-changing characters become visible codes.

Cards use this for every string of an agent. Each channel does its own escaping. Also finds the name
that somebody mistyped.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

RECOMMENDED = "(recommended)"
LONGEST_NAME = 100  # Of a mistyped name, as far as it is compared

_VIRAMA = 9
MAX_MARKS = 8  # On one letter in any script. A stack of more covers other lines.
HIDDEN = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2028\u2029\u2065\u3164\uffa0"
    "\ufff0\ufff1\ufff2\ufff3\ufff4\ufff5\ufff6\ufff7\ufff8"
)
"""Invisible characters and line breaks of other categories."""
LOOKS_BLANK = frozenset("\u2800\u303f\ufffc\U00013441\U00013442\U00016fe4\U0001d159")
"""Characters of other categories that look like a space."""
_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n){3,}")
_LONG_SPACES = re.compile(r"[ \t]{80,}")
CACHE_SIZE = 4_096
LONG_CHARACTERS, CARD_CACHE_SIZE = 4_000, 32  # A card is drawn several times while it is open
SLICE_CHARACTERS, CUT_SEARCH_CHARACTERS = 16_000, 1_000


def visible(text: str) -> str:
    """Replace direction, zero-width, private and control characters, and combining marks without a
    base or in stacks, by codes such as `⟨U+202E⟩`."""
    if text.isascii() and text.isprintable():
        return text
    return replace_matches(
        _TRICKY, text.replace("\r\n", "\n"), _kinds, lambda run: "".join(map(format_code, run))
    )


def format_code(char: str) -> str:
    return f"⟨U+{ord(char):04X}⟩"


class Kinds(dict[int, str]):
    """The kind of each character by its code point, computed on demand; for `str.translate`."""

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
    """Replace the parts of `text` whose kinds, one letter each, match the pattern. A pattern of the
    characters themselves would be slow: `re` compares with rare ones one by one."""
    parts: list[str] = []
    at = 0
    for found in pattern.finditer(text.translate(kinds)):
        parts += text[at : found.start()], by(text[found.start() : found.end()])
        at = found.end()
    return "".join([*parts, text[at:]]) if parts else text


def split_slices(text: str) -> Iterator[str]:
    """Split `text` into parts that take a few milliseconds each, so that other threads can run. It
    is cut before a letter or digit that follows no space, if there is one near."""
    at = 0
    while len(text) - at > SLICE_CHARACTERS:
        near = range(at + SLICE_CHARACTERS, at + SLICE_CHARACTERS - CUT_SEARCH_CHARACTERS, -1)
        end = next((i for i in near if text[i].isalnum() and not text[i - 1].isspace()), near[0])
        yield text[at:end]
        at = end
    yield text[at:]


def _kind_of(char: str) -> str:
    """Return the kind as one letter: (J)oiner, (N)on-joiner, (E) and (F) emoji selectors, other
    (S)electors, (H)idden, (M)arks, (V) viramas and (v) letters that act as one, (Y) joinable
    symbols, (P) other symbols, punctuation and numbers, (A) letters that a non-joiner can separate,
    (B) both of the last two, (C) Chinese characters, (_) spaces."""
    category = unicodedata.category(char)
    if char in _SPECIAL_KINDS:
        return _SPECIAL_KINDS[char]
    if "\ufe00" <= char <= "\ufe0d" or "\U000e0100" <= char <= "\U000e01ef":
        return "S"
    if char in HIDDEN or category in _HIDDEN_CATEGORIES or "\U000e0000" <= char <= "\U000e0fff":
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


_SPECIAL_KINDS = {
    "\u200d": "J", "\u200c": "N", "\ufe0e": "E", "\ufe0f": "F",
    "↔": "Y", "ℹ": "P", "\n": "_", "\t": "_",
}  # fmt: skip
_HIDDEN_CATEGORIES = ("Cc", "Cf", "Cs", "Co")
_kinds = Kinds(_kind_of)
_TRICKY = re.compile(
    rf"""
    [HSEFJNMV] (?:  # first, so that the rest of a text costs nothing
      (?<=H)
    | (?<=S) (?<!CS)
    | (?<=[EF]) (?<![YPB][EF]) J?
    | (?<=J) (?<![Vv]J) (?: (?<![YF]J) | (?!Y) )          # emoji can be several joined symbols
    | (?<=N) (?<![Vv]N) (?: (?<![AB]N) | (?![AB]) )       # Persian and its relatives need it
    | (?<=[MV]) (?<![^_H][MV]) [MV]* [JN]?                # without a base
    | (?<=[MV]{{{MAX_MARKS + 1}}}) [JN]?                     # too many
    )
    """,
    re.VERBOSE,
)
"""Characters that could deceive at their position. What a script or an emoji needs there is left
out, because it changes how its neighbours look."""
_RUN = re.compile(f"[HSEFJNMV]{{{MAX_MARKS + 1},}}")


def prose(text: str) -> str:
    """Return `text` like `visible`, without spaces that push other text out of sight: characters
    that look blank become spaces, and long runs of spaces or blank lines are shortened."""
    return _long_prose(text) if len(text) > LONG_CHARACTERS else _prose(text)


def _prose(text: str) -> str:
    for char in () if text.isascii() else set(text):
        if char in LOOKS_BLANK or unicodedata.category(char) == "Zs":
            text = text.replace(char, " ")
    text = visible(text)
    return _LONG_SPACES.sub(" ", _BLANK_LINES.sub("\n\n\n", text))


_long_prose = lru_cache(maxsize=CARD_CACHE_SIZE)(_prose)


def encodable(text: str) -> str:
    """Replace lone surrogates, which JSON can carry, but neither a store nor a chat."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def size_as_json(text: str) -> int:
    """Bytes that it takes in a line of JSON."""
    return len(json.dumps(text, ensure_ascii=False).encode(errors="replace"))


def one_line(text: str) -> str:
    """Return `text` as one visible line, for places where a line break could forge another one."""
    return " ".join(prose(text).split())


def isolated(text: str) -> str:
    """Enclose `text` so that its direction cannot change that of the text around it."""
    return f"\u2068{text}\u2069"


def shortened(text: str, limit: int) -> str:
    """Cut `text` to at most `limit` characters, with an ellipsis."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def clipped(text: str, limit: int) -> str:
    """At most `limit` characters, of which an emoji takes two, cut with an ellipsis."""
    if len(text) <= limit and len(text.encode("utf-16-le", "surrogatepass")) <= 2 * limit:
        return text
    head = text[:limit].encode("utf-16-le", "surrogatepass")[: 2 * (limit - 1)]
    return head.decode("utf-16-le", "ignore").rstrip() + "…"


def split_recommended(label: str) -> tuple[str, bool]:
    """Return a label without its final "(recommended)", and whether it had one."""
    if label.lower().endswith(RECOMMENDED) and len(label) > len(RECOMMENDED):
        return label[: -len(RECOMMENDED)].rstrip(), True
    return label, False


def collapse_runs(text: str) -> str:
    """Replace each long run of hidden characters or marks by one counted marker, such as
    `⟨U+200B ×98000⟩`."""
    return replace_matches(_RUN, text, _kinds, _describe_run)


def count_codes(text: str) -> int:
    """Number of characters that `visible` replaces by a code."""
    kinds = text.replace("\r\n", "\n").translate(_kinds)
    return sum(len(found[0]) for found in _TRICKY.finditer(kinds))


def _describe_run(run: str) -> str:
    kinds = sorted(set(run))
    names = ", ".join(f"U+{ord(char):04X}" for char in kinds[:3])
    return f"⟨{names}{', …' if len(kinds) > 3 else ''} ×{len(run)}⟩"


PLACES = {"web": "web inbox", "terminal": "terminal"}
"""Channels that are called by what they are."""
SPELLED = {"ntfy": "ntfy"}
"""Of the others, those whose name has no capital."""


def title_of(channel: str) -> str:
    """The channel as people call it: Telegram, web inbox, ntfy."""
    return PLACES.get(channel) or SPELLED.get(channel) or channel.capitalize()


def nearest_name(given: object, known: Iterable[str]) -> str | None:
    """Which of the known names somebody probably wanted to write."""
    from difflib import get_close_matches  # only where there is a mistake

    if not isinstance(given, str):
        return None
    by_letters = {_letters(each): each for each in known}
    close = get_close_matches(_letters(given[:LONGEST_NAME]), by_letters, n=1, cutoff=0.65)
    return by_letters[close[0]] if close else None


def did_you_mean(given: object, known: Iterable[str], *, before: str = " ") -> str:
    """The question, with what comes `before` it; nothing if no name is near."""
    near = nearest_name(given, known)
    return f"{before}did you mean {near}?" if near else ""


def _letters(name: str) -> str:
    return name.replace("-", "").replace("_", "").replace("$", "").lower()
