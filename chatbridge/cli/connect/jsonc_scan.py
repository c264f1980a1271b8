"""JSON with comments and trailing commas, read with the place of everything in the text."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

from chatbridge.cli.connect.editing import Unparsable, line_of
from chatbridge.safe_json import DEEPEST, is_deep

_TOO_DEEP = "it is nested too deeply"
_SKIP = re.compile(r"(?:[ \t\r\n]++|//[^\r\n]*+|/\*.*?\*/)*+", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]++|\\[^\x00-\x1f])*+"')
_WORD = re.compile(r"(?:true|false|null|-?(?:0|[1-9]\d*+)(?:\.\d++)?(?:[eE][+-]?\d++)?)(?![\w.+-])")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


_PLAIN = json.JSONDecoder(parse_constant=_no_constant)
"""Reads what has no comments, many times faster than the scanner."""


@dataclass(slots=True)
class Item:
    """A member of an object or an element of an array. `start` is where its key, if any, begins."""

    key: str | None
    start: int
    node: Node
    comma: int | None = None
    """Where the comma after it is."""


class Node:
    """A value and where it is. What it consists of is looked at only when somebody asks: a file
    may be large, and one path through it is of interest."""

    __slots__ = ("_items", "_text", "_value", "end", "kind", "start")

    def __init__(
        self, text: str, start: int, end: int, *, items: list[Item] | None = None, value: Any = None
    ) -> None:
        self._text, self.start, self.end = text, start, end
        self._items, self._value = items, value
        opening = text[start]
        self.kind: Literal["object", "array", "other"] = (
            "object" if opening == "{" else "array" if opening == "[" else "other"
        )

    @property
    def items(self) -> list[Item]:
        if self._items is None:
            scanner = _Scanner(self._text, self.start)
            self._items = [] if self.kind == "other" else scanner.items(0)
        return self._items

    def member(self, key: str) -> Item | None:
        """Of several with the same key the last counts."""
        return next((item for item in reversed(self.items) if item.key == key), None)

    def value(self) -> Any:
        if self._items is None or self.kind == "other":
            return self._value
        if self.kind == "object":
            return {item.key: item.node.value() for item in self._items}
        return [item.node.value() for item in self._items]


def scan(text: str) -> Node | None:
    """The document's one value; None if there are only blanks and comments.

    :raises Unparsable:
    """
    return _Scanner(text).document()


def skip(text: str, position: int) -> int:
    """Where the next thing is that is neither blank nor comment."""
    found = _SKIP.match(text, position)
    return found.end() if found else position


@dataclass(slots=True)
class _Scanner:
    text: str
    position: int = 0

    def document(self) -> Node | None:
        self.position = skip(self.text, 0)
        if self.position == len(self.text):
            return None
        node = self.node(0)
        if skip(self.text, self.position) != len(self.text):
            self.position = skip(self.text, self.position)
            self.fail("something follows its end")
        return node

    def node(self, depth: int) -> Node:
        start = self.position
        if self.sees("{") or self.sees("["):
            try:
                value, end = _PLAIN.raw_decode(self.text, start)
            except RecursionError:
                self.fail(_TOO_DEEP)
            except ValueError:
                items = self.items(depth)
                return Node(self.text, start, self.position, items=items)
            if is_deep(value):
                self.fail(_TOO_DEEP)
            self.position = end
        else:
            value = self.string() if self.sees('"') else self.word()
        return Node(self.text, start, self.position, value=value)

    def items(self, depth: int) -> list[Item]:
        """Those of the object or array that begins here."""
        if depth > DEEPEST:
            self.fail("it is nested too deeply")
        closing = "}" if (named := self.sees("{")) else "]"
        found: list[Item] = []
        self.position = skip(self.text, self.position + 1)
        while not self.sees(closing):
            if found and found[-1].comma is None:
                self.fail(f"“,” or “{closing}” is missing")
            start = self.position
            key = self.key() if named else None
            found.append(Item(key, start, self.node(depth + 1)))
            self.position = skip(self.text, self.position)
            if self.sees(","):
                found[-1].comma = self.position
                self.position = skip(self.text, self.position + 1)
        self.position += 1
        return found

    def key(self) -> str:
        if not self.sees('"'):
            self.fail("a key in quotation marks is missing")
        key = self.string()
        self.position = skip(self.text, self.position)
        if not self.sees(":"):
            self.fail("“:” is missing")
        self.position = skip(self.text, self.position + 1)
        return key

    def sees(self, char: str) -> bool:
        return self.text.startswith(char, self.position)

    def string(self) -> str:
        found = _STRING.match(self.text, self.position)
        if found is None:
            self.fail("a string does not end")
        try:
            value: str = json.loads(found[0])
        except ValueError:
            self.fail("a string has an unknown escape")
        self.position = found.end()
        return value

    def word(self) -> Any:
        found = _WORD.match(self.text, self.position)
        if found is None:
            self.fail("it ends too early" if self.position >= len(self.text) else "no value here")
        self.position = found.end()
        try:
            return json.loads(found[0])
        except ValueError:  # a number of thousands of digits
            return found[0]

    def fail(self, reason: str) -> NoReturn:
        raise Unparsable(reason, line_of(self.text, self.position))
