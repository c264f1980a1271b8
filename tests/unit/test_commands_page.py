"""The guide to tools for agents says all of what is so: fields, defaults, stages, kinds of
problems, and what its document asks for."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel

from chatbridge.commands.definitions.check import check
from chatbridge.commands.definitions.definition import (
    Definition,
    Option,
    Subcommand,
    _Rules,
    commands_of,
)
from chatbridge.core.operation import Stage
from tests.unit.test_docs import ROOT, TEST, functions_of

GUIDE, FIELDS, PROBLEMS, CONTRACT = (
    (ROOT / "docs" / name).read_text()
    for name in (
        "agent-tools.md",
        "tool-definitions.md",
        "agent-tools-troubleshooting.md",
        "contract-ahma.md",
    )
)
DEFINITIONS = ROOT / "chatbridge" / "commands" / "definitions"
PARTS = {1: 4, 2: 4, 3: 4, 4: 4, 5: 3, 6: 4, 7: 4, 8: 6, 9: 5}
"""Of the document, and how many requirements each has."""
KIND_AT = {"Finding": 1, "Unusable": 0}
"""Which argument of these is a problem's kind."""
ROW = re.compile(r"^\| (`.+?) \| (.*?) \|", re.MULTILINE)


def table(lead: str) -> dict[str, str]:
    """The first table after this line: what is in each row's first two cells. A row may name
    several."""
    _, found, rest = FIELDS.partition(f"\n{lead}\n\n")
    assert found, lead
    rows = ROW.findall(rest.split("\n\n")[0])
    return {name: second for names, second in rows for name in re.findall(r"`([^`]+)`", names)}


def names(*models: type[BaseModel], without: type[BaseModel] | None = None) -> set[str]:
    left_out = set(without.model_fields) if without else set()
    return {
        field.alias or name
        for model in models
        for name, field in model.model_fields.items()
        if name not in left_out
    }


@pytest.mark.parametrize(
    ("lead", "expected"),
    [
        ("Of the file:", names(Definition, without=_Rules)),
        ("Of the file or a subcommand; the subcommand's value wins:", names(_Rules)),
        ("Of a subcommand:", names(Subcommand, without=_Rules)),
        ("Of an option:", names(Option)),
    ],
    ids=["file", "both", "subcommand", "option"],
)
def test_every_field_of_a_definition_is_on_the_page_and_no_other(
    lead: str, expected: set[str]
) -> None:
    assert set(table(lead)) == expected


def test_the_defaults_that_the_page_names_are_those_of_a_command() -> None:
    least = {"name": "x", "description": "Do it"}
    whole = {"schema": 2, "name": "x", "command": ["x"], "subcommands": [least]}
    (command,) = commands_of(Definition.model_validate_json(json.dumps(whole)), Path("x.json"))
    assert table("Of the file or a subcommand; the subcommand's value wins:") == {
        "synchronous": f"`{json.dumps(command.synchronous)}`",
        "timeout": f"{command.timeout:g}",
        "approve": f"`{command.approve}`",
        "hints": "none" if command.hints == () else "",
        "outputLimit": f"{command.output_limit:,}",
        "workingDirectory": f"`{command.working_directory}`",
    }
    assert table("Of a subcommand:")["separator"] == f"`{command.separator}`"


def test_the_first_file_is_right_as_it_stands() -> None:
    (text,) = re.findall(r"^   ```json\n(.*?)^   ```$", GUIDE, re.MULTILINE | re.DOTALL)
    found = check(text, file=Path("deploy.json"))
    assert (found.problems, found.remarks) == ((), ())
    assert found.definition is not None
    tools = [command.tool for command in commands_of(found.definition, Path("deploy.json"))]
    assert tools == ["deploy_start", "deploy_status"]


def test_every_status_of_an_operation_is_on_the_page() -> None:
    told = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", GUIDE, re.MULTILINE)
    assert {*re.findall(r"\w+", " ".join(told))} >= {stage.value for stage in Stage}


def kinds(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        at = KIND_AT.get(node.func.id)
        said = [word.value for word in node.keywords if word.arg == "kind"]
        said += [node.args[at]] if at is not None and len(node.args) > at else []
        yield from (
            each.value
            for each in said
            if isinstance(each, ast.Constant) and isinstance(each.value, str)
        )


def test_every_kind_of_problem_is_explained_and_no_other() -> None:
    there = {
        kind for file in DEFINITIONS.glob("*.py") for kind in kinds(ast.parse(file.read_text()))
    }
    assert {"syntax", "missing", "writable", "collision", "ignored"} <= there
    told = re.findall(r"^\| `(\w+)` \| .+ \| .+ \|$", PROBLEMS, re.MULTILINE)
    assert sorted(told) == sorted(there)


def test_every_requirement_of_the_document_names_tests_that_exist() -> None:
    rows = re.findall(r"^\| (R\d\.\d) \| (.+?) \| (.+) \|$", CONTRACT, re.MULTILINE)
    wanted = [f"R{part}.{i}" for part, most in PARTS.items() for i in range(1, most + 1)]
    assert [name for name, _, _ in rows] == wanted
    for name, _, shown in rows:
        named = TEST.findall(shown)
        assert named, name
        assert shown.count("::") == len(named), name
        for file, test in named:
            assert test in functions_of(ROOT / file), f"{name}: {file}::{test}"
