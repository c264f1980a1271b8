"""Without the packages of a channel: whoever needs them says what to run, and all else works."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chatbridge.channels.checks import Mark
from chatbridge.channels.discord.spec import DISCORD
from chatbridge.channels.matrix.spec import MATRIX
from chatbridge.channels.slack.spec import SLACK
from chatbridge.channels.spec import ChannelSpec
from chatbridge.cli.doctor.run import channel_check
from chatbridge.cli.setup import commands
from tests.fakes.doctor import Machine
from tests.fakes.machine import House, house
from tests.fakes.program import ROOT
from tests.fakes.pty_person import DOWN, ENTER, at_terminal

MODULES = ("nio", "slack_sdk", "aiohttp")
PACKAGES = {"matrix": "matrix-nio[e2e]", "slack": "slack-sdk aiohttp", "discord": "aiohttp"}
SETTINGS = {
    "CHATBRIDGE_MATRIX__HOMESERVER": "http://127.0.0.1:9",
    "CHATBRIDGE_MATRIX__USER_ID": "@without-extra:example.org",
    "CHATBRIDGE_MATRIX__ACCESS_TOKEN": "not-a-real-token",
    "CHATBRIDGE_MATRIX__ALLOWED_USERS": "@ada:example.org",
    "CHATBRIDGE_SLACK__BOT_TOKEN": "xoxb-not-a-real-token",
    "CHATBRIDGE_SLACK__APP_TOKEN": "xapp-1-A0EXTRA-not-real",
    "CHATBRIDGE_SLACK__ALLOWED_USERS": "U0123456789",
    "CHATBRIDGE_DISCORD__TOKEN": "MTIzNDU2Nzg5MDEyMzQ1Njc4.AbCdEf.not-a-real-token-at-all",
    "CHATBRIDGE_DISCORD__ALLOWED_USERS": "123456789012345678",
}
FLAGS = {
    "matrix": ["--matrix-user", "@bot:example.org", "--matrix-token-file", "-"],
    "slack": ["--slack-token-file", "-"],
    "discord": ["--discord-token-file", "-"],
}
SPECS: tuple[ChannelSpec[Any], ...] = (MATRIX, SLACK, DISCORD)
CHANNELS = pytest.mark.parametrize("spec", SPECS, ids=lambda it: it.name)


def said_of(spec: ChannelSpec[Any]) -> str:
    return f"the packages for {spec.title} are not installed"


@pytest.fixture
def home(tmp_path: Path) -> Iterator[House]:
    """A house whose processes cannot import the libraries of chats."""
    hidden = f"import sys\nsys.modules |= dict.fromkeys({MODULES!r})\n"
    (tmp_path / "sitecustomize.py").write_text(hidden)
    with house(cold=True, PYTHONPATH=f"{tmp_path}:{ROOT}", **SETTINGS) as found:
        yield found


@pytest.fixture
def without(state: str, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """This process, which has forgotten what it may have imported."""
    for name in [*sys.modules]:
        if name.startswith(tuple(f"chatbridge.channels.{it}." for it in PACKAGES)):
            monkeypatch.delitem(sys.modules, name)
    for name in MODULES:
        monkeypatch.setitem(sys.modules, name, None)
    return Machine(Path(state), monkeypatch)


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
    for spec in SPECS:
        assert troubles[spec.name].startswith(f"{said_of(spec)}. Run: ")
        assert PACKAGES[spec.name] in troubles[spec.name].replace("'", "")


def test_the_wizard_says_it_before_it_asks_for_an_account(home: House) -> None:
    words = [sys.executable, "-m", "chatbridge", "setup"]
    environment = {"PATH": "/usr/bin:/bin", **home.environment}
    for name in SETTINGS:
        del environment[name]
    for times, spec in enumerate(SPECS[:2], 1):
        with at_terminal(words, env=environment, cwd=home.project) as me:
            me.expect("Where do you want to answer?")
            me.press(*[DOWN] * times, ENTER)
            me.expect(f"✗ {said_of(spec)}.", "Nothing was", "Continue any time: chatbridge setup")
            me.ends(1)
        assert "token" not in me.screen


@CHANNELS
async def test_doctor_finds_it(without: Machine, spec: ChannelSpec[Any]) -> None:
    without.set(**SETTINGS)
    (found,) = await without.look(channel_check(spec))
    assert (found.mark, found.what) == (Mark.PROBLEM, said_of(spec))
    assert PACKAGES[spec.name] in found.fix[0].replace("'", "")


@CHANNELS
def test_a_set_up_by_script_writes_nothing(
    without: Machine, spec: ChannelSpec[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert commands.setup(["--non-interactive", *FLAGS[spec.name], "--wait", "8h"]) == 1
    assert said_of(spec) in capsys.readouterr().err.replace("The", "the")
    assert not without.config.exists()


def test_a_set_up_that_does_not_name_the_channel_needs_nothing(without: Machine) -> None:
    assert commands.setup(["--non-interactive", "--wait", "8h"]) == 0
    assert 'default_timeout = "8h"' in without.config.read_text()


def test_people_are_listed_by_their_ids(
    without: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    without.set(**SETTINGS)
    assert commands.people([]) == 0
    listed = capsys.readouterr().out
    for people in (it for name, it in SETTINGS.items() if name.endswith("ALLOWED_USERS")):
        assert people in listed
