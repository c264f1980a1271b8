"""A definition file as a text: strict JSON, of a sensible size, with the line of what is not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chatbridge.commands.definitions.check import check
from chatbridge.commands.definitions.json_text import MAX_BYTES, MAX_DEPTH, MAX_TOKENS
from chatbridge.commands.definitions.problems import Problem

FILE = Path("tool.json")
GOOD = {
    "schema": 2,
    "name": "tool",
    "command": ["tool"],
    "subcommands": [{"name": "run", "description": "Run it."}],
}


def problems(text: str) -> tuple[Problem, ...]:
    return check(text, file=FILE).problems


@pytest.mark.parametrize(
    ("text", "line", "found"),
    [
        ("", 1, "an empty file"),
        (" \n\n", 1, "an empty file"),
        ("{\n", 2, "the end of the file"),
        ('{\n"a": 1,\n}', 2, "a comma before }"),
        ('{\n"a": [1,\n]\n}', 2, "a comma before ]"),
        ('{\n"a": 1\n"b": 2}', 3, '"\\"" where a comma is missing'),
        ("{\n// none\n}", 2, "a comment"),
        ('{"a": 1,\n/* none */ "b": 2}', 2, "a comment"),
        ("# none\n{}", 1, "a comment"),
        ("{\n'a': 1}", 2, "the quotation mark '"),
        ("{\n“a”: 1}", 2, "the quotation mark “"),
        ("{\na: 1}", 2, '"a" where a key should be'),
        ('{"a"\n1}', 2, '"1" where a colon is missing'),
        ("],", 1, '"]" where a value should be'),
        ("{}\n{}", 2, "something after the end"),
        ('{"a":\n"x}', 2, "a text that does not end"),
        ('{"a": "x\ny"}', 1, "a line break or control character in a text"),
        ('{"a":\n"\\x"}', 2, "a backslash that means nothing"),
        ('{"a":\nTrue}', 2, '"T" where a value should be'),
        ('{"a": "NaN",\n"b": NaN}', 2, "NaN"),
        ('{"a": [\n\n-Infinity]}', 3, "-Infinity"),
    ],
)
def test_what_is_not_json_is_told_with_its_line(text: str, line: int, found: str) -> None:
    (problem,) = problems(text)
    assert (problem.kind, problem.path, problem.line) == ("syntax", "", line)
    assert problem.found == found


@pytest.mark.parametrize("text", ["[]", "5", '"x"', "null", "[{}]"])
def test_a_file_that_is_no_object_is_told_so(text: str) -> None:
    (problem,) = problems(text)
    assert (problem.kind, problem.path, problem.line) == ("wrong_type", "", 1)


def test_a_key_that_stands_in_an_object_twice_is_told_with_both_lines() -> None:
    text = json.dumps(GOOD, indent=1).replace(
        '"name": "run"', '"name": "run",\n"enabled": false,\n"enabled": true'
    )
    (problem,) = problems(text)
    assert (problem.kind, problem.path) == ("duplicate", "subcommands[0].enabled")
    assert problem.line == 11
    assert "after line 10" in problem.found


def test_lines_are_counted_with_any_ending() -> None:
    for ending in ("\n", "\r\n", "\r"):
        text = json.dumps({**GOOD, "approve": "x"}, indent=1).replace("\n", ending)
        assert [problem.line for problem in problems(text)] == [13]


def test_a_byte_order_mark_makes_no_difference() -> None:
    assert check("\ufeff" + json.dumps(GOOD), file=FILE) == check(json.dumps(GOOD), file=FILE)
    (problem,) = problems("\ufeff{")
    assert problem.line == 1


def test_a_file_that_is_too_large_is_not_read() -> None:
    fits = json.dumps({**GOOD, "description": "x" * (MAX_BYTES - 200)})
    assert problems(fits) == ()
    (problem,) = problems(fits + " " * 200)
    assert problem.kind == "too_large"
    (problem,) = problems(json.dumps({"description": "ü" * (MAX_BYTES // 2)}, ensure_ascii=False))
    assert problem.kind == "too_large"


def test_a_file_with_too_many_values_is_not_read() -> None:
    (problem,) = problems(json.dumps({**GOOD, "hints": ["x"] * MAX_TOKENS}))
    assert problem.kind == "too_large"
    assert problems(json.dumps({**GOOD, "hints": ["x"] * (MAX_TOKENS // 4)})) == ()


def test_a_file_that_is_nested_too_deeply_is_not_read() -> None:
    for text in ("[" * 900_000, '{"a":' * 100_000, "\n" + "[" * 40 + "]" * 40):
        (problem,) = problems(text)
        assert problem.kind == "too_deep"
    deep = json.dumps({**GOOD, "x": json.loads("[" * (MAX_DEPTH - 1) + "]" * (MAX_DEPTH - 1))})
    assert [problem.kind for problem in problems(deep)] == ["unknown_field"]
    assert problems(json.dumps({**GOOD, "description": "[" * 100})) == ()
