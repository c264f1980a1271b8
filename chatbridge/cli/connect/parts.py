"""What chatbridge wants in a file: an entry among a client's servers, or words in a list.

A part knows how it gets in, whether it is in, and how it gets out again. The file around it is not
its business.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from chatbridge.cli.connect.editing import MISSING, CannotEdit, Editor, Keys, at
from chatbridge.cli.connect.jsonc import Jsonc

Kept = Callable[[Keys], bool]
"""Whether an object was there before us, and stays though it is empty."""

_REMOTE = ("url", "serverUrl", "httpUrl", "uri")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A time-out of the client's that the link is told, too, so that the hub knows of it."""

    key: str
    unit: int
    """How many of the time-out's units are a second."""
    ceiling: float | None
    """More the client does not take, in seconds."""

    def told(self, args: list[Any], entry: dict[str, Any]) -> list[Any]:
        """The arguments with what the entry says, whatever they said before."""
        others = []
        words = iter(args)
        for word in words:
            if word == "--limit":
                next(words, None)
            elif not str(word).startswith("--limit="):
                others.append(word)
        after = others.index("mcp") + 1 if "mcp" in others else len(others)
        seconds = min(entry[self.key] / self.unit, self.ceiling or float("inf"))
        return [*others[:after], "--limit", str(int(seconds)), *others[after:]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    keys: Keys
    shape: dict[str, Any]
    """Has to be like this."""
    numbers: dict[str, int] = field(default_factory=dict)
    """Have to be at least this."""
    first: dict[str, Any] = field(default_factory=dict)
    """Only for a new entry."""
    on: tuple[str, bool] | None = None
    limit: Limit | None = None

    def add(self, editor: Editor, text: str) -> str:
        """:raises CannotEdit:"""
        found = at(editor.load(text), self.keys)
        if found is MISSING or found is None:
            return editor.put(text, self.keys, self.whole())
        if not isinstance(found, dict):
            raise CannotEdit(f"“{'.'.join(self.keys)}” is not an object")
        if remote := next((key for key in _REMOTE if key in found), None):
            raise CannotEdit(f"“{'.'.join(self.keys)}” leads elsewhere, by “{remote}”")
        for key, value in self._changes(found).items():
            text = editor.put(text, (*self.keys, key), value)
        return text

    def whole(self) -> dict[str, Any]:
        return self._told(self.shape | self.numbers | self.first)

    def _told(self, entry: dict[str, Any]) -> dict[str, Any]:
        if self.limit is None:
            return entry
        return entry | {"args": self.limit.told(entry["args"], entry)}

    def _changes(self, found: dict[str, Any]) -> dict[str, Any]:
        """What has to be different. Further arguments, longer times and other keys are kept."""
        wanted = {key: _kept_tail(value, found.get(key)) for key, value in self.shape.items()}
        wanted |= {
            key: number for key, number in self.numbers.items() if not _reaches(found, key, number)
        }
        if self.on is not None and self.on[0] in found:
            wanted[self.on[0]] = self.on[1]
        wanted = self._told(found | wanted)
        return {key: value for key, value in wanted.items() if found.get(key) != value}

    def there(self, tree: dict[str, Any]) -> bool:
        return at(tree, self.keys) is not MISSING

    def again(self, editor: Editor, text: str, tree: dict[str, Any]) -> str:
        """`text` with this part as `tree` has it."""
        return editor.put(text, self.keys, at(tree, self.keys))

    def beside(self, tree: dict[str, Any]) -> dict[str, Any]:
        """Everything but this part."""
        return _beside(tree, self.keys, lambda _: None)

    def take(self, editor: Editor, text: str, kept: Kept) -> str:
        text = editor.remove(text, self.keys)
        return _without_empty(editor, text, self.keys[:-1], kept)


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """Strings in a list, in JSON."""

    keys: Keys
    words: Sequence[str]
    covered_by: frozenset[str] = frozenset()
    """One of these says the same as all of ours."""

    def add(self, editor: Editor, text: str) -> str:
        """:raises CannotEdit:"""
        tree = editor.load(text)
        if not self.covered_by.isdisjoint(_strings(tree, self.keys)):
            return text
        missing = [word for word in self.words if word not in _strings(tree, self.keys)]
        return self._with(editor, text, missing)

    def there(self, tree: dict[str, Any]) -> bool:
        return not set(self.words).isdisjoint(_strings(tree, self.keys))

    def again(self, editor: Editor, text: str, tree: dict[str, Any]) -> str:
        ours = [word for word in _strings(tree, self.keys) if word in self.words]
        return self._with(editor, text, ours)

    def _with(self, editor: Editor, text: str, words: list[str]) -> str:
        assert isinstance(editor, Jsonc)
        if at(editor.load(text), self.keys) is MISSING and words:
            return editor.put(text, self.keys, words)
        for word in words:
            text = editor.append(text, self.keys, word)
        return text

    def beside(self, tree: dict[str, Any]) -> dict[str, Any]:
        def others(found: Any) -> Any:
            if not isinstance(found, list):
                return found
            return [it for it in found if it not in self.words]

        return _beside(tree, self.keys, others)

    def take(self, editor: Editor, text: str, kept: Kept) -> str:
        assert isinstance(editor, Jsonc)
        for word in self.words:
            text = editor.discard(text, self.keys, word)
        return _without_empty(editor, text, self.keys, kept)


Part = Entry | Words


def _kept_tail(value: Any, found: Any) -> Any:
    """A list that goes on after ours is the owner's; the first word of a command is always ours."""
    if isinstance(value, list) and isinstance(found, list):
        if found[: len(value)] == value:
            return found
        if len(value) > 1 and found[1 : len(value)] == value[1:]:
            return [value[0], *found[1:]]
    return value


def _reaches(found: dict[str, Any], key: str, number: int) -> bool:
    there = found.get(key)
    return isinstance(there, int | float) and not isinstance(there, bool) and there >= number


def _strings(tree: dict[str, Any], keys: Keys) -> list[str]:
    found = at(tree, keys)
    return [it for it in found if isinstance(it, str)] if isinstance(found, list) else []


def _beside(tree: dict[str, Any], keys: Keys, change: Callable[[Any], Any]) -> dict[str, Any]:
    """A tree with another value under these keys; what is empty then is left out."""
    if keys[0] not in tree:
        return tree
    value = tree[keys[0]]
    if len(keys) == 1:
        value = change(value)
    elif isinstance(value, dict):
        value = _beside(value, keys[1:], change)
    if value is None or value == {} or value == []:
        return {key: tree[key] for key in tree if key != keys[0]}
    return tree | {keys[0]: value}


def _without_empty(editor: Editor, text: str, keys: Keys, kept: Kept) -> str:
    while keys and not kept(keys) and editor.bare(text, keys):
        text = editor.remove(text, keys)
        keys = keys[:-1]
    return text
