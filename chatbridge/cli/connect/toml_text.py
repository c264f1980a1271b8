"""Edits TOML as text: only the table in question changes.

A table may be written under a header, with dotted keys, or inline. A table inside another inline
table is left alone.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from chatbridge.cli.connect.editing import (
    MISSING,
    TOO_DEEP,
    CannotEdit,
    Keys,
    Unparsable,
    line_end,
    newline_of,
    value_at,
)
from chatbridge.safe_json import is_deep

_STRING = r'"""(?:\\.|[^\\])*?"""(?!")' r"|'''.*?'''(?!')" r'|"(?:\\.|[^"\\\n])*+"' r"|'[^'\n]*+'"
_KEY = re.compile(rf"[ \t]*(?P<key>[A-Za-z0-9_-]++|{_STRING})[ \t]*(?P<dot>\.?)", re.DOTALL)
_VALUE = re.compile(rf"{_STRING}|#[^\n]*+|\n|[\[{{]|[\]}}]|[^\"'#\n\[\]{{}}]++", re.DOTALL)
_BLANK = re.compile(r"(?:[ \t\r\n]++|#[^\n]*+)*+")
_BARE = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class _Statement:
    """A header or a `key = value`, with its whole lines from `start` to `end`."""

    start: int
    end: int
    keys: Keys
    """From the root of the document."""
    header: bool
    table: Keys
    """Under which header it stands."""
    value: tuple[int, int] = (0, 0)


class Toml:
    """The editor of this format."""

    def load(self, text: str) -> dict[str, Any]:
        try:
            found = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            place = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", str(error))
            reason = str(error)[: place.start()] if place else str(error)
            last = len(text.splitlines())
            raise Unparsable(reason, int(place[1] or last) if place else None) from None
        except RecursionError:
            raise Unparsable(TOO_DEEP) from None
        except ValueError:
            raise Unparsable("a number in it is too long") from None
        if is_deep(found):
            raise Unparsable(TOO_DEEP)
        return found

    def put(self, text: str, keys: Keys, value: Any) -> str:
        found = value_at(self.load(text), keys)
        statements = list(_statements(text))
        own = next((it for it in statements if it.keys == keys and not it.header), None)
        if own is not None:
            return text[: own.value[0]] + _inline(value) + text[own.value[1] :]
        if found is not MISSING:
            raise CannotEdit(f"“{_dotted(keys)}” is written in a way of its own")
        if not isinstance(value, dict):
            return _with_pair(text, statements, keys, value)
        newline = newline_of(text)
        lines = [f"[{_dotted(keys)}]", *(f"{_key(key)} = {_inline(value[key])}" for key in value)]
        text += newline if text and not text.endswith("\n") else ""
        gap = newline if text.strip() else ""
        return text + gap + newline.join(lines) + newline

    def remove(self, text: str, keys: Keys) -> str:
        statements = list(_statements(text))
        if value_at(self.load(text), keys) is MISSING:
            return text
        gone = [it for it in statements if it.keys[: len(keys)] == keys]
        if not gone:
            raise CannotEdit(f"“{_dotted(keys)}” is part of an inline table")
        for start, end in reversed(_runs(statements, gone)):
            text = _cut(text, start, end)
        return text

    def is_empty(self, text: str, keys: Keys) -> bool:
        """Tables come and go with what is in them; a header without anything is somebody's own."""
        return False


def _statements(text: str) -> Iterator[_Statement]:
    """Those of a sound document."""
    table: Keys = ()
    position = _past_blanks(text, 0)
    while position < len(text):
        start = text.rfind("\n", 0, position) + 1
        header = text[position] == "["
        brackets = 2 if text.startswith("[[", position) else 1
        if header:
            position += brackets
        keys, position = _keys(text, position)
        if header:
            end = _value_end(text, text.index("]", position) + brackets)
            table = keys
            yield _Statement(start, line_end(text, end), keys, True, table)
        else:
            position += 1  # the equals sign
            while text[position] in " \t":
                position += 1
            end = _value_end(text, position)
            value = (position, position + len(text[position:end].rstrip()))
            yield _Statement(start, line_end(text, end), table + keys, False, table, value)
        position = _past_blanks(text, end)


def _keys(text: str, position: int) -> tuple[Keys, int]:
    keys: list[str] = []
    while found := _KEY.match(text, position):
        raw = found["key"]
        keys.append(tomllib.loads(f"x = {raw}")["x"] if raw[0] in "\"'" else raw)
        position = found.end()
        if not found["dot"]:
            break
    return tuple(keys), position


def _value_end(text: str, position: int) -> int:
    """Where the line ends, or the comment after a value begins."""
    depth = 0
    while found := _VALUE.match(text, position):
        part = found[0]
        if not depth and (part == "\n" or part[0] == "#"):
            break
        depth += (part in "[{") - (part in "]}")
        position = found.end()
    return position


def _past_blanks(text: str, position: int) -> int:
    found = _BLANK.match(text, position)
    return found.end() if found else position


def _with_pair(text: str, statements: list[_Statement], keys: Keys, value: Any) -> str:
    """With one more key in a table that is there."""
    table = keys[:-1]
    inline = next((it for it in statements if it.keys == table and not it.header), None)
    if inline is not None:
        merged = tomllib.loads(f"x = {text[slice(*inline.value)]}")["x"] | {keys[-1]: value}
        return text[: inline.value[0]] + _inline(merged) + text[inline.value[1] :]
    beside = [it for it in statements if it.keys[:-1] == table and not it.header]
    heads = [it for it in statements if it.keys == table and it.header]
    if not beside and not heads:
        raise CannotEdit(f"“{_dotted(table)}” is written in a way of its own")
    after = beside[-1] if beside else heads[-1]
    indent = re.match(r"[ \t]*", text[after.start :])
    line = f"{indent[0] if indent else ''}{_dotted(keys[len(after.table) :])} = {_inline(value)}"
    newline = newline_of(text)
    gap = "" if text[: after.end].endswith("\n") else newline
    return text[: after.end] + gap + line + newline + text[after.end :]


def _runs(statements: list[_Statement], gone: list[_Statement]) -> list[tuple[int, int]]:
    """The lines to cut out, neighbours together: a comment between two of them goes, too."""
    runs = []
    for going, group in groupby(statements, key=lambda it: it in gone):
        if going:
            first, *others = group
            runs.append((first.start, (others or [first])[-1].end))
    return runs


def _cut(text: str, start: int, end: int) -> str:
    """Without these lines, and without the empty line that parted them from the ones before."""
    before = re.search(r"(?:^|(?<=\n))[ \t]*\r?\n\Z", text[:start])
    parts = text[: before.start()].strip() if before else ""
    if before and parts and (end == len(text) or re.match(r"[ \t]*\r?\n", text[end:])):
        start = before.start()
    return text[:start] + text[end:]


def _dotted(keys: Keys) -> str:
    return ".".join(map(_key, keys))


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _inline(key)


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        pairs = ", ".join(f"{_key(key)} = {_inline(value[key])}" for key in value)
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_inline, value))}]"
    if isinstance(value, bool | str):  # JSON's escapes are TOML's, but for the delete character
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, int | float):
        return repr(value)
    return str(value)  # dates and times
