"""`chatbridge connect claude-code --workspace`: many folders, each with its permissions."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from chatbridge.cli.connect.machine import program
from chatbridge.cli.setup import commands

TOOLS = [
    "mcp__chatbridge__ask_user",
    "mcp__chatbridge__wait_for_answer",
    "mcp__chatbridge__ask_user_questions",
    "mcp__chatbridge__get_answered_questions",
    "mcp__chatbridge__question_ask",
    "mcp__chatbridge__question_summary",
    "mcp__chatbridge__notify_user",
    "mcp__chatbridge__check_messages",
]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("CHATBRIDGE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    made = [tmp_path / "work" / name for name in ("a", "b", "c")]
    for folder in made:
        folder.mkdir(parents=True)
    return made


def connect(*folders: Path) -> int:
    return commands.connect(["claude-code", "--yes", "--workspace", *map(str, folders)])


def settings(folder: Path) -> Any:
    return json.loads((folder / ".claude/settings.local.json").read_text())


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(it.relative_to(folder)): it.read_bytes() for it in folder.rglob("*") if it.is_file()
    }


def test_each_folder_gets_the_server_and_the_permissions(folders: list[Path]) -> None:
    assert connect(*folders) == 0
    start = program()
    for folder in folders:
        assert json.loads((folder / ".mcp.json").read_text()) == {
            "mcpServers": {
                "chatbridge": {
                    "type": "stdio",
                    "command": start.command,
                    "args": list(start.args),
                    "timeout": 100_000_000,
                }
            }
        }
        assert settings(folder) == {
            "permissions": {"allow": TOOLS},
            "enabledMcpjsonServers": ["chatbridge"],
        }


def test_many_times_is_the_same_as_once(
    folders: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    connect(*folders)
    once = [contents(folder) for folder in folders]
    capsys.readouterr()
    assert connect(*folders, folders[0]) == 0
    assert [contents(folder) for folder in folders] == once
    assert capsys.readouterr().out.count("already connected") == 3


def test_what_is_in_the_files_already_stays(folders: list[Path]) -> None:
    folder = folders[0]
    (folder / ".claude").mkdir()
    text = """{
  "permissions": {
    "allow": [
      "Bash(make:*)", // ours
      "mcp__chatbridge__ask_user"
    ],
    "deny": []
  },
  "enabledMcpjsonServers": ["docs"]
}
"""
    (folder / ".claude/settings.local.json").write_text(text)
    (folder / ".mcp.json").write_text('{"mcpServers": {"docs": {"command": "x"}}}\n')
    connect(folder)
    new = (folder / ".claude/settings.local.json").read_text()
    more = "".join(f',\n      "{tool}"' for tool in TOOLS[1:])
    assert new == text.replace('ask_user"', 'ask_user"' + more).replace(
        '["docs"]', '["docs", "chatbridge"]'
    )


def test_a_permission_for_the_whole_server_is_enough(folders: list[Path]) -> None:
    folder = folders[0]
    (folder / ".claude").mkdir()
    allowed = {"permissions": {"allow": ["mcp__chatbridge"]}}
    (folder / ".claude/settings.local.json").write_text(json.dumps(allowed))
    connect(folder)
    assert settings(folder) == allowed | {"enabledMcpjsonServers": ["chatbridge"]}


def test_disconnecting_leaves_each_folder_as_it_was(folders: list[Path]) -> None:
    (folders[1] / ".claude").mkdir()
    (folders[1] / ".claude/settings.local.json").write_text('{"permissions": {"allow": []}}')
    (folders[1] / ".mcp.json").write_text('{\n\t"mcpServers": { }\n}')
    before = [contents(folder) for folder in folders]
    connect(*folders)
    assert commands.disconnect(["claude-code", "-y", "--workspace", *map(str, folders)]) == 0
    after = [
        {name: it for name, it in contents(folder).items() if ".bak" not in name}
        for folder in folders
    ]
    assert after == before
    assert list(folders[0].iterdir()) == []


def test_a_folder_that_fails_does_not_stop_the_others(
    folders: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folders[0] / ".mcp.json").write_text("{")
    assert connect(folders[0], tmp_path / "none", folders[1]) == 1
    lines = capsys.readouterr().out.splitlines()[-3:]
    assert lines[0].startswith(f"✗ {folders[0]}")
    assert "cannot be understood" in lines[0]
    assert lines[1].startswith(f"✗ {tmp_path / 'none'}")
    assert "there is no such folder" in lines[1]
    assert lines[2].startswith(f"✓ {folders[1]}")
    assert (folders[0] / ".mcp.json").read_text() == "{"
    assert settings(folders[1])["enabledMcpjsonServers"] == ["chatbridge"]


def test_a_project_that_is_switched_off_is_skipped(
    folders: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    (folders[0] / ".chatbridge.toml").write_text("enabled = false\n")
    assert connect(*folders) == 0
    assert list(contents(folders[0])) == [".chatbridge.toml"]
    assert "skipped: its .chatbridge.toml says enabled = false" in capsys.readouterr().out
    assert (folders[1] / ".mcp.json").exists()


def test_a_server_that_was_refused_there_is_not_forced_in(
    folders: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    (folders[0] / ".claude").mkdir()
    refusal = '{"disabledMcpjsonServers": ["chatbridge"]}'
    (folders[0] / ".claude/settings.local.json").write_text(refusal)
    assert connect(folders[0]) == 1
    assert "disabledMcpjsonServers" in capsys.readouterr().out
    assert not (folders[0] / ".mcp.json").exists()


def test_without_a_terminal_nothing_is_written(
    folders: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert commands.connect(["claude-code", "--workspace", *map(str, folders)]) == 2
    assert "--yes" in capsys.readouterr().err
    assert [contents(folder) for folder in folders] == [{}, {}, {}]


@pytest.mark.parametrize("words", [["codex", "--workspace", "a"], ["--workspace", "a"],
                                   ["claude-code", "--project", "--workspace", "a"]])  # fmt: skip
def test_what_does_not_go_together_is_said(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        commands.connect(words)
    assert ended.value.code == 2
    assert "--workspace" in capsys.readouterr().err


def test_a_folder_in_which_something_else_would_change_has_a_diff_of_its_own(
    folders: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    other = {"mcpServers": {"chatbridge": {"type": "stdio", "command": "/opt/other"}}}
    (folders[1] / ".mcp.json").write_text(json.dumps(other, indent=2))
    assert connect(*folders) == 0
    shown = capsys.readouterr().out
    assert shown.count("+++ ") == 4
    assert "/opt/other" in shown
    assert f"Likewise in 1 more: {folders[2]}\n" in shown
