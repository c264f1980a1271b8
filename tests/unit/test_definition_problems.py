"""What is told of a file: all of it at once, in words that help, and never more than two lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chatbridge.commands.definitions.check import check
from chatbridge.commands.definitions.problems import Problem

FILE = Path("tool.json")
MANY = """{
  "schema": 2,
  "nam": "tool",
  "command": ["bin/tool"],
  "subcommands": [
    {
      "name": "run",
      "description": "Run it.",
      "options": [
        { "name": "dry-run", "type": "bolean" },
        { "name": "n", "type": "integer", "pattern": "x", "required": "yes" }
      ]
    },
    "stop",
    { "name": "run", "readonly": true }
  ],
  "approve": "Allways",
  "approve": "allways"
}
"""


def only(text: str) -> Problem:
    (problem,) = check(text, file=FILE).problems
    return problem


def with_line(text: str) -> str:
    return (
        '{\n"schema": 2,\n"name": "tool",\n"command": ["tool"],\n'
        f"{text}"
        '"subcommands": [{"name": "run", "description": "Run it."}]\n}'
    )


def test_all_problems_of_a_file_are_told_at_once_in_the_order_of_its_lines() -> None:
    found = check(MANY, file=FILE).problems
    assert [(each.line, each.path, each.kind) for each in found] == [
        (1, "name", "missing"),
        (3, "nam", "unknown_field"),
        (4, "command[0]", "not_allowed"),
        (10, "subcommands[0].options[0].name", "pattern"),
        (10, "subcommands[0].options[0].type", "not_allowed"),
        (11, "subcommands[0].options[1].pattern", "conflict"),
        (11, "subcommands[0].options[1].required", "wrong_type"),
        (14, "subcommands[1]", "wrong_type"),
        (15, "subcommands[2].description", "missing"),
        (15, "subcommands[2].name", "duplicate"),
        (15, "subcommands[2].readonly", "unknown_field"),
        (18, "approve", "duplicate"),
        (18, "approve", "not_allowed"),
    ]


@pytest.mark.parametrize(
    ("path", "mend"),
    [
        ("nam", 'did you mean "name"?'),
        ("name", 'write "name": "git"'),
        ("subcommands[0].options[0].name", 'write "dry_run"'),
        ("subcommands[0].options[0].type", 'did you mean "boolean"?'),
        ("subcommands[2].readonly", 'did you mean "readOnly"?'),
    ],
)
def test_a_problem_says_how_to_mend_it(path: str, mend: str) -> None:
    told = {problem.path: problem.mend for problem in check(MANY, file=FILE).problems}
    assert told[path] == mend


@pytest.mark.parametrize(
    ("line", "mend"),
    [
        ('"hints": "one",\n', 'write ["one"]'),
        ('"concurrency": "5",\n', "write it without quotation marks"),
        ('"synchronous": "true",\n', "write it without quotation marks"),
        ('"description": 5,\n', 'write "5"'),
        ('"environment": ["ssh auth"],\n', 'write "ssh_auth"'),
        ('"outputLimit": 1,\n', "write a number within that"),
        ('"color": "red",\n', "take it out"),
    ],
)
def test_a_wrong_value_is_told_with_the_right_one_where_that_can_be_guessed(
    line: str, mend: str
) -> None:
    problem = only(with_line(line))
    assert (problem.line, problem.mend) == (5, mend)


def test_a_problem_is_two_lines_for_people_and_a_record_for_programs() -> None:
    problem = only(with_line('"approve": "allways",\n'))
    assert problem.text() == (
        'tool.json:5: approve: "allways" (not_allowed)\n'
        '  accepted: "never", "always", "once-per-session"; did you mean "always"?'
    )
    assert json.loads(json.dumps(problem.as_json())) == {
        "file": "tool.json",
        "line": 5,
        "column": 1,
        "path": "approve",
        "kind": "not_allowed",
        "found": '"allways"',
        "accepted": '"never", "always", "once-per-session"',
        "mend": 'did you mean "always"?',
    }


def test_a_problem_that_is_not_about_a_line_names_the_file_alone() -> None:
    problem = Problem(
        file=FILE, line=None, path="", kind="unreadable", found="no", accepted="a file", mend="look"
    )
    assert problem.text() == "tool.json: no (unreadable)\n  accepted: a file; look"


@pytest.mark.parametrize("value", ["x" * 100_000, "a\n\u202eb\x1b[31m" * 50, "\u2028"])
def test_what_a_file_says_is_quoted_short_visible_and_in_one_line(value: str) -> None:
    fields = f'"approve": {json.dumps(value)}, {json.dumps(value)}: 1,\n'
    found = check(with_line(fields), file=FILE).problems
    assert {problem.kind for problem in found} == {"not_allowed", "unknown_field"}
    for problem in found:
        text = problem.text()
        assert text.count("\n") == 1
        assert "".join(text.split("\n")).isprintable()
        assert len(text) < 1000


def test_a_collision_is_told_at_the_subcommand_whose_tool_it_is() -> None:
    text = with_line("").replace("]\n}", ',\n{"name": "stop-all", "description": "x"}\n]}')
    (problem,) = check(text, file=FILE, taken={"tool_stop_all": "it is taken"}.get).problems
    assert (problem.line, problem.path) == (6, "subcommands[1].name")
    assert (problem.kind, problem.found) == ("collision", "it is taken")


def test_a_collision_of_the_bare_command_in_an_old_file_is_told_where_it_is_said() -> None:
    text = '{\n"name": "tool",\n"command": "tool",\n"description": "x"\n}'
    assert check(text, file=FILE).problems == ()
    (problem,) = check(text, file=FILE, taken={"tool": "tool is taken"}.get).problems
    assert (problem.line, problem.path) == (2, "name")
