"""Agents' text made safe to show: what cannot be seen, or turns other text around, becomes visible.

Used by the card for every string an agent wrote. Escaping for HTML is each channel's own.
"""

from __future__ import annotations

import unicodedata

RECOMMENDED = "(recommended)"

_KEPT_CONTROLS = "\n\t"
_JOINER = "\u200d"
_HIDDEN = frozenset("\u115f\u1160\u17b4\u17b5\u3164\uffa0\u2028\u2029\u034f")
"""Blank or line-breaking characters whose category does not give them away."""


def visible(text: str) -> str:
    """`text` with direction, zero-width and control characters as `⟨U+202E⟩`."""
    if text.isascii() and text.isprintable():
        return text
    text = text.replace("\r\n", "\n")
    return "".join(
        f"⟨U+{ord(char):04X}⟩" if _tricky(text, i) else char for i, char in enumerate(text)
    )


def _tricky(text: str, i: int) -> bool:
    char = text[i]
    if char in _KEPT_CONTROLS:
        return False
    if char == _JOINER:  # family and flag emoji are several symbols joined by it
        return not (_symbol(text[i - 1 : i]) and _symbol(text[i + 1 : i + 2]))
    return char in _HIDDEN or unicodedata.category(char) in ("Cc", "Cf", "Cs")


def _symbol(char: str) -> bool:
    return bool(char) and (unicodedata.category(char) in ("So", "Sk") or char == "\ufe0f")


def one_line(text: str) -> str:
    """`text` as one visible line, for places where a line break could forge a second one."""
    return " ".join(visible(text).split())


def shortened(text: str, limit: int) -> str:
    """At most `limit` characters, cut with an ellipsis."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def split_recommended(label: str) -> tuple[str, bool]:
    """A label without its "(recommended)" at the end, and whether it had one."""
    if label.lower().endswith(RECOMMENDED) and len(label) > len(RECOMMENDED):
        return label[: -len(RECOMMENDED)].rstrip(), True
    return label, False
