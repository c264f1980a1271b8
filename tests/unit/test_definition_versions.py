"""Older versions of definition files load, a newer one is refused with what to do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from chatbridge.commands.definitions.check import Checked, check
from chatbridge.commands.definitions.definition import commands_of

GOLDEN = Path(__file__).parent.parent / "golden" / "definitions"
OLD: dict[str, Any] = {
    "name": "tool",
    "description": "A tool.",
    "command": "tool",
    "subcommand": [{"name": "run", "description": "Run it."}],
}


def checked(name: str) -> Checked:
    return check((GOLDEN / name).read_text(), file=Path(name))


def old(**fields: Any) -> Checked:
    return check(json.dumps({**OLD, **fields}, indent=1), file=Path("tool.json"))


def sub(**fields: Any) -> Checked:
    return old(subcommand=[{"name": "run", "description": "Run it.", **fields}])


def told(found: Checked) -> list[tuple[str, str]]:
    assert (found.definition is None) == bool(found.problems)
    return [(problem.path, problem.kind) for problem in found.problems]


def test_a_file_of_version_1_is_what_its_translation_says() -> None:
    first, second = checked("version1.json"), checked("version1_as_2.json")
    assert (first.problems, second.problems) == ((), ())
    assert first.definition == second.definition
    assert first.definition is not None


def test_a_file_may_say_that_it_is_of_version_1() -> None:
    text = (GOLDEN / "version1.json").read_text()
    said = check(text.replace("{", '{ "schema": 1,', 1), file=Path("tool.json"))
    assert said.definition == checked("version1.json").definition


def test_the_commands_of_an_old_file_are_called_as_before() -> None:
    definition = checked("version1.json").definition
    assert definition is not None
    commands = commands_of(definition, Path("version1.json"))
    assert {each.tool: each.argv for each in commands} == {
        "forge_build": ("forge", "--no-prompt", "build"),
        "forge_run_list": ("forge", "--no-prompt", "run", "list"),
        "forge": ("forge", "--no-prompt"),
    }
    assert [each.synchronous for each in commands] == [False, True, True]


def test_what_has_no_effect_is_remarked_with_its_line() -> None:
    remarks = [(each.line, each.path, each.kind) for each in checked("version1.json").remarks]
    assert remarks == [
        (8, "guidance_key", "ignored"),
        (30, "subcommand[0].options[1].file_arg", "ignored"),
        (30, "subcommand[0].options[1].file_flag", "ignored"),
    ]


def test_a_format_that_is_no_path_and_an_order_that_is_not_wanted_are_no_problem() -> None:
    found = sub(
        options=[{"name": "day", "type": "string", "format": "date"}], positional_args_first=False
    )
    assert told(found) == []
    remarks = [(each.path, each.kind) for each in found.remarks]
    assert remarks == [("subcommand[0].options[0].format", "ignored")]


@pytest.mark.parametrize("alias", ["n", "-n"])
def test_a_switch_of_an_old_file_has_its_alias_as_its_flag(alias: str) -> None:
    definition = sub(options=[{"name": "dry", "type": "boolean", "alias": alias}]).definition
    assert definition is not None
    assert definition.subcommands[0].options[0].flag == "-n"


def test_a_newer_version_is_told_with_what_is_known_and_nothing_else() -> None:
    (problem,) = checked("version3.json").problems
    assert (problem.line, problem.path, problem.kind) == (3, "schema", "newer_schema")
    assert problem.text() == (
        "version3.json:3: schema: version 3 (newer_schema)\n"
        "  accepted: versions up to 2, which is what this chatbridge knows; update chatbridge"
    )


def test_a_new_file_that_forgot_its_version_is_not_taken_for_an_old_one() -> None:
    text = (GOLDEN / "version1_as_2.json").read_text().replace('"schema": 2,', "")
    (problem,) = check(text, file=Path("tool.json")).problems
    assert (problem.path, problem.kind, problem.mend) == ("schema", "missing", 'write "schema": 2')


def test_an_old_file_without_subcommands_is_the_bare_command() -> None:
    definition = old(subcommand=None).definition
    assert definition is not None
    (command,) = commands_of(definition, Path("tool.json"))
    assert (command.tool, command.argv, command.description) == ("tool", ("tool",), "A tool.")


@pytest.mark.parametrize(
    ("fields", "path", "kind"),
    [
        ({"command": "bin/tool"}, "command", "not_allowed"),
        ({"command": ""}, "command", "not_allowed"),
        ({"command": None}, "command", "missing"),
        ({"command": 5}, "command", "wrong_type"),
        ({"name": "Tool"}, "name", "pattern"),
        ({"timeout_seconds": 0}, "timeout_seconds", "range"),
        ({"synchronous": "yes"}, "synchronous", "wrong_type"),
        ({"force_synchronous": "yes"}, "force_synchronous", "wrong_type"),
        ({"synchronous": True, "asynchronous": True}, "asynchronous", "conflict"),
        ({"sequence": [{"tool": "a", "subcommand": "b"}]}, "sequence", "not_allowed"),
        ({"input_schema": {"type": "object"}}, "input_schema", "not_allowed"),
        ({"approve": "always"}, "approve", "unknown_field"),
        ({"colour": 1}, "colour", "unknown_field"),
        ({"hints": "Go on."}, "hints", "wrong_type"),
        ({"command": "/bin/sh -c", "subcommand": None}, "command", "not_allowed"),
        ({"subcommand": "run"}, "subcommand", "wrong_type"),
        ({"subcommand": ["run"]}, "subcommand[0]", "wrong_type"),
    ],
)
def test_problems_of_an_old_file_are_told_in_its_own_words(
    fields: dict[str, Any], path: str, kind: str
) -> None:
    assert told(old(**fields)) == [(path, kind)]


@pytest.mark.parametrize(
    ("fields", "path", "kind"),
    [
        ({"description": None}, "description", "missing"),
        ({"timeout_seconds": -1}, "timeout_seconds", "range"),
        ({"options": "x"}, "options", "wrong_type"),
        ({"options": [5]}, "options[0]", "wrong_type"),
        ({"options": [{"name": "a"}]}, "options[0].type", "missing"),
        ({"options": [{"name": "a", "type": "path"}]}, "options[0].type", "not_allowed"),
        (
            {"positional_args": [{"name": "a", "type": "boolean"}]},
            *("positional_args[0].positional", "conflict"),
        ),
        (
            {"options": [{"name": "a", "type": "integer", "format": "path"}]},
            *("options[0].format", "conflict"),
        ),
        (
            {"options": [{"name": "a", "type": "array", "items": {"type": "bool"}}]},
            *("options[0].items.type", "not_allowed"),
        ),
        (
            {"options": [{"name": "a", "type": "string", "within": ["project"]}]},
            *("options[0].within", "unknown_field"),
        ),
        ({"positional_args_first": True}, "positional_args_first", "not_allowed"),
        ({"sequence": []}, "sequence", "not_allowed"),
        (
            {"options": [{"name": "a", "type": "string"}], "subcommand": [OLD["subcommand"][0]]},
            *("options", "conflict"),
        ),
    ],
)
def test_problems_of_an_old_subcommand_are_told_where_they_are(
    fields: dict[str, Any], path: str, kind: str
) -> None:
    assert told(sub(**fields)) == [(f"subcommand[0].{path}", kind)]


def test_a_path_of_an_old_file_stays_inside_the_project() -> None:
    path = {"name": "file", "type": "string", "format": "path"}
    definition = sub(options=[path], positional_args=[{**path, "name": "other"}]).definition
    assert definition is not None
    (command,) = commands_of(definition, Path("tool.json"))
    assert [option.within for option in command.options] == [("project",), ("project",)]


def test_a_nested_subcommand_has_what_those_above_it_say() -> None:
    inner = [{"name": "deep", "description": "x"}]
    definition = sub(subcommand=inner, enabled=False, timeout_seconds=5, synchronous=True)
    assert definition.definition is not None
    (part,) = definition.definition.subcommands
    assert (part.name, part.argv, part.enabled) == ("run_deep", ("run", "deep"), False)
    assert (part.timeout, part.synchronous) == (5, True)
