"""Parses JSON of others with a nesting limit, and checks request ids.

The limit is the same on every Python: older ones refuse deep JSON, newer ones parse it, and then
writing or comparing the value fails. Standard library only, because links use it.
"""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


DEEPEST = 200
"""Maximum number of levels, the same as in the SDK's parser."""
_REASON = "it is nested too deeply"


def loads(text: str | bytes) -> Any:
    """Parse the text. :raises ValueError: it is not JSON, or nested too deeply."""
    try:
        found = json.loads(text)
    except RecursionError:
        raise ValueError(_REASON) from None
    # A cheap check first: few texts have so many brackets.
    if isinstance(text, str):
        brackets = text.count("[") + text.count("{")
    else:
        brackets = text.count(b"[") + text.count(b"{")
    if brackets > DEEPEST and is_deep(found):
        raise ValueError(_REASON)
    return found


def value_at(value: Any, *path: str) -> Any:
    """The value below these keys; None if there is none."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def texts_at(value: Any, *names: str, below: tuple[str, ...]) -> Iterator[str]:
    """The texts of these names in a list of objects, and in those below them under the others."""
    for each in value if isinstance(value, list) else [value]:
        if isinstance(each, dict):
            yield from (text for name in names if isinstance(text := each.get(name), str))
            for name in below:
                yield from texts_at(each.get(name), *names, below=below)


def is_deep(value: object) -> bool:
    """Whether the value has more levels than the limit."""
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


MAX_ID_CHARACTERS = 1000
MAX_ID_INTEGER = 2**64 - 1
"""Covers counters and random 64-bit numbers."""
PROBLEM = f"an id is a string of at most {MAX_ID_CHARACTERS:,} characters or a 64-bit whole number"


def is_request_id(value: object) -> bool:
    """Whether a response can repeat this id unchanged."""
    if type(value) is int:
        return abs(value) <= MAX_ID_INTEGER
    # A lone surrogate would be replaced, and the response would have another id.
    return (
        isinstance(value, str)
        and len(value) <= MAX_ID_CHARACTERS
        and not any("\ud800" <= character <= "\udfff" for character in value)
    )


def has_bad_id(message: object) -> bool:
    """Whether this is a request with an invalid id."""
    if not isinstance(message, dict) or "method" not in message or "id" not in message:
        return False
    return not is_request_id(message["id"])
