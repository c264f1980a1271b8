"""Edits JSON with comments and trailing commas as text: only the member in question changes.

Removing what was put in restores the text; only an object that was empty may lose the blanks
between its braces.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

from chatbridge.cli.connect.editing import (
    TOO_DEEP,
    CannotEdit,
    Keys,
    Unparsable,
    nested,
    newline_of,
)
from chatbridge.safe_json import DEEPEST, is_deep

Steps = tuple[str | int, ...]
"""Keys of objects, and places in arrays."""
LONG = 80
_GAP = re.compile(r"[ \t\r\n]++|(?P<thing>//[^\r\n]*+|/\*.*?\*/|,)", re.DOTALL)
_BREAK = re.compile(r"[\r\n]")


class Jsonc:
    """The editor of this format."""

    def load(self, text: str) -> dict[str, Any]:
        root = _root(text)
        value: dict[str, Any] = {} if root is None else root.value()
        return value

    def put(self, text: str, keys: Steps, value: Any) -> str:
        node = _root(text)
        style = _Style.of(text, node)
        if node is None:
            before = text if text.strip() else ""
            gap = "" if not before or before.endswith("\n") else style.newline
            return before + gap + style.pretty(nested(keys, value), "") + style.newline
        for depth, key in enumerate(keys):
            if node.kind != "object" and isinstance(key, str):
                raise CannotEdit(f"“{_dotted(keys[:depth])}” is not an object")
            member = node.member(key)
            if member is None:
                assert isinstance(key, str)
                return _added(text, node, key, nested(keys[depth + 1 :], value), style)
            node = member
        # What stands on one line stays on one line.
        one_line = node.kind != "other" and not _BREAK.search(text, node.start, node.end)
        indent = _indent_at(text, node.start)
        new = style.short(value) if one_line or style.inline else style.pretty(value, indent)
        return text[: node.start] + new + text[node.end :]

    def remove(self, text: str, keys: Keys) -> str:
        while parent := _at(_root(text), keys[:-1]):  # a key may be there twice
            member = parent.member(keys[-1])
            if member is None:
                break
            text = _without(
                text, parent, next(i for i, it in enumerate(parent.items) if it is member)
            )
        return text

    def is_empty(self, text: str, keys: Keys) -> bool:
        node = _at(_root(text), keys)
        return node is not None and text[node.start : node.end] in ("{}", "[]")

    def append(self, text: str, keys: Steps, value: Any) -> str:
        """With this value as the last of the array under these keys."""
        root = _root(text)
        node = _at(root, keys)
        if node is None:
            return self.put(text, keys, [value])
        if node.kind != "array":
            raise CannotEdit(f"“{_dotted(keys)}” is not a list")
        return _added(text, node, None, value, _Style.of(text, root))

    def discard(self, text: str, keys: Steps, value: Any) -> str:
        """Without this value in the array under these keys."""
        while node := _at(_root(text), keys):
            values = [item.value() for item in node.items]
            if value not in values:
                break
            text = _without(text, node, values.index(value))
        return text


@dataclass(frozen=True, slots=True)
class _Style:
    """How the document is written: its line ending, one level's indentation, all on one line?"""

    newline: str
    unit: str
    inline: bool
    space: str

    @classmethod
    def of(cls, text: str, root: Node | None) -> _Style:
        items = root.items if root is not None else []
        unit = _indent_at(text, items[0].first) if items else ""
        inline = bool(items) and not _BREAK.search(text.strip())
        tight = inline and re.match(r'"[^"]*":\S', text[items[0].first :]) is not None
        return cls(newline_of(text), unit or "  ", inline, "" if tight else " ")

    def pretty(self, value: Any, indent: str) -> str:
        """Objects and long lists over several lines, everything else on one."""
        inner = indent + self.unit
        short = self.short(value)
        if isinstance(value, dict) and value:
            items = [f"{_text(key)}: {self.pretty(value[key], inner)}" for key in value]
        elif isinstance(value, list) and len(short) > LONG:
            items = [self.pretty(it, inner) for it in value]
        else:
            return short
        lines = f",{self.newline}{inner}".join(items)
        return f"{short[0]}{self.newline}{inner}{lines}{self.newline}{indent}{short[-1]}"

    def short(self, value: Any) -> str:
        separators = (f",{self.space}", f":{self.space}")
        return json.dumps(value, ensure_ascii=False, separators=separators)


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _root(text: str) -> Node | None:
    """The document's one object; None if there are only blanks and comments. :raises Unparsable:"""
    scanner = _Scanner(text)
    scanner.skip()
    if scanner.position == len(text):
        return None
    root = scanner.node(0)
    scanner.skip()
    if scanner.position != len(text):
        scanner.fail("something follows its end")
    if root.kind != "object":
        raise Unparsable("it is not an object", 1)
    return root


def _dotted(keys: Steps) -> str:
    return ".".join(map(str, keys))


def _at(node: Node | None, keys: Steps) -> Node | None:
    for key in keys:
        node = node and node.member(key)
    return node


def _added(text: str, node: Node, key: str | None, value: Any, style: _Style) -> str:
    """With a last item in an object or array."""
    last = node.items[-1] if node.items else None
    inline = style.inline or (last is not None and not _BREAK.search(text, node.start, node.end))
    base = _indent_at(text, node.start)
    indent = base + style.unit
    if last is not None:  # as the last one, if that is the first of its line
        before = text[_line_start(text, last.first) : last.first]
        indent = before if not before.strip(" \t") else indent
    label = "" if key is None else _text(key) + (f":{style.space}" if inline else ": ")
    new = label + (style.short(value) if inline else style.pretty(value, indent))
    if last is None:
        end = _last_thing(text, node.start + 1, node.end - 1)
        commented = end > node.start + 1
        if inline and not commented:
            return text[: node.start + 1] + new + text[node.end - 1 :]
        rest = text[end : node.end - 1] if commented else ""
        closing = rest if _BREAK.search(rest) else style.newline + base
        return text[:end] + style.newline + indent + new + closing + text[node.end - 1 :]
    end = _last_thing(text, last.end, node.end - 1)
    gap = style.space if inline else style.newline + indent
    if last.comma is not None:
        return text[:end] + gap + new + "," + text[end:]
    return text[: last.end] + "," + text[last.end : end] + gap + new + text[end:]


