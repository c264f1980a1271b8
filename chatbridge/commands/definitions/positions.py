"""Reads a definition file as strict JSON, and knows the line and column of every value."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, NoReturn

from chatbridge.commands.definitions.problems import Unusable, Where, shown

LARGEST = 1_000_000
MOST_SIGNS = 50_000
"""Brackets, commas, colons and values. An honest file has hundreds; all of them may be wrong, and
somebody waits for what is said about it."""
DEEPEST = 32
_LONGEST_NUMBER = 300
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"|[\[\]{},:]|[^\s\[\]{},:"]++', re.DOTALL)
_BLANK = " \t\r\n"
_PLAIN_JSON = "JSON as json.org has it"


class _Constant(Exception):
    """NaN and the like, which Python's reader knows and JSON does not."""


@dataclass(slots=True)
class _Open:
    """An object or a list whose end has not come yet."""

    where: Where
    named: bool
    key: str | None = None
    key_at: int = 0
    index: int = 0
    keys: dict[str, int] = field(default_factory=dict)


class Lines:
    def __init__(self, text: str) -> None:
        self._starts = [0, *(found.end() for found in re.finditer(r"\r\n|\n|\r", text))]

    def at(self, position: int) -> tuple[int, int]:
        """Line and column, both from 1."""
        line = bisect_right(self._starts, position)
        return line, position - self._starts[line - 1] + 1


class Places:
    """Where every value of a sound text begins, or its key where it has one."""

    def __init__(self, text: str) -> None:
        self._lines = Lines(text)
        self._starts: dict[Where, int] = {}
        self.twice: list[tuple[Where, int, int]] = []
        """Keys that stand in their object again: where, the line, and that of the one before."""
        self._walk(text)

    def at(self, where: Where) -> tuple[int, int]:
        """Line and column; for what is missing those of what it is missing from."""
        while where not in self._starts:
            where = where[:-1]
        return self._lines.at(self._starts[where])

    def _walk(self, text: str) -> None:
        stack: list[_Open] = []
        for token in _TOKEN.finditer(text):
            sign, top = token[0], stack[-1] if stack else None
            if sign in ("}", "]"):
                stack.pop()
            elif sign == "," and top is not None:
                top.key, top.index = None, top.index + 1
            elif top is not None and top.named and top.key is None:
                top.key, top.key_at = json.loads(sign), token.start()
                self._named(top)
            elif sign != ":":
                where, start = self._begun(top, token.start())
                self._starts[where] = start
                if sign in ("{", "["):
                    stack.append(_Open(where, sign == "{"))

    def _begun(self, top: _Open | None, position: int) -> tuple[Where, int]:
        if top is None:
            return (), position
        if top.key is not None:
            return (*top.where, top.key), top.key_at
        return (*top.where, top.index), position

    def _named(self, top: _Open) -> None:
        assert top.key is not None
        if top.key in top.keys:
            line, before = self._lines.at(top.key_at)[0], self._lines.at(top.keys[top.key])[0]
            self.twice.append(((*top.where, top.key), line, before))
        top.keys[top.key] = top.key_at


def read(text: str) -> Any:
    """What the text says. Numbers that are too large for a computer are infinite.

    :raises Unusable:
    """
    if len(text) > LARGEST or len(text.encode("utf-8", "replace")) > LARGEST:
        raise _too_large("more than a megabyte")
    _measure(text)
    try:
        return json.loads(text, parse_constant=_refuse_constant, parse_int=_integer)
    except json.JSONDecodeError as error:
        raise _explained(text, error) from None
    except _Constant as error:
        word = str(error)
        position = next(each.start() for each in _TOKEN.finditer(text) if each[0] == word)
        accepted, mend = "numbers such as 5 or 0.5", "write a number, or leave the field out"
        raise Unusable("syntax", word, accepted, mend, position=position) from None


def oversized(value: object) -> bool:
    return isinstance(value, float) and not isfinite(value)


def _refuse_constant(word: str) -> NoReturn:
    raise _Constant(word)


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= _LONGEST_NUMBER else float(digits)


def _too_large(found: str) -> Unusable:
    accepted = f"at most 1 MB and {MOST_SIGNS:,} brackets, commas and values"
    mend = "make several files of it, with a few subcommands each"
    return Unusable("too_large", found, accepted, mend)


def _measure(text: str) -> None:
    depth = 0
    for i, token in enumerate(_TOKEN.finditer(text)):
        if i == MOST_SIGNS:
            raise _too_large("too many values")
        if token[0] in ("{", "["):
            depth += 1
        elif token[0] in ("}", "]"):
            depth -= 1
        if depth > DEEPEST:
            found = f"more than {DEEPEST} levels of brackets"
            accepted = "what the schema describes, which is not deep"
            mend = "take out what does not belong there"
            raise Unusable("too_deep", found, accepted, mend, position=token.start())


def _explained(text: str, error: json.JSONDecodeError) -> Unusable:
    if not text.strip(_BLANK):
        found, mend = "an empty file", 'begin with { "schema": 2, … }'
        return Unusable("syntax", found, "one object in braces", mend)
    position, message = min(error.pos, len(text)), error.msg
    if message.startswith("Expecting"):
        position += len(text[position:]) - len(text[position:].lstrip(_BLANK))
        # Python 3.13 tells of the comma itself, older ones of what follows.
        if text[position : position + 1] in ("}", "]"):
            before = text[:position].rstrip(_BLANK)
            position = len(before) - 1 if before.endswith(",") else position
    here, after = text[position : position + 1], text[position + 1 :].lstrip(_BLANK)[:1]
    if not here:
        found, mend = "the end of the file", "close what is open: a text, [ or {"
    elif text.startswith(("//", "/*", "#"), position):
        found, mend = "a comment", "take it out: JSON has none"
    elif here == "," and after in ("}", "]"):
        found, mend = f"a comma before {after}", "take the comma out"
    elif here in "'“”‘’„":
        found, mend = f"the quotation mark {here}", 'write texts in "…"'
    elif message.startswith("Expecting ',' delimiter"):
        found, mend = f"{shown(here)} where a comma is missing", "write a comma before it"
    elif message.startswith("Expecting property name"):
        found, mend = f"{shown(here)} where a key should be", 'write the key in "…"'
    elif message.startswith("Expecting ':'"):
        found, mend = f"{shown(here)} where a colon is missing", "write a colon after the key"
    elif message.startswith("Extra data"):
        found, mend = "something after the end", "keep one object and take out the rest"
    elif message.startswith("Unterminated string"):
        found, mend = "a text that does not end", "close it with a quotation mark"
    elif message.startswith("Invalid control character"):
        found, mend = "a line break or control character in a text", r"write \n for a line break"
    elif message.startswith("Invalid") and "escape" in message:
        found, mend = "a backslash that means nothing", r"write \\ for a backslash"
    else:
        found, mend = f"{shown(here)} where a value should be", "write a value there"
    return Unusable("syntax", found, _PLAIN_JSON, mend, position=position)
