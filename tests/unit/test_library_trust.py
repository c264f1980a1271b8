"""The library takes definitions only from files that nobody else could have written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chatbridge.commands.definitions.library import Library
from tests.fakes.definitions import definition, written

GIT = definition("git", "status")
STRANGER = 12_345

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
not_as_root = pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")


def library(folder: Path, *, may_be_missing: bool = False) -> Library:
    found = Library([folder], may_be_missing=may_be_missing)
    found.load()
    return found


def only_problem(found: Library) -> tuple[Path, str]:
    assert not found.commands
    (problem,) = found.problems
    assert problem.line is None
    assert problem.mend
    return problem.file, problem.kind


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_can_write_to_is_refused(tmp_path: Path, mode: int) -> None:
    file = written(tmp_path, "git", GIT)
    file.chmod(mode)
    found = library(tmp_path)
    assert only_problem(found) == (file, "writable")
    assert found.problems[0].mend == f"chmod go-w {file}"
    file.chmod(mode & ~0o022)
    assert found.reload()
    assert list(found.commands) == ["git_status"]


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o1777])
def test_a_folder_that_others_can_write_to_is_refused_with_all_its_files(
    tmp_path: Path, mode: int
) -> None:
    folder = tmp_path / "tools"
    written(folder, "git", GIT)
    folder.chmod(mode)
    found = library(folder)
    assert only_problem(found) == (folder, "writable")
    assert f"{mode:04o}" in found.problems[0].found


def test_what_others_can_only_read_is_taken(tmp_path: Path) -> None:
    written(tmp_path, "git", GIT).chmod(0o644)
    tmp_path.chmod(0o755)
    assert list(library(tmp_path).commands) == ["git_status"]


@as_root
def test_a_file_of_another_user_is_refused(tmp_path: Path) -> None:
    file = written(tmp_path, "git", GIT)
    os.chown(file, STRANGER, -1)
    assert only_problem(library(tmp_path)) == (file, "owner")


@as_root
def test_a_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "tools"
    written(folder, "git", GIT)
    os.chown(folder, STRANGER, -1)
    assert only_problem(library(folder)) == (folder, "owner")


def test_a_link_to_a_file_is_followed_and_the_file_is_looked_at(tmp_path: Path) -> None:
    real = written(tmp_path / "dotfiles", "mine", GIT)
    tools = tmp_path / "tools"
    tools.mkdir(mode=0o700)
    (tools / "git.json").symlink_to(real)
    found = library(tools)
    assert found.commands["git_status"].file == tools / "git.json"
    real.chmod(0o666)
    assert found.reload()
    assert only_problem(found) == (tools / "git.json", "writable")


@as_root
def test_a_link_to_another_users_file_is_refused(tmp_path: Path) -> None:
    real = written(tmp_path / "theirs", "git", GIT)
    os.chown(real, STRANGER, -1)
    tools = tmp_path / "tools"
    tools.mkdir(mode=0o700)
    (tools / "git.json").symlink_to(real)
    assert only_problem(library(tools)) == (tools / "git.json", "owner")


def test_a_link_to_a_folder_is_followed_and_that_folder_is_looked_at(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles"
    written(real, "git", GIT)
    (tmp_path / "tools").symlink_to(real)
    found = library(tmp_path / "tools")
    assert list(found.commands) == ["git_status"]
    real.chmod(0o777)
    assert found.reload()
    assert only_problem(found) == (tmp_path / "tools", "writable")


@pytest.mark.parametrize("kind", ["pipe", "folder", "nowhere"])
def test_what_is_no_file_is_refused_and_holds_nobody_up(tmp_path: Path, kind: str) -> None:
    odd = tmp_path / "odd.json"
    if kind == "pipe":
        os.mkfifo(odd, 0o600)
    elif kind == "folder":
        odd.mkdir()
    else:
        odd.symlink_to(tmp_path / "gone")
    written(tmp_path, "git", GIT)
    found = library(tmp_path)
    assert list(found.commands) == ["git_status"]
    assert [problem.file for problem in found.problems] == [odd]


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    file = written(tmp_path, "git", " " * 1_000_001)
    assert only_problem(library(tmp_path)) == (file, "too_large")


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    file = written(tmp_path, "git", "")
    file.write_bytes(b'{"name": "\xff"}')
    assert only_problem(library(tmp_path)) == (file, "encoding")


@not_as_root
def test_a_file_that_cannot_be_read_is_a_problem(tmp_path: Path) -> None:
    file = written(tmp_path, "git", GIT)
    file.chmod(0)
    assert only_problem(library(tmp_path)) == (file, "unreadable")


def test_a_folder_that_the_owner_named_has_to_be_there_and_the_usual_one_has_not(
    tmp_path: Path,
) -> None:
    missing = tmp_path / "tools"
    found = library(missing)
    assert only_problem(found) == (missing, "missing")
    assert f"mkdir -p {missing}" in found.problems[0].mend
    assert library(missing, may_be_missing=True).problems == ()


def test_a_file_in_the_place_of_a_folder_is_a_problem(tmp_path: Path) -> None:
    file = written(tmp_path, "git", GIT)
    assert only_problem(library(file, may_be_missing=True)) == (file, "unreadable")
