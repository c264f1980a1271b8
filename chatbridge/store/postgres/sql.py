"""The statements of the store as PostgreSQL wants them. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from chatbridge.core.text import encodable
from chatbridge.store.database import Parameters

_PARAMETER = re.compile(r"'[^']*'|::|:(\w+)|\?")
_TRANSLATED = (
    (re.compile(r"\binstr\("), "strpos("),
    (re.compile(r"\bNOT synchronous\b"), "synchronous = 0"),
    (
        re.compile(r"\bjson_each\((:\w+)\)"),
        r"json_array_elements_text(CAST(\1 AS json)) AS each (value)",
    ),
)
"""What SQLite calls otherwise."""
NUL, INSTEAD = "\0", "\N{REPLACEMENT CHARACTER}"
"""A text there has no NUL."""


@cache
def translated(sql: str) -> tuple[str, tuple[str, ...]]:
    """With numbered parameters, and the names of these; none: they are taken in their order."""
    for pattern, instead in _TRANSLATED:
        sql = pattern.sub(instead, sql)
    names: list[str] = []
    asked = 0

    def numbered(found: re.Match[str]) -> str:
        nonlocal asked
        if name := found[1]:
            if name not in names:
                names.append(name)
            return f"${names.index(name) + 1}"
        if found[0] != "?":  # a text, or a cast
            return found[0]
        asked += 1
        return f"${asked}"

    return _PARAMETER.sub(numbered, sql), tuple(names)


def ordered(parameters: Parameters, names: tuple[str, ...]) -> tuple[list[Any], bool]:
    """The values in their order, and whether one of them cannot be stored as it is: it gets
    replacement signs."""
    given: Any = parameters
    values = [given[name] for name in names] if isinstance(parameters, Mapping) else [*given]
    stored = [storable(value) if isinstance(value, str) else value for value in values]
    return stored, any(one is not other for one, other in zip(stored, values, strict=True))


def storable(text: str) -> str:
    if text.isascii():
        return text if NUL not in text else text.replace(NUL, INSTEAD)
    whole = text.replace(NUL, INSTEAD) if NUL in text else text
    try:
        whole.encode()
    except UnicodeEncodeError:
        return encodable(whole)
    return whole
