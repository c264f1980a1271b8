"""JSON that others wrote, nested no deeper than whatever handles it can follow.

Owns one bound, the same on every Python: older ones stop reading at some depth, newer ones go on
for as long as the stack lasts, and then writing, comparing or showing the value fails instead.
Standard library only: links read, too.
"""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:  # a link starts in 43 ms; typing alone would be 5 more
    from typing import Any

DEEPEST = 200
"""Levels. The SDK's own parser takes no more either."""
_REASON = "it is nested too deeply"


def loads(text: str | bytes) -> Any:
    """What the text says.

    :raises ValueError: it is no JSON, or nested too deeply.
    """
    try:
        found = json.loads(text)
    except RecursionError:
        raise ValueError(_REASON) from None
    # Without so many brackets nothing is deep, and nearly nothing has so many.
    if _brackets(text) > DEEPEST and is_deep(found):
        raise ValueError(_REASON)
    return found


def is_deep(value: object) -> bool:
    """Whether it has more levels than are taken."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(DEEPEST):
        if not level:
            return False
        level = [
            inner
            for each in level
            for inner in (each.values() if isinstance(each, dict) else each)
            if isinstance(inner, dict | list)
        ]
    return bool(level)


def _brackets(text: str | bytes) -> int:
    if isinstance(text, str):
        return text.count("[") + text.count("{")
    return text.count(b"[") + text.count(b"{")
