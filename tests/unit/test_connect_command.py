"""`chatbridge connect` and `chatbridge disconnect`, as somebody at a terminal meets them."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from chatbridge.cli.connect.catalogue import CATALOGUE, CLIENTS
from chatbridge.cli.connect.hooks import Hooks
from chatbridge.cli.connect.jsonc import Jsonc
from chatbridge.cli.connect.machine import program
from chatbridge.cli.setup import commands
from tests.fakes.client_home import Home, before
from tests.fakes.program import ROOT, bare

MOVING = ("CODEX_HOME", "CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME", "NO_COLOR")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    for name in [*MOVING, *(name for name in os.environ if name.startswith("CHATBRIDGE_"))]:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TERM", "xterm")
    return Home(tmp_path)


Terminal = Callable[[str], Callable[[], str]]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    """Somebody sits there and types this; what is shown can be read afterwards."""
    opened: list[int] = []

    def sit(typed: str) -> Callable[[], str]:
        master, slave = pty.openpty()
        opened.append(master)
        os.write(master, typed.encode())
        stdin = os.fdopen(os.dup(slave), encoding="utf-8")
        stdout = os.fdopen(slave, "w", encoding="utf-8")
        monkeypatch.setattr("sys.stdin", stdin)
        monkeypatch.setattr("sys.stdout", stdout)

        def shown() -> str:
            monkeypatch.undo()
            stdin.close()
            stdout.write("\x04")
            stdout.close()
            text = b""
            while not text.endswith(b"\x04"):
                text += os.read(master, 65536)
            return text[:-1].decode().replace("\r\n", "\n")

        return shown

    yield sit
    for number in opened:
        os.close(number)


def test_without_a_terminal_the_diff_is_shown_and_nothing_is_written(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    file = home.has("codex", before("codex"))
    assert commands.connect(["codex"]) == 2
    shown = capsys.readouterr()
    assert "+[mcp_servers.chatbridge]" in shown.out
    assert "~/.codex/config.toml" in shown.out
    assert "To write it: chatbridge connect codex --yes" in shown.err
    assert file.read_bytes() == before("codex")


def test_yes_writes_and_says_what_to_restart(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    file = home.has("codex", before("codex"))
    assert commands.connect(["codex", "--yes"]) == 0
    shown = capsys.readouterr().out
    assert "+ 7 lines       backup: config.toml.bak" in shown
    assert "✓ Codex is connected. Restart Codex" in shown
    entry = tomllib.loads(file.read_text())["mcp_servers"]["chatbridge"]
    start = program()
    told = [*start.args, "--limit", "3600"]
    assert (entry["command"], entry["args"]) == (start.command, told)
    assert os.path.isabs(entry["command"])
    assert commands.connect(["codex"]) == 0
    assert "already connected, nothing to change" in capsys.readouterr().out
    assert commands.disconnect(["codex", "--yes"]) == 0
    assert file.read_bytes() == before("codex")
    assert commands.disconnect(["codex"]) == 0


@pytest.mark.parametrize(
    ("typed", "code", "written"),
    [("\n", 0, True), ("y\n", 0, True), ("YES\n", 0, True), ("n\n", 1, False), ("what\n", 1, False),
     ("\x04", 1, False)],
)  # fmt: skip
def test_a_person_is_asked_and_only_yes_writes(
    home: Home, terminal: Terminal, typed: str, code: int, written: bool
) -> None:
    file = home.has("codex", before("codex"))
    shown = terminal(typed)
    assert commands.connect(["codex"]) == code
    screen = shown()
    assert "Write these? [Y/n]" in screen
    assert (file.read_bytes() != before("codex")) == written
    assert ("Nothing was written." in screen) != written


def test_a_terminal_has_colour_unless_somebody_does_not_want_it(
    home: Home, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = terminal("n\n")
    commands.connect(["cursor"])
    assert "\x1b[32m+" in shown()
    monkeypatch.setenv("HOME", str(home.path))
    monkeypatch.setenv("NO_COLOR", "1")
    shown = terminal("n\n")
    commands.connect(["cursor"])
    assert "\x1b" not in shown()


def test_the_wait_is_as_long_as_a_question_may_stay_open_and_at_least_an_hour(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def timeout() -> int:
        assert commands.connect(["codex", "--yes"]) == 0
        tree = tomllib.loads(home.file("codex").read_text())
        return int(tree["mcp_servers"]["chatbridge"]["tool_timeout_sec"])

    assert timeout() == 3600
    monkeypatch.setenv("CHATBRIDGE_MAX_TIMEOUT", "12h")
    assert timeout() == 12 * 3600


def test_settings_that_cannot_be_used_are_said_and_nothing_is_written(
    home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CHATBRIDGE_MAX_TIMEOUT", "soon")
    assert commands.connect(["codex", "--yes"]) == 1
    assert "max_timeout" in capsys.readouterr().err
    assert not home.file("codex").exists()


@pytest.mark.parametrize("main", [commands.connect, commands.disconnect])
def test_an_unknown_client_gets_the_list(
    home: Home, capsys: pytest.CaptureFixture[str], main: Callable[[list[str]], int]
) -> None:
    assert main(["emacs"]) == 2
    said = capsys.readouterr().err
    assert "'emacs'" in said
    assert ", ".join(CLIENTS) in said


def test_disconnect_without_a_client_asks_which(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    assert commands.disconnect([]) == 2
    assert "claude-code, codex" in capsys.readouterr().err


def test_without_a_client_those_on_this_computer_are_listed(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    assert commands.connect([]) == 0
    assert "No client that chatbridge knows was found here" in capsys.readouterr().out
    home.has("codex", before("codex"))
    home.has("cursor", b"{")
    home.connect("claude-code")
    assert commands.connect([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [
        "✓ Claude Code  connected, waits up to 1 d  ~/.claude.json",
        "– Codex        not connected               ~/.codex/config.toml",
        "! Cursor       its file cannot be read     ~/.cursor/mcp.json",
    ]
    assert "Connect one:   chatbridge connect codex" in lines


def test_the_list_stays_within_the_terminal(
    home: Home, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    for client in CLIENTS:
        home.connect(client)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    shown = terminal("")
    commands.connect([])
    lines = shown().splitlines()
    assert len(lines) == len(CLIENTS) + 3
    assert max(map(len, lines)) == 80


def test_a_client_that_is_not_here_is_said_to_be_missing(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    commands.connect(["zed"])
    assert "Zed was not found on this computer." in capsys.readouterr().out
    home.has("zed", before("zed"))
    commands.connect(["zed"])
    assert "not found" not in capsys.readouterr().out


@pytest.mark.parametrize("client", CLIENTS)
def test_print_shows_what_would_be_written_and_writes_nothing(
    home: Home, capsys: pytest.CaptureFixture[str], client: str
) -> None:
    assert commands.connect([client, "--print"]) == 0
    shown = capsys.readouterr()
    assert program().command in shown.out
    assert "reads this from ~/" in shown.err
    assert list(home.path.iterdir()) == []
    files = [change.path for change in home.plan(client).changes]
    commands.connect([client, "--yes"])
    assert files[0] == home.file(client)
    assert "".join(file.read_text() for file in files) == shown.out


def test_print_without_a_client_is_for_any_other(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    assert commands.connect(["--print"]) == 0
    start = program()
    assert json.loads(capsys.readouterr().out) == {
        "mcpServers": {
            "chatbridge": {"type": "stdio", "command": start.command, "args": list(start.args)}
        }
    }


def test_project_writes_into_the_folder_one_is_in(
    home: Home, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    project = tmp_path / "shop-api"
    project.mkdir()
    monkeypatch.chdir(project)
    mask = os.umask(0o022)
    assert commands.connect(["codex", "--project", "--yes"]) == 0
    os.umask(mask)
    assert (project / ".codex/config.toml").stat().st_mode & 0o777 == 0o644
    assert not home.file("codex").exists()
    assert commands.disconnect(["codex", "--project", "--yes"]) == 0
    assert list(project.iterdir()) == []


def test_another_servers_secret_is_not_on_the_screen(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    for client in CLIENTS:
        home.has(client, before(client))
        commands.connect([client])
    assert "not-a-real-one" not in capsys.readouterr().out


def test_a_file_cannot_play_with_the_terminal(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    home.has("cursor", b'{\n  "a": "\xe2\x80\xae" // \x1b[2J\n}\n')
    commands.connect(["cursor"])
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert "⟨U+001B⟩" in shown
    assert "⟨U+202E⟩" in shown


@pytest.mark.parametrize(
    "content", [b"mcp_servers = { a = { command = 'x' } }\n", b"mcp_servers = 1\n"]
)
def test_a_file_that_is_sound_but_cannot_be_changed_is_not_called_broken(
    home: Home, capsys: pytest.CaptureFixture[str], content: bytes
) -> None:
    file = home.has("codex", content)
    assert commands.connect(["codex", "--yes"]) == 1
    said = capsys.readouterr().err
    assert "cannot be changed without changing more than that.\nNothing was written." in said
    assert "chatbridge connect codex --print" in said
    assert file.read_bytes() == content


@pytest.mark.process
@pytest.mark.parametrize(
    ("words", "code"),
    [("connect codex | true", 141), ("connect codex >&-", 2), ("completion bash | true", 141)],
)
def test_nobody_who_reads_is_no_reason_to_complain(home: Home, words: str, code: int) -> None:
    command_line = f'"{sys.executable}" -u -m chatbridge {words}'
    done = subprocess.run(
        ["bash", "-c", f"{command_line}; exit ${{PIPESTATUS[0]}}"],
        env=bare({"HOME": str(home.path)}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr


@pytest.mark.parametrize("client", ["codex", "gemini"])
def test_a_clients_page_shows_the_hooks_that_are_written(client: str) -> None:
    page = (ROOT / "docs" / "clients" / f"{client}.md").read_text(encoding="utf-8")
    blocks = [json.loads(it) for it in re.findall(r"```json\n(.*?)```", page, re.DOTALL)]
    (shown,) = [it for it in blocks if "hooks" in it]
    known = CATALOGUE[client]
    hooks = Hooks(
        hooks=known.hooks,
        command=["/home/you/.local/bin/chatbridge", "hook"],
        wait=3600.0,
        unit=known.hook_unit,
    )
    assert shown == json.loads(hooks.add(Jsonc(), "{}"))


def test_whoever_has_the_plugin_is_told_before_both_are_there(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = home.path / ".claude/settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text('{"enabledPlugins": {"chatbridge@chatbridge": true}}\n')
    assert commands.connect(["claude-code", "--yes"]) == 0
    said = capsys.readouterr().out
    assert "To keep only what follows: claude plugin uninstall chatbridge@chatbridge\n" in said
    assert commands.connect(["codex", "--yes"]) == 0
    assert "plug-in" not in capsys.readouterr().out


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("client", sorted(set(CLIENTS) - {"claude-code"}))
def test_a_clients_page_shows_the_entry_that_is_written(
    client: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert commands.connect([client, "--print", "--no-hooks", "--no-instructions"]) == 0
    entry = capsys.readouterr().out.replace(program().command, "/home/you/.local/bin/chatbridge")
    page = ROOT / "docs" / "clients" / f"{client}.md"
    assert entry.strip() in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("said", "seconds"), [("", 3600), ('when_done = "tell"', 3600), ('when_done = "ask"', 28800)]
)
def test_the_hook_at_the_end_may_wait_as_long_as_you_may_be_asked_what_is_next(
    home: Home, monkeypatch: pytest.MonkeyPatch, said: str, seconds: int
) -> None:
    config = home.path / "config.toml"
    config.write_text(f'[claude]\nwait = "8h"\n{said}\n')
    config.chmod(0o600)
    monkeypatch.setenv("CHATBRIDGE_CONFIG", str(config))
    assert commands.connect(["claude-code", "--yes"]) == 0
    hooks = json.loads((home.path / ".claude/settings.json").read_text())["hooks"]
    (hook,) = hooks["Stop"][0]["hooks"]
    assert hook["timeout"] == seconds
    assert hook["command"].endswith(f"chatbridge hook --limit {seconds}")
