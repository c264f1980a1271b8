"""Every rule of a definition file: one that breaks it, with place and kind of the problem."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chatbridge.commands.definitions.check import check
from chatbridge.commands.definitions.problems import Problem

FILE = Path("tool.json")
GOOD = """{
  "schema": 2,
  "name": "tool",
  "command": ["tool"],
  "timeout": 60,
  "subcommands": [
    {
      "name": "run",
      "description": "Run it.",
      "options": [
        { "name": "what", "type": "string" }
      ]
    }
  ]
}
"""
OPTION = "subcommands[0].options[0]"
"""What stands alone in line 11 in the cases about options."""


def problems(text: str) -> tuple[Problem, ...]:
    checked = check(text, file=FILE)
    assert (checked.definition is None) == bool(checked.problems)
    return checked.problems


def edited(line: int, text: str) -> str:
    lines = GOOD.splitlines()
    lines[line - 1] = text
    return "\n".join(lines)


def told(found: tuple[Problem, ...]) -> list[tuple[int | None, str, str]]:
    return [(problem.line, problem.path, problem.kind) for problem in found]


def test_the_file_that_all_cases_begin_with_has_no_problem() -> None:
    assert check(GOOD, file=FILE).problems == ()


@pytest.mark.parametrize(
    ("line", "text", "path", "kind"),
    [
        (2, '"schema": "2",', "schema", "not_allowed"),
        (2, '"schema": 0,', "schema", "not_allowed"),
        (2, '"schema": null,', "schema", "not_allowed"),
        (2, '"schema": true,', "schema", "not_allowed"),
        (3, '"name": "Tool",', "name", "pattern"),
        (3, '"name": "two__parts",', "name", "pattern"),
        (3, '"name": "",', "name", "pattern"),
        (3, '"name": 7,', "name", "wrong_type"),
        (3, '"name": "to\\u0000ol",', "name", "not_allowed"),
        (3, '"name": "to\\ud800ol",', "name", "not_allowed"),
        (4, '"command": "tool",', "command", "wrong_type"),
        (4, '"command": [],', "command", "range"),
        (4, '"command": ["tool", 5],', "command[1]", "wrong_type"),
        (4, '"command": ["bin/tool"],', "command[0]", "not_allowed"),
        (4, '"command": ["./tool"],', "command[0]", "not_allowed"),
        (4, '"command": ["../tool"],', "command[0]", "not_allowed"),
        (4, '"command": ["~root/tool"],', "command[0]", "not_allowed"),
        (4, '"command": ["/usr/bin/"],', "command[0]", "not_allowed"),
        (4, '"command": ["~"],', "command[0]", "not_allowed"),
        (4, '"command": [".."],', "command[0]", "not_allowed"),
        (4, '"command": [""],', "command[0]", "not_allowed"),
        (4, '"command": ["-tool"],', "command[0]", "not_allowed"),
        (4, '"command": ["tool --quiet"],', "command[0]", "not_allowed"),
        (4, '"command": ["tool", "a\\u0000b"],', "command[1]", "not_allowed"),
        (4, '"command": ["tool"], "environment": "HOME",', "environment", "wrong_type"),
        (4, '"command": ["tool"], "environment": ["A-B"],', "environment[0]", "pattern"),
        (4, '"command": ["tool"], "environment": ["A", "A"],', "environment[1]", "duplicate"),
        (5, '"timeout": 0,', "timeout", "range"),
        (5, '"timeout": 1e9,', "timeout", "range"),
        (5, '"timeout": 1e999,', "timeout", "range"),
        (5, f'"timeout": {"9" * 5000},', "timeout", "range"),
        (5, '"timeout": "soon",', "timeout", "not_allowed"),
        (5, '"timeout": [60],', "timeout", "wrong_type"),
        (5, '"timeout": true,', "timeout", "not_allowed"),
        (5, '"approve": "sometimes",', "approve", "not_allowed"),
        (5, '"hints": [1],', "hints[0]", "wrong_type"),
        (5, '"outputLimit": 10,', "outputLimit", "range"),
        (5, '"concurrency": 0,', "concurrency", "range"),
        (5, '"concurrency": 65,', "concurrency", "range"),
        (5, '"concurrency": 1.5,', "concurrency", "wrong_type"),
        (5, '"workingDirectory": "",', "workingDirectory", "range"),
        (5, '"workingDirectory": "src",', "workingDirectory", "not_allowed"),
        (5, '"workingDirectory": "./",', "workingDirectory", "not_allowed"),
        (5, '"colour": true,', "colour", "unknown_field"),
        (5, '"output_limit": 5000,', "output_limit", "unknown_field"),
        (5, '"name": "again",', "name", "duplicate"),
        (8, '"name": "run it",', "subcommands[0].name", "pattern"),
        (8, f'"name": "{"x" * 60}",', "subcommands[0].name", "range"),
        (8, f'"name": "{"x" * 65}",', "subcommands[0].name", "range"),
        (9, '"description": "",', "subcommands[0].description", "range"),
        (9, '"description": "x", "enabled": 1,', "subcommands[0].enabled", "wrong_type"),
        (9, '"description": "x", "argv": "run",', "subcommands[0].argv", "wrong_type"),
        (9, '"description": "x", "separator": "-",', "subcommands[0].separator", "pattern"),
        (9, '"description": "x", "separator": "x",', "subcommands[0].separator", "pattern"),
        (
            *(9, '"description": "x", "destructive": true, "readOnly": true,'),
            *("subcommands[0].readOnly", "conflict"),
        ),
        (
            *(9, '"description": "x", "workingDirectory": "a/b",'),
            *("subcommands[0].workingDirectory", "not_allowed"),
        ),
    ],
)
def test_a_field_with_a_bad_value_is_told_with_its_line(
    line: int, text: str, path: str, kind: str
) -> None:
    assert (line, path, kind) in told(problems(edited(line, text)))


@pytest.mark.parametrize(
    "name",
    [
        *("CHATBRIDGE_TELEGRAM__TOKEN", "CREDENTIALS_DIRECTORY", "NOTIFY_SOCKET", "LISTEN_FDS"),
        *("LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "BASH_ENV"),
    ],
)
def test_chatbridges_and_the_loaders_variables_cannot_be_handed_on(name: str) -> None:
    text = edited(5, f'"environment": ["LANG", "{name}"],')
    assert told(problems(text)) == [(5, "environment[1]", "not_allowed")]


@pytest.mark.parametrize(
    ("option", "field", "kind"),
    [
        ('"type": "text"', "type", "not_allowed"),
        ('"type": ["string"]', "type", "not_allowed"),
        ('"type": "boolean", "positional": true', "positional", "conflict"),
        ('"type": "string", "positional": true, "flag": "-x"', "flag", "conflict"),
        ('"type": "string", "positional": true, "style": "equals"', "style", "conflict"),
        ('"type": "string", "flag": "x"', "flag", "pattern"),
        ('"type": "string", "flag": "--a b"', "flag", "pattern"),
        ('"type": "string", "flag": "--a=b"', "flag", "pattern"),
        ('"type": "string", "flag": "--"', "flag", "pattern"),
        ('"type": "string", "style": "joined"', "style", "conflict"),
        ('"type": "string", "flag": "-long", "style": "joined"', "style", "conflict"),
        ('"type": "boolean", "style": "equals"', "style", "conflict"),
        ('"type": "string", "style": "glued"', "style", "not_allowed"),
        ('"type": "string", "items": {}', "items", "conflict"),
        ('"type": "string", "join": ","', "join", "conflict"),
        ('"type": "array", "join": ", "', "join", "range"),
        ('"type": "array", "join": ""', "join", "range"),
        ('"type": "string", "minItems": 1', "minItems", "conflict"),
        ('"type": "string", "maxItems": 1', "maxItems", "conflict"),
        ('"type": "array", "minItems": 2, "maxItems": 1', "minItems", "conflict"),
        ('"type": "object", "minItems": 2, "maxItems": 1', "minItems", "conflict"),
        ('"type": "array", "minItems": -1', "minItems", "range"),
        ('"type": "string", "encode": "json"', "encode", "conflict"),
        ('"type": "object", "encode": "yaml"', "encode", "not_allowed"),
        ('"type": "object", "pattern": "x"', "pattern", "conflict"),
        ('"type": "object", "within": ["project"]', "within", "conflict"),
        ('"type": "boolean", "enum": ["a"]', "enum", "conflict"),
        ('"type": "boolean", "minimum": 1', "minimum", "conflict"),
        ('"type": "string", "minimum": 1', "minimum", "conflict"),
        ('"type": "string", "maximum": 1', "maximum", "conflict"),
        ('"type": "integer", "minLength": 1', "minLength", "conflict"),
        ('"type": "number", "maxLength": 1', "maxLength", "conflict"),
        ('"type": "integer", "pattern": "x"', "pattern", "conflict"),
        ('"type": "integer", "within": ["project"]', "within", "conflict"),
        ('"type": "integer", "minimum": 2, "maximum": 1', "minimum", "conflict"),
        ('"type": "string", "minLength": 2, "maxLength": 1', "minLength", "conflict"),
        ('"type": "string", "pattern": "("', "pattern", "not_allowed"),
        ('"type": "string", "pattern": "a{99999999999}"', "pattern", "not_allowed"),
        ('"type": "string", "pattern": 5', "pattern", "wrong_type"),
        ('"type": "string", "enum": []', "enum", "range"),
        ('"type": "string", "enum": [1]', "enum[0]", "conflict"),
        ('"type": "string", "enum": [true]', "enum[0]", "wrong_type"),
        ('"type": "string", "enum": [null]', "enum[0]", "wrong_type"),
        ('"type": "string", "enum": ["a", "b", "a"]', "enum[2]", "duplicate"),
        ('"type": "integer", "enum": [1, 1.5]', "enum[1]", "conflict"),
        ('"type": "number", "enum": [1, "1"]', "enum[1]", "conflict"),
        ('"type": "string", "within": []', "within", "range"),
        ('"type": "string", "within": ["src"]', "within[0]", "not_allowed"),
        ('"type": "string", "within": ["project", "../x"]', "within[1]", "not_allowed"),
        ('"type": "array", "within": ["project/src"]', "within[0]", "not_allowed"),
        ('"type": "array", "items": {"type": "boolean"}', "items.type", "not_allowed"),
        ('"type": "array", "items": {"type": "integer"}, "pattern": "x"', "pattern", "conflict"),
        ('"type": "array", "items": {"pattern": "["}', "items.pattern", "not_allowed"),
        ('"type": "array", "items": {"within": ["a"]}', "items.within[0]", "not_allowed"),
        ('"type": "array", "items": {"minimum": 1}', "items.minimum", "conflict"),
        ('"type": "array", "items": {"enum": [1]}', "items.enum[0]", "conflict"),
        ('"type": "array", "items": {"name": "x"}', "items.name", "unknown_field"),
        (
            *('"type": "array", "items": {"type": "number", "minimum": 2, "maximum": 1}',),
            *("items.minimum", "conflict"),
        ),
        ('"type": "string", "required": "true"', "required", "wrong_type"),
        ('"type": "string", "minLength": 1.5', "minLength", "wrong_type"),
        ('"type": "string", "default": "x"', "default", "unknown_field"),
    ],
)
def test_a_bad_option_is_told_with_its_line(option: str, field: str, kind: str) -> None:
    text = edited(11, f'{{ "name": "what", {option} }}')
    assert told(problems(text)) == [(11, f"{OPTION}.{field}", kind)]


@pytest.mark.parametrize(
    ("options", "path", "kind"),
    [
        (['"a_b", "type": "string"', '"a_b", "type": "integer"'], "options[1].name", "duplicate"),
        (['"a_b", "type": "string"', '"a-b", "type": "string"'], "options[1].name", "duplicate"),
        (
            ['"a", "type": "boolean"', '"b", "type": "boolean", "flag": "--a"'],
            *("options[1].flag", "duplicate"),
        ),
        (
            ['"b", "type": "string", "flag": "--a-x"', '"a_x", "type": "string"'],
            *("options[1].name", "duplicate"),
        ),
        (
            [
                '"a", "type": "array", "positional": true',
                '"b", "type": "string", "positional": true',
            ],
            *("options[1].positional", "conflict"),
        ),
        (
            [
                '"a", "type": "object", "positional": true',
                '"b", "type": "array", "positional": true',
            ],
            *("options[1].positional", "conflict"),
        ),
        (
            [
                '"a", "type": "string", "positional": true',
                '"b", "type": "string", "positional": true, "required": true',
            ],
            *("options[1].positional", "conflict"),
        ),
    ],
)
def test_options_that_do_not_go_together_are_told_at_the_second(
    options: list[str], path: str, kind: str
) -> None:
    text = edited(11, ",\n".join(f'{{ "name": {option} }}' for option in options))
    assert (12, f"subcommands[0].{path}", kind) in told(problems(text))


def test_joined_arrays_and_json_objects_are_single_values_and_may_come_first() -> None:
    options = [
        {"name": "a", "type": "array", "join": ",", "positional": True, "required": True},
        {"name": "b", "type": "object", "encode": "json", "positional": True, "required": True},
        {"name": "c", "type": "array", "positional": True},
    ]
    assert problems(edited(11, json.dumps(options)[1:-1])) == ()


def test_an_option_cannot_have_the_name_of_the_working_directory_argument() -> None:
    option = '{ "name": "working_directory", "type": "string" }'
    assert problems(edited(11, option)) == ()
    whole = edited(11, option).replace('"timeout": 60', '"workingDirectory": "argument"')
    assert told(problems(whole)) == [(11, f"{OPTION}.name", "conflict")]
    own = edited(11, option).replace('"Run it.",', '"Run it.", "workingDirectory": "argument",')
    assert told(problems(own)) == [(11, f"{OPTION}.name", "conflict")]


@pytest.mark.parametrize("second", ["run_all", "run-all"])
def test_subcommands_whose_tools_would_be_called_the_same_are_told(second: str) -> None:
    text = edited(8, '"name": "run-all",').replace(
        "    }\n  ]", f'    }},\n    {{ "name": "{second}", "description": "x" }}\n  ]'
    )
    assert told(problems(text)) == [(14, "subcommands[1].name", "duplicate")]


@pytest.mark.parametrize("command", [["sh", "-c"], ["/bin/bash", "-lc"], ["env", "zsh", "-ec"]])
def test_an_agents_text_cannot_be_a_shells_program(command: list[str]) -> None:
    at = f"command[{len(command) - 1}]"
    bare = edited(4, f'"command": {json.dumps(command)},').replace('"run"', '"default"')
    assert told(problems(bare)) == [(4, at, "not_allowed")]
    own = edited(4, f'"command": {json.dumps(command[:-1])},').replace(
        '"Run it."', f'"Run it.", "argv": {json.dumps(command[-1:])}'
    )
    assert told(problems(own)) == [(9, "subcommands[0].argv[0]", "not_allowed")]
    flag = edited(4, f'"command": {json.dumps(command[:-1])},').replace(
        '"type": "string"', f'"type": "string", "flag": "{command[-1]}", "style": "separate"'
    )
    assert told(problems(flag)) == [(11, f"{OPTION}.flag", "not_allowed")]


def test_a_shell_with_a_script_of_the_owners_is_taken() -> None:
    text = edited(4, '"command": ["sh", "-c", "exec tool \\"$@\\"", "tool"],')
    assert problems(text) == ()


@pytest.mark.parametrize(
    ("line", "path"),
    [(3, "name"), (4, "command"), (2, "schema")],
)
def test_a_missing_field_is_told_at_the_object_that_lacks_it(line: int, path: str) -> None:
    assert told(problems(edited(line, ""))) == [(1, path, "missing")]


def test_fields_that_a_subcommand_or_an_option_lacks_are_told_where_it_begins() -> None:
    assert told(problems(edited(9, ""))) == [(7, "subcommands[0].description", "missing")]
    assert told(problems(edited(11, "{ }"))) == [
        (11, f"{OPTION}.name", "missing"),
        (11, f"{OPTION}.type", "missing"),
    ]


@pytest.mark.parametrize(
    "value",
    [
        *('"command": ["/usr/bin/tool", "x y"]', '"command": ["~/bin/tool"]'),
        *('"workingDirectory": "project"', '"workingDirectory": "argument"'),
        *('"workingDirectory": "/srv/a b"', '"workingDirectory": "~/work"'),
        *('"timeout": "10min"', '"timeout": "1.5h"', '"timeout": 0.5', '"timeout": null'),
        *('"environment": ["SSH_AUTH_SOCK"]', '"hints": []', '"$schema": "../x.json"'),
    ],
)
def test_what_is_accepted_has_no_problem(value: str) -> None:
    line = 4 if value.startswith('"command"') else 5
    assert problems(edited(line, f"{value},")) == ()


def test_a_time_as_people_write_it_is_seconds() -> None:
    definition = check(edited(5, '"timeout": "10min",'), file=FILE).definition
    assert definition is not None
    assert definition.timeout == 600
