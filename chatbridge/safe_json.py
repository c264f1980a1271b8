"""JSON that others wrote, nested no deeper than whatever handles it can follow.

Owns one bound, the same on every Python: older ones stop reading at some depth, newer ones go on
for as long as the stack lasts, and then writing, comparing or showing the value fails instead.
Standard library only: links read, too.
"""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
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


MAX_ID_CHARACTERS = 1000
MAX_ID_INTEGER = 2**64 - 1
"""Clients that count or draw 64 bits at random stay below."""
PROBLEM = f"an id is a string of at most {MAX_ID_CHARACTERS:,} characters or a 64-bit whole number"


def is_request_id(value: object) -> bool:
    """Whether a response can carry the same id back."""
    if type(value) is int:
        return abs(value) <= MAX_ID_INTEGER
    return isinstance(value, str) and len(value) <= MAX_ID_CHARACTERS and _is_unicode(value)


def has_bad_id(message: object) -> bool:
    """Whether this is a request that cannot be answered under its id."""
    if not isinstance(message, dict) or "method" not in message or "id" not in message:
        return False
    return not is_request_id(message["id"])


def _is_unicode(text: str) -> bool:
    """Half a surrogate pair is replaced on the way, and the response would have another id."""
    return not any("\ud800" <= character <= "\udfff" for character in text)
