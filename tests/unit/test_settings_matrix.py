"""Matrix' settings: what is taken, and that a mistake says why without showing a secret."""

from __future__ import annotations

import string
import traceback
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr, ValidationError

from chatbridge.channels.matrix.settings import Matrix
from chatbridge.channels.matrix.spec import MATRIX
from chatbridge.core.errors import SettingsError
from chatbridge.hub.wiring.serving import digests
from chatbridge.link.preface import build_preface
from chatbridge.settings import Settings, load

pytestmark = pytest.mark.usefixtures("bare_environment")

SECRET = "hunter2-hunter2-hunter2"
TOKEN = f"syt_{SECRET}"
SERVER = "homeserver = 'https://example.org'"
BOT = "user_id = '@bot:example.org'"
ON = f"{SERVER}\n{BOT}\naccess_token = '{TOKEN}'"
V12 = "!" + "aB3_-" * 8 + "xyz"


def settings(folder: Path, text: str) -> Settings:
    file = folder / "config.toml"
    file.write_text(f"[matrix]\n{text}\n")
    return load(file)


def matrix(folder: Path, text: str) -> Matrix:
    return settings(folder, text).table(MATRIX)


def shown(secret: SecretStr | None) -> str | None:
    return secret.get_secret_value() if secret else None


# ── on or off ─────────────────────────────────────────────────────────────────────────────────────


def test_without_settings_it_is_off_and_nobody_is_let_in() -> None:
    found = load().table(MATRIX)
    assert not found.on
    assert (found.allowed_users, found.room_id, found.reactions) == ((), (), True)


@pytest.mark.parametrize("secret", ["access_token", "password"])
def test_it_is_on_with_a_server_an_account_and_a_way_to_log_in(tmp_path: Path, secret: str) -> None:
    found = matrix(tmp_path, f"{SERVER}\n{BOT}\n{secret} = '{TOKEN}'")
    assert found.on
    assert (found.homeserver, found.user_id) == ("https://example.org", "@bot:example.org")
    assert shown(getattr(found, secret)) == TOKEN


@pytest.mark.parametrize("one", [SERVER, BOT, f"access_token = '{TOKEN}'", "password = 'x'"])
def test_one_setting_alone_is_no_mistake(tmp_path: Path, one: str) -> None:
    assert not matrix(tmp_path, one).on


@pytest.mark.parametrize(
    ("two", "sentence"),
    [
        (f"{SERVER}\n{BOT}", "matrix: the bot cannot log in: set access_token, or password"),
        (f"{SERVER}\n{BOT}\npassword = ''", "matrix: the bot cannot log in"),
        (f"{SERVER}\naccess_token = '{TOKEN}'", "matrix: user_id is missing"),
        (f"{BOT}\npassword = '{TOKEN}'", "matrix: homeserver is missing"),
    ],
)
def test_a_log_in_that_lacks_one_thing_is_told_which(
    tmp_path: Path, two: str, sentence: str
) -> None:
    with pytest.raises(SettingsError) as error:
        matrix(tmp_path, two)
    assert sentence in str(error.value)
    assert "For no Matrix, leave out" in str(error.value)
    assert_hidden(error.value)


