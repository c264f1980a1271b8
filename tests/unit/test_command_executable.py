"""Which program is started: never one that a project has put in the way."""

from __future__ import annotations

from pathlib import Path

import pytest

from chatbridge.commands.arguments.executable import called, find
from chatbridge.core.errors import CommandUnusable


def program(folder: Path, name: str = "tool", *, mode: int = 0o755) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text("#!/bin/sh\n")
    file.chmod(mode)
    return str(file)


def test_the_first_that_may_be_run_is_found(tmp_path: Path) -> None:
    program(tmp_path / "a", mode=0o644)
    (tmp_path / "b" / "tool").mkdir(parents=True)
    third, fourth = program(tmp_path / "c"), program(tmp_path / "d")
    path = ":".join(str(tmp_path / each) for each in "abcd")
    assert find("tool", path=path) == third
    assert find("tool", path=path, own=[tmp_path / "d"]) == fourth


@pytest.mark.parametrize("entry", ["", ".", "bin", "./bin", "../project/bin"])
def test_an_entry_that_means_the_project_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: str
) -> None:
    project = tmp_path / "project"
    program(project)
    program(project / "bin")
    monkeypatch.chdir(project)
    good = program(tmp_path / "good")
    assert find("tool", path=f"{entry}:{tmp_path / 'good'}") == good
    with pytest.raises(CommandUnusable, match="Looked in no folder"):
        find("tool", path=entry)


def test_an_entry_inside_the_project_is_skipped_unless_the_owner_named_it(tmp_path: Path) -> None:
    project = tmp_path / "project"
    inside = program(project / ".venv" / "bin")
    outside = program(tmp_path / "good")
    (tmp_path / "alias").symlink_to(project / ".venv")
    path = f"{project}/.venv/bin:{tmp_path}/alias/bin:{tmp_path}/good"
    assert find("tool", path=path) == inside
    assert find("tool", path=path, not_in=project) == outside
    assert find("tool", path=path, own=[project / ".venv" / "bin"], not_in=project) == inside
    with pytest.raises(CommandUnusable, match="not in those of PATH that lie in the project"):
        find("tool", path=f"{project}/.venv/bin", not_in=project)


def test_a_whole_path_is_taken_as_it_is_with_the_owners_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = program(tmp_path / "bin")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert find(file, path="") == file
    assert find("~/bin/tool", path="") == file
    assert called("~/bin/tool") == file
    assert [called("tool"), called("/bin//tool")] == ["tool", "/bin//tool"]


@pytest.mark.parametrize("name", ["bin/tool", "./tool", "../tool", "~nobody-of-that-name/tool"])
def test_a_relative_path_is_looked_up_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    program(tmp_path / "bin")
    program(tmp_path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CommandUnusable, match="Write its whole path in the definition"):
        find(name, path=str(tmp_path))


def test_a_missing_program_says_where_it_was_looked_for_and_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(CommandUnusable) as refused:
        find("tool", path="/nowhere:/else", own=[tmp_path])
    assert str(refused.value) == (
        f"the program tool was not found. Looked in {tmp_path}, /nowhere, /else. Nothing was "
        "started. Install it, or write its whole path in the command's definition, or add its "
        "folder to commands.path"
    )
    with pytest.raises(CommandUnusable, match="/tool is not there, or is no file that may be run"):
        find(f"{tmp_path}/tool", path="/bin")
