"""Where a command runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from chatbridge.commands.arguments.argv import folder_of, project_folder
from chatbridge.core.errors import CommandUnusable, ToolInputError
from tests.fakes.made_commands import made


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "project"
    (root / "sub" / "deep").mkdir(parents=True)
    (root / "file").touch()
    (tmp_path / "outside").mkdir()
    (root / "out").symlink_to(tmp_path / "outside")
    (root / "in").symlink_to("sub/deep")
    return root


def named(folder: Any, project: Path) -> Path:
    command = made(workingDirectory="argument")
    return folder_of(command, {"working_directory": folder}, project)


@pytest.mark.parametrize("rule", ["project", "argument"])
def test_it_runs_in_the_project_or_where_the_agent_was_started(project: Path, rule: str) -> None:
    command, started = made(workingDirectory=rule), str(project / "sub")
    assert folder_of(command, {}, project_folder(str(project), started)) == project
    assert folder_of(command, {}, project_folder("link:1", started)) == project / "sub"
    with pytest.raises(CommandUnusable, match="Start the agent in a folder of this machine"):
        project_folder("token", "")


@pytest.mark.parametrize(
    ("given", "expected"),
    [("sub", "sub"), (".", "."), ("sub/../in", "sub/deep"), ("in", "sub/deep")],
)
def test_an_agent_may_name_a_folder_in_the_project(
    project: Path, given: str, expected: str
) -> None:
    assert named(given, project) == project / expected
    assert named(str(project / given), project) == project / expected


@pytest.mark.parametrize(
    "given", ["", "..", "/", "../outside", "out", "sub/../../outside", "~", "missing", "file"]
)
def test_a_folder_elsewhere_or_nowhere_is_refused(project: Path, given: str) -> None:
    with pytest.raises(ToolInputError, match=r"working_directory: given .*; accepted: a folder"):
        named(given, project)


@pytest.mark.parametrize("given", [None, 1, ["sub"], "a\0b", "\ud800", "a" * 200_000, "a/" * 5000])
def test_what_is_no_path_at_all_is_refused(project: Path, given: Any) -> None:
    with pytest.raises(ToolInputError, match="working_directory"):
        named(given, project)


def test_the_name_counts_only_where_the_definition_says_so(project: Path) -> None:
    given = {"working_directory": "sub"}
    assert folder_of(made(), given, project) == project


def test_a_folder_of_the_owners_choice_counts_for_every_agent(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(project))
    command = made(workingDirectory="~/sub")
    assert folder_of(command, {}, project) == project / "sub"
    gone = made(workingDirectory="/nowhere/at/all")
    with pytest.raises(CommandUnusable, match="/nowhere/at/all is not there"):
        folder_of(gone, {}, project)
    monkeypatch.setenv("HOME", "relative")
    with pytest.raises(CommandUnusable, match="no whole path"):
        folder_of(command, {}, project)


def test_a_project_that_is_gone_runs_nothing(project: Path) -> None:
    with pytest.raises(CommandUnusable, match="is not there"):
        project_folder(str(project / "gone"), str(project))
