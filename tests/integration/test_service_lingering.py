"""`chatbridge service install` explains lingering, offers it, and takes an answer in advance.

The container's users linger already: here systemd's commands are stand-ins that only say so.
"""

from __future__ import annotations

import getpass
import io
import os
import sys
from pathlib import Path

import pytest

from chatbridge.cli.hub.commands import service

BOOTED = "/run/systemd/system"
COMMAND = """#!/bin/sh
echo "$*" >> "$HOME/calls"
case "$*" in
  *show-user*) echo no ;;
  *enable-linger*) exit "$REFUSED" ;;
esac
"""


class Keyboard(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    real = os.path.isdir
    monkeypatch.setattr("os.path.isdir", lambda path: path == BOOTED or real(path))
    for name in ("systemctl", "loginctl"):
        (tmp_path / name).write_text(COMMAND)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("REFUSED", "0")
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "CHATBRIDGE_STATE_DIR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def enabled(home: Path) -> bool:
    return "enable-linger" in (home / "calls").read_text()


def test_a_script_is_told_how_to_turn_it_on_and_nothing_is_decided_for_it(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert service(["install"]) == 0
    said = capsys.readouterr().out
    assert "It stops when you log out" in said
    assert "chatbridge service install --linger" in said
    assert not enabled(home)


@pytest.mark.parametrize(("keys", "wanted"), [("\n", True), ("y\n", True), ("n\n", False)])
def test_a_person_is_asked(
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    keys: str,
    wanted: bool,
) -> None:
    monkeypatch.setattr(sys, "stdin", Keyboard(keys))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert service(["install"]) == 0
    said = capsys.readouterr().out
    assert "Turn lingering on?" in said
    assert ("✓ lingering is on" in said) is wanted
    assert enabled(home) is wanted


@pytest.mark.parametrize(("option", "wanted"), [("--linger", True), ("--no-linger", False)])
def test_the_answer_can_be_given_in_advance(
    home: Path, capsys: pytest.CaptureFixture[str], option: str, wanted: bool
) -> None:
    assert service(["install", option]) == 0
    assert "?" not in capsys.readouterr().out
    assert enabled(home) is wanted


def test_where_only_root_may_the_command_for_root_is_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("REFUSED", "1")
    assert service(["install", "--linger"]) == 0
    assert f"sudo loginctl enable-linger {getpass.getuser()}" in capsys.readouterr().out
