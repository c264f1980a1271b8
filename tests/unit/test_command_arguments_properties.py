"""Whatever agents give: it is refused, or a parser reads exactly what was given, where it was."""

from __future__ import annotations

import getopt
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from chatbridge.commands.arguments.argv import MAX_ARGV_BYTES, argv_of, flag_of, style_of
from chatbridge.commands.definitions.definition import Command, Option
from chatbridge.commands.tools.tool import schema_of
from chatbridge.core.errors import ToolInputError
from tests.fakes.made_commands import made
from tests.fakes.option_strategies import JUNK, TEXTS, commands, given_for

HERE = Path("/project")
BEYOND_THE_SCHEMA = (
    "a value that does not begin with -",
    "which parts the items",
    "text without NUL characters",
    "text without lone surrogates",
    "a value that is not empty",
    "because it comes before",
    "a number of at most 300 digits",
    "of which the whole matches",
)
"""How refusals end that the schema does not announce: `input_schema` lists them."""


def parsed(command: Command, argv: tuple[str, ...]) -> tuple[list[tuple[str, str]], list[str]]:
    """As a program that uses getopt reads it: flags with values, and positional values."""
    short, long = "", []
    for option in command.options:
        flag, takes = flag_of(option), option.type != "boolean"
        if flag.startswith("--"):
            long.append(flag[2:] + ("=" if takes else ""))
        else:
            short += flag[1] + (":" if takes else "")
    return getopt.getopt(list(argv[len(command.argv) :]), short, long)


def flags_asked_for(command: Command, given: dict[str, Any]) -> list[str]:
    flags: list[str] = []
    for option in command.options:
        if not option.positional and option.name in given:
            flags += [flag_of(option)] * _count(option, given[option.name])
    return flags


def _count(option: Option, value: Any) -> int:
    if option.type == "boolean":
        return int(value)
    if option.type == "array":
        return min(len(value), 1) if option.join else len(value)
    if option.type == "object":
        return min(len(value), 1) if option.encode == "json" else len(value)
    return 1


def read_back(option: Option, texts: list[str]) -> Any:
    """What a program that knows the option makes of its texts."""
    if option.type == "boolean":
        return bool(texts)
    if option.type == "array":
        kind = option.items.type if option.items else "string"
        items = texts[0].split(option.join) if option.join and texts else texts
        return [_scalar(kind, item) for item in items]
    if option.type == "object":
        if option.encode == "json":
            return json.loads(texts[0]) if texts else {}
        return dict(text.split("=", 1) for text in texts)
    (text,) = texts
    return _scalar(option.type, text)


def _scalar(kind: str, text: str) -> str | int | float:
    if kind == "string":
        return text
    assert "e" not in text.lower()
    return int(text) if kind == "integer" else float(text)


def same(option: Option, found: Any, given: Any) -> bool:
    if option.type == "object" and option.encode == "pairs":
        return found.keys() == given.keys() and all(
            _same_member(found[key], given[key]) for key in given
        )
    if option.type == "number":
        return bool(found == float(given))
    if option.type == "array" and option.items and option.items.type == "number":
        return bool(found == [float(each) for each in given])
    return bool(found == given)


def _same_member(text: str, value: Any) -> bool:
    if isinstance(value, bool):
        return text == str(value).lower()
    return text == value if isinstance(value, str) else float(text) == float(value)


def made_of(command: Command, given: dict[str, Any]) -> tuple[str, ...] | ToolInputError:
    try:
        return argv_of(command, given, project=HERE)
    except ToolInputError as error:
        return error


def _is_json(given: dict[str, Any]) -> bool:
    """Python's own reader takes more, and so may that of a client."""
    return not any(word in json.dumps(given) for word in ("NaN", "Infinity"))


