"""`chatbridge setup --non-interactive`: all is checked first, and secrets come from files."""

from __future__ import annotations

import io
import json
import os
import stat
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from chatbridge import settings
from chatbridge.channels.matrix import setup as matrix
from chatbridge.channels.matrix.account.bot import Bot
from chatbridge.cli.config_file import change
from chatbridge.cli.setup import commands
from chatbridge.cli.setup.state import Setup
from tests.fakes.link_client import PATIENCE
from tests.fakes.machine import House, house
from tests.fakes.telegram.server import BotApi


@pytest.fixture(scope="module")
def api() -> Iterator[BotApi]:
    with BotApi.running() as found:
        yield found


@pytest.fixture
def home(api: BotApi) -> Iterator[House]:
    with house(CHATBRIDGE_TELEGRAM__API_BASE=api.address) as found:
        yield found


def config_of(home: House) -> Path:
    return Path(home.environment["HOME"]) / ".config" / "chatbridge" / "config.toml"


def written(home: House) -> dict[str, Any]:
    return tomllib.loads(config_of(home).read_text())


def setup(home: House, *flags: str, given: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*home.chatbridge, "setup", "--non-interactive", *flags],
        input=given,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={"PATH": os.environ["PATH"], **home.environment},
    )


class Here:
    """The command in this process: a dozen starts would take as many seconds."""

    def __init__(
        self, home: House, patch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[str]
    ) -> None:
        self.home, self._patch, self._capture = home, patch, capture
        for name, value in home.environment.items():
            patch.setenv(name, value)

    def refused(self, *flags: str, given: str = "") -> str:
        """What it says; nothing was written."""
        self._patch.setattr(sys, "stdin", io.StringIO(given))
        with suppress(SystemExit):  # wrong usage
            assert commands.setup(["--non-interactive", *flags]) == 1
        assert not config_of(self.home).parent.exists()
        return " ".join(self._capture.readouterr().err.split())


