"""How operations are written for models."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from chatbridge.commands.tools import presentation
from chatbridge.core.model import Agent, CallName, Project
from chatbridge.core.operation import Operation, Plan, Result, Stage

PLAN = Plan(
    argv=("git", "commit", "--message=two words", "--", "a\x1b[31mb"),
    executable="/usr/bin/git",
    folder="/src/shop",
    timeout=600.0,
    output_limit=1024,
)
ENDED = Operation(
    id="0f0e0d0c-0000-4000-8000-000000000000",
    call=CallName(link="l", request="1"),
    project=Project(key="/src/shop", name="shop"),
    agent=Agent(client="c", name="C"),
    tool="git_commit",
    title="git commit",
    group="git",
    plan=PLAN,
    created_at=1000.0,
    started_at=1001.0,
    ended_at=1013.3,
    stage=Stage.SUCCEEDED,
    result=Result(exit_code=0, head="done\n", size=5),
)


def ended(stage: Stage, **result: object) -> Operation:
    return replace(ENDED, stage=stage, result=Result(**result))  # type: ignore[arg-type]


NOT_STARTED = replace(ended(Stage.DENIED, reason="Denied: later"), started_at=None)


@pytest.mark.parametrize(
    ("operation", "sentence"),
    [
        (ENDED, "git commit succeeded after 12 s"),
        (ended(Stage.FAILED, exit_code=128), "git commit failed: exit 128 after 12 s"),
        (ended(Stage.FAILED, signal=11), "git commit failed: ended by SIGSEGV after 12 s"),
        (ended(Stage.FAILED, signal=99), "git commit failed: ended by signal 99 after 12 s"),
        (ended(Stage.FAILED, reason="no such file"), "git commit failed after 12 s: no such file"),
        (ended(Stage.TIMED_OUT, signal=15), "git commit timed out after 12 s"),
        (ended(Stage.CANCELLED, signal=15), "git commit was cancelled after 12 s"),
        (NOT_STARTED, "git commit was not allowed: Denied: later"),
        (
            ended(Stage.INTERRUPTED, reason="the machine was stopped"),
            "git commit was interrupted after 12 s: the machine was stopped",
        ),
    ],
)
def test_every_end_is_one_sentence(operation: Operation, sentence: str) -> None:
    assert presentation.sentence(operation) == sentence


@pytest.mark.parametrize(
    ("stage", "sentence"),
    [
        (Stage.AWAITING_APPROVAL, "git commit waits until a person allows it"),
        (Stage.QUEUED, "git commit waits for its turn"),
        (Stage.RUNNING, "git commit has run for 59 s"),
    ],
)
def test_what_is_on_the_way_says_what_it_waits_for(stage: Stage, sentence: str) -> None:
    operation = replace(ENDED, stage=stage, ended_at=None, result=Result())
    assert presentation.on_the_way(operation, 1060.0) == sentence


def test_a_command_line_is_quoted_and_nothing_in_it_is_hidden() -> None:
    assert presentation.command_line(ENDED) == "git commit '--message=two words' -- 'ab'"
    long = replace(ENDED, plan=replace(PLAN, argv=("git", "x" * 10_000)))
    assert len(presentation.command_line(long)) == presentation.MAX_COMMAND_CHARACTERS


def test_what_a_record_has_nothing_to_say_about_is_left_out() -> None:
    assert presentation.record(ENDED, 2000.0) == {
        "operationId": ENDED.id,
        "tool": "git_commit",
        "status": "succeeded",
        "command": "git commit '--message=two words' -- 'ab'",
        "folder": "/src/shop",
        "seconds": 12.3,
        "exitCode": 0,
    }


def test_a_whole_record_has_both_ends_of_the_output_and_its_file() -> None:
    operation = ended(Stage.FAILED, exit_code=1, head="a\x1b[1mb\n", tail="z\n", size=1000)
    file = Path("/state/operations/x.txt")
    found = presentation.record(operation, 2000.0, file=file, whole=True)
    left = 1000 - len("a\x1b[1mb\n") - len("z\n")
    assert found["output"] == {"head": "ab\n", "tail": "z\n", "leftOut": left, "file": str(file)}
    assert "lastLines" not in found


def test_where_not_all_was_kept_the_file_is_not_said_to_have_all() -> None:
    operation = ended(
        Stage.SUCCEEDED, exit_code=0, head="a\n", tail="z\n", size=9000, left_out=4000
    )
    said = presentation.printed(operation, Path("/x.txt"))
    assert said == "a\n… 8,996 bytes left out; most of it is in /x.txt …\nz"
    assert presentation.printed(operation, None) == "a\n… 8,996 bytes left out …\nz"


@pytest.mark.parametrize("head", ["", "\n\n", "\x1b[0m"])
def test_where_nothing_was_printed_that_is_said(head: str) -> None:
    operation = ended(Stage.SUCCEEDED, exit_code=0, head=head, size=len(head))
    assert presentation.printed(operation, Path("/x.txt")) == "(no output)"


def test_a_pushed_message_has_the_last_lines_and_one_sentence() -> None:
    lines = "\n".join(f"line {number}" for number in range(40))
    found = presentation.message(ended(Stage.FAILED, exit_code=1, head=lines, size=len(lines)))
    assert found["lastLines"].split("\n") == [f"line {number}" for number in range(28, 40)]
    assert found["message"].startswith("git commit failed: exit 1 after 12 s. Call status")
