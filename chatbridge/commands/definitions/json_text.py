"""Reads JSON that people write: where each value stands, and what is wrong in plain words."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any, NoReturn

from chatbridge.commands.definitions.problems import Unusable, Where, described

MAX_BYTES = 1_000_000
MAX_TOKENS = 50_000
"""Brackets, commas, colons and values. An honest file has hundreds; all of them may be wrong, and
somebody waits for what is said about it."""
MAX_DEPTH = 32
_MAX_DIGITS = 300
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"|[\[\]{},:]|[^\s\[\]{},:"]++', re.DOTALL)
_BLANK = " \t\r\n"
_MISTAKES = {
    "Expecting ',' delimiter": ("{at} where a comma is missing", "write a comma before it"),
    "Expecting property name": ("{at} where a key should be", 'write the key in "…"'),
    "Expecting ':'": ("{at} where a colon is missing", "write a colon after the key"),
    "Extra data": ("something after the end", "keep one object and take out the rest"),
    "Unterminated string": ("a text that does not end", "close it with a quotation mark"),
    "Invalid control character": (
        "a line break or control character in a text",
        r"write \n for a line break",
    ),
    "Invalid.*escape": ("a backslash that means nothing", r"write \\ for a backslash"),
}
"""What Python's reader says, as a pattern, and what we say."""


class Lines:
    def __init__(self, text: str) -> None:
        self._starts = [0, *(found.end() for found in re.finditer(r"\r\n|\n|\r", text))]

    def at(self, position: int) -> tuple[int, int]:
        line = bisect_right(self._starts, position)
        return line, position - self._starts[line - 1] + 1


class Positions:
    """Where every value of a sound text begins, or its key where it has one."""

    def __init__(self, text: str) -> None:
        self._lines = Lines(text)
        self._starts: dict[Where, int] = {}
        self.repeated: list[tuple[Where, int, int]] = []
        """Keys that stand in their object again: where, the line, and that of the one before."""
        tokens = _TOKEN.finditer(text)
        first = next(tokens)
        self._walk(tokens, first[0], (), first.start())

    def at(self, where: Where) -> tuple[int, int]:
        """Line and column; for what is missing those of what it is missing from."""
        while where not in self._starts:
            where = where[:-1]
        return self._lines.at(self._starts[where])

    def _walk(self, tokens: Iterator[re.Match[str]], sign: str, where: Where, start: int) -> None:
        self._starts[where] = start
        keys: dict[str, int] = {}
        index = 0
        while sign in ("{", "[") and (token := next(tokens))[0] not in ("}", "]"):
            if token[0] == ",":
                continue
            if sign == "[":
                self._walk(tokens, token[0], (*where, index), token.start())
                index += 1
                continue
            key, at = json.loads(token[0]), token.start()
            if key in keys:
                line, before = self._lines.at(at)[0], self._lines.at(keys[key])[0]
                self.repeated.append(((*where, key), line, before))
            keys[key] = at
            next(tokens)  # the colon
            self._walk(tokens, next(tokens)[0], (*where, key), at)


def parse(text: str) -> Any:
    """What the text says. Numbers that are too large for a computer are infinite. :raises
    Unusable:"""
    if len(text) > MAX_BYTES or len(text.encode("utf-8", "replace")) > MAX_BYTES:
        raise _too_large("more than a megabyte")
    _check_size(text)

    def constant(word: str) -> NoReturn:
        """Python's reader knows NaN and the like, and JSON does not."""
        found = (it.start() for it in _TOKEN.finditer(text) if it[0].startswith(word))
        accepted, mend = "numbers such as 5 or 0.5", "write a number, or leave the field out"
        raise Unusable("syntax", word, accepted, mend, position=next(found, 0))

    def integer(digits: str) -> int | float:
        return int(digits) if len(digits) <= _MAX_DIGITS else float(digits)

    try:
        return json.loads(text, parse_constant=constant, parse_int=integer)
    except json.JSONDecodeError as error:
        raise _explained(text, error) from None


def _too_large(found: str) -> Unusable:
    accepted = f"at most 1 MB and {MAX_TOKENS:,} brackets, commas and values"
    mend = "make several files of it, with a few subcommands each"
    return Unusable("too_large", found, accepted, mend)


def _check_size(text: str) -> None:
    depth = 0
    for i, token in enumerate(_TOKEN.finditer(text)):
        if i == MAX_TOKENS:
            raise _too_large("too many values")
        if token[0] in ("{", "["):
            depth += 1
        elif token[0] in ("}", "]"):
            depth -= 1
        if depth > MAX_DEPTH:
            found = f"more than {MAX_DEPTH} levels of brackets"
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
    at = described(here)
    if not here:
        found, mend = "the end of the file", "close what is open: a text, [ or {"
    elif text.startswith(("//", "/*", "#"), position):
        found, mend = "a comment", "take it out: JSON has none"
    elif here == "," and after in ("}", "]"):
        found, mend = f"a comma before {after}", "take the comma out"
    elif here in "'“”‘’„":
        found, mend = f"the quotation mark {here}", 'write texts in "…"'
    else:
        known = (words for start, words in _MISTAKES.items() if re.match(start, message))
        found, mend = next(known, ("{at} where a value should be", "write a value there"))
    return Unusable(
        "syntax", found.replace("{at}", at), "JSON as json.org has it", mend, position=position
    )
