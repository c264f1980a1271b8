"""Who may answer and allow is in a file and in variables, which an agent could write and set: those
who could before hear of it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from chatbridge.core.model import ChannelState
from chatbridge.hub.wiring.change_alerts import tell_of_newcomers, tell_of_other_settings
from chatbridge.settings import load, settings_type
from tests.fakes.core_env import World, world

ADA, EVE = 1815, 666


async def start(hub: World, *, telegram: list[int], matrix: list[str] | None = None) -> list[str]:
    """What a hub that starts with these people tells."""
    told: list[str] = []
    settings = settings_type().model_validate(
        {"telegram": {"allowed_users": telegram}, "matrix": {"allowed_users": matrix or []}}
    )
    await tell_of_newcomers(settings, hub.store, clock=hub.clock, tell=told.append)
    return told


async def test_a_person_who_was_added_is_told_once_with_how_to_take_them_out(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as hub:
        assert await start(hub, telegram=[ADA]) == []
        (said,) = await start(hub, telegram=[ADA, EVE])
        assert said == (
            "Somebody new may answer: 666. If that was not you, run: chatbridge people remove 666"
        )
        assert await start(hub, telegram=[ADA, EVE]) == []


async def test_the_first_person_and_one_who_goes_are_no_news(tmp_path: Path) -> None:
    async with world(tmp_path) as hub:
        assert await start(hub, telegram=[]) == []
        assert await start(hub, telegram=[ADA, EVE]) == []
        assert await start(hub, telegram=[ADA]) == []


async def test_who_came_went_and_comes_again_is_news_again(tmp_path: Path) -> None:
    async with world(tmp_path) as hub:
        for people in ([ADA, EVE], [ADA]):
            await start(hub, telegram=people)
        assert await start(hub, telegram=[ADA, EVE]) != []


async def test_each_channel_has_people_of_its_own(tmp_path: Path) -> None:
    async with world(tmp_path) as hub:
        await start(hub, telegram=[ADA], matrix=["@ada:example.org"])
        (said,) = await start(hub, telegram=[ADA], matrix=["@ada:example.org", "@eve:example.org"])
        assert "@eve:example.org" in said


# ── other settings ────────────────────────────────────────────────────────────────────────────────

TOKEN = "123456:the-secret-part-of-a-token"
TELEGRAM = f'[telegram]\ntoken = "{TOKEN}"\nallowed_users = [1815]\n'


async def started(hub: World, config: Path, text: str | None = None) -> list[str]:
    """What a hub that starts with this file tells of other settings."""
    if text is not None:
        await asyncio.to_thread(config.write_text, text)
    told: list[str] = []
    settings = load(config)
    await tell_of_other_settings(settings, config, hub.store, clock=hub.clock, tell=told.append)
    return told


async def test_the_chats_hear_that_approvals_are_given_elsewhere(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    async with world(tmp_path) as hub:
        assert await started(hub, config, TELEGRAM) == []
        assert await started(hub, config) == []
        wider = '[approvals]\nchannels = ["telegram", "web"]\n' + TELEGRAM
        (said,) = await started(hub, config, wider)
        assert said == (
            "This hub goes by other settings than the last one: approvals.channels is telegram, "
            f"web, was telegram. If that was not you, look at {config} and run: chatbridge doctor"
        )
        assert await started(hub, config) == []


async def test_a_hub_in_between_with_another_file_is_told_by_the_next_one(tmp_path: Path) -> None:
    """Such a hub has other chats, or none: the owner's do not hear of it before."""
    config, other = tmp_path / "config.toml", tmp_path / "other.toml"
    async with world(tmp_path) as hub:
        assert await started(hub, config, TELEGRAM) == []
        assert len(await started(hub, other)) == 1
        (said,) = await started(hub, config)
        assert "approvals.channels is telegram, was web" in said
        file = said.partition("; the configuration file is ")[2]
        now, _, before = file.partition(". If ")[0].partition(", was ")
        assert str(config).endswith(now.lstrip("…"))
        assert str(other).endswith(before.lstrip("…"))
        assert TOKEN not in said


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ('api_base = "http://127.0.0.1:9"\n', "telegram is bot 123456 at http://127.0.0.1:9, was"),
        ("chat_id = [-100]\n", "telegram.chat_id is -100, was none"),
        ('[commands]\ndirs = ["/tmp/x"]\n', "commands.dirs is /tmp/x, was "),
        (
            '[[approvals.allow]]\ntool = "Bash"\ncommand = "npm test"\nproject = "/src/shop"\n',
            "approvals.allow is npm test … in /src/shop, was none",
        ),
        ('[web]\nhost = "10.0.0.1"\n', "web.host is 10.0.0.1, was 127.0.0.1"),
        ('[http]\naddress = "127.0.0.1:1"\n', "http.address is 127.0.0.1:1, was none"),
    ],
)
async def test_each_setting_that_decides_who_may_do_what_is_told(
    tmp_path: Path, more: str, told: str
) -> None:
    config = tmp_path / "config.toml"
    async with world(tmp_path) as hub:
        await started(hub, config, TELEGRAM)
        (said,) = await started(hub, config, TELEGRAM + more)
        assert told in said


