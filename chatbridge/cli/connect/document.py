"""The content of a client's file with our entry in it, or without. Everything else stays byte for
byte, which is checked before the content is returned.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from chatbridge.cli.connect.editing import (
    MISSING,
    TOO_DEEP,
    CannotEdit,
    Editor,
    Keys,
    Unparsable,
    is_number,
    value_at,
)
from chatbridge.cli.connect.jsonc import Jsonc
from chatbridge.cli.connect.marked_text import OURS, Marked
from chatbridge.core.errors import ChatbridgeError


def editor_of(format_name: str) -> Editor:
    if format_name == "toml":
        from chatbridge.cli.connect.toml_text import Toml

        return Toml()
    if format_name == "yaml":
        from chatbridge.cli.connect.yaml_text import Yaml

        return Yaml()
    if format_name == "text":
        return Marked()
    if format_name == "javascript":
        return Marked("// chatbridge:begin", "// chatbridge:end")
    return Jsonc()


def loaded(format_name: str, content: bytes | None) -> dict[str, Any]:
    """What a file says; nothing, if there is none. :raises Unparsable:"""
    return editor_of(format_name).load(_decoded(content or b"")[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A client's file, and the parts that chatbridge wants in it. Errors name the way to do it by
    hand, `way_out`."""

    path: Path
    format: str
    content: bytes | None
    """None: there is no file."""
    parts: Sequence[Part]
    way_out: str

    def connected(self) -> bytes | None:
        """The content with all parts in it. :raises ChatbridgeError:"""
        with self._refusals():
            return self._edited(lambda part, editor, text: part.add(editor, text))

    def disconnected(self, copies: Sequence[bytes]) -> bytes | None:
        """The content without any of the parts; None: the file held nothing else. If one of the
        copies is what the file was before, that is it, to the byte. :raises ChatbridgeError:"""
        with self._refusals():
            if self.content is None or self._is_without(self.content):
                return self.content
            earlier = []
            for copy in copies:
                with suppress(Unparsable):
                    earlier += [copy] if self._is_without(copy) else []
            for candidate in (*earlier, b""):
                with suppress(CannotEdit):
                    if self._with_our_parts(candidate) == self.content:
                        return candidate if candidate or candidate in copies else None

            before = [loaded(self.format, it) for it in earlier[:1]]

            def was_there(keys: Keys) -> bool:
                return any(value_at(tree, keys) is not MISSING for tree in before)

            return self._edited(lambda part, editor, text: part.remove(editor, text, was_there))

    @contextmanager
    def _refusals(self) -> Iterator[None]:
        """Errors of editors, for whoever asked."""
        try:
            yield
        except (Unparsable, RecursionError) as error:
            wrong = error if isinstance(error, Unparsable) else Unparsable(TOO_DEEP)
            raise ChatbridgeError(
                f"{wrong.sentence(self.path)}. Nothing was written. "
                f"Put it right, or add the entry by hand: {self.way_out}"
            ) from None
        except CannotEdit as error:
            raise ChatbridgeError(
                f"{self.path}: {error}. Nothing was written. To add it by hand: {self.way_out}"
            ) from None

    def _edited(self, edit: Callable[[Part, Editor, str], str]) -> bytes | None:
        editor = editor_of(self.format)
        mark, text = _decoded(self.content or b"")
        new = text
        for part in self.parts:
            new = edit(part, editor, new)
        before = self._others(text)
        try:
            same = before == self._others(new)
        except Unparsable:  # which is our mistake, not its owner's
            same = False
        if not same:
            raise CannotEdit("it cannot be changed without changing more than that")
        return mark + new.encode()

    def _is_without(self, content: bytes) -> bool:
        tree = loaded(self.format, content)
        return not any(part.is_in(tree) for part in self.parts)

    def _with_our_parts(self, candidate: bytes) -> bytes:
        """It, with our parts as the file has them."""
        mark, text = _decoded(candidate)
        tree, editor = loaded(self.format, self.content), editor_of(self.format)
        for part in self.parts:
            if part.is_in(tree):
                text = part.restore(editor, text, tree)
        return mark + text.encode()

    def _others(self, text: str) -> dict[str, Any]:
        """What the text says beside our parts; empty objects and lists say nothing."""
        tree = editor_of(self.format).load(text)
        for part in self.parts:
            tree = part.rest_of(tree)
        return tree


