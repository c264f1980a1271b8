"""Edits YAML as text: only the entry in question changes.

Only block style is edited. What is written in braces is left alone, unless the braces are empty.
"""

from __future__ import annotations

import json
import re
from typing import Any

import yaml
from yaml.nodes import CollectionNode, MappingNode, Node, ScalarNode

from chatbridge.cli.connect.editing import (
    CannotEdit,
    Keys,
    Unparsable,
    line_end,
    nested,
    newline_of,
    value_at,
)

_PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9_./-]*")
_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})

MAX_VALUES = 100_000
"""Values, with what is repeated counted each time."""

_Pair = tuple[Node, Node]


class Yaml:
    """The editor of this format."""

    def load(self, text: str) -> dict[str, Any]:
        node = _composed(text)
        if node is None:
            return {}
        try:
            if _written_out(node, {}) > MAX_VALUES:
                raise Unparsable("it repeats parts of itself too often")
            found: dict[str, Any] = yaml.safe_load(text)
        except (yaml.YAMLError, RecursionError, ValueError) as error:
            raise _unparsable(error) from None
        return found

    def put(self, text: str, keys: Keys, value: Any) -> str:
        newline = newline_of(text)
        node: Node | None = _composed(text)
        if node is None:
            return _ended(text, newline) + _block(nested(keys, value), "", newline)
        for depth, key in enumerate(keys):
            pairs, pair = _find(node, keys[:depth], key)
            if pair is None:
                below = nested(keys[depth:], value)
                indent = " " * (pairs[0][0].start_mark.column if pairs else 0)
                place = _line_end(text, _end(node))
                head = _ended(text[:place], newline)
                return head + _block(below, indent, newline) + text[place:]
            node = pair[1]
            if depth + 1 < len(keys) and _empty(node):
                indent = " " * (pair[0].start_mark.column + 2)
                block = _block(nested(keys[depth + 1 :], value), indent, newline)
                return _filled(text, pair, block)
        return text[: node.start_mark.index] + _flow(value) + text[_end(node) :]

    def remove(self, text: str, keys: Keys) -> str:
        node: Node | None = _composed(text)
        above: _Pair | None = None
        for depth, key in enumerate(keys):
            if node is None or _empty(node):
                return text
            pairs, pair = _find(node, keys[:depth], key)
            if pair is None:
                return text
            if depth + 1 == len(keys):
                start = text.rfind("\n", 0, pair[0].start_mark.index) + 1
                end = _line_end(text, _end(pair[1]))
                if len(pairs) > 1 or above is None:
                    return text[:start] + text[end:]
                label = _colon(text, above[0])
                return text[:label] + " {}" + text[label:start] + text[end:]
            above, node = pair, pair[1]
        return text

    def is_empty(self, text: str, keys: Keys) -> bool:
        return bool(value_at(self.load(text), keys) == {})


def _composed(text: str) -> Node | None:
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise _unparsable(error) from None
    if node is not None and not isinstance(node, MappingNode):
        raise Unparsable("it is not a mapping", 1)
    return node


def _written_out(node: Node, known: dict[int, int]) -> int:
    """How many values there are without `&` and `*`. One that is inside itself has no end."""
    if id(node) not in known:
        known[id(node)] = MAX_VALUES
        inner = node.value if isinstance(node, CollectionNode) else ()
        parts = (part for it in inner for part in (it if isinstance(it, tuple) else (it,)))
        known[id(node)] = 1 + sum(_written_out(part, known) for part in parts)
    return known[id(node)]


def _unparsable(error: Exception) -> Unparsable:
    if not isinstance(error, yaml.MarkedYAMLError):
        return Unparsable("it is not YAML")
    mark = error.problem_mark or error.context_mark
    return Unparsable(error.problem or "it is not YAML", mark.line + 1 if mark else None)


def _find(node: Node, keys: Keys, key: str) -> tuple[list[_Pair], _Pair | None]:
    """The pairs of the mapping under these keys, and that of the key. :raises CannotEdit:"""
    name = f"“{'.'.join(keys)}”" if keys else "the document"
    if not isinstance(node, MappingNode):
        raise CannotEdit(f"{name} is not a mapping")
    if node.flow_style:
        raise CannotEdit(f"{name} is written in braces")
    found = [it for it in node.value if it[0].value == key]
    if len(found) > 1:
        raise CannotEdit(f"“{key}” is there twice")
    return node.value, found[0] if found else None


def _empty(node: Node) -> bool:
    if isinstance(node, MappingNode):
        return not node.value
    return isinstance(node, ScalarNode) and node.tag == "tag:yaml.org,2002:null"


def _end(node: Node) -> int:
    """Where a value's last character is; a block's own mark lies behind the blanks after it."""
    if isinstance(node, CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(last[1] if isinstance(last, tuple) else last)
    index: int = node.end_mark.index
    return index


def _line_end(text: str, position: int) -> int:
    """Behind the line of this place; a block of text ends where a line begins."""
    return position if text[:position].endswith("\n") else line_end(text, position)


def _colon(text: str, key: Node) -> int:
    """Behind the colon of a key."""
    return text.index(":", key.end_mark.index) + 1


def _filled(text: str, pair: _Pair, block: str) -> str:
    """With a block in place of `{}`, `null` or nothing."""
    label = _colon(text, pair[0])
    line, newline, rest = text[max(label, pair[1].end_mark.index) :].partition("\n")
    return text[:label] + line + (newline or newline_of(text)) + block + rest


def _ended(text: str, newline: str) -> str:
    return text if not text or text.endswith("\n") else text + newline


def _block(value: dict[str, Any], indent: str, newline: str) -> str:
    text = ""
    for key, inner in value.items():
        deep = isinstance(inner, dict) and inner
        below = f"{newline}{_block(inner, indent + '  ', newline)}" if deep else ""
        text += f"{indent}{_flow(key)}:{below or f' {_flow(inner)}{newline}'}"
    return text


def _flow(value: Any) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_flow, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_flow(key)}: {_flow(value[key])}' for key in value)}}}"
    return json.dumps(value, ensure_ascii=False)
