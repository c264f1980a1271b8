"""The library: which files count, and that one which does not takes nothing from the others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from chatbridge.commands.definitions.check import Checked, check
from chatbridge.commands.definitions.library import OPERATION_TOOLS, Library
from chatbridge.commands.tools.operation_tools import Await, Cancel, Status
from tests.fakes.definitions import definition, written


def library(*dirs: Path, may_be_missing: bool = False) -> Library:
    found = Library(dirs, may_be_missing=may_be_missing)
    found.load()
    return found


def kinds(found: Library) -> list[tuple[str, str]]:
    return [(problem.file.name, problem.kind) for problem in found.problems]


def test_commands_come_in_the_order_of_folders_files_and_subcommands(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    written(two, "aa", definition("aa", "x"))
    written(one, "npm", definition("npm", "test", "install"))
    written(one, "git", definition("git", "status", "default"))
    found = library(one, two)
    assert list(found.commands) == ["git_status", "git", "npm_test", "npm_install", "aa_x"]
    assert found.commands["git_status"].file == one / "git.json"
    assert found.problems == ()


def test_only_files_of_the_folder_itself_count(tmp_path: Path) -> None:
    written(tmp_path, "git", definition("git", "status"))
    written(tmp_path / "below", "npm", definition("npm", "test"))
    written(tmp_path, ".hidden", definition("hidden", "x"))
    written(tmp_path, "old", definition("old", "x")).rename(tmp_path / "old.json.bak")
    found = library(tmp_path)
    assert list(found.commands) == ["git_status"]
    assert found.problems == ()


def test_a_projects_definitions_count_only_if_the_owner_lists_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, project = tmp_path / "own", tmp_path / "project"
    written(own, "git", definition("git", "status"))
    for folder in (project, project / "tools", project / ".chatbridge", project / "config/tools"):
        written(folder, "evil", definition("evil", "run"))
    (project / ".chatbridge.toml").write_text('[commands]\ndirs = ["."]\n')
    monkeypatch.chdir(project)
    assert list(library(own).commands) == ["git_status"]
    assert list(library(own, project / "tools").commands) == ["git_status", "evil_run"]


def test_a_file_with_a_problem_has_no_tools_and_the_others_have_theirs(tmp_path: Path) -> None:
    written(tmp_path, "git", definition("git", "status"))
    written(tmp_path, "half", definition("half", "fine") | {"approve": "sometimes"})
    written(tmp_path, "text", "{ this is no JSON")
    written(tmp_path, "npm", definition("npm", "test"))
    found = library(tmp_path)
    assert list(found.commands) == ["git_status", "npm_test"]
    assert {problem.file.name for problem in found.problems} == {"half.json", "text.json"}
    assert all(problem.line and problem.mend for problem in found.problems)


def test_a_file_over_which_the_validator_fails_stops_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(text: str, *, file: Path, **others: Any) -> Checked:
        if file.name == "odd.json":
            raise RuntimeError("a fault of ours")
        return check(text, file=file, **others)

    monkeypatch.setattr("chatbridge.commands.definitions.library.check", failing)
    written(tmp_path, "odd", definition("odd", "run"))
    written(tmp_path, "sound", definition("sound", "run"))
    found = library(tmp_path)
    assert list(found.commands) == ["sound_run"]
    assert kinds(found) == [("odd.json", "unreadable")]


def test_what_is_not_enabled_has_no_tools_and_is_no_problem(tmp_path: Path) -> None:
    written(tmp_path, "git", definition("git", "status", enabled=False))
    found = library(tmp_path)
    assert (dict(found.commands), found.problems) == ({}, ())
    assert [file.file.name for file in found.files] == ["git.json"]


# ── collisions ────────────────────────────────────────────────────────────────────────────────────


def test_of_two_files_with_the_same_tool_the_later_has_none(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    written(one, "git", definition("git", "status"))
    second = written(two, "also", definition("git", "commit", "status"))
    found = library(one, two)
    assert list(found.commands) == ["git_status"]
    assert found.commands["git_status"].file == one / "git.json"
    (problem,) = found.problems
    assert (problem.file, problem.kind, problem.path) == (
        second,
        "collision",
        "subcommands[1].name",
    )
    assert "git_status" in problem.found
    assert str(one / "git.json") in problem.found
    assert second.read_text().splitlines()[(problem.line or 0) - 1].strip() == '"name": "status",'


def test_the_names_of_a_file_that_is_not_used_are_free_for_others(tmp_path: Path) -> None:
    written(tmp_path, "a", definition("git", "status"))
    written(tmp_path, "b", definition("git", "status", "push"))
    written(tmp_path, "c", definition("git", "push"))
    found = library(tmp_path)
    assert list(found.commands) == ["git_status", "git_push"]
    assert found.commands["git_push"].file.name == "c.json"


def test_a_tool_that_is_there_twice_in_a_file_is_a_problem(tmp_path: Path) -> None:
    written(tmp_path, "npm", definition("npm", "run-all", "run_all"))
    found = library(tmp_path)
    assert not found.commands
    assert kinds(found) == [("npm.json", "duplicate")]


def test_what_is_switched_off_takes_no_name(tmp_path: Path) -> None:
    off = definition("git", "status")
    off["subcommands"][0]["enabled"] = False
    written(tmp_path, "a", off)
    written(tmp_path, "b", definition("git", "status"))
    found = library(tmp_path)
    assert found.commands["git_status"].file.name == "b.json"
    assert found.problems == ()


def test_the_tools_of_operations_are_those_that_agents_are_offered() -> None:
    assert frozenset(OPERATION_TOOLS) == {Status.name, Await.name, Cancel.name}


@pytest.mark.parametrize("name", ["ask_user", "notify-user", "status", "await", "cancel"])
def test_no_definition_takes_the_name_of_a_tool_of_ours(tmp_path: Path, name: str) -> None:
    written(tmp_path, "sly", definition(name, "default", "other", command=["true"]))
    found = library(tmp_path)
    assert not found.commands
    assert kinds(found) == [("sly.json", "collision")]


def test_a_folder_that_is_listed_twice_is_read_once(tmp_path: Path) -> None:
    written(tmp_path / "tools", "git", definition("git", "status"))
    (tmp_path / "link").symlink_to(tmp_path / "tools")
    found = library(tmp_path / "tools", tmp_path / "link", tmp_path / "tools")
    assert list(found.commands) == ["git_status"]
    assert found.problems == ()


# ── reading again, and asking for what is not there ───────────────────────────────────────────────


def test_reading_again_says_whether_anything_is_different(tmp_path: Path) -> None:
    file = written(tmp_path, "git", definition("git", "status"))
    found = library(tmp_path)
    assert not found.reload()
    file.write_text(file.read_text() + "\n\n")
    assert not found.reload()
    written(tmp_path, "git", definition("git", "status", approve="always"))
    assert found.reload()
    assert found.commands["git_status"].approve == "always"
    written(tmp_path, "git", "{")
    assert found.reload()
    assert not found.commands
    assert not found.reload()
    file.unlink()
    assert found.reload()
    assert found.problems == ()


def test_another_order_is_a_difference(tmp_path: Path) -> None:
    written(tmp_path, "git", definition("git", "status", "commit"))
    found = library(tmp_path)
    swapped = definition("git", "commit", "status")
    written(tmp_path, "git", swapped)
    assert found.reload()
    assert list(found.commands) == ["git_commit", "git_status"]


def test_a_tool_of_a_broken_file_is_told_from_one_that_never_was(tmp_path: Path) -> None:
    bad = definition("git", "status", "default") | {"timeout": "soon"}
    written(tmp_path, "some", bad)
    written(tmp_path, "npm", "{ no JSON")
    written(tmp_path, "make", definition("make", "all"))
    found = library(tmp_path)
    for name, file in {
        "git_status": "some.json",
        "git": "some.json",
        "git_push": "some.json",
        "npm_test": "npm.json",
        "npm": "npm.json",
    }.items():
        problem = found.broken_tool(name)
        assert problem is not None, name
        assert problem.file.name == file
    for name in ("make_none", "gitk", "npmx_test", "some", ""):
        assert found.broken_tool(name) is None, name


def test_a_folder_that_is_not_used_is_nobodys_home(tmp_path: Path) -> None:
    found = library(tmp_path / "git")
    assert found.problems
    assert found.broken_tool("git_status") is None


def test_the_very_name_counts_before_what_it_begins_with(tmp_path: Path) -> None:
    written(tmp_path, "a", definition("go", "x") | {"timeout": "soon"})
    written(tmp_path, "b", definition("go-mod", "tidy") | {"timeout": "soon"})
    problem = library(tmp_path).broken_tool("go_mod_tidy")
    assert problem is not None
    assert problem.file.name == "b.json"
