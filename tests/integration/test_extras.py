"""Without the packages for Matrix: whoever needs them says what to run, and all else works."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from chatbridge.channels.checks import Mark
from chatbridge.channels.matrix.spec import MATRIX
from chatbridge.cli import commands
from chatbridge.cli.doctor.run import channel_check
from tests.fakes.doctor import Machine
from tests.fakes.machine import House, house
from tests.fakes.program import ROOT
from tests.fakes.pty_person import DOWN, ENTER, at_terminal

SAID = "the packages for Matrix are not installed"
SETTINGS = {
    "CHATBRIDGE_MATRIX__HOMESERVER": "http://127.0.0.1:9",
    "CHATBRIDGE_MATRIX__USER_ID": "@without-extra:example.org",
    "CHATBRIDGE_MATRIX__ACCESS_TOKEN": "not-a-real-token",
    "CHATBRIDGE_MATRIX__ALLOWED_USERS": "@ada:example.org",
}


@pytest.fixture
def home(tmp_path: Path) -> Iterator[House]:
    """A house whose processes cannot import the library for Matrix."""
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['nio'] = None\n")
    with house(cold=True, PYTHONPATH=f"{tmp_path}:{ROOT}", **SETTINGS) as found:
        yield found


def test_a_hub_says_what_to_run_and_its_other_channels_go_on(home: House) -> None:
    with home.service():
        with home.agent() as agent:
            agent.initialize()
            agent.ask(1)
            home.answer(home.until())
            assert agent.result()["answers"][0]["values"] == ["blue"]
        status = json.loads(home.run("status", "--json").stdout)
    troubles = {channel["name"]: channel["trouble"] for channel in status["channels"]}
    assert troubles["web"] is None
    assert troubles["matrix"].startswith(f"{SAID}. Run: ")
    assert "matrix-nio[e2e]" in troubles["matrix"]


def test_the_wizard_says_it_before_it_asks_for_an_account(home: House) -> None:
    words = [sys.executable, "-m", "chatbridge", "setup"]
    environment = {"PATH": "/usr/bin:/bin", **home.environment}
    for name in SETTINGS:
        del environment[name]
    with at_terminal(words, env=environment, cwd=home.project) as me:
        me.expect("Where do you want to answer?")
        me.press(DOWN, ENTER)
        me.expect(f"✗ {SAID}.", "Nothing was", "Continue any time: chatbridge setup")
        me.ends(1)
    assert "The bot's user id" not in me.screen


async def test_doctor_finds_it(state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(Path(state), monkeypatch)
    machine.set(**SETTINGS)
    monkeypatch.setitem(sys.modules, "nio", None)
    (found,) = await machine.look(channel_check(MATRIX))
    assert (found.mark, found.what) == (Mark.PROBLEM, SAID)
    assert "matrix-nio[e2e]" in found.fix[0]


def test_a_set_up_by_script_writes_nothing(
    state: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Machine(Path(state), monkeypatch)
    monkeypatch.setitem(sys.modules, "nio", None)
    flags = ["--matrix-user", "@bot:example.org", "--matrix-token-file", "-", "--wait", "8h"]
    assert commands.setup(["--non-interactive", *flags]) == 1
    assert SAID in capsys.readouterr().err.replace("The", "the")
    assert not (Path(state) / "config.toml").exists()