def _without(text: str, node: Node, index: int) -> str:
    """Without this item, the blanks before it, and the comma that parts it from the others."""
    item = node.items[index]
    previous = node.items[index - 1] if index else None
    after = previous.end if previous is not None else node.start + 1
    start = _last_thing(text, after, item.first)
    end = item.end if item.comma is None else item.comma + 1
    if previous is None and index + 1 < len(node.items):
        following = node.items[index + 1].first
        if not text[end:following].strip(" \t"):  # the next one takes its place in the line
            return text[: item.first] + text[following:]
    head = text[:start]
    if previous is not None and item.comma is None and previous.comma is not None:
        head = text[: previous.comma] + text[previous.comma + 1 : start]
    if len(node.items) == 1 and not (head[node.start + 1 :] + text[end : node.end - 1]).strip():
        return text[: node.start + 1] + text[node.end - 1 :]
    return head + text[end:]


def _last_thing(text: str, start: int, end: int) -> int:
    """Where the last comment or comma of a gap between two items ends; `start` if it has none."""
    things = [found.end() for found in _GAP.finditer(text, start, end) if found["thing"]]
    return things[-1] if things else start


def _line_start(text: str, position: int) -> int:
    return text.rfind("\n", 0, position) + 1


def _indent_at(text: str, position: int) -> str:
    """The indentation of the line of this place."""
    line = text[_line_start(text, position) : position]
    return line[: len(line) - len(line.lstrip(" \t"))]


_SKIP = re.compile(r"(?:[ \t\r\n]++|//[^\r\n]*+|/\*.*?\*/)*+", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]++|\\[^\x00-\x1f])*+"')
_WORD = re.compile(r"(?:true|false|null|-?(?:0|[1-9]\d*+)(?:\.\d++)?(?:[eE][+-]?\d++)?)(?![\w.+-])")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


_PLAIN = json.JSONDecoder(parse_constant=_no_constant)
"""Reads what has no comments, many times faster than the scanner."""


class Node:
    """A value and where it is. What it consists of is looked at only when somebody asks: a file
    may be large, and one path through it is of interest."""

    __slots__ = ("_items", "_text", "_value", "comma", "end", "first", "key", "kind", "start")

    def __init__(
        self, text: str, start: int, end: int, *, items: list[Node] | None = None, value: Any = None
    ) -> None:
        self._text, self.start, self.end = text, start, end
        self._items, self._value = items, value
        self.key: str | None = None
        self.first = start  # where its key begins, if it has one
        self.comma: int | None = None  # where the comma after it is
        kinds: dict[str, Literal["object", "array"]] = {"{": "object", "[": "array"}
        self.kind = kinds.get(text[start], "other")

    @property
    def items(self) -> list[Node]:
        if self._items is None:
            scanner = _Scanner(self._text, self.start)
            self._items = [] if self.kind == "other" else scanner.items(0)
        return self._items

    def member(self, key: str | int) -> Node | None:
        """Of several with the same key the last counts."""
        if isinstance(key, int):
            return self.items[key] if self.kind == "array" else None
        return next((item for item in reversed(self.items) if item.key == key), None)

    def value(self) -> Any:
        if self._items is None or self.kind == "other":
            return self._value
        if self.kind == "object":
            return {item.key: item.value() for item in self._items}
        return [item.value() for item in self._items]


@dataclass(slots=True)
class _Scanner:
    text: str
    position: int = 0

    def skip(self, more: int = 0) -> None:
        """To the next thing that is neither blank nor comment, after so many characters."""
        found = _SKIP.match(self.text, self.position + more)
        self.position = found.end() if found else self.position + more

    def node(self, depth: int) -> Node:
        start = self.position
        if self.sees("{") or self.sees("["):
            try:
                value, end = _PLAIN.raw_decode(self.text, start)
            except RecursionError:
                self.fail(TOO_DEEP)
            except ValueError:
                items = self.items(depth)
                return Node(self.text, start, self.position, items=items)
            if is_deep(value):
                self.fail(TOO_DEEP)
            self.position = end
        else:
            value = self.string() if self.sees('"') else self.word()
        return Node(self.text, start, self.position, value=value)

    def items(self, depth: int) -> list[Node]:
        """Those of the object or array that begins here."""
        if depth > DEEPEST:
            self.fail(TOO_DEEP)
        closing = "}" if (named := self.sees("{")) else "]"
        found: list[Node] = []
        self.skip(1)
        while not self.sees(closing):
            if found and found[-1].comma is None:
                self.fail(f"“,” or “{closing}” is missing")
            first = self.position
            key = self.key() if named else None
            found.append(self.node(depth + 1))
            found[-1].key, found[-1].first = key, first
            self.skip()
            if self.sees(","):
                found[-1].comma = self.position
                self.skip(1)
        self.position += 1
        return found

    def key(self) -> str:
        if not self.sees('"'):
            self.fail("a key in quotation marks is missing")
        key = self.string()
        self.skip()
        if not self.sees(":"):
            self.fail("“:” is missing")
        self.skip(1)
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
        raise Unparsable(reason, self.text.count("\n", 0, self.position) + 1)
