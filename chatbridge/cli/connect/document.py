"""One file's content with our parts in it, or without them. Everything else stays as it is, byte
for byte, and that is checked before anything is handed on.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from chatbridge.cli.connect.editing import MISSING, CannotEdit, Editor, Keys, Unparsable, at
from chatbridge.cli.connect.jsonc import Jsonc
from chatbridge.cli.connect.parts import Part
from chatbridge.core.errors import ChatbridgeError


def editor_of(format_name: str) -> Editor:
    if format_name == "toml":
        from chatbridge.cli.connect.toml_text import Toml

        return Toml()
    if format_name == "yaml":
        from chatbridge.cli.connect.yaml_text import Yaml

        return Yaml()
    return Jsonc()


def loaded(format_name: str, content: bytes | None) -> dict[str, Any]:
    """What a file says; nothing, if there is none.

    :raises Unparsable:
    """
    return editor_of(format_name).load(_decoded(content or b"")[1])


def connected(
    path: Path, format_name: str, before: bytes | None, parts: Sequence[Part], way_out: str
) -> bytes | None:
    """The content with all parts in it.

    :raises ChatbridgeError:
    """
    editor = editor_of(format_name)

    def added(text: str) -> str:
        for part in parts:
            text = part.add(editor, text)
        return text

    return _edited(path, editor, before, parts, added, way_out)


def disconnected(
    path: Path,
    format_name: str,
    before: bytes | None,
    parts: Sequence[Part],
    copies: Sequence[bytes],
    way_out: str,
) -> bytes | None:
    """The content without any of the parts; None: the file held nothing else. If one of the copies
    is what it was before, that is it, to the byte.

    :raises ChatbridgeError:
    """
    editor = editor_of(format_name)
    if before is None or not _any_there(editor, parts, before, path, way_out):
        return before
    earlier = [it for it in copies if _is_without(editor, parts, it)]
    for candidate in (*earlier, b""):
        if _with_parts_of(editor, candidate, before, parts) == before:
            return candidate if candidate or candidate in copies else None

    def kept(keys: Keys) -> bool:
        return any(at(editor.load(_decoded(it)[1]), keys) is not MISSING for it in earlier[:1])

    def taken(text: str) -> str:
        for part in parts:
            text = part.take(editor, text, kept)
        return text

    return _edited(path, editor, before, parts, taken, way_out)


def _edited(
    path: Path,
    editor: Editor,
    before: bytes | None,
    parts: Sequence[Part],
    edit: Callable[[str], str],
    way_out: str,
) -> bytes | None:
    try:
        mark, text = _decoded(before or b"")
        new = edit(text)
        if new == text:
            return before
        if not _says_the_same(editor, text, new, parts):
            raise CannotEdit("it cannot be changed without changing more than that")
    except Unparsable as error:
        raise _refusal(path, error, way_out) from None
    except RecursionError:
        raise _refusal(path, Unparsable("it is nested too deeply"), way_out) from None
    except CannotEdit as error:
        raise ChatbridgeError(
            f"{path}: {error}. Nothing was written. To add it by hand: {way_out}"
        ) from None
    return mark + new.encode()


def _refusal(path: Path, error: Unparsable, way_out: str) -> ChatbridgeError:
    where = f", line {error.line}" if error.line else ""
    return ChatbridgeError(
        f"{path}{where} cannot be understood: {error.reason}. Nothing was written. "
        f"Put it right, or add the entry by hand: {way_out}"
    )


def _decoded(content: bytes) -> tuple[bytes, str]:
    """The byte order mark, if there is one, and the text.

    :raises Unparsable:
    """
    mark = codecs.BOM_UTF8 if content.startswith(codecs.BOM_UTF8) else b""
    try:
        return mark, content[len(mark) :].decode()
    except UnicodeDecodeError as error:
        raise Unparsable("it is not UTF-8", content.count(b"\n", 0, error.start) + 1) from None


def _any_there(
    editor: Editor, parts: Sequence[Part], content: bytes, path: Path, way_out: str
) -> bool:
    try:
        tree = editor.load(_decoded(content)[1])
    except Unparsable as error:
        raise _refusal(path, error, way_out) from None
    return any(part.there(tree) for part in parts)


def _is_without(editor: Editor, parts: Sequence[Part], content: bytes) -> bool:
    try:
        tree = editor.load(_decoded(content)[1])
    except Unparsable:
        return False
    return not any(part.there(tree) for part in parts)


def _with_parts_of(
    editor: Editor, content: bytes, source: bytes, parts: Sequence[Part]
) -> bytes | None:
    """`content` with our parts as `source` has them; None: they cannot be put there."""
    mark, text = _decoded(content)
    tree = editor.load(_decoded(source)[1])
    try:
        for part in parts:
            if part.there(tree):
                text = part.again(editor, text, tree)
    except CannotEdit:
        return None
    return mark + text.encode()


def _says_the_same(editor: Editor, text: str, new: str, parts: Sequence[Part]) -> bool:
    """Beside our parts. A new text that cannot be read says nothing, and that is not its owner's
    mistake."""
    before = _others(editor.load(text), parts)
    try:
        return before == _others(editor.load(new), parts)
    except Unparsable:
        return False


def _others(tree: dict[str, Any], parts: Sequence[Part]) -> dict[str, Any]:
    """What a document says beside our parts; objects and lists that are empty say nothing."""
    for part in parts:
        tree = part.beside(tree)
    return tree