@pytest.fixture
def here(home: House, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    return Here(home, monkeypatch, capsys)


def test_a_token_from_standard_input_people_and_the_wait_are_written(
    home: House, api: BotApi
) -> None:
    flags = ["--telegram-token-file", "-", "--telegram-user", "7", "8", "--wait", "8h"]
    done = setup(home, *flags, given=f"{api.token}\n")
    assert done.returncode == 0, done.stderr
    assert written(home) == {
        "default_timeout": "8h",
        "max_timeout": "16h",
        "telegram": {"allowed_users": [7, 8], "api_base": api.address},
    }
    secret = config_of(home).parent / "secrets" / "chatbridge_telegram__token"
    assert secret.read_text().strip() == api.token
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert stat.S_IMODE(config_of(home).stat().st_mode) == 0o600
    assert api.token not in done.stdout + done.stderr
    again = setup(home, "--telegram-user", "9", "--telegram-chat", "-5")
    assert again.returncode == 0, again.stderr
    assert written(home)["telegram"] == {
        "allowed_users": [7, 8, 9],
        "api_base": api.address,
        "chat_id": [-5],
    }


def test_a_bot_without_people_leaves_them_to_a_variable(home: House, api: BotApi) -> None:
    done = setup(home, "--telegram-token-file", "-", given=api.token)
    assert done.returncode == 0, done.stderr
    assert written(home)["telegram"] == {"api_base": api.address}


def test_a_token_in_config_toml_moves_out_of_it(home: House, api: BotApi) -> None:
    config_of(home).parent.mkdir(parents=True)
    server = f'api_base = "{api.address}"'
    config_of(home).write_text(f'# mine\n[telegram]\n{server}\ntoken = "1:{"x" * 30}"\n')
    done = setup(home, "--telegram-token-file", "-", given=api.token)
    assert done.returncode == 0, done.stderr
    assert "token" not in config_of(home).read_text().partition("[telegram]")[2]
    assert config_of(home).read_text().startswith("# mine\n")


def test_what_is_wrong_is_said_before_anything_is_written(here: Here, api: BotApi) -> None:
    right, user = ("--telegram-token-file", "-"), ("--telegram-user", "7")
    unknown = f"{api.bot.id}:{'x' * 35}"
    assert "does not know this token" in here.refused(*right, *user, given=unknown)
    assert "There is no token in standard input" in here.refused(*right, given="hello")
    assert "is empty" in here.refused(*right)
    assert "cannot be read" in here.refused("--telegram-token-file", "/nowhere/token")
    names = here.refused(*right, "--telegram-user", "@ada", given=api.token)
    assert "people are given by their numbers" in names
    assert "--wait 'soon'" in here.refused(*right, *user, "--wait", "soon", given=api.token)
    assert "is the shortest" in here.refused("--wait", "1s")
    assert "no bot yet" in here.refused(*user)
    assert "both are needed" in here.refused("--matrix-user", "@bot:example.org")
    assert "is not a user id" in here.refused("--matrix-user", "bot", "--matrix-token-file", "-")
    assert "there is nothing to do" in here.refused()
    assert "emacs" in here.refused("--web-only", "--connect", "emacs")
    api.set_webhook("https://elsewhere.example.org")
    try:
        assert "has a webhook" in here.refused(*right, *user, given=api.token)
    finally:
        api.set_webhook("")


def test_what_was_kept_before_a_file_could_not_be_written_is_said(home: House, api: BotApi) -> None:
    config_of(home).parent.mkdir(parents=True)
    config_of(home).symlink_to("/proc/nowhere/config.toml")
    done = setup(home, "--telegram-token-file", "-", "--telegram-user", "7", given=api.token)
    assert done.returncode == 1
    assert "cannot be written" in done.stderr
    assert "Kept: the bot's token." in done.stderr
    assert (config_of(home).parent / "secrets" / "chatbridge_telegram__token").exists()


def test_for_the_browser_alone_the_way_to_the_inbox_is_said(home: House) -> None:
    done = setup(home, "--web-only")
    said, _, night = done.stdout.partition("\n\n")
    assert (done.returncode, said) == (0, "Done.\nFor a link to the inbox: chatbridge inbox")
    assert night.startswith("Ready for tonight?\n")
    assert "✗ phone " in night
    assert not config_of(home).exists()


@pytest.mark.parametrize(
    ("flag", "token"),
    [
        ("--telegram-token-file", f"123456:{'AbCdEfG-' * 4}xyz"),
        ("--slack-token-file", "xoxb-123456789012-1234567890123-AbCdEfGhIjKlMnOp"),
        ("--discord-token-file", "MTIzNDU2Nzg5MDEyMzQ1Njc4.AbCdEf.abcdefghijklmnopqrstuvwxyz0"),
        ("--ntfy-token-file", "tk_AgQdq7mVBoFD37zQVN29RhuMzNIz2"),
    ],
)
def test_a_token_given_instead_of_a_file_is_not_repeated(here: Here, flag: str, token: str) -> None:
    said = here.refused(flag, token)
    assert token[-12:] not in said
    assert "what was given as a file" in said.lower()


def test_flags_without_non_interactive_are_refused(home: House) -> None:
    done = home.run("setup", "--web-only")
    assert done.returncode == 2
    assert "these flags are for --non-interactive" in done.stderr


def test_agents_are_connected_with_the_wait_that_is_set_in_the_same_call(home: House) -> None:
    done = setup(home, "--web-only", "--wait", "2h", "--connect", "codex")
    assert done.returncode == 0, done.stderr
    codex = Path(home.environment["HOME"]) / ".codex" / "config.toml"
    entry = tomllib.loads(codex.read_text())["mcp_servers"]["chatbridge"]
    assert entry["tool_timeout_sec"] >= 4 * 3600
    assert written(home) == {"default_timeout": "2h", "max_timeout": "4h"}


@pytest.mark.parametrize(
    ("flags", "events", "told"),
    [([], 5, True), (["--no-hooks"], 0, True), (["--no-instructions"], 5, False)],
)
def test_claude_code_is_ready_for_the_night_but_for_what_is_left_out(
    home: House, flags: list[str], events: int, told: bool
) -> None:
    done = setup(home, "--web-only", "--wait", "8h", "--connect", "claude-code", *flags)
    assert done.returncode == 0, done.stderr
    folder = Path(home.environment["HOME"]) / ".claude"
    settings = json.loads((folder / "settings.json").read_text())
    assert settings["permissions"] == {"allow": ["mcp__chatbridge"]}
    hooks = settings.get("hooks", {})
    assert len(hooks) == events
    if hooks:
        assert hooks["PermissionRequest"][0]["hooks"][0]["timeout"] == 16 * 3600
    assert (folder / "CLAUDE.md").exists() == told


def test_what_is_left_out_is_nothing_to_do(home: House) -> None:
    assert "here is nothing to do" in setup(home, "--no-hooks").stderr


def test_a_hub_that_runs_uses_it_at_once_and_none_is_started_otherwise(
    home: House, api: BotApi
) -> None:
    assert setup(home, "--wait", "1h").returncode == 0
    assert home.hubs() == []
    with home.agent() as agent:
        agent.initialize()
        before = home.hub()
        done = setup(home, "--telegram-token-file", "-", "--telegram-user", "7", given=api.token)
        assert done.returncode == 0, done.stderr
        assert home.hub() != before
        names = [it["name"] for it in home.api("/api/status")["channels"]]
        assert "telegram" in names


def test_who_was_taken_out_while_the_wizard_waited_stays_out(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text(
        '[matrix]\nuser_id = "@bot:example.org"\nroom_id = ["!old:example.org"]\n'
        'allowed_users = ["@ada:example.org", "@eve:example.org"]\n'
    )
    found = Setup(path=config, settings=settings.load(config))
    change(config, {("matrix", "allowed_users"): ["@ada:example.org"]})
    with Bot("http://127.0.0.1:9", "@bot:example.org") as bot:
        people = ["@ben:example.org"]
        matrix.save(found, bot, "syt_token", rooms=["!new:example.org"], people=people)
    assert tomllib.loads(config.read_text())["matrix"] == {
        "homeserver": "http://127.0.0.1:9",
        "user_id": "@bot:example.org",
        "room_id": ["!old:example.org", "!new:example.org"],
        "allowed_users": ["@ada:example.org", "@ben:example.org"],
    }
