"""The interface of the editors of JSON, TOML and YAML, and what they have in common.

An editor changes a text in one place and leaves everything else as it is. tomlkit and ruamel.yaml
do not: with an entry they remove the owner's comments behind it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, TypeGuard

Keys = tuple[str, ...]
TOO_DEEP = "it is nested too deeply"


class Unparsable(Exception):
    """The text is not of its format. `line` counts from 1; None: it cannot be said."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.reason, self.line = reason, line

    def sentence(self, path: object) -> str:
        where = f", line {self.line}" if self.line else ""
        return f"{path}{where} cannot be understood: {self.reason}"


class CannotEdit(Exception):
    """The text is sound, but written in a way that cannot be changed without rewriting it."""


class Editor(Protocol):
    """All raise Unparsable; `put` and `remove` also CannotEdit."""

    def load(self, text: str) -> dict[str, Any]:
        """What the text says."""

    def put(self, text: str, keys: Keys, value: Any) -> str:
        """With this value under these keys: in place of another, or as the last of its object."""

    def remove(self, text: str, keys: Keys) -> str:
        """Without what is under these keys. An object that is empty then stays."""

    def is_empty(self, text: str, keys: Keys) -> bool:
        """Whether what is under these keys is empty, without even a comment in it."""


MISSING = object()
"""Stands for a value that is not there; None may be one that is."""


def value_at(tree: Any, keys: Keys) -> Any:
    """The value under these keys, or `MISSING`."""
    for key in keys:
        if not isinstance(tree, Mapping) or key not in tree:
            return MISSING
        tree = tree[key]
    return tree


def is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def nested(keys: tuple[str | int, ...], value: Any) -> Any:
    for key in reversed(keys):
        value = {key: value}
    return value


def newline_of(text: str) -> str:
    """The line ending that the text uses first."""
    end = text.find("\n")
    return "\r\n" if end > 0 and text[end - 1] == "\r" else "\n"


def line_end(text: str, position: int) -> int:
    """Where the line of this place ends, its line break included."""
    end = text.find("\n", position)
    return len(text) if end < 0 else end + 1