# ── the server and the account ────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("example.org", "https://example.org"),
        (" https://matrix.example.org/ ", "https://matrix.example.org"),
        ("https://Matrix.Example.org:8448//", "https://matrix.example.org:8448"),
        ("example.org:8448", "https://example.org:8448"),
        ("HTTPS://example.org?", "https://example.org"),
        ("http://127.0.0.1:8008", "http://127.0.0.1:8008"),
        ("http://localhost:8008/", "http://localhost:8008"),
        ("http://[::1]:8008", "http://[::1]:8008"),
        ("http://Synapse:8008", "http://synapse:8008"),
        ("http://matrix-1", "http://matrix-1"),
        ("http://192.168.1.2:8008", "http://192.168.1.2:8008"),
        ("http://10.0.0.7", "http://10.0.0.7"),
        ("http://172.17.0.2:8008", "http://172.17.0.2:8008"),
        ("http://[fd00::2]:8008", "http://[fd00::2]:8008"),
        ("http://[::ffff:10.0.0.7]", "http://[::ffff:10.0.0.7]"),
        ("", None),
        ("  ", None),
    ],
)
def test_a_server_has_one_spelling(tmp_path: Path, given: str, kept: str | None) -> None:
    assert matrix(tmp_path, f"homeserver = {given!r}").homeserver == kept


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("ftp://example.org", "an https:// address"),
        ("https://", "an https:// address"),
        ("https://[::1", "an https:// address"),
        ("https://example.org:0", "an https:// address"),
        ("https://example.org:", "an https:// address"),
        ("https://a b", "an https:// address"),
        ("@bot:example.org", "an https:// address"),
        (TOKEN, "an https:// address"),
        (f"https://me:{SECRET}", "an https:// address"),
        (f"https://example.org/?access_token={SECRET}", "an https:// address"),
        (f"https://example.org/#{SECRET}", "an https:// address"),
        (f"https://me:{SECRET}@example.org", "no user and no password"),
        (f"https://{SECRET}@example.org", "no user and no password"),
        ("https://example.org/_matrix/client", "leave out the path"),
        (f"https://example.org/{SECRET}", "leave out the path"),
        ("http://example.org", "could read the bot's token. Use https://"),
        ("http://8.8.8.8:8008", "could read the bot's token. Use https://, or within your own"),
        ("http://172.32.0.1", "could read the bot's token"),
        ("http://0.0.0.0:8008", "could read the bot's token"),
        ("http://134744072", "could read the bot's token"),
        ("http://0x08080808:8008", "could read the bot's token"),
        ("http://8.2056", "could read the bot's token"),
        ("http://[2001:4860:4860::8888]", "could read the bot's token"),
        ("http://[::ffff:8.8.8.8]", "could read the bot's token"),
        ("http://synapse.", "could read the bot's token"),
        ("http://192.168.1.2.example.org", "could read the bot's token"),
        ("http://localhost.example.org", "could read the bot's token"),
        ("http://127.0.0.1.example.org", "could read the bot's token"),
    ],
)
def test_a_server_that_cannot_be_used_is_refused_without_showing_it(
    tmp_path: Path, address: str, sentence: str
) -> None:
    with pytest.raises(SettingsError) as error:
        matrix(tmp_path, f"homeserver = {address!r}")
    assert "matrix.homeserver: " in str(error.value)
    assert sentence in str(error.value)
    assert_hidden(error.value)


@given(st.text(max_size=40) | st.from_regex(r"(https?://)?[a-z@:/.\[\]?#%\\0-9 -]{1,30}\Z"))
def test_whatever_is_given_no_address_has_more_than_a_server_in_it(text: str) -> None:
    try:
        kept = Matrix(homeserver=text).homeserver
    except ValidationError:
        return
    if kept is None:
        assert not text.strip()
        return
    scheme, _, rest = kept.partition("://")
    assert scheme in ("http", "https")
    assert rest
    assert not set(rest) & set("/?#@%\\" + string.whitespace)
    assert Matrix(homeserver=kept).homeserver == kept


IDS = ["@ada:example.org", "@a.b_c=-/+:a.example:8448", "@Old!Name:[::1]:8008", "@b:1.2.3.4"]
NO_IDS = [
    *("ada", "@ada", "ada:example.org", "@:example.org", "@ada:", "@ada:a b", "@a b:example.org"),
    *("@ada:b:c", "@*:example.org", "@ada:example.org\n@b:c", "@ä:example.org", SECRET),
    f"@{'a' * 255}:example.org",
]


@pytest.mark.parametrize("person", IDS)
def test_a_whole_id_is_taken_for_the_bot_and_for_people(person: str) -> None:
    found = Matrix(user_id=f" {person} ", allowed_users=(person,))
    assert (found.user_id, found.allowed_users) == (person, (person,))


@pytest.mark.parametrize("person", NO_IDS)
def test_anything_less_than_a_whole_id_is_refused(tmp_path: Path, person: str) -> None:
    written = repr(person) if "\n" not in person else '"' + person.replace("\n", "\\n") + '"'
    with pytest.raises(SettingsError, match=r"user_id: accepted: .* @bot:example.org") as bot:
        matrix(tmp_path, f"user_id = {written}")
    with pytest.raises(SettingsError, match=r"allowed_users: people .* whole ids") as people:
        matrix(tmp_path, f"allowed_users = ['@ada:example.org', {written}]")
    assert_hidden(bot.value)
    assert_hidden(people.value)


# ── lists ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("'@a:x.org'", ("@a:x.org",)),
        ("['@a:x.org', ' @b:x.org ']", ("@a:x.org", "@b:x.org")),
        ("'@a:x.org, @b:x.org,'", ("@a:x.org", "@b:x.org")),
        ("""'["@a:x.org", "@b:x.org"]'""", ("@a:x.org", "@b:x.org")),
        ("['@a:x.org', '@a:x.org']", ("@a:x.org",)),
        ("[]", ()),
        ("''", ()),
    ],
)
def test_people_are_one_or_several(tmp_path: Path, text: str, expected: tuple[str, ...]) -> None:
    assert matrix(tmp_path, f"allowed_users = {text}").allowed_users == expected


