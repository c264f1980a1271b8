"""The editor of JSON with comments: what it adds and takes away, and what it leaves alone."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.cli.connect.editing import CannotEdit, Unparsable, value_at
from chatbridge.cli.connect.jsonc import Jsonc

KEYS = ("servers", "ours")
ENTRY = {"command": "/x", "args": ["mcp"], "timeout": 60}
EDITOR = Jsonc()

BLANKS = st.sampled_from(
    ["", "", " ", "\n", "\n  ", "\t", "\r\n  ", ' // } , " note\n', "/* { */ "]
)
NAMES = st.sampled_from(["a", "servers", "b c", 'q"', "ü", "//", "}"])
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=12,
)


@st.composite
def written(draw: st.DrawFn, value: Any) -> str:
    """A value as somebody may have written it, with blanks and comments anywhere."""
    items: list[str] = []
    opening, closing = "{", "}"
    if isinstance(value, dict):
        for key in value:
            label = f"{json.dumps(key)}{draw(BLANKS)}:{draw(BLANKS)}"
            items.append(label + draw(written(value[key])))
    elif isinstance(value, list):
        opening, closing = "[", "]"
        items = [draw(written(it)) for it in value]
    else:
        return json.dumps(value, ensure_ascii=bool(draw(st.booleans())))
    trailing = "," if len(items) > 0 and draw(st.booleans()) else ""
    inside = ",".join(f"{draw(BLANKS)}{item}{draw(BLANKS)}" for item in items)
    return f"{opening}{inside}{trailing}{draw(BLANKS)}{closing}"


@st.composite
def documents(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    tree = draw(st.dictionaries(NAMES, VALUES, max_size=4))
    if draw(st.booleans()):
        tree["servers"] = draw(st.dictionaries(NAMES, VALUES, max_size=3))
    if not isinstance(tree.get("servers", {}), dict):
        del tree["servers"]
    return f"{draw(BLANKS)}{draw(written(tree))}{draw(BLANKS)}", tree


@given(documents())
def test_a_document_says_what_was_written(document: tuple[str, dict[str, Any]]) -> None:
    text, tree = document
    assert EDITOR.load(text) == tree


@given(documents())
def test_after_putting_an_entry_it_is_there_and_nothing_else_has_changed(
    document: tuple[str, dict[str, Any]],
) -> None:
    text, tree = document
    new = EDITOR.put(text, KEYS, ENTRY)
    assert EDITOR.load(new) == tree | {"servers": tree.get("servers", {}) | {"ours": ENTRY}}


@given(documents())
def test_what_was_there_is_still_there_in_its_order_around_what_was_put(
    document: tuple[str, dict[str, Any]],
) -> None:
    text, tree = document
    new = EDITOR.put(text, KEYS, ENTRY)
    if tree.get("servers"):  # an empty object's blanks may go
        left = iter(new)
        assert all(char in left for char in text)


@given(documents())
def test_taking_out_what_was_put_gives_the_same_text(document: tuple[str, dict[str, Any]]) -> None:
    text, tree = document
    new = EDITOR.remove(EDITOR.put(text, KEYS, ENTRY), KEYS)
    if tree.get("servers"):
        assert new == text
    elif tree and "servers" not in tree:
        assert EDITOR.remove(new, ("servers",)) == text
    else:
        assert EDITOR.load(new) == tree | {"servers": {}}


@given(documents(), st.sampled_from(["timeout", "command", "new"]), SCALARS)
def test_one_key_of_an_entry_can_be_changed(
    document: tuple[str, dict[str, Any]], key: str, value: Any
) -> None:
    text = EDITOR.put(document[0], KEYS, ENTRY)
    new = EDITOR.put(text, (*KEYS, key), value)
    assert value_at(EDITOR.load(new), KEYS) == ENTRY | {key: value}
    assert EDITOR.remove(new, KEYS) == EDITOR.remove(text, KEYS)


@given(documents(), st.lists(st.sampled_from(["w", "x", 'y"']), max_size=3, unique=True))
def test_words_come_into_a_list_and_out_again(
    document: tuple[str, dict[str, Any]], words: list[str]
) -> None:
    text = EDITOR.put(document[0], ("list",), ["first"])
    new = text
    for word in words:
        new = EDITOR.append(new, ("list",), word)
    assert EDITOR.load(new)["list"] == ["first", *words]
    for word in words:
        new = EDITOR.discard(new, ("list",), word)
    assert new == text


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[1]", 1),
        ('{\n"a": }', 2),
        ('{\n"a": 1\n"b": 2}', 3),
        ('{"a": 1', 1),
        ("{\n\n'a': 1}", 3),
        ('{"a": "x\ny"}', 1),
        ('{"a": NaN}', 1),
        ('{"a": 01}', 1),
        ('{"a": "\\q"}', 1),
        ('{"a": 1} /* never ends', 1),
        ('{"a": 1}\n{}', 2),
        ("{,}", 1),
        ('{"a": 1,,}', 1),
        ("{" * 3, 1),
        ('{"a":' + "[" * 5000 + "]" * 5000 + "}", 1),
    ],
)
def test_what_is_no_json_is_refused_with_its_line(text: str, line: int) -> None:
    with pytest.raises(Unparsable) as refused:
        EDITOR.put(text, KEYS, ENTRY)
    assert refused.value.line == line


def test_of_two_equal_keys_the_last_counts_and_both_go() -> None:
    text = '{"servers": {"ours": 1, "b": 2, "ours": {"timeout": 1}}}'
    changed = EDITOR.put(text, (*KEYS, "timeout"), 9)
    assert changed == text.replace('"timeout": 1', '"timeout": 9')
    assert EDITOR.remove(text, KEYS) == '{"servers": {"b": 2}}'


def test_a_place_that_is_no_object_is_not_overwritten() -> None:
    with pytest.raises(CannotEdit, match="“servers” is not an object"):
        EDITOR.put('{"servers": []}', KEYS, ENTRY)


@pytest.mark.parametrize("text", ["", "  \n", "// nothing yet\n", "/* nothing */"])
def test_a_text_without_a_value_gets_one(text: str) -> None:
    new = EDITOR.put(text, KEYS, ENTRY)
    assert EDITOR.load(new) == {"servers": {"ours": ENTRY}}
    assert new.startswith(text.strip())


def test_an_empty_object_on_one_line_is_opened_up() -> None:
    assert EDITOR.put("{}\n", ("a",), 1) == '{\n  "a": 1\n}\n'
    assert EDITOR.remove('{\n  "a": 1\n}\n', ("a",)) == "{}\n"


def test_a_comment_behind_the_last_member_stays_with_it() -> None:
    text = '{\n\t"a": 1 // one\n}'
    assert EDITOR.put(text, ("b",), 2) == '{\n\t"a": 1, // one\n\t"b": 2\n}'


def test_a_large_file_is_changed_in_one_place() -> None:
    history = {f"/p/{i}": {"history": ["x" * 80] * 40} for i in range(3000)}
    text = json.dumps({"projects": history, "servers": {"b": {}}}, indent=2)
    assert len(text) > 10_000_000
    new = EDITOR.put(text, KEYS, ENTRY)
    assert EDITOR.remove(new, KEYS) == text
