"""The secrets beside config.toml: who wins, who may read them, and how they are written."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from chatbridge import settings
from chatbridge.channels.telegram.spec import TELEGRAM
from chatbridge.core.errors import SettingsError
from chatbridge.settings import secrets

A, B, C, D = (f"123:{letter * 30}" for letter in "abcd")


@pytest.fixture(autouse=True)
def _no_settings_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("CHATBRIDGE_") or name == "CREDENTIALS_DIRECTORY":
            monkeypatch.delenv(name)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "config.toml"
    path.write_text(f'[telegram]\ntoken = "{A}"\nallowed_users = [7]\n')
    return path


def token_of(config: Path) -> str | None:
    token = settings.load(config).table(TELEGRAM).token
    return token.get_secret_value() if token else None


def test_a_secret_counts_over_the_file_and_below_credentials_and_variables(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert token_of(config) == A
    secrets.keep(config, "telegram", "token", value=B)
    assert token_of(config) == B
    assert settings.load(config).table(TELEGRAM).allowed_users == (7,)
    credentials = tmp_path / "credentials"
    credentials.mkdir()
    (credentials / "chatbridge_telegram__token").write_text(C)
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(credentials))
    assert token_of(config) == C
    monkeypatch.setenv("CHATBRIDGE_TELEGRAM__TOKEN", D)
    assert token_of(config) == D


def test_secrets_of_others_beside_the_credentials_do_not_matter(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = tmp_path / "run-secrets" / "rhsm"
    others.mkdir(parents=True)
    (others / "ca.der").write_bytes(b"\xff\xfe")
    (others.parent / "database-password").write_bytes(b"\xff\xfe")
    (others.parent / "chatbridge_telegram__token").write_text(C)
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(others.parent))
    assert token_of(config) == C


def test_a_credential_that_cannot_be_read_is_named(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    credential = tmp_path / "credentials" / "chatbridge_telegram__token"
    credential.parent.mkdir()
    credential.write_bytes(b"\xff\xfe")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(credential.parent))
    with pytest.raises(SettingsError, match=f"the secret {credential} cannot be read"):
        settings.load(config)


def test_secrets_count_without_a_configuration_file(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    secrets.keep(config, "telegram", "token", value=B)
    assert token_of(config) == B


def test_a_secret_is_written_for_its_owner_alone_and_nothing_else_is_left(config: Path) -> None:
    before = os.umask(0)
    try:
        path = secrets.keep(config, "matrix", "access_token", value="syt_x")
        secrets.keep(config, "matrix", "access_token", value="syt_y")
    finally:
        os.umask(before)
    assert path.name == "chatbridge_matrix__access_token"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert list(path.parent.iterdir()) == [path]
    assert path.read_text() == "syt_y\n"


@pytest.mark.parametrize("mode", [0o710, 0o705, 0o777])
def test_a_folder_that_others_can_read_is_refused_with_what_to_run(config: Path, mode: int) -> None:
    folder = secrets.keep(config, "telegram", "token", value=B).parent
    folder.chmod(mode)
    with pytest.raises(SettingsError, match="chmod 700"):
        settings.load(config)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666])
def test_a_secret_that_others_can_read_is_refused_with_what_to_run(config: Path, mode: int) -> None:
    path = secrets.keep(config, "telegram", "token", value=B)
    path.chmod(mode)
    with pytest.raises(SettingsError, match="chmod 600") as refused:
        settings.load(config)
    assert B not in str(refused.value)


def test_a_link_in_the_folder_is_not_passed_over_in_silence(config: Path, tmp_path: Path) -> None:
    path = secrets.keep(config, "telegram", "token", value=B)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SettingsError, match="is a link"):
        settings.load(config)


def test_a_name_that_is_no_setting_is_said_without_its_content(config: Path) -> None:
    secrets.keep(config, "telegram", "tokn", value=B)
    with pytest.raises(SettingsError, match=r"telegram\.tokn is not a setting") as refused:
        settings.load(config)
    assert B not in str(refused.value)


def test_a_secret_of_the_wrong_form_is_said_without_its_content(config: Path) -> None:
    secrets.keep(config, "telegram", "token", value="hunter2")
    with pytest.raises(SettingsError, match="no bot's token") as refused:
        settings.load(config)
    assert "hunter2" not in str(refused.value)


def test_what_is_no_text_is_told(config: Path) -> None:
    secrets.keep(config, "telegram", "token", value=B).write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SettingsError, match="cannot be read"):
        settings.load(config)


def test_what_others_left_in_the_folder_is_nobodys_business(config: Path) -> None:
    folder = secrets.keep(config, "telegram", "token", value=B).parent
    (folder / "README").write_text("mine")
    (folder / ".chatbridge_web__token.new").write_text("half")
    assert token_of(config) == B


def test_a_secret_that_cannot_be_written_leaves_the_old_one(config: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "secrets").write_text("in the way")
    with pytest.raises(SettingsError, match="cannot be written"):
        secrets.keep(other / "config.toml", "telegram", "token", value=B)


def test_a_secret_that_does_not_work_is_looked_for_where_it_is(config: Path) -> None:
    assert secrets.place_of(config, "telegram", "token") == (
        f"telegram.token in {config}, or its variable"
    )
    kept = secrets.keep(config, "telegram", "token", value=B)
    assert secrets.place_of(config, "telegram", "token") == str(kept)


def test_two_secrets_are_looked_for_where_each_of_them_is(config: Path) -> None:
    tokens = "slack", "bot_token", "app_token"
    assert secrets.place_of(config, *tokens) == (
        f"slack.bot_token and slack.app_token in {config}, or their variables"
    )
    kept = secrets.keep(config, "slack", "app_token", value="xapp-1")
    assert secrets.place_of(config, *tokens, shown=lambda path: path.name) == (
        f"{kept.name} and slack.bot_token in {config.name}, or its variable"
    )
    secrets.keep(config, "slack", "bot_token", value="xoxb-1")
    assert (
        secrets.place_of(config, *tokens)
        == f"{kept.with_name('chatbridge_slack__bot_token')} and {kept}"
    )
