"""What clients read of a command's arguments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from jsonschema import Draft202012Validator

from chatbridge.commands.definitions.definition import Command, Definition, commands_of
from chatbridge.commands.tools.tool import schema_of
from tests.fakes.made_commands import made
from tests.fakes.option_strategies import commands

EXAMPLES = sorted((Path(__file__).parents[2] / "config" / "tools").glob("*.json"))


def of(kind: str, **fields: Any) -> dict[str, Any]:
    schema = schema_of(made({"name": "it", "type": kind, **fields}))
    found: dict[str, Any] = schema["properties"]["it"]
    return found


def test_a_schema_names_every_option_and_takes_no_other() -> None:
    command = made(
        {"name": "message", "type": "string", "description": "What it says", "required": True},
        {"name": "all", "type": "boolean"},
    )
    assert schema_of(command) == {
        "type": "object",
        "properties": {
            "message": {"type": "string", "description": "What it says"},
            "all": {"type": "boolean"},
        },
        "required": ["message"],
        "additionalProperties": False,
    }


def test_a_command_without_options_takes_nothing() -> None:
    assert schema_of(made()) == {"type": "object", "properties": {}, "additionalProperties": False}


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ({"type": "string", "enum": ["a", "b"]}, {"type": "string", "enum": ["a", "b"]}),
        (
            {"type": "string", "minLength": 2, "maxLength": 3},
            {"type": "string", "minLength": 2, "maxLength": 3},
        ),
        ({"type": "integer", "minimum": 1}, {"type": "integer", "minimum": 1}),
        ({"type": "number", "maximum": 0.5}, {"type": "number", "maximum": 0.5}),
        (
            {"type": "array", "minItems": 1, "items": {"type": "integer", "minimum": 0}},
            {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 1},
        ),
        (
            {"type": "object", "encode": "json", "maxItems": 2},
            {
                "type": "object",
                "additionalProperties": {"type": ["string", "number", "boolean"]},
                "maxProperties": 2,
            },
        ),
        ({"type": "string", "positional": True}, {"type": "string", "minLength": 1}),
        (
            {"type": "string", "positional": True, "minLength": 0},
            {"type": "string", "minLength": 0},
        ),
        ({"type": "string", "flag": "-m"}, {"type": "string", "minLength": 1}),
    ],
)
def test_the_rules_of_an_option_are_in_its_schema(
    option: dict[str, Any], expected: dict[str, Any]
) -> None:
    found = of(option.pop("type"), **option)
    assert found == expected
    assert "1.0" not in json.dumps(found)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("v[0-9]+", "^(?:v[0-9]+)$"),
        ("^v[0-9]+$", "^v[0-9]+$"),
        ("^a|b$", "^(?:^a|b$)$"),
        (r"^a\$", r"^(?:^a\$)$"),
        ("(?P<x>a)", None),
        ("(?i)a", None),
        (r"a\Z", None),
        ("a{,3}", None),
        ("a++", None),
        ("(?:a)(?=b).", "^(?:(?:a)(?=b).)$"),
    ],
)
def test_a_pattern_counts_for_the_whole_and_is_left_out_where_only_python_reads_it(
    pattern: str, expected: str | None
) -> None:
    assert of("string", pattern=pattern).get("pattern") == expected


def test_paths_say_where_they_must_be() -> None:
    found = of("string", within=["project"], description="Where to begin.")
    assert found["description"] == "Where to begin. A path in the project"
    assert found["minLength"] == 1
    several = of("array", items={"within": ["project", "/srv"]})
    assert several["description"] == "Paths in the project or /srv"


def test_the_working_directory_is_there_where_the_agent_names_it() -> None:
    own = schema_of(made(workingDirectory="argument"))["properties"]
    assert own["working_directory"]["type"] == "string"
    for rule in ("project", "/srv"):
        assert "working_directory" not in schema_of(made(workingDirectory=rule))["properties"]


@given(commands())
def test_every_schema_is_valid_plain_at_the_top_and_always_the_same(command: Command) -> None:
    schema = schema_of(command)
    Draft202012Validator.check_schema(schema)
    assert set(schema) <= {"type", "properties", "required", "additionalProperties"}
    assert json.dumps(schema) == json.dumps(schema_of(command))


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_the_examples_have_valid_schemas(file: Path) -> None:
    definition = Definition.model_validate_json(file.read_text())
    for command in commands_of(definition, file):
        Draft202012Validator.check_schema(schema_of(command))