def steps(command: Command, given: dict[str, Any]) -> Iterator[tuple[dict[str, Any], Any]]:
    """What becomes of a call, and then of it without what was refused, until it is taken."""
    while True:
        made = made_of(command, given)
        yield given, made
        to_blame = re.split(r"[.\[]", made.path)[0] if isinstance(made, ToolInputError) else None
        if to_blame not in given:
            return
        given = {name: value for name, value in given.items() if name != to_blame}


@st.composite
def calls(draw: st.DrawFn) -> tuple[Command, dict[str, Any]]:
    command = draw(commands())
    return command, draw(given_for(command))


@settings(max_examples=60)
@drawn(calls())
def test_a_parser_reads_the_options_asked_for_and_the_values_given_and_nothing_else(
    call: tuple[Command, dict[str, Any]],
) -> None:
    command, given = call
    *_, (given, argv) = steps(command, given)
    if isinstance(argv, ToolInputError):
        return
    assert not any("\0" in each for each in argv)
    assert argv[: len(command.argv)] == command.argv
    pairs, rest = parsed(command, argv)
    flags = flags_asked_for(command, given)
    assert [flag for flag, _ in pairs] == flags
    before = argv[len(command.argv) : len(argv) - len(rest)]
    # Nor would a parser that takes whatever begins with a dash find another one.
    assert sum(each.startswith("-") for each in before if each != command.separator) == len(flags)
    for option in command.options:
        if option.positional:
            several = option.type in ("array", "object")
            texts, rest = (rest, []) if several else (rest[:1], rest[1:])
        else:
            texts = [value for flag, value in pairs if flag == flag_of(option)]
        if option.name in given:
            assert same(option, read_back(option, texts), given[option.name])
        else:
            assert texts == []
    assert rest == []


@settings(max_examples=60)
@drawn(calls())
def test_what_the_schema_takes_is_taken_but_for_the_listed_rules_and_nothing_else_is(
    call: tuple[Command, dict[str, Any]],
) -> None:
    command, given = call
    schema = schema_of(command)
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    for some, argv in steps(command, given):
        announced = validator.is_valid(some)
        if announced and _is_json(some) and isinstance(argv, ToolInputError):
            assert any(rule in str(argv) for rule in BEYOND_THE_SCHEMA), argv
        if not isinstance(argv, ToolInputError):
            assert announced


@drawn(commands(), st.dictionaries(TEXTS, JUNK, max_size=3) | JUNK.map(lambda junk: {"a": junk}))
def test_a_refusal_has_two_lines_whatever_was_given(command: Command, given: Any) -> None:
    refusal = made_of(command, given)
    if isinstance(refusal, ToolInputError):
        first, second = str(refusal).splitlines()
        assert first.startswith("Validation error: ")
        assert re.search(": given .*; accepted: .", second)


@drawn(TEXTS, st.sampled_from(["equals", "joined", "separate"]))
def test_a_value_never_leaves_the_argument_of_its_flag(text: str, style: str) -> None:
    flag = "-m" if style == "joined" else "--message"
    option = {"name": "m", "type": "string", "flag": flag, "style": style}
    command = made(option)
    assert style_of(command.options[0]) == style
    argv = made_of(command, {"m": text})
    if not isinstance(argv, ToolInputError):
        own = argv[len(command.argv) :]
        expected = {
            "equals": (f"--message={text}",),
            "joined": (f"-m{text}",),
            "separate": ("--message", text),
        }
        assert own == expected[style]


@settings(max_examples=20)
@drawn(st.lists(st.integers(0, 120_000), max_size=20))
def test_what_linux_would_not_start_is_refused(sizes: list[int]) -> None:
    command = made({"name": "all", "type": "array"})
    argv = made_of(command, {"all": ["é" * (size // 2) for size in sizes]})
    if not isinstance(argv, ToolInputError):
        assert max(len(each.encode()) for each in argv) <= 100_000
        assert sum(len(each.encode()) + 9 for each in argv) <= MAX_ARGV_BYTES