async def test_a_rule_that_lasts_longer_than_before_is_told(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    rule = '[[approvals.allow]]\ntool = "Bash"\ncommand = "npm test"\nproject = "/src/shop"\n'
    async with world(tmp_path) as hub:
        await started(hub, config, f"{TELEGRAM}{rule}expires = 2030-01-31T18:30:00\n")
        (said,) = await started(hub, config, TELEGRAM + rule)
        assert "npm test … in /src/shop, was npm test … in /src/shop until 2030-01-31 18:30" in said


async def test_that_a_variable_was_ignored_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config.toml"
    async with world(tmp_path) as hub:
        await started(hub, config, TELEGRAM)
        monkeypatch.setenv("CHATBRIDGE_APPROVALS__CHANNELS", "web")
        (said,) = await started(hub, config)
        assert "ignored variables is CHATBRIDGE_APPROVALS__CHANNELS, was none" in said
        assert await started(hub, config) == []


@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [
        ("HTTPS_PROXY", "http://127.0.0.1:9", "https_proxy is http://127.0.0.1:9, was none"),
        ("all_proxy", "socks5://ada:hunter2@[::1]:9", "all_proxy is [::1]:9, was none"),
        ("SSL_CERT_FILE", "/tmp/own.pem", "ssl_cert_file is /tmp/own.pem, was none"),
        ("SSL_CERT_DIR", "/tmp/own", "ssl_cert_dir is /tmp/own, was none"),
        ("HOME", "/src/shop", "HOME is /src/shop, was /home/ada"),
        ("XDG_CONFIG_HOME", "/src/cfg", "XDG_CONFIG_HOME is /src/cfg, was none"),
        ("XDG_STATE_HOME", "/src/state", "XDG_STATE_HOME is /src/state, was none"),
    ],
)
async def test_a_variable_that_leads_the_hub_elsewhere_is_told_without_log_ins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, told: str
) -> None:
    config = tmp_path / "config.toml"
    for name in ("http", "https", "all", "no"):
        monkeypatch.delenv(f"{name}_proxy", raising=False)
        monkeypatch.delenv(f"{name}_proxy".upper(), raising=False)
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/ada")
    async with world(tmp_path) as hub:
        await started(hub, config, TELEGRAM)
        monkeypatch.setenv(variable, value)
        (said,) = await started(hub, config)
        assert told in said
        assert "hunter2" not in said
        note = await hub.store.note(channel="hub", key="authority")
        assert note is not None
        assert "hunter2" not in note.value
        assert await started(hub, config) == []


async def test_what_an_earlier_version_did_not_note_is_no_news(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    async with world(tmp_path) as hub:
        old = {"settings": {"approvals.channels": "telegram", "gone": "x"}, "chats": True}
        await hub.inbox.remember(
            ChannelState(channel="hub", key="authority", value=json.dumps(old), at=0.0)
        )
        assert await started(hub, config, TELEGRAM) == []


async def test_setting_the_first_chat_up_is_no_news(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    async with world(tmp_path) as hub:
        assert await started(hub, config, "[web]\nport = 8790\n") == []
        assert await started(hub, config, TELEGRAM) == []


@pytest.mark.parametrize("value", ["{", "[]", "7", '{"settings": 7, "chats": true}'])
async def test_a_note_that_no_hub_has_written_is_none(tmp_path: Path, value: str) -> None:
    config = tmp_path / "config.toml"
    async with world(tmp_path) as hub:
        note = ChannelState(channel="hub", key="authority", value=value, at=0.0)
        await hub.inbox.remember(note)
        assert await started(hub, config, TELEGRAM) == []
        assert await started(hub, config) == []
