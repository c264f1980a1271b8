"""Agents' text made safe to show: what cannot be seen, or turns other text around, becomes visible.

Used by the card for every string an agent wrote. Escaping for HTML is each channel's own.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

RECOMMENDED = "(recommended)"

_KEPT_CONTROLS = "\n\t"
_NON_JOINER, _JOINER = "\u200c", "\u200d"
_EMOJI_SELECTORS = "\ufe0e\ufe0f"
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
_UNSEEN = ("Cc", "Cf", "Cs", "Co")
_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n){3,}")
_BLANKS = re.compile(r"[ \t]{80,}")


def visible(text: str) -> str:
    """`text` with direction, zero-width, private and control characters, and marks over nothing or
    in towers, as `⟨U+202E⟩`."""
    if text.isascii() and text.isprintable():
        return text
    text = text.replace("\r\n", "\n")
    # A long text has few different characters, and most of them need no second look.
    chars = set(text)
    if marks := "".join(char for char in chars if _category(char) in ("Mn", "Me")):
        text = _on_letters(text, marks)
    suspects = {char for char in chars if _suspect(char)}
    if not suspects:
        return text

    def shown(found: re.Match[str]) -> str:
        i = found.start()
        tricky = _tricky(text[i - 1 : i], text[i], text[i + 1 : i + 2])
        return _code(text[i]) if tricky else text[i]

    return re.sub(_pattern(suspects, chars), shown, text)


def _pattern(suspects: set[str], chars: set[str]) -> str:
    """Finds suspects, without most of those that a script or an emoji needs: a text in Persian, or
    of nothing but emoji, has tens of thousands."""
    ways = []
    for usual, before, after in (
        (_EMOJI_SELECTORS, lambda char: _category(char)[:1] in ("S", "P", "N"), None),
        (_JOINER, _symbol, _symbol),
        (_NON_JOINER, _joining, _joining),
    ):
        found = suspects & set(usual)
        if not found:
            continue
        suspects = suspects - found
        ways.append(f"(?<!{any_of(filter(before, chars))}){any_of(found)}")
        if after is not None:
            ways.append(f"{any_of(found)}(?!{any_of(filter(after, chars))})")
    return "|".join([*ways, *([any_of(suspects)] if suspects else [])])


def any_of(chars: Iterable[str]) -> str:
    """A regular expression for one of these characters; for none, one that never matches."""
    found = "".join(sorted(chars))
    return f"[{re.escape(found)}]" if found else "[^\\s\\S]"


def _suspect(char: str) -> bool:
    """Whether a character could be tricky at all, wherever it stands."""
    if char in _KEPT_CONTROLS:
        return False
    selector = "\ufe00" <= char <= "\ufe0f"
    return selector or _ignorable(char) or _category(char) in _UNSEEN


def _on_letters(text: str, marks: str) -> str:
    """With the marks shown by their codes that stand over nothing, or over too many others."""
    mark = f"[{re.escape(marks)}]"
    towers = f"(?<!\\S){mark}+|(?<={mark}{{{_MARKS}}}){mark}"
    return re.sub(towers, lambda found: "".join(map(_code, found[0])), text)


def _code(char: str) -> str:
    return f"⟨U+{ord(char):04X}⟩"


@lru_cache(maxsize=4096)
def _tricky(before: str, char: str, after: str) -> bool:
    """Whether a character could deceive where it stands. Those that a script or an emoji needs
    there are no trick: they change how the neighbours look."""
    if char == _JOINER:  # family and flag emoji are several symbols joined by it
        return not (_after_virama(before) or (_symbol(before) and _symbol(after)))
    if char == _NON_JOINER:  # Persian and its relatives part letters with it
        return not (_after_virama(before) or (_joining(before) and _joining(after)))
    if char in _EMOJI_SELECTORS:
        return not (before == "ℹ" or _category(before)[:1] in ("S", "P", "N"))
    if "\ufe00" <= char <= "\ufe0d" or "\U000e0100" <= char <= "\U000e01ef":
        return not unicodedata.name(before or " ", "").startswith("CJK")
    return _ignorable(char) or _category(char) in _UNSEEN


def _ignorable(char: str) -> bool:
    return char in HIDDEN or "\U000e0000" <= char <= "\U000e0fff"


def _symbol(char: str) -> bool:
    return _category(char) in ("So", "Sk") or (bool(char) and char in "\ufe0f↔")


def _after_virama(before: str) -> bool:
    return bool(before) and unicodedata.combining(before) == _VIRAMA


def _joining(char: str) -> bool:
    return bool(char) and unicodedata.bidirectional(char) == "AL"


def _category(char: str) -> str:
    return unicodedata.category(char) if char else ""


def prose(text: str) -> str:
    """`text` as `visible` shows it, without blanks that push other words out of sight: what only
    looks blank becomes spaces, and of many spaces or blank lines few are left."""
    blank = {char for char in set(text) if char in LOOKS_BLANK or _category(char) == "Zs"}
    text = visible(text.translate(dict.fromkeys(map(ord, blank), " ")))
    return _BLANKS.sub(" ", _BLANK_LINES.sub("\n\n\n", text))


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


def without_runs(text: str) -> str:
    """`text` with every long run of hidden characters or marks as one counted marker, such as
    `⟨U+200B ×98000⟩`."""
    hidden = {c for c in set(text) if _suspect(c) or _category(c) in ("Mn", "Me")}
    return re.sub(f"{any_of(hidden)}{{{_MARKS + 1},}}", _counted, text) if hidden else text


def hidden_in(text: str) -> int:
    """How many of its characters may have to be shown by a code."""
    return sum(text.count(char) for char in set(text) if _suspect(char))


def _counted(run: re.Match[str]) -> str:
    kinds = sorted(set(run[0]))
    names = ", ".join(f"U+{ord(char):04X}" for char in kinds[:3])
    return f"⟨{names}{', …' if len(kinds) > 3 else ''} ×{len(run[0])}⟩"
