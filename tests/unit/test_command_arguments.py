"""What agents give a command, as its arguments, in each style."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pytest

from chatbridge.commands.arguments.argv import argv_of
from chatbridge.commands.definitions.definition import Command
from tests.fakes.made_commands import made

HERE = Path("/project")


def own(command: Command, **given: Any) -> list[str]:
    """What comes after `tool run`."""
    return list(argv_of(command, given, project=HERE)[2:])


def option(kind: str = "string", name: str = "it", **fields: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, **fields}


@pytest.mark.parametrize(
    ("fields", "value", "expected"),
    [
        (option("boolean", "dry_run"), True, ["--dry-run"]),
        (option("boolean", "dry_run"), False, []),
        (option("boolean", flag="-n"), True, ["-n"]),
        (option(), "a b", ["--it=a b"]),
        (option(), "", ["--it="]),
        (option(), "--force", ["--it=--force"]),
        (option(flag="-m"), "x", ["-mx"]),
        (option(flag="-m"), "-rf", ["-m-rf"]),
        (option(flag="-lock"), "1s", ["-lock=1s"]),
        (option(flag="-m", style="separate"), "x", ["-m", "x"]),
        (option(style="separate"), "", ["--it", ""]),
        (option("integer", flag="-n"), -5, ["-n-5"]),
        (option("integer"), 1e3, ["--it=1000"]),
        (option("number"), 1e-7, ["--it=0.0000001"]),
        (option("number"), 1e22, ["--it=10000000000000000000000"]),
        (option("number"), 3, ["--it=3"]),
        (option("array"), ["a", "-b"], ["--it=a", "--it=-b"]),
        (option("array"), [], []),
        (option("array", join=","), ["a", "b"], ["--it=a,b"]),
        (option("array", join=","), [], []),
        (option("array", items={"type": "integer"}, flag="-n", join=":"), [1, 2], ["-n1:2"]),
        (option("object"), {"a": "b=c", "t": True}, ["--it=a=b=c", "--it=t=true"]),
        (option("object"), {"n": 1.5}, ["--it=n=1.5"]),
        (option("object", flag="-D"), {"a": ""}, ["-Da="]),
        (option("object", encode="json"), {"a": "é", "n": 1}, ['--it={"a":"é","n":1}']),
        (option("object", encode="json"), {}, []),
        (option(positional=True), "--force", ["--", "--force"]),
        (option(positional=True), "a", ["--", "a"]),
        (option(positional=True, minLength=0), "", ["--", ""]),
        (option("array", positional=True), ["a", "b"], ["--", "a", "b"]),
        (option("array", positional=True), [], []),
        (option("object", positional=True), {"CC": "gcc"}, ["--", "CC=gcc"]),
        (option("integer", positional=True), -1, ["--", "-1"]),
    ],
)  # fmt: skip
def test_a_value_becomes_these_arguments(
    fields: dict[str, Any], value: Any, expected: list[str]
) -> None:
    assert own(made(fields), **{fields["name"]: value}) == expected


def test_options_come_in_the_order_of_the_definition_and_positional_values_last() -> None:
    command = made(
        option(name="first", positional=True),
        option("boolean", "quiet"),
        option("array", "rest", positional=True),
        option(name="as_user", flag="-u"),
        separator="--end-of-options",
    )
    given = {"rest": ["x"], "as_user": "me", "quiet": True, "first": "f"}
    assert own(command, **given) == ["--quiet", "-ume", "--end-of-options", "f", "x"]
    assert own(command, quiet=True) == ["--quiet"]


def test_argparse_reads_what_was_given() -> None:
    command = made(
        option(name="message", flag="-m"),
        option("integer", "count"),
        option("array", "label"),
        option("boolean", "force"),
        option("array", "files", positional=True),
    )
    given = {
        "message": "--force; rm -rf $HOME\n`id`",
        "count": -3,
        "label": ["--x", "b c"],
        "files": ["--force", "-m", "'"],
    }
    parser = argparse.ArgumentParser(exit_on_error=False)
    parser.add_argument("-m", dest="message")
    parser.add_argument("--count", type=int)
    parser.add_argument("--label", action="append")
    parser.add_argument("--force", action="store_true")
    parser.add_argument("files", nargs="*")
    assert vars(parser.parse_args(own(command, **given))) == {**given, "force": False}