def _decoded(content: bytes) -> tuple[bytes, str]:
    """The byte order mark, if there is one, and the text. :raises Unparsable:"""
    mark = codecs.BOM_UTF8 if content.startswith(codecs.BOM_UTF8) else b""
    try:
        return mark, content[len(mark) :].decode()
    except UnicodeDecodeError as error:
        raise Unparsable("it is not UTF-8", content.count(b"\n", 0, error.start) + 1) from None


WasThere = Callable[[Keys], bool]
"""Whether an object was there before us, and stays though it is empty."""


class Part(Protocol):
    """What chatbridge wants in a file."""

    def add(self, editor: Editor, text: str) -> str:
        """With this part, in its newest form. :raises CannotEdit:"""

    def is_in(self, tree: dict[str, Any]) -> bool:
        """Whether something of it is in the file."""

    def restore(self, editor: Editor, text: str, tree: dict[str, Any]) -> str:
        """`text` with this part as `tree` has it."""

    def rest_of(self, tree: dict[str, Any]) -> dict[str, Any]:
        """Everything but this part."""

    def remove(self, editor: Editor, text: str, was_there: WasThere) -> str:
        """Without this part, and without what was made for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnValue:
    """One that is all ours."""

    keys: Keys

    def is_in(self, tree: dict[str, Any]) -> bool:
        return value_at(tree, self.keys) is not MISSING

    def restore(self, editor: Editor, text: str, tree: dict[str, Any]) -> str:
        return editor.put(text, self.keys, value_at(tree, self.keys))

    def rest_of(self, tree: dict[str, Any]) -> dict[str, Any]:
        return with_value(tree, self.keys, lambda _: None)

    def remove(self, editor: Editor, text: str, was_there: WasThere) -> str:
        return remove_empty(editor, editor.remove(text, self.keys), self.keys[:-1], was_there)


@dataclass(frozen=True, slots=True, kw_only=True)
class Paragraph(OwnValue):
    """Ours among the owner's text."""

    keys: Keys = OURS
    text: str

    def add(self, editor: Editor, text: str) -> str:
        return editor.put(text, self.keys, self.text)


_REMOTE = ("url", "serverUrl", "httpUrl", "uri")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerEntry(OwnValue):
    shape: dict[str, Any]
    """Has to be like this."""
    numbers: dict[str, int] = field(default_factory=dict)
    """Have to be at least this."""
    first: dict[str, Any] = field(default_factory=dict)
    """Only for a new entry."""
    on: tuple[str, bool] | None = None
    with_limit: Callable[[dict[str, Any]], dict[str, Any]] = lambda entry: entry
    """The entry with its time-out among the link's arguments."""

    def add(self, editor: Editor, text: str) -> str:
        """:raises CannotEdit:"""
        found = value_at(editor.load(text), self.keys)
        if found is MISSING or found is None:
            whole = self.shape | self.numbers | self.first
            return editor.put(text, self.keys, self.with_limit(whole))
        name = f"“{'.'.join(self.keys)}”"
        if not isinstance(found, dict):
            raise CannotEdit(f"{name} is not an object")
        if remote := next((key for key in _REMOTE if key in found), None):
            raise CannotEdit(f"{name} leads elsewhere, by “{remote}”")
        for key, value in self._changes(found).items():
            text = editor.put(text, (*self.keys, key), value)
        return text

    def _changes(self, found: dict[str, Any]) -> dict[str, Any]:
        """What has to be different. Further arguments, longer times and other keys are kept."""
        wanted = {key: _kept_tail(value, found.get(key)) for key, value in self.shape.items()}
        for key, number in self.numbers.items():
            there: Any = found.get(key)
            wanted |= {} if is_number(there) and there >= number else {key: number}
        if self.on is not None and self.on[0] in found:
            wanted[self.on[0]] = self.on[1]
        wanted = self.with_limit(found | wanted)
        return {key: value for key, value in wanted.items() if found.get(key) != value}


