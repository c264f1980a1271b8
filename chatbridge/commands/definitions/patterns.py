"""Compiles the patterns of definitions with an engine that takes linear time.

Python's engine backtracks: a pattern such as `(a+)+` could block the process with a text that an
agent chooses. The price is that look-around and back-references are not supported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from pydantic_core import SchemaError, SchemaValidator, core_schema

_ASCII = {"d": "0-9", "w": "A-Za-z0-9_", "s": r" \t\n\r\f\v"}
"""What these stand for in the schema that clients read; the engine would take every script's."""
_MEANS_MORE = "[&~"
"""In a class: there they are operators for the engine."""


@lru_cache
def matcher(pattern: str) -> Callable[[str], bool]:
    """Whether the whole of a text matches. :raises ValueError: with the reason."""
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
    opened = ""
    """How far the class is read that this is in: nothing, its opening, or some of it."""
    for part in re.findall(r"\\.|.", pattern, re.DOTALL):
        if part[0] == "\\":
            yield _escape(part[1:], in_class=bool(opened))
        elif not opened:
            yield part
            opened = part if part == "[" else ""
            continue
        elif part == "^" and opened == "[":
            yield part
            opened = "[^"
            continue
        elif part == "]" and opened != "…":
            yield r"\]"  # as the first in a class it stands for itself
        else:
            yield rf"\{part}" if part in _MEANS_MORE else part
            opened = "" if part == "]" else opened
        opened = opened and "…"


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
