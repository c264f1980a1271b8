"""The bot's settings: what is taken, and that a mistake says why without showing a token."""

from __future__ import annotations

import traceback
from pathlib import Path

import pytest

from chatbridge.channels.telegram.settings import Telegram
from chatbridge.channels.telegram.spec import TELEGRAM
from chatbridge.core.errors import SettingsError
from chatbridge.settings import load

pytestmark = pytest.mark.usefixtures("bare_environment")

SECRET = "hunter2-hunter2-hunter2"
BOT = f"123456789:{SECRET}"


def telegram(folder: Path, text: str) -> Telegram:
    file = folder / "config.toml"
    file.write_text(f"[telegram]\n{text}\n")
    return load(file).table(TELEGRAM)


def test_without_a_token_it_is_off_and_nobody_is_let_in() -> None:
    found = load().table(TELEGRAM)
    assert (found.token, found.allowed_users, found.chat_id) == (None, (), ())
    assert found.api_base == "https://api.telegram.org"
    assert not found.topics


@pytest.mark.parametrize("empty", ["", "  "])
def test_an_empty_variable_is_no_token(empty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHATBRIDGE_TELEGRAM__TOKEN", empty)
    assert load().table(TELEGRAM).token is None


def test_spaces_around_a_token_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHATBRIDGE_TELEGRAM__TOKEN", f" {BOT}\n")
    token = load().table(TELEGRAM).token
    assert token is not None
    assert token.get_secret_value() == BOT


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7", (7,)),
        ('"7"', (7,)),
        ("[7, 8]", (7, 8)),
        ('["7", 8]', (7, 8)),
        ('"7, 8"', (7, 8)),
        ('"[7, 8]"', (7, 8)),
        ("[7, 8, 7]", (7, 8)),
        ("[]", ()),
        ('""', ()),
    ],
)
def test_people_and_chats_are_one_number_or_several(
    tmp_path: Path, text: str, expected: tuple[int, ...]
) -> None:
    found = telegram(tmp_path, f"allowed_users = {text}\nchat_id = {text}")
    assert found.allowed_users == found.chat_id == expected


@pytest.mark.parametrize("text", ["7", "[7]", " 7 ", "7,"])
def test_a_variable_takes_one_number_too(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHATBRIDGE_TELEGRAM__ALLOWED_USERS", text)
    assert load().table(TELEGRAM).allowed_users == (7,)


@pytest.mark.parametrize(
    "text", ['"@ada"', '[7, "ada"]', "-7", "0", "true", "[true]", "1.5", "[7.0]", f"{2**52}"]
)
def test_a_person_without_a_number_is_refused_and_told_where_to_find_it(
    tmp_path: Path, text: str
) -> None:
    with pytest.raises(SettingsError, match=r"telegram.allowed_users: people .*send /start") as no:
        telegram(tmp_path, f"allowed_users = {text}")
    assert "the hub's log then shows it" in str(no.value)


@pytest.mark.parametrize("text", ['"@team"', "0", "false", "1.5", "{ a = 1 }"])
def test_a_chat_without_a_number_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(SettingsError, match=r"telegram.chat_id: chats are given by their numbers"):
        telegram(tmp_path, f"chat_id = {text}")


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("https://api.telegram.org/", "https://api.telegram.org"),
        (" http://[::1]:8081 ", "http://[::1]:8081"),
        ("https://proxy.example/telegram//", "https://proxy.example/telegram"),
        ("https://bot.example/bots", "https://bot.example/bots"),
    ],
)
def test_the_servers_address_has_no_slash_at_its_end(tmp_path: Path, given: str, kept: str) -> None:
    assert telegram(tmp_path, f"api_base = {given!r}").api_base == kept


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("api.telegram.org", "an http:// or https:// address"),
        ("ftp://api.telegram.org", "an http:// or https:// address"),
        ("https://", "an http:// or https:// address"),
        ("https://[::1", "an http:// or https:// address"),
        (f"https://me:{SECRET}", "an http:// or https:// address"),
        (f"https://host/?token={SECRET}", "an http:// or https:// address"),
        (f"https://host/#{SECRET}", "an http:// or https:// address"),
        ("https://a b", "an http:// or https:// address"),
        ("", "an http:// or https:// address"),
        (f"https://me:{SECRET}@host", "no user and no password"),
        (f"https://{SECRET}@host", "no user and no password"),
        ("https://api.telegram.org/bot", "leave out /bot"),
        ("https://api.telegram.org/bot/", "leave out /bot"),
        (f"https://api.telegram.org/bot{BOT}", "leave out /bot"),
        (f"https://api.telegram.org/bot{BOT}/getMe", "leave out /bot"),
        (f"https://api.telegram.org/bot123%3A{SECRET}", "leave out /bot"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused_without_showing_it(
    tmp_path: Path, address: str, sentence: str
) -> None:
    with pytest.raises(SettingsError) as error:
        telegram(tmp_path, f"api_base = {address!r}")
    assert "telegram.api_base: " in str(error.value)
    assert sentence in str(error.value)
    assert_hidden(error.value)


@pytest.mark.parametrize(
    "text",
    [
        f"token = '{SECRET}'",
        f"token = 'bot{BOT}'",
        f"token = '{BOT} {BOT}'",
        f"token = '123456789:{SECRET}ä'",
        "token = '123456789:short'",
        f"token = ['{BOT}']",
        f"token = {BOT}",
        "token = 123456789",
        f"tokn = '{BOT}'",
        f"allowed_users = '{BOT}'",
        f"chat_id = ['{BOT}']",
        f"chat_id = '[{BOT}]'",
        f"topics = '{BOT}'",
        f"api_base = '{BOT}'",
    ],
)
def test_a_mistake_with_a_token_does_not_show_it(tmp_path: Path, text: str) -> None:
    with pytest.raises(SettingsError) as error:
        telegram(tmp_path, text)
    assert_hidden(error.value)


@pytest.mark.parametrize("key", ["", "__TOKN", "__TOPICS", "__CHAT_ID", "__ALLOWED_USERS"])
@pytest.mark.parametrize("text", [BOT, "{" + BOT, f"[{BOT}", f'"{BOT}"'])
def test_neither_does_a_mistake_in_a_variable(
    key: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"CHATBRIDGE_TELEGRAM{key}", text)
    with pytest.raises(SettingsError, match=r"(?i)telegram") as error:
        load()
    assert_hidden(error.value)


def assert_hidden(error: BaseException) -> None:
    """In the message, and in the traceback with everything that led to it."""
    assert SECRET not in str(error)
    assert SECRET not in "".join(traceback.format_exception(error))