@dataclass(frozen=True, slots=True, kw_only=True)
class ListItems:
    """Strings in a list, in JSON."""

    keys: Keys
    words: Sequence[str]
    covered_by: frozenset[str] = frozenset()
    """One of these says the same as all of ours."""
    refused_in: Keys | None = None
    """A list in which one of ours means that they are refused."""

    def add(self, editor: Editor, text: str) -> str:
        """:raises CannotEdit:"""
        tree = editor.load(text)
        if self._refused(tree):
            where = ".".join(self.refused_in or ())
            raise CannotEdit(f"“{where}” has {self.words[0]}, take it out there first")
        found = self._found(tree)
        if not self.covered_by.isdisjoint(found):
            return text
        return self._with(editor, text, [word for word in self.words if word not in found])

    def holds(self, tree: dict[str, Any]) -> bool:
        """Whether all of it is there, and nothing says otherwise."""
        found = set(self._found(tree))
        covered = found.issuperset(self.words) or not self.covered_by.isdisjoint(found)
        return covered and not self._refused(tree)

    def _refused(self, tree: dict[str, Any]) -> bool:
        listed = MISSING if self.refused_in is None else value_at(tree, self.refused_in)
        ours = (*self.words, *self.covered_by)
        return isinstance(listed, list) and any(word in listed for word in ours)

    def is_in(self, tree: dict[str, Any]) -> bool:
        return not set(self.words).isdisjoint(self._found(tree))

    def restore(self, editor: Editor, text: str, tree: dict[str, Any]) -> str:
        return self._with(editor, text, [it for it in self._found(tree) if it in self.words])

    def _found(self, tree: dict[str, Any]) -> list[str]:
        found = value_at(tree, self.keys)
        return [it for it in found if isinstance(it, str)] if isinstance(found, list) else []

    def _with(self, editor: Editor, text: str, words: list[str]) -> str:
        assert isinstance(editor, Jsonc)
        if value_at(editor.load(text), self.keys) is MISSING and words:
            return editor.put(text, self.keys, words)
        for word in words:
            text = editor.append(text, self.keys, word)
        return text

    def rest_of(self, tree: dict[str, Any]) -> dict[str, Any]:
        def others(found: Any) -> Any:
            is_list = isinstance(found, list)
            return [it for it in found if it not in self.words] if is_list else found

        return with_value(tree, self.keys, others)

    def remove(self, editor: Editor, text: str, was_there: WasThere) -> str:
        assert isinstance(editor, Jsonc)
        for word in self.words:
            text = editor.discard(text, self.keys, word)
        return remove_empty(editor, text, self.keys, was_there)


def _kept_tail(value: Any, found: Any) -> Any:
    """A list that goes on after ours is the owner's; the first word of a command is always ours."""
    if isinstance(value, list) and isinstance(found, list):
        if found[: len(value)] == value:
            return found
        if len(value) > 1 and found[1 : len(value)] == value[1:]:
            return [value[0], *found[1:]]
    return value


def with_value(tree: dict[str, Any], keys: Keys, change: Callable[[Any], Any]) -> dict[str, Any]:
    """A tree with another value under these keys; what is empty then is left out."""
    if keys[0] not in tree:
        return tree
    value = tree[keys[0]]
    if len(keys) == 1:
        value = change(value)
    elif isinstance(value, dict):
        value = with_value(value, keys[1:], change)
    if value is None or value == {} or value == []:
        return {key: tree[key] for key in tree if key != keys[0]}
    return tree | {keys[0]: value}


def remove_empty(editor: Editor, text: str, keys: Keys, was_there: WasThere) -> str:
    while keys and not was_there(keys) and editor.is_empty(text, keys):
        text = editor.remove(text, keys)
        keys = keys[:-1]
    return text
