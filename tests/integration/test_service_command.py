"""`chatbridge service` where there is no systemd, and what it would write where there is."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from chatbridge.cli.hub import commands
from chatbridge.cli.service import manager, systemd, unit_files
from chatbridge.cli.service.systemd import SERVICE, SOCKET


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CONFIG", "STATE_DIR", "RUNTIME_DIR"):
        monkeypatch.delenv(f"CHATBRIDGE_{name}", raising=False)
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.mark.skipif(systemd.has_systemd(), reason="this computer has a journal")
def test_logs_without_a_journal_name_the_file_instead_of_waiting_for_lines(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert commands.service(["logs", "-f"]) == 1
    assert "hub.log" in capsys.readouterr().err


def test_the_help_fits_a_terminal_of_80_columns() -> None:
    assert max(len(line) for line in commands.SERVICE.splitlines()) <= 80


@pytest.mark.parametrize(
    "what", ["install", "uninstall", "status", "restart", "start", "stop", "logs"]
)
def test_without_systemd_a_sentence_says_so_and_nothing_is_written(
    what: str, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(home))
    code = commands.service([what])
    said = capsys.readouterr()
    if what == "uninstall":
        assert (code, said.err) == (0, "")
        assert "not installed" in said.out
    else:
        assert code == 1
        assert "no systemd" in said.out + said.err or "no journal" in said.err
    assert list(home.iterdir()) == []


@pytest.mark.parametrize(
    ("what", "forced"), [("restart", []), ("stop", []), ("restart", ["--force"])]
)
def test_a_mistake_in_the_settings_keeps_the_service_running(
    what: str,
    forced: list[str],
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    told = said_by_systemctl(home, monkeypatch, "LoadState=loaded")
    (home / ".config/chatbridge").mkdir(parents=True)
    (home / ".config/chatbridge/config.toml").write_text("max_open_ask = 3\n")
    code = commands.service([what, *forced])
    words = f"--user {what}"
    if forced:
        assert code == 0
        assert words in told.read_text()
    else:
        assert code == 1
        assert "did you mean max_open_asks? (line 1)" in capsys.readouterr().err
        assert words not in told.read_text()


@pytest.mark.parametrize("what", ["restart", "start"])
def test_a_hub_is_not_stopped_for_a_service_whose_program_has_gone(
    what: str, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As after an upgrade to a distribution of another name, in which pipx or uv have it."""
    told = said_by_systemctl(
        home, monkeypatch, "LoadState=loaded", f"ExecStart={{ path={home}/old/bin/chatbridge ; argv"
    )
    assert commands.service([what]) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert f"{home}/old/bin/chatbridge, which is not there any more" in said
    assert "Nothing was stopped" in said
    assert "chatbridge service install" in said
    assert f"--user {what}" not in told.read_text()


def said_by_systemctl(home: Path, monkeypatch: pytest.MonkeyPatch, *lines: str) -> Path:
    """Everything is answered with these lines. The file that has what it was told."""
    told, program = home / "told", home / "systemctl"
    program.write_text(f"#!/bin/sh\necho $@ >> '{told}'\nprintf '%s\\n' {shlex.join(lines)}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{home}:/usr/bin:/bin")
    monkeypatch.setattr(systemd, "has_systemd", lambda: True)
    return told


def test_only_logs_pass_on_what_they_do_not_know(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        commands.service(["status", "-f"])
    assert ended.value.code == 2
    assert "-f" in capsys.readouterr().err


def test_the_units_run_this_very_chatbridge() -> None:
    service, socket = (unit_files.contents()[unit] for unit in (SERVICE, SOCKET))
    script = Path(sys.executable).with_name("chatbridge")
    command = str(script) if script.exists() else f"{sys.executable} -m chatbridge"
    assert f"\nExecStart={command} hub --started-by service\n" in service
    assert "/usr/bin/env" not in service
    assert "Environment=" not in service
    assert "\nListenStream=%t/chatbridge/hub.sock\n" in socket


def test_folders_of_ones_own_are_written_down_and_tokens_are_not(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHATBRIDGE_STATE_DIR", str(home / "my state"))
    monkeypatch.setenv("CHATBRIDGE_RUNTIME_DIR", "/run/50%")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "settings"))
    monkeypatch.setenv("CHATBRIDGE_TELEGRAM__TOKEN", "123:secret")
    service, socket = (unit_files.contents()[unit] for unit in (SERVICE, SOCKET))
    assert f'\nEnvironment="CHATBRIDGE_STATE_DIR={home}/my state"\n' in service
    assert "\nEnvironment=CHATBRIDGE_RUNTIME_DIR=/run/50%%\n" in service
    assert f"\nEnvironment=CHATBRIDGE_CONFIG={home}/settings/chatbridge/config.toml\n" in service
    assert "\nListenStream=/run/50%%/service-" in socket
    assert "secret" not in service
    assert "CHATBRIDGE_TELEGRAM__TOKEN" in manager.left_out()
    assert unit_files.folder() == str(home / "settings" / "systemd" / "user")
