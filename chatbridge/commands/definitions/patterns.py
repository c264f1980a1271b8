"""Matches texts against a definition's regular expressions, in linear time.

Clients and editors read the same expressions, with engines like Python's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from pydantic_core import SchemaError, SchemaValidator, core_schema

_ASCII = {"d": "0-9", "w": "A-Za-z0-9_", "s": r" \t\n\r\f\v"}
"""What these stand for in the schema that clients read; the engine would take every script's."""
_MEANS_MORE = "[]&~"
"""In a class: there they are operators for the engine."""
_OUTSIDE, _OPENED, _NEGATED, _INSIDE = range(4)
"""How far a class is read: there is none, its `[`, its `[^`, or some of what is in it."""


@lru_cache
def matcher(pattern: str) -> Callable[[str], bool]:
    """Whether the whole of a text matches. :raises ValueError: with the reason. In linear time:
    with Python's engine, which backtracks, an agent could choose a text that blocks the process. So
    there are no look-around and no back-references."""
    translated = "".join(_translated(pattern))
    try:
        re.compile(translated, re.ASCII)  # clients and editors have engines like this one
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(str(error)) from None
    whole = rf"\A(?:{translated})\z"
    try:
        found = core_schema.str_schema(pattern=whole, regex_engine="rust-regex")
        return SchemaValidator(found).isinstance_python
    except SchemaError as error:
        raise ValueError(_reason(str(error))) from None


def _translated(pattern: str) -> Iterator[str]:
    state = _OUTSIDE
    for part in re.findall(r"\\.|.", pattern, re.DOTALL):
        if state == _OUTSIDE:
            yield _escape(part[1:], in_class=False) if part[0] == "\\" else part
            state = _OPENED if part == "[" else _OUTSIDE
        elif part == "^" and state == _OPENED:
            yield part
            state = _NEGATED
        elif part == "]" and state == _INSIDE:
            yield part
            state = _OUTSIDE
        else:
            if part[0] == "\\":
                yield _escape(part[1:], in_class=True)
            else:  # a bracket that comes first in a class stands for itself
                yield rf"\{part}" if part in _MEANS_MORE else part
            state = _INSIDE


def _escape(letter: str, *, in_class: bool) -> str:
    plain = _ASCII.get(letter.lower())
    if plain is None or (in_class and letter.isupper()):
        return f"\\{letter}"
    if in_class:
        return plain
    return f"[^{plain}]" if letter.isupper() else f"[{plain}]"


def _reason(said: str) -> str:
    """The last line of what the engine says about a pattern of ours, without our frame."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    found = [line for line in lines if line.startswith("error:")]
    return found[-1].removeprefix("error: ") if found else "it is too large"
