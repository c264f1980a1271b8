"""The tables of Slack, Discord and ntfy: a mistake says what to give instead, and no token."""

from __future__ import annotations

import traceback
from pathlib import Path

import pytest

from chatbridge.core.errors import SettingsError
from chatbridge.settings import load

pytestmark = pytest.mark.usefixtures("bare_environment")

SECRET = "hunter2-hunter2-hunter2"
DISCORD = f"MTIzNDU2Nzg5MDEyMzQ1Njc4.AbCdEf.{SECRET}"


@pytest.mark.parametrize(
    ("setting", "value", "said"),
    [
        ("slack.bot_token", f"xapp-1-A1-{SECRET}", "begins with xoxb-"),
        ("slack.bot_token", f"xoxp-1-{SECRET}", "under OAuth & Permissions"),
        ("slack.bot_token", f"Bearer xoxb-1-{SECRET}", "begins with xoxb-"),
        ("slack.app_token", f"xoxb-1-{SECRET}", "begins with xapp-"),
        ("slack.app_token", f"'xapp-1-A1-{SECRET}'", "under Basic Information"),
        ("slack.allowed_users", "@ada", "such as U0123456789"),
        ("slack.allowed_users", "C0123456789", "Copy member ID"),
        ("slack.channel_id", "#general", "such as C0123456789"),
        ("slack.channel_id", "U0123456789", "For a conversation with each person, leave the list"),
        ("slack.api_base", "slack.com", "an http:// or https:// address"),
        ("discord.token", f"Bot {DISCORD}", "The Developer Portal shows one under Bot"),
        ("discord.token", SECRET, "with dots between them"),
        ("discord.allowed_users", "ada#1234", "Copy User ID"),
        ("discord.channel_id", "#general", "Copy Channel ID"),
        ("discord.channel_id", "0", "which are numbers"),
        ("discord.api_base", "discord.com/api", "an http:// or https:// address"),
        ("ntfy.topic", "my topic", "a topic has 1 to 64 letters"),
        ("ntfy.server", "ntfy.sh", "an http:// or https:// address"),
        ("ntfy.token", f"tk {SECRET}", "this is no access token"),
    ],
)
def test_what_cannot_be_used_is_said_with_what_can_and_without_a_secret(
    tmp_path: Path, setting: str, value: str, said: str
) -> None:
    table, _, name = setting.partition(".")
    file = tmp_path / "config.toml"
    file.write_text(f'[{table}]\n{name} = "{value}"\n')
    with pytest.raises(SettingsError) as caught:
        load(file)
    message = str(caught.value)
    assert message.startswith(f"{setting}: ")
    assert said in message
    assert f"(line 2). Correct {file}; " in message
    assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_an_approval_is_given_where_people_can_be_told_apart(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(
        f'[discord]\ntoken = "{DISCORD}"\nallowed_users = [7]\n[ntfy]\ntopic = "agents"\n'
        f'[slack]\nbot_token = "xoxb-1-{SECRET}"\napp_token = "xapp-1-A1-2-{SECRET}"\n'
    )
    assert load(file).approval_channels() == {"discord", "slack"}
    file.write_text(f"{file.read_text()}[approvals]\nchannels = ['ntfy']\n")
    with pytest.raises(SettingsError, match=r"approvals\.channels"):
        load(file)
