"""What the owner can set, where it can be set, and what a mistake is answered with."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, SecretStr

from chatbridge.channels.telegram.spec import TELEGRAM
from chatbridge.channels.web.spec import WEB
from chatbridge.core.errors import SettingsError
from chatbridge.settings import Settings, load, settings_type
from chatbridge.settings.authority import FILE_ONLY
from chatbridge.settings.mistakes import line_of
from chatbridge.settings.store import without_password
from chatbridge.settings.tools import ClientLimits

pytestmark = pytest.mark.usefixtures("bare_environment")

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "config" / "chatbridge.example.toml"
UNSET = re.compile(r"^# (?=[a-z_]+ = )", re.MULTILINE)
"""How the example shows a key that has no default."""
SECRET = "hunter2-hunter2-hunter2"
BOT = f"123456789:{SECRET}"
DISCORD_BOT = f"MTIzNDU2Nzg5MDEyMzQ1Njc4.AbCdEf.{SECRET}"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def keys(model: type[BaseModel], prefix: str = "") -> set[str]:
    found = set()
    for name, field in model.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            found |= keys(inner, f"{name}.")
        else:
            found.add(prefix + name)
    return found


def written_keys(table: dict[str, Any], prefix: str = "") -> set[str]:
    found = set()
    for name, value in table.items():
        owners = name in ("clients", "environment")  # names in there are up to the owner
        table_here = isinstance(value, dict) and not owners
        found |= written_keys(value, f"{name}.") if table_here else {prefix + name}
    return found


# ── the example and the documentation ─────────────────────────────────────────────────────────────


def test_the_example_has_every_setting_and_no_other() -> None:
    everything = tomllib.loads(UNSET.sub("", EXAMPLE.read_text()))
    assert written_keys(everything) == keys(settings_type())


def test_the_example_shows_the_defaults(file: Path) -> None:
    assert load(EXAMPLE) == load(file)


def test_the_example_loads_with_everything_that_it_shows(file: Path) -> None:
    file.write_text(UNSET.sub("", EXAMPLE.read_text()))
    settings = load(file)
    assert settings.max_block == 50.0
    assert settings.table(WEB).port == 8787


def test_every_setting_and_its_variable_is_documented() -> None:
    pages = (
        *("configuration.md", "configuration-chats.md", "attachments.md"),
        *("audit.md", "team-database.md", "team-hubs.md"),
    )
    text = "\n".join((ROOT / "docs" / page).read_text() for page in pages)
    for key in keys(settings_type()):
        assert f"`{key}`" in text, key
    for key in VARIABLES:
        assert f"`{variable(key)}`" in text, key


# ── where settings come from ──────────────────────────────────────────────────────────────────────


def variable(key: str) -> str:
    return "CHATBRIDGE_" + key.replace(".", "__").upper()


VARIABLES = {
    "enabled": ("false", False),
    "default_timeout": ("20 min", 1200.0),
    "max_timeout": ("8h", 28800.0),
    "min_timeout": ("15", 15.0),
    "max_block": ("50s", 50.0),
    "late_answer_ttl": ("2d", 172800.0),
    "max_open_asks": ("3", 3),
    "on_cancel": ("withdraw", "withdraw"),
    "on_timeout": ("declared", "declared"),
    "retention": ("1.5d", 129600.0),
    "undo": ("5s", 5.0),
    "undo_confirms": ("1min", 60.0),
    "replies": ('["Go on"]', ("Go on",)),
    "tools": ("ask_user", ("ask_user",)),
    "store": ("sqlite:///srv/a.db", "sqlite:///srv/a.db"),
    "store_password": ("s3cret", "s3cret"),
    "log_level": ("debug", "debug"),
    "elicit": ("both", "both"),
    "auq_timeout": ("8h", 28800.0),
    "auq_max_questions": ("10", 10),
    "auq_max_options": ("4", 4),
    "approvals.channels": ("telegram,web", ("telegram", "web")),
    "approvals.timeout": ("1h", 3600.0),
    "attachments.most": ("3", 3),
    "attachments.largest": ("5MB", 5_000_000),
    "attachments.quota": ("2.5 GB", 2_500_000_000),
    "attachments.outsider": ("1000", 1_000),
    "attachments.received": ("project", "project"),
    "quiet.hours": ("22:30-07:00", ("22:30-07:00",) * 7),
    "quiet.zone": ("Europe/Berlin", "Europe/Berlin"),
    "quiet.mode": ("hold", "hold"),
    "quiet.let_through": ("urgent", ("urgent",)),
    "quiet.deadlines": ("run", "run"),
    "quiet.grace": ("1h", 3600.0),
    "quiet.max_urgent": ("0", 0),
    "reminders.after": ("5min,1h", (300.0, 3600.0)),
    "reminders.escalate": ("telegram", "telegram"),
    "summary.enabled": ("no", False),
    "summary.at": ("8:05", 485),
    "commands.enabled": ("off", False),
    "commands.dirs": ("/srv/tools,/srv/more", (Path("/srv/tools"), Path("/srv/more"))),
    "commands.concurrency": ("2", 2),
    "commands.announce_after": ("5min", 300.0),
    "commands.retention": ("1d", 86400.0),
    "commands.max_disk": ("50", 50),
    "journal.folder": ("notes/answers", "notes/answers"),
    "journal.other_tools": ("false", False),
    "clients": (
        '{"cline": {"limit": "10min", "cancels": false}}',
        {"cline": ClientLimits(limit=600.0, cancels=False)},
    ),
    "web.enabled": ("0", False),
    "web.host": ("::1", "::1"),
    "web.port": ("9000", 9000),
    "web.url": ("https://Inbox.example.org/", "https://inbox.example.org"),
    "web.token": (SECRET, SECRET),
    "push.detail": ("nothing", "nothing"),
    "push.services": ("*.push.apple.com", ("*.push.apple.com",)),
    "push.contact": ("mailto:ada@example.org", "mailto:ada@example.org"),
    "messages.expire_after": ("1h", 3600.0),
    "claude.when_done": ("ask", "ask"),
    "claude.wait": ("20min", 1200.0),
    "http.address": ("[::1]:8788", "[::1]:8788"),
    "cluster.listen": ("10.0.0.5:8790", "10.0.0.5:8790"),
    "cluster.address": ("hub-a.internal:8790", "hub-a.internal:8790"),
    "cluster.name": ("hub-a", "hub-a"),
    "http.hosts": ("agents.example.org, x:443", ("agents.example.org", "x:443")),
    "http.limit": ("5min", 300.0),
    "voice.url": ("http://127.0.0.1:9/v1/x", "http://127.0.0.1:9/v1/x"),
    "voice.model": ("base", "base"),
    "voice.key": (SECRET, SECRET),
    "voice.language": ("de", "de"),
    "voice.timeout": ("2min", 120.0),
    "slack.bot_token": ("xoxb-1-2-abcdefgh", "xoxb-1-2-abcdefgh"),
    "slack.app_token": ("xapp-1-A1-2-abcdefgh", "xapp-1-A1-2-abcdefgh"),
    "slack.allowed_users": ("U00000007,W00000008", ("U00000007", "W00000008")),
    "slack.channel_id": ("C00000001", ("C00000001",)),
    "slack.api_base": ("http://127.0.0.1:8081/api", "http://127.0.0.1:8081/api/"),
    "telegram.token": (BOT, BOT),
    "telegram.allowed_users": ("7,8", (7, 8)),
    "telegram.chat_id": ("-1001234567890", (-1001234567890,)),
    "telegram.topics": ("true", True),
    "telegram.api_base": ("http://127.0.0.1:8081/", "http://127.0.0.1:8081"),
    "matrix.homeserver": ("example.org", "https://example.org"),
    "web.tls_cert": ("/inbox.pem", Path("/inbox.pem")),
    "web.tls_key": ("/inbox.key", Path("/inbox.key")),
    "matrix.user_id": ("@bot:example.org", "@bot:example.org"),
    "matrix.access_token": (SECRET, SECRET),
    "matrix.password": (SECRET, SECRET),
    "matrix.allowed_users": ("@a:x.org,@b:x.org", ("@a:x.org", "@b:x.org")),
    "matrix.room_id": ("!AbC:example.org", ("!AbC:example.org",)),
    "matrix.reactions": ("no", False),
    "discord.token": (DISCORD_BOT, DISCORD_BOT),
    "discord.allowed_users": ("7,8", (7, 8)),
    "discord.channel_id": ("1234567890123456789", (1234567890123456789,)),
    "discord.api_base": ("http://127.0.0.1:8082/", "http://127.0.0.1:8082"),
    "ntfy.server": ("http://127.0.0.1:2586/", "http://127.0.0.1:2586"),
    "ntfy.topic": ("agents-x7Kq2mPz", "agents-x7Kq2mPz"),
    "ntfy.token": (" tk_0123456789 ", "tk_0123456789"),
    "ntfy.answers": ("true", True),
    "ntfy.answer_topic": ("answers-x7Kq2mPz", "answers-x7Kq2mPz"),
}


NEEDS = {
    "web.tls_cert": {"web.tls_key": "/inbox.key"},
    "web.tls_key": {"web.tls_cert": "/inbox.pem"},
    "reminders.escalate": {"telegram.token": BOT, "approvals.channels": "web"},
    "cluster.listen": {"store": "postgresql://chatbridge@db.internal/chatbridge"},
}
"""Variables that have to be there as well."""


def test_there_is_a_variable_for_every_setting() -> None:
    assert set(VARIABLES) == keys(settings_type()) - {".".join(key) for key in FILE_ONLY}


@pytest.mark.parametrize("key", VARIABLES)
def test_a_variable_sets_its_key(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text, expected = VARIABLES[key]
    for name, value in {key: text, **NEEDS.get(key, {})}.items():
        monkeypatch.setenv(variable(name), value)
    found: Any = load()
    for part in key.split("."):
        found = getattr(found, part)
    assert (found.get_secret_value() if isinstance(found, SecretStr) else found) == expected


@pytest.mark.parametrize(
    "text",
    ['["ask_user", "wait_for_answer"]', "ask_user,wait_for_answer", " ask_user , wait_for_answer "],
)
def test_a_list_is_json_or_comma_separated(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHATBRIDGE_TOOLS", text)
    assert load().tools == ("ask_user", "wait_for_answer")


def test_a_variable_wins_over_the_file_key_by_key(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text('retention = "2d"\n[web]\nhost = "::1"\nport = 9000\n')
    monkeypatch.setenv("CHATBRIDGE_WEB__PORT", "9001")
    settings = load(file)
    web = settings.table(WEB)
    assert (settings.retention, web.host, web.port) == (172800.0, "::1", 9001)


def test_the_file_is_the_one_that_the_variable_names(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text("max_open_asks = 7\n")
    monkeypatch.setenv("CHATBRIDGE_CONFIG", str(file))
    assert load().max_open_asks == 7


def test_without_a_variable_the_file_is_in_the_configuration_directory(tmp_path: Path) -> None:
    folder = tmp_path / "config" / "chatbridge"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("max_open_asks = 8\n")
    assert load().max_open_asks == 8


def test_a_secret_comes_from_the_credentials_directory(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "chatbridge_web__token").write_text(SECRET + "\n")
    (tmp_path / "of-another-program").write_text("not ours")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    file.write_text('[web]\nport = 9000\ntoken = "of the file"\n')
    web = load(file).table(WEB)
    assert web.token is not None
    assert (web.token.get_secret_value(), web.port) == (SECRET, 9000)


def test_a_bots_token_comes_from_the_credentials_directory_too(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "chatbridge_telegram__token").write_text(BOT + "\n")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    file.write_text("[telegram]\nallowed_users = [7]\n")
    telegram = load(file).table(TELEGRAM)
    assert telegram.token is not None
    assert (telegram.token.get_secret_value(), telegram.allowed_users) == (BOT, (7,))


def test_a_secret_is_not_shown_with_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHATBRIDGE_WEB__TOKEN", SECRET)
    monkeypatch.setenv("CHATBRIDGE_TELEGRAM__TOKEN", BOT)
    settings = load()
    assert SECRET not in repr(settings)
    assert set(settings.secrets()) == {SECRET, BOT}


def test_there_are_no_secrets_but_those_that_are_set() -> None:
    assert load().secrets() == ()


@pytest.mark.parametrize(
    ("store", "path"),
    [(None, "/state/chatbridge.db"), ("sqlite:///srv/a.db", "/srv/a.db")],
)
def test_the_database_is_in_the_state_directory_or_where_it_was_set(
    store: str | None, path: str
) -> None:
    assert Settings(store=store).database(Path("/state")) == Path(path)


# ── mistakes ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("colour = 1", "colour is not a setting"),
        ("[web]\nhots = 'x'", "web.hots is not a setting"),
        ("enabled = 'perhaps'", "enabled"),
        ("default_timeout = 'soon'", "default_timeout: give seconds, or a number with a unit"),
        ("default_timeout = true", "default_timeout"),
        ("max_timeout = inf", "max_timeout"),
        ("retention = -1", "retention"),
        ("undo = '61s'", "undo"),
        ("undo_confirms = 0", "undo_confirms"),
        ("max_open_asks = 0", "max_open_asks"),
        ("on_timeout = 'always'", "on_timeout"),
        ("tools = ['ask_usr']", "tools: there is no tool 'ask_usr'; there are: ask_user"),
        ("web = 'on'", "web"),
        ("[approvals]\nchannels = []", "approvals.channels: name at least one channel"),
        ("[audit]\nretention = '12h'", "audit.retention: accepted: a day or more, such as 365d"),
        ("[web]\nport = 70000", "web.port"),
        ("[http]\naddress = '8788'", "http.address: accepted: an address and a port"),
        ("[http]\naddress = 'localhost:70000'", "http.address: accepted"),
        ("[http]\nhosts = ['https://x.org/']", "http.hosts: accepted: names"),
        ("[http]\naddress = 'a..b:8788'", "http.address: accepted: an address and a port"),
        ("[web]\nhost = 'a..b'", "web.host: accepted: an address or a name"),
        (f"[web]\nhost = '{'a' * 64}.example.org'", "web.host: accepted: an address or a name"),
        ("[web]\nurl = 'https://inbox..example.org'", "web.url: accepted: an address"),
        ("[voice]\nurl = 'https://inbox..example.org/v1'", "voice.url: accepted: such as"),
        ("[web]\nurl = 'inbox.example.org'", "web.url: accepted: an address"),
        ("[web]\nurl = 'https://example.org/inbox'", "web.url: accepted: an address"),
        ("default_timeout = '1h'", "default_timeout (3600 s)"),
        ("min_timeout = '10min'", "min_timeout (600 s)"),
    ],
)
def test_a_mistake_is_named_with_its_key_and_file(file: Path, text: str, key: str) -> None:
    file.write_text(text)
    with pytest.raises(SettingsError) as error:
        load(file)
    assert key in str(error.value)
    assert str(file) in str(error.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("max_open_ask = 3", "max_open_ask is not a setting, did you mean max_open_asks? (line 1)"),
        ("\n[telegrm]\nchat_id = 1", "telegrm is not a setting, did you mean telegram? (line 2)"),
        ("[web]\n# hots\n hots = 'x'", "web.hots is not a setting, did you mean host? (line 3)"),
        ("web = {hots = 'x'}", "web.hots is not a setting, did you mean host? (line 1)"),
        ("web.hots = 'x'", "web.hots is not a setting, did you mean host? (line 1)"),
        ("[clients.'a b']\nlmit = 3", "lmit is not a setting, did you mean limit? (line 2)"),
        ("on_cancel = 'witdraw'", "did you mean withdraw? (line 1)"),
        ("tools = ['ask_usr']", "did you mean ask_user? (line 1)"),
        ("[approvals]\nchannels = ['telegran']", "did you mean telegram? (line 2)"),
        ("\n\nxyzzy = 1", "xyzzy is not a setting (line 3). Correct "),
    ],
)
def test_a_mistake_has_its_line_and_what_was_probably_meant(
    file: Path, text: str, said: str
) -> None:
    file.write_text(text)
    with pytest.raises(SettingsError) as error:
        load(file)
    assert said in str(error.value)
    assert "variables" not in str(error.value)


def test_a_mistake_in_a_variable_names_the_variable(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text("on_cancel = 'keep'\n")
    monkeypatch.setenv("CHATBRIDGE_ON_CANCEL", "kep")
    with pytest.raises(SettingsError) as error:
        load(file)
    assert "did you mean keep? (variable CHATBRIDGE_ON_CANCEL). " in str(error.value)


def test_the_line_of_one_table_among_several_of_a_name() -> None:
    text = "[[a.b]]\nx = 1\n[[a.b]]\nx = 2\n[c]\nx = 3\n"
    assert [line_of(text, ("a", "b", each, "x")) for each in (0, 1)] == [2, 4]
    assert line_of(text, ("c", "x")) == 6
    assert line_of(text, ("c", "y")) == 5
    assert line_of(text, ("d",)) is None


@pytest.mark.parametrize(
    "text", [b"enabled = ", b"a b", b"\xff\xfe", b'[web]\ntoken = "' + SECRET.encode()]
)
def test_a_file_that_is_no_toml_is_named(file: Path, text: bytes) -> None:
    file.write_bytes(text)
    with pytest.raises(SettingsError) as error:
        load(file)
    assert str(file) in str(error.value)
    assert SECRET not in str(error.value)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (f"[web]\ntoken = ['{SECRET}']", "web.token"),
        (f"[web]\ntokn = '{SECRET}'", "web.tokn"),
        (f"web = '{SECRET}'", "web"),
        (f"store = 'mysql://me:{SECRET}@host/db'", "store"),
        (f"store = 'postgresql://me:{SECRET}@[::1/db'", "store"),
        (f"store = 'postgresql://me:p/{SECRET}@host/db'", "store"),
        (f"store = 'postgresql://me:p#{SECRET}@host/db'", "store"),
        (f"store = 'postgresql://me:p?{SECRET}@host/db'", "store"),
        (f"store = 'postgresql://me:7?{SECRET}@host/db'", "store"),
        (f"store = 'postgresql://me:p@{SECRET}@host/db'", "store"),
        (f"store = 'postgresql://me:p[{SECRET}]@host/db'", "store"),
        (f"store = 'postgresql://me:{SECRET}/host'", "store"),
        (f"store = 'postgresql://host/db?password={SECRET}'", "store"),
        (f"store = 'postgresql://host/db?sslpassword={SECRET}'", "store"),
        (f"store = '{SECRET}'", "store"),
    ],
)
def test_a_mistake_near_a_secret_does_not_show_it(file: Path, text: str, key: str) -> None:
    file.write_text(text)
    with pytest.raises(SettingsError) as error:
        load(file)
    assert key in str(error.value)
    assert SECRET not in str(error.value)


@pytest.mark.parametrize("address", ["me:%s@host/db", "me:%s@[::1]:5432,b:5433/db?sslmode=require"])
def test_the_password_in_the_address_of_a_database_is_hidden_in_both_spellings(
    file: Path, address: str
) -> None:
    file.write_text(f"store = 'postgresql://{address % 'p%2Fq%40r'}'")
    settings = load(file)
    assert {"p%2Fq%40r", "p/q@r"} <= set(settings.secrets())
    assert settings.store is not None
    assert "p%2F" not in without_password(settings.store)
    assert without_password(settings.store).startswith("postgresql://me@")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CHATBRIDGE_WEB", "{" + SECRET),
        ("CHATBRIDGE_WEB__PORT", SECRET),
        ("CHATBRIDGE_WEB__TOKN", SECRET),
        ("CHATBRIDGE_TOOLS", f"[{SECRET}"),
    ],
)
def test_a_mistake_in_a_variable_is_a_settings_error_too(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match=r"(?i)web|tools") as error:
        load()
    assert SECRET not in str(error.value)


@pytest.mark.parametrize("store", ["", 'store = "sqlite:///srv/a.db"\n'])
def test_several_hubs_without_the_database_that_they_share_are_a_mistake(
    file: Path, store: str
) -> None:
    """Each would be a hub by itself, with the same bots."""
    file.write_text(f'{store}[cluster]\nname = "hub-a"\n')
    assert load(file).cluster.name == "hub-a"
    file.write_text(f'{store}[cluster]\nlisten = "10.0.0.5:8788"\n')
    line = file.read_text().splitlines().index('listen = "10.0.0.5:8788"') + 1
    with pytest.raises(SettingsError) as error:
        load(file)
    said = str(error.value)
    assert said.startswith("cluster.listen is for hubs that share a PostgreSQL database, and store")
    assert 'set store = "postgresql://user@host/database", the same for each, or take' in said
    assert f"(line {line}). Correct {file}" in said


def test_approvals_that_nobody_could_give_are_remarked_on(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load().remarks() == []
    monkeypatch.setenv("CHATBRIDGE_APPROVALS__CHANNELS", "telegram")
    (remark,) = load().remarks()
    assert "telegram" in remark
    monkeypatch.setenv("CHATBRIDGE_TELEGRAM__TOKEN", BOT)
    assert load().remarks() == []


def test_approvals_are_for_the_chats_and_only_without_one_for_the_page(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert load().approval_channels() == {"web"}
    monkeypatch.setenv("CHATBRIDGE_TELEGRAM__TOKEN", BOT)
    assert load().approval_channels() == {"telegram"}
    monkeypatch.setenv("CHATBRIDGE_APPROVALS__CHANNELS", "web,telegram")
    assert load().approval_channels() == {"web", "telegram"}


def test_quick_answers_are_short_texts_each_once(file: Path) -> None:
    file.write_text('replies = [" Go on, take the safe way", "Stop", "Stop"]')
    assert load(file).policy().replies == ("Go on, take the safe way", "Stop")


def test_quick_answers_in_a_variable_are_a_list(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHATBRIDGE_REPLIES", '["Go on, please", "Stop"]')
    assert load(file).replies == ("Go on, please", "Stop")
    monkeypatch.setenv("CHATBRIDGE_REPLIES", "Go on, please")
    with pytest.raises(SettingsError, match="replies"):
        load(file)


@pytest.mark.parametrize(
    "value",
    [
        '"Go on"',
        '[""]',
        '["a\\nb"]',
        '["\\u202eevil"]',
        "[7]",
        '[["a"]]',
        f'["{"x" * 61}"]',
        '["1", "2", "3", "4", "5", "6", "7"]',
    ],
)
def test_what_is_no_list_of_short_texts_is_refused(file: Path, value: str) -> None:
    file.write_text(f"replies = {value}")
    with pytest.raises(SettingsError, match="replies"):
        load(file)
