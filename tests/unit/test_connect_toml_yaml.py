"""The editors of TOML and YAML: what they add and take away, and what they leave alone."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.cli.connect.editing import CannotEdit, Unparsable
from chatbridge.cli.connect.toml_text import Toml
from chatbridge.cli.connect.yaml_text import Yaml

KEYS = ("servers", "ours")
ENTRY = {"command": '/x "y"', "args": ["mcp"], "timeout": 60, "on": True}

TOML_LINES = st.lists(
    st.sampled_from(
        [
            "",
            "# [servers.ours]",
            'k{n} = "# no comment"  # comment',
            "k{n} = '[servers.ours]'",
            'k{n} = """\n[servers.ours]\n"quoted\\""""',
            "k{n} = '''\n[servers.ours]''' # x",
            "k{n} = [\n  1, # ]\n  [2, {{ a = ']' }}],\n]",
            'k{n} = {{ a = 1, "b.c" = "}}" }}',
            'd{n}."x.y".z = 1',
            "[t{n}]",
            "  [t{n}.'a.b']",
            "[[list{n}]]",
            "[servers.s{n}]",
            '[servers."s.{n}"]',
            "date{n} = 2026-11-15T10:00:00Z",
        ]
    ),
    max_size=8,
)


@st.composite
def toml_documents(draw: st.DrawFn) -> str:
    lines = [line.format(n=n) for n, line in enumerate(draw(TOML_LINES))]
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    return newline.join(line.replace("\n", newline) for line in [*lines, ""])


@given(toml_documents())
def test_a_table_comes_into_toml_and_out_again(text: str) -> None:
    editor = Toml()
    tree = tomllib.loads(text)
    new = editor.put(text, KEYS, ENTRY)
    assert tomllib.loads(new) == tree | {"servers": tree.get("servers", {}) | {"ours": ENTRY}}
    assert new.startswith(text)
    assert editor.remove(new, KEYS) == text


@given(toml_documents(), toml_documents(), st.sampled_from(["timeout", "new", "a b"]))
def test_one_key_of_a_table_in_the_middle_of_toml_can_be_changed(
    head: str, tail: str, key: str
) -> None:
    editor = Toml()
    text = editor.put(head, KEYS, ENTRY) + "[end]\n" + "".join(f"# {it}\n" for it in tail.split())
    new = editor.put(text, (*KEYS, key), 90)
    tree = tomllib.loads(text)
    assert tomllib.loads(new) == tree | {"servers": tree["servers"] | {"ours": ENTRY | {key: 90}}}
    assert editor.remove(new, KEYS) == editor.remove(text, KEYS)


@pytest.mark.parametrize(
    ("text", "changed", "without"),
    [
        (
            '[servers]\nours = { command = "x" } # c\n[b]\n',
            '[servers]\nours = { command = "x", t = 1 } # c\n[b]\n',
            "[servers]\n[b]\n",
        ),
        (
            'servers.ours.command = "x"\nb = 1\n',
            'servers.ours.command = "x"\nservers.ours.t = 1\nb = 1\n',
            "b = 1\n",
        ),
        (
            'a = 1\n\n[servers.ours]\n\n[servers.ours.env]\nX = "1"\n\n# b\n[b]',
            'a = 1\n\n[servers.ours]\nt = 1\n\n[servers.ours.env]\nX = "1"\n\n# b\n[b]',
            "a = 1\n\n# b\n[b]",
        ),
    ],
)
def test_every_way_to_write_a_table_can_be_changed(text: str, changed: str, without: str) -> None:
    assert Toml().put(text, (*KEYS, "t"), 1) == changed
    assert Toml().remove(text, KEYS) == without


def test_a_table_inside_an_inline_table_is_left_alone() -> None:
    text = 'servers = { ours = { command = "x" } }\n'
    with pytest.raises(CannotEdit):
        Toml().put(text, (*KEYS, "t"), 1)
    with pytest.raises(CannotEdit):
        Toml().remove(text, KEYS)


@pytest.mark.parametrize(("text", "line"), [("a = \n", 1), ("a = 1\n[b\n", 2), ("a = 1\na = 2", 2)])
def test_what_is_no_toml_is_refused_with_its_line(text: str, line: int) -> None:
    with pytest.raises(Unparsable) as refused:
        Toml().put(text, KEYS, ENTRY)
    assert refused.value.line == line


YAML_LINES = st.lists(
    st.sampled_from(
        [
            "",
            "# servers:",
            "k{n}: plain # comment",
            "k{n}: 'ours: 1'",
            "k{n}:",
            "k{n}: |\n  servers:\n    ours: 1\n",
            "k{n}:\n- a\n- b: 1",
            "k{n}:\n    deep:\n        deeper: [1, {{a: 2}}]",
            '"q{n}": "x\\n"',
        ]
    ),
    max_size=6,
)


@st.composite
def yaml_documents(draw: st.DrawFn) -> str:
    parts = [line.format(n=n) for n, line in enumerate(draw(YAML_LINES))]
    if draw(st.booleans()):
        step = draw(st.sampled_from(["  ", "    "]))
        other = "servers:\n" + "".join(
            f"{step}# {n}\n{step}s{n}:\n{step}{step}cmd: x\n{step}{step}args:\n{step}{step}- {n}"
            + draw(st.sampled_from(["", "  # last", "\n"]))
            + "\n"
            for n in range(draw(st.integers(1, 3)))
        )
        parts.insert(draw(st.integers(0, len(parts))), other.rstrip("\n"))
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    return "\n".join([*parts, ""]).replace("\n", newline)


@given(yaml_documents())
def test_an_entry_comes_into_yaml_and_out_again(text: str) -> None:
    editor = Yaml()
    tree: dict[str, Any] = yaml.safe_load(text) or {}
    new = editor.put(text, KEYS, ENTRY)
    assert yaml.safe_load(new) == tree | {"servers": tree.get("servers", {}) | {"ours": ENTRY}}
    without = editor.remove(new, KEYS)
    if "servers" not in tree:
        without = editor.remove(without, ("servers",))
    assert without == text


@given(yaml_documents(), st.sampled_from(["timeout", "args", "new"]))
def test_one_key_of_an_entry_in_yaml_can_be_changed(text: str, key: str) -> None:
    editor = Yaml()
    text = editor.put(text, KEYS, ENTRY)
    new = editor.put(text, (*KEYS, key), [1, "two"])
    tree = yaml.safe_load(text)
    changed = tree["servers"]["ours"] | {key: [1, "two"]}
    assert yaml.safe_load(new) == tree | {"servers": tree["servers"] | {"ours": changed}}


@pytest.mark.parametrize("text", ["servers: {}\nb: 1\n", "servers:\nb: 1\n", "servers: {} # c"])
def test_an_empty_place_in_yaml_is_filled(text: str) -> None:
    new = Yaml().put(text, KEYS, ENTRY)
    assert yaml.safe_load(new)["servers"] == {"ours": ENTRY}
    assert ("# c" in new) == ("# c" in text)


def test_an_entry_in_braces_is_left_alone() -> None:
    with pytest.raises(CannotEdit, match="in braces"):
        Yaml().put("servers: {a: {cmd: x}}\n", KEYS, ENTRY)


@pytest.mark.parametrize("text", ["servers:\n  ours: {}\n  ours: {}\n", "servers:\nservers:\n"])
def test_a_key_that_is_there_twice_is_left_alone(text: str) -> None:
    with pytest.raises(CannotEdit, match="there twice"):
        Yaml().put(text, KEYS, ENTRY)
    with pytest.raises(CannotEdit, match="there twice"):
        Yaml().remove(text, KEYS)


@pytest.mark.parametrize(
    ("text", "line"), [("a: [1\nb: 2\n", 2), ("- a\n", 1), ("a: 1\n---\nb: 2\n", 2), ("\ta: 1", 1)]
)
def test_what_is_no_yaml_is_refused_with_its_line(text: str, line: int) -> None:
    with pytest.raises(Unparsable) as refused:
        Yaml().put(text, KEYS, ENTRY)
    assert refused.value.line == line
