"""A file is replaced in one step, or stays as it was."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chatbridge.atomic_write import write_atomically


def test_the_content_is_there_with_its_mode_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    before = os.umask(0o077)
    try:
        write_atomically(path, b"new", mode=0o644)
    finally:
        os.umask(before)
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o644
    assert os.listdir(tmp_path) == ["a.txt"]


def test_without_a_mode_it_is_for_its_owner_alone(tmp_path: Path) -> None:
    write_atomically(tmp_path / "a.txt", b"new")
    assert (tmp_path / "a.txt").stat().st_mode & 0o777 == 0o600


def test_a_file_that_must_not_be_there_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_atomically(path, b"first", overwrite=False)
    with pytest.raises(FileExistsError):
        write_atomically(path, b"second", overwrite=False)
    assert path.read_bytes() == b"first"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_check_that_fails_at_the_last_moment_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")

    def check() -> None:
        assert path.read_text() == "old"
        raise ValueError("changed meanwhile")

    with pytest.raises(ValueError, match="changed meanwhile"):
        write_atomically(path, b"new", check=check)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_file_of_the_folder_one_is_in_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_atomically("a.txt", b"new")
    assert (tmp_path / "a.txt").read_bytes() == b"new"