@pytest.mark.parametrize("text", [f"!AbC:example.org,{V12}", f'["!AbC:example.org", "{V12}"]'])
def test_rooms_of_every_version_come_from_a_variable(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHATBRIDGE_MATRIX__ROOM_ID", text)
    assert load().table(MATRIX).room_id == ("!AbC:example.org", V12)


@pytest.mark.parametrize(
    "text",
    [
        *("'#team:example.org'", "'team'", "'!'", "'!a b:example.org'", "'!a:b c'", "7", "[7]"),
        *("true", "{ a = 1 }", "[['!a:b']]", "['']", "'https://matrix.to/#/!a:example.org'"),
        f"'{SECRET}'",
        f"['!{'a' * 255}']",
    ],
)
def test_a_room_without_an_id_is_refused_and_told_where_to_find_it(
    tmp_path: Path, text: str
) -> None:
    with pytest.raises(SettingsError, match=r"matrix.room_id: rooms .*Internal room ID") as error:
        matrix(tmp_path, f"room_id = {text}")
    assert_hidden(error.value)


# ── secrets ───────────────────────────────────────────────────────────────────────────────────────


def test_secrets_come_from_the_credentials_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "chatbridge_matrix__access_token").write_text(f"{TOKEN}\n")
    (tmp_path / "chatbridge_matrix__password").write_text(f"{SECRET}\n")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    found = matrix(tmp_path, f"{SERVER}\n{BOT}\npassword = 'of the file'")
    assert (shown(found.access_token), shown(found.password)) == (TOKEN, SECRET)


def test_neither_secret_is_shown_and_both_are_named_for_hiding(tmp_path: Path) -> None:
    found = settings(tmp_path, f"{ON}\npassword = '{SECRET}'")
    assert found.secrets() == (TOKEN, SECRET)
    assert SECRET not in repr(found)


def test_spaces_are_no_part_of_a_token_and_may_be_one_of_a_password() -> None:
    found = Matrix(access_token=SecretStr(f" {TOKEN}\n"), password=SecretStr(" a b \r\n"))
    assert (shown(found.access_token), shown(found.password)) == (TOKEN, " a b ")


@pytest.mark.parametrize("empty", ["", "\n"])
def test_an_empty_secret_is_none(empty: str) -> None:
    found = Matrix(access_token=SecretStr(empty), password=SecretStr(empty))
    assert (found.access_token, found.password) == (None, None)


@pytest.mark.parametrize(
    "text",
    [
        f"access_token = 'Bearer {TOKEN}'",
        f"access_token = '{TOKEN}ä'",
        f"access_token = ['{TOKEN}']",
        f"password = ['{SECRET}']",
        f"acces_token = '{TOKEN}'",
        f"reactions = '{TOKEN}'",
        f"user_id = ['{TOKEN}']",
        f"allowed_users = '[{TOKEN}]'",
        f"room_id = '[{TOKEN}'",
    ],
)
def test_a_mistake_with_a_secret_does_not_show_it(tmp_path: Path, text: str) -> None:
    with pytest.raises(SettingsError, match=r"matrix\.") as error:
        matrix(tmp_path, text)
    assert_hidden(error.value)


def assert_hidden(error: BaseException) -> None:
    """In the message, and in the traceback with everything that led to it."""
    assert SECRET not in str(error)
    assert SECRET not in "".join(traceback.format_exception(error))


# ── what links compare ────────────────────────────────────────────────────────────────────────────


def test_a_hub_and_a_link_with_the_same_account_agree_wherever_it_is_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_file = digests(settings(tmp_path, f"{ON}\nroom_id = ['!a:example.org', '!b:example.org']"))
    variables = {
        "CHATBRIDGE_MATRIX__HOMESERVER": "https://example.org",
        "CHATBRIDGE_MATRIX__USER_ID": "@bot:example.org",
        "CHATBRIDGE_MATRIX__ACCESS_TOKEN": TOKEN,
        "CHATBRIDGE_MATRIX__ROOM_ID": "!a:example.org,!b:example.org",
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    of_link = build_preface(None)["settings"]
    assert isinstance(of_link, dict)
    assert of_file == of_link == digests(load())
    assert set(of_link) == set(variables)
