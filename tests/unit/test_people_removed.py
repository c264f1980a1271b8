"""Somebody who is removed is let in by nothing any more; else nothing is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from chatbridge.channels.registry import BUILT_IN
from chatbridge.cli.config_file import change
from chatbridge.cli.people import removal
from chatbridge.core.errors import ChatbridgeError, SettingsError
from chatbridge.settings import load

pytestmark = pytest.mark.usefixtures("bare_environment")

IDS = {
    "telegram": ("4242", "4243"),
    "matrix": ('"@ann:example.org"', '"@bob:example.org"'),
    "slack": ('"U00000007"', '"U00000008"'),
    "discord": ("80351110224678912", "80351110224678913"),
}
TABLES = """
[[people]]  # the team
name = "Ann"
{channel} = {ann}
[[people]]
name = "Bob"
roles = ["answer"]
{channel} = {bob}
zone = "Asia/Tokyo"
"""
INLINE = """
people = [
    {{name = "Ann", {channel} = {ann}}},
    {{name = "Bob", roles = ["answer"], {channel} = {bob}, zone = "Asia/Tokyo"}},  # on call
]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def let_in(file: Path, channel: str) -> list[str]:
    (spec,) = (it for it in BUILT_IN if it.name == channel)
    return [str(it) for it in spec.people_in(load(file).table(spec))]


@pytest.mark.parametrize("channel", IDS)
@pytest.mark.parametrize("listed", ["{ann}, {bob}", "{ann}", ""])
@pytest.mark.parametrize("people", [TABLES, INLINE, ""])
def test_whoever_is_removed_is_let_in_by_neither_list(
    file: Path, monkeypatch: pytest.MonkeyPatch, channel: str, listed: str, people: str
) -> None:
    ids = dict(zip(("ann", "bob"), IDS[channel], strict=True))
    ann, bob = (it.strip('"') for it in IDS[channel])
    text = f"{people}\n[{channel}]\nallowed_users = [{listed}]\n"
    file.write_text(text.format(channel=channel, **ids))
    if bob not in let_in(file, channel):
        with pytest.raises(ChatbridgeError, match="not among those who may answer"):
            removal(file, bob)
        return
    change(file, removal(file, bob).changes)
    monkeypatch.setenv(f"CHATBRIDGE_{channel.upper()}__ALLOWED_USERS", bob)
    assert let_in(file, channel) == [ann]
    if people:
        first, second = load(file).team().members
        assert first.identities == ((channel, ann),)
        assert (second.name, second.identities, [*second.roles]) == ("Bob", (), ["answer"])
        assert ("# the team" if people is TABLES else "# on call") in file.read_text()


def test_the_chat_of_whoever_is_removed_goes_with_them_and_the_others_stay(file: Path) -> None:
    (telegram,) = (it for it in BUILT_IN if it.name == "telegram")
    file.write_text("[telegram]\nallowed_users = [4242, 4243]\nchat_id = [4242, 4243]\n")
    change(file, removal(file, "4243").changes)
    assert telegram.chats_in(load(file).table(telegram)) == (4242,)
    change(file, removal(file, "4242").changes)
    assert "chat_id" not in file.read_text()


def test_somebody_stays_where_they_have_another_id(file: Path) -> None:
    file.write_text('[[people]]\nname = "Ann"\ntelegram = 4242\nslack = "U00000007"\n')
    change(file, removal(file, "4242").changes)
    assert let_in(file, "telegram") == []
    assert let_in(file, "slack") == ["U00000007"]


@pytest.mark.parametrize("listed", ["allowed_users = [4242, 4243]", ""])
def test_whom_a_change_of_the_file_does_not_remove_is_refused(file: Path, listed: str) -> None:
    file.write_text(f"[telegram]\n{listed}\n")
    secret = file.parent / "secrets" / "chatbridge_telegram__allowed_users"
    secret.parent.mkdir(mode=0o700)
    secret.touch(mode=0o600)
    secret.write_text("4242,4243")
    with pytest.raises(ChatbridgeError, match=r"4243 is let in by .* secrets.*Nothing was changed"):
        removal(file, "4243")


def test_settings_that_need_somebody_are_named_before_anything_is_written(file: Path) -> None:
    file.write_text(
        f'[telegram]\ntoken = "123456789:{"x" * 35}"\nallowed_users = [4242, 4243]\n'
        '[reminders]\nescalate = "telegram:4243"\n'
    )
    with pytest.raises(SettingsError, match=r"reminders\.escalate: telegram has no such chat"):
        removal(file, "4243")
