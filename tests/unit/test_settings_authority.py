"""Variables cannot widen what the owner's file says about who may allow what."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from chatbridge.channels.telegram import spec
from chatbridge.core.errors import SettingsError
from chatbridge.settings import load
from chatbridge.settings.authority import FILE_ONLY, limits, variable_of

EXAMPLE = Path(__file__).parents[2] / "config" / "chatbridge.example.toml"
TOKEN = "123456:abcdefghijklmnop"
TELEGRAM = f"""
[telegram]
token = "{TOKEN}"
allowed_users = [7, 8]
chat_id = [7, -100]
"""
SLACK = """
[slack]
bot_token = "xoxb-1-2-abcdefgh"
app_token = "xapp-1-A1-2-abcdefgh"
allowed_users = ["U00000007"]
channel_id = ["C00000001"]
"""
MATRIX = """
[matrix]
homeserver = "https://matrix.example.org"
user_id = "@bot:example.org"
access_token = "syt_secret"
allowed_users = ["@ada:example.org", "@bob:example.org"]
room_id = ["!a:example.org", "!b:example.org"]
"""
DISCORD = """
[discord]
token = "MTIzNDU2Nzg5MDEyMzQ1Njc4.AbCdEf.abcdefghijklmnopqrstuvwx"
allowed_users = [7, 8]
channel_id = [70, 80]
"""
NTFY = '[ntfy]\ntopic = "agents-x7Kq2mPz"'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def value_of(file: Path, key: str) -> Any:
    found: Any = load(file)
    for part in key.split("."):
        found = getattr(found, part)
    return found


CERTIFICATE = '[web]\ntls_cert = "/a.pem"\ntls_key = "/a.key"'
WIDER = [
    ('[approvals]\nchannels = ["telegram"]', "approvals.channels", '["web"]', ("telegram",)),
    ('[approvals]\nchannels = ["telegram"]', "approvals.channels", "telegram,web", ("telegram",)),
    (TELEGRAM, "telegram.allowed_users", "7,9", (7, 8)),
    (SLACK, "slack.allowed_users", "U00000007,U00000009", ("U00000007",)),
    (SLACK, "slack.channel_id", "C00000009", ("C00000001",)),
    (SLACK, "slack.api_base", "http://127.0.0.1:9/", "https://slack.com/api/"),
    (TELEGRAM, "telegram.chat_id", "7,99", (7, -100)),
    (TELEGRAM, "telegram.chat_id", "", (7, -100)),
    (TELEGRAM, "telegram.api_base", "http://127.0.0.1:9", "https://api.telegram.org"),
    (MATRIX, "matrix.allowed_users", "@eve:example.org", ("@ada:example.org", "@bob:example.org")),
    (MATRIX, "matrix.room_id", "!c:example.org", ("!a:example.org", "!b:example.org")),
    (MATRIX, "matrix.homeserver", "http://127.0.0.1:9", "https://matrix.example.org"),
    (MATRIX, "matrix.user_id", "@eve:example.org", "@bot:example.org"),
    (DISCORD, "discord.allowed_users", "7,9", (7, 8)),
    (DISCORD, "discord.channel_id", "70,90", (70, 80)),
    (DISCORD, "discord.channel_id", "", (70, 80)),
    (DISCORD, "discord.api_base", "http://127.0.0.1:9", "https://discord.com/api"),
    (NTFY, "ntfy.server", "http://127.0.0.1:9", "https://ntfy.sh"),
    (NTFY, "ntfy.topic", "agents-of-eve", "agents-x7Kq2mPz"),
    (NTFY, "ntfy.answers", "true", False),
    (NTFY, "ntfy.answer_topic", "answers-of-eve", ""),
    ('[commands]\ndirs = ["/a", "/b"]', "commands.dirs", "/a,/c", (Path("/a"), Path("/b"))),
    ("[commands]\nenabled = false", "commands.enabled", "true", False),
    ("[web]\nenabled = false", "web.enabled", "true", False),
    ('[web]\nhost = "127.0.0.1"', "web.host", "10.0.0.1", "127.0.0.1"),
    ('[web]\nurl = "https://a.example.org"', "web.url", "https://b.org", "https://a.example.org"),
    (CERTIFICATE, "web.tls_cert", "/b.pem", Path("/a.pem")),
    (CERTIFICATE, "web.tls_key", "/b.key", Path("/a.key")),
    ('[http]\naddress = "127.0.0.1:8788"', "http.address", "0.0.0.0:8788", "127.0.0.1:8788"),
    ('[http]\nhosts = ["a.example.org"]', "http.hosts", "b.org", ("a.example.org",)),
    ('[voice]\nurl = "http://127.0.0.1:9/a"', "voice.url", "http://x.org/", "http://127.0.0.1:9/a"),
    ('[push]\ndetail = "project"', "push.detail", "all", "project"),
    ('[push]\nservices = ["a.org"]', "push.services", "a.org,b.org", ("a.org",)),
    ('store = "sqlite:////a.db"', "store", "sqlite:////b.db", "sqlite:////a.db"),
    ('on_timeout = "never"', "on_timeout", "declared", "never"),
    ('elicit = "chats"', "elicit", "client", "chats"),
]


@pytest.mark.parametrize(("text", "key", "variable", "held"), WIDER)
def test_a_variable_that_would_widen_what_the_file_says_is_ignored_and_said(
    file: Path, monkeypatch: pytest.MonkeyPatch, text: str, key: str, variable: str, held: object
) -> None:
    file.write_text(text)
    name = variable_of(tuple(key.split(".")))
    monkeypatch.setenv(name, variable)
    assert value_of(file, key) == held
    settings = load(file)
    assert settings.ignored == (name,)
    said = settings.remarks()[0]
    assert said.startswith(f"{name} is ignored: it would widen what {file} says of {key}. ")


@pytest.mark.parametrize(
    ("text", "mend"),
    [
        ("allowed_users = []", "Remove the empty list from that file if the variable is yours, or"),
        ("allowed_users = [1]", "Change that file, or take the variable"),
    ],
)
def test_who_filled_an_empty_list_with_a_variable_is_told_to_remove_it(
    file: Path, monkeypatch: pytest.MonkeyPatch, text: str, mend: str
) -> None:
    file.write_text(f"[telegram]\n{text}")
    monkeypatch.setenv("CHATBRIDGE_TELEGRAM__ALLOWED_USERS", "42")
    assert f" says of telegram.allowed_users. {mend}" in load(file).remarks()[0]


def test_a_variable_cannot_take_the_files_approval_channels_back(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text('[approvals]\nchannels = ["telegram"]')
    monkeypatch.setenv("CHATBRIDGE_APPROVALS", '{"channels": null}')
    assert load(file).approval_channels() == {"telegram"}


@pytest.mark.parametrize(("text", "key", "variable", "held"), WIDER)
def test_a_credential_cannot_do_it_either(
    file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    key: str,
    variable: str,
    held: object,
) -> None:
    """Its folder is a variable as well."""
    file.write_text(text)
    folder = tmp_path / "credentials"
    folder.mkdir()
    (folder / variable_of(tuple(key.split("."))).lower()).write_text(variable)
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(folder))
    assert value_of(file, key) == held


def test_a_file_that_names_only_a_bell_leaves_approvals_to_variables(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text(NTFY)
    monkeypatch.setenv("CHATBRIDGE_APPROVALS__CHANNELS", "web")
    assert load(file).approval_channels() == {"web"}
    monkeypatch.delenv("CHATBRIDGE_APPROVALS__CHANNELS")
    assert load(file).approval_channels() == {"web"}


def test_every_setting_with_a_limit_is_tried_here() -> None:
    tried = {tuple(key.split(".")) for _, key, _, _ in WIDER}
    assert tried | FILE_ONLY == set(limits())


@pytest.mark.parametrize("as_credential", [False, True])
@pytest.mark.parametrize(
    ("text", "path", "environment"),
    [
        ("", (), {}),
        ('[commands]\npath = ["/b"]\nenvironment = { A = "1" }', (Path("/b"),), {"A": "1"}),
    ],
)
def test_only_the_file_says_which_programs_run(
    file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    path: tuple[Path, ...],
    environment: dict[str, str],
    as_credential: bool,
) -> None:
    file.write_text(text)
    given = {"CHATBRIDGE_COMMANDS__PATH": "/a", "CHATBRIDGE_COMMANDS__ENVIRONMENT": '{"A": "2"}'}
    for name, value in given.items():
        if as_credential:
            (tmp_path / "credentials").mkdir(exist_ok=True)
            (tmp_path / "credentials" / name.lower()).write_text(value)
        else:
            monkeypatch.setenv(name, value)
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path / "credentials"))
    found = load(file)
    assert (found.commands.path, found.commands.environment) == (path, environment)
    assert found.ignored == tuple(given)
    assert found.remarks()[0].startswith(
        f"CHATBRIDGE_COMMANDS__PATH is ignored: commands.path applies only in {file}. Put it there"
    )


@pytest.mark.parametrize("as_credential", [False, True])
@pytest.mark.parametrize(
    ("text", "variable", "held"),
    [
        ("", "anybody", "person"),
        ('terminal = "person"', "anybody", "person"),
        ('terminal = "nobody"', "person", "nobody"),
        ('terminal = "nobody"', "anybody", "nobody"),
    ],
)
def test_only_the_file_lets_more_than_a_person_write_to_agents(
    file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    variable: str,
    held: str,
    as_credential: bool,
) -> None:
    file.write_text(f"[messages]\n{text}")
    name = "CHATBRIDGE_MESSAGES__TERMINAL"
    if as_credential:
        (tmp_path / name.lower()).write_text(variable)
        monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    else:
        monkeypatch.setenv(name, variable)
    found = load(file)
    assert (found.messages.terminal, found.ignored) == (held, (name,))


RULE = {"tool": "Bash", "command": "npm test", "project": "/src/shop"}
OTHER_RULE = {"tool": "Write", "path": "**", "project": "/src/shop"}


@pytest.mark.parametrize("as_credential", [False, True])
@pytest.mark.parametrize("name", ["CHATBRIDGE_APPROVALS__ALLOW", "CHATBRIDGE_APPROVALS"])
@pytest.mark.parametrize("mine", [[], [RULE]])
def test_only_the_file_says_what_is_allowed_without_asking(
    file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    mine: list[dict[str, str]],
    name: str,
    as_credential: bool,
) -> None:
    file.write_text("".join(f"[[approvals.allow]]\n{_toml(rule)}" for rule in mine))
    rules = load(file).approvals.rules()
    assert len(rules) == len(mine)
    given: Any = [OTHER_RULE] if name.endswith("ALLOW") else {"allow": [OTHER_RULE]}
    if as_credential:
        (tmp_path / name.lower()).write_text(json.dumps(given))
        monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    else:
        monkeypatch.setenv(name, json.dumps(given))
    found = load(file)
    assert found.approvals.rules() == rules
    assert found.remarks()[0].startswith(
        f"CHATBRIDGE_APPROVALS__ALLOW is ignored: approvals.allow applies only in {file}."
    )


def _toml(table: dict[str, str]) -> str:
    return "".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items())


@pytest.mark.parametrize(
    ("text", "key", "variable", "counts"),
    [
        ('[approvals]\nchannels = ["telegram", "web"]', "approvals.channels", "web", ("web",)),
        (TELEGRAM, "telegram.allowed_users", "8,7", (8, 7)),
        (TELEGRAM, "telegram.allowed_users", "8", (8,)),
        (TELEGRAM, "telegram.allowed_users", "", ()),
        (TELEGRAM, "telegram.chat_id", "-100", (-100,)),
        (MATRIX, "matrix.allowed_users", "@ada:example.org", ("@ada:example.org",)),
        ('[commands]\ndirs = ["/a", "/b"]', "commands.dirs", "/b", (Path("/b"),)),
        ("[commands]\nenabled = true", "commands.enabled", "false", False),
        ("[web]\nenabled = true", "web.enabled", "false", False),
        ('[web]\nurl = "https://a.example.org"', "web.url", "", None),
        ('[http]\naddress = "127.0.0.1:8788"', "http.address", "", None),
        ('on_timeout = "declared"', "on_timeout", "never", "never"),
        ('elicit = "both"', "elicit", "chats", "chats"),
        ("", "messages.terminal", "nobody", "nobody"),
        ('[messages]\nterminal = "anybody"', "messages.terminal", "anybody", "anybody"),
        ('[messages]\nterminal = "anybody"', "messages.terminal", "person", "person"),
        ('[messages]\nterminal = "anybody"', "messages.terminal", "nobody", "nobody"),
    ],
)
def test_a_variable_may_narrow_it_or_say_the_same(
    file: Path, monkeypatch: pytest.MonkeyPatch, text: str, key: str, variable: str, counts: object
) -> None:
    file.write_text(text)
    monkeypatch.setenv(variable_of(tuple(key.split("."))), variable)
    assert value_of(file, key) == counts
    assert load(file).ignored == ()


@pytest.mark.parametrize(("_text", "key", "variable", "_held"), WIDER)
def test_where_the_file_is_silent_variables_count_as_in_a_container(
    file: Path, monkeypatch: pytest.MonkeyPatch, _text: str, key: str, variable: str, _held: object
) -> None:
    for name, value in {
        "CHATBRIDGE_MATRIX__HOMESERVER": "https://matrix.example.org",
        "CHATBRIDGE_MATRIX__USER_ID": "@bot:example.org",
        "CHATBRIDGE_MATRIX__ACCESS_TOKEN": "syt_secret",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv(variable_of(tuple(key.split("."))), variable)
    assert load(file).ignored == ()


@pytest.mark.parametrize(
    ("text", "variable"),
    [
        ("[telegram]\nallowed_users = []", "TELEGRAM__ALLOWED_USERS=7"),
        ("[telegram]\nchat_id = []", "TELEGRAM__CHAT_ID=-100"),
        ("[matrix]\nallowed_users = []", "MATRIX__ALLOWED_USERS=@eve:example.org"),
        ("[matrix]\nroom_id = []", "MATRIX__ROOM_ID=!c:example.org"),
        ("[http]\nhosts = []", "HTTP__HOSTS=b.org"),
        ("[commands]\ndirs = []", "COMMANDS__DIRS=/tools"),
    ],
)
def test_an_empty_list_in_the_file_means_none_and_no_variable_fills_it(
    file: Path, monkeypatch: pytest.MonkeyPatch, text: str, variable: str
) -> None:
    file.write_text(text)
    assert load(file).ignored == ()
    name, _, value = variable.partition("=")
    monkeypatch.setenv(f"CHATBRIDGE_{name}", value)
    assert value_of(file, name.lower().replace("__", ".")) == ()
    assert load(file).ignored == (f"CHATBRIDGE_{name}",)


def test_an_empty_list_of_approval_channels_is_refused_also_with_a_variable_for_it(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text("[approvals]\nchannels = []")
    monkeypatch.setenv("CHATBRIDGE_APPROVALS__CHANNELS", "web")
    with pytest.raises(SettingsError, match=r"approvals\.channels"):
        load(file)


def test_the_example_leaves_people_and_places_to_variables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CHATBRIDGE_TELEGRAM__ALLOWED_USERS", "7")
    found = load(EXAMPLE)
    assert (found.table(spec.TELEGRAM).allowed_users, found.ignored) == ((7,), ())


# ── approvals, where the file names chats ─────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "variables",
    [
        {"APPROVALS__CHANNELS": '["web"]'},
        {"APPROVALS__CHANNELS": "telegram,web"},
        {"TELEGRAM__TOKEN": "", "TELEGRAM__ALLOWED_USERS": ""},
        {
            "MATRIX__HOMESERVER": "http://127.0.0.1:9",
            "MATRIX__USER_ID": "@bot:evil.example",
            "MATRIX__ACCESS_TOKEN": "x",
            "MATRIX__ALLOWED_USERS": "@agent:evil.example",
        },
    ],
    ids=["the page", "the page as well", "no Telegram", "another chat"],
)
def test_no_variable_moves_approvals_away_from_the_chat_that_the_file_names(
    file: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]
) -> None:
    """`chatbridge setup` writes no approvals.channels: the chat alone has to be enough."""
    file.write_text(TELEGRAM)
    for name, value in variables.items():
        monkeypatch.setenv(f"CHATBRIDGE_{name}", value)
    assert load(file).approval_channels() == {"telegram"}
    assert load(file).policy().approval_channels == {"telegram"}


def test_a_bot_whose_token_comes_from_elsewhere_is_the_files_chat_by_its_people(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text("[telegram]\nallowed_users = [7]")
    assert load(file).approval_channels() == {"telegram"}
    monkeypatch.setenv("CHATBRIDGE_TELEGRAM__API_BASE", "http://127.0.0.1:9")
    monkeypatch.setenv("CHATBRIDGE_TELEGRAM__TOKEN", TOKEN)
    settings = load(file)
    assert settings.table(spec.TELEGRAM).token is not None
    assert settings.table(spec.TELEGRAM).api_base == "https://api.telegram.org"


def test_a_secret_beside_the_file_names_the_chat_as_well(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = file.parent / "secrets"
    folder.mkdir(mode=0o700)
    secret = folder / "chatbridge_telegram__token"
    secret.write_text(TOKEN)
    secret.chmod(0o600)
    monkeypatch.setenv("CHATBRIDGE_APPROVALS__CHANNELS", "web")
    assert load(file).approval_channels() == {"telegram"}


def test_a_value_in_the_file_that_is_none_is_refused_though_a_variable_has_one(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text('[approvals]\nchannels = ["phone"]')
    monkeypatch.setenv("CHATBRIDGE_APPROVALS__CHANNELS", "web")
    with pytest.raises(SettingsError, match=r"^approvals\.channels: "):
        load(file)


YEAR = 365 * 86400.0
TEAM = 'store = "postgresql://hub@db/chatbridge"'


@pytest.mark.parametrize(
    ("text", "variable", "held"),
    [
        (TEAM, {"enabled": "false"}, ("team", YEAR, False)),
        ("[audit]\nenabled = true", {"enabled": "false"}, (True, YEAR, False)),
        ("[audit]\nenabled = true", {"enabled": "team"}, (True, YEAR, False)),
        (TEAM, {"retention": "1d"}, ("team", YEAR, False)),
        ("[audit]\nretention = '500d'", {"retention": "400d"}, ("team", 500 * 86400.0, False)),
        (TEAM, {"texts": "true"}, ("team", YEAR, False)),
    ],
)
def test_no_variable_switches_the_audit_trail_off_or_has_it_say_more(
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    variable: dict[str, str],
    held: tuple[object, ...],
) -> None:
    file.write_text(text)
    for key, value in variable.items():
        monkeypatch.setenv(variable_of(("audit", key)), value)
    settings = load(file)
    assert (settings.audit.enabled, settings.audit.retention, settings.audit.texts) == held
    assert len(settings.ignored) == 1
    assert settings.keeps_audit() or "retention" in variable


def test_a_variable_may_switch_the_audit_trail_on_and_keep_it_for_longer(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not load(file).keeps_audit()
    monkeypatch.setenv("CHATBRIDGE_AUDIT__ENABLED", "true")
    monkeypatch.setenv("CHATBRIDGE_AUDIT__RETENTION", "400d")
    settings = load(file)
    assert settings.keeps_audit()
    assert settings.policy().audit_retention == 400 * 86400.0
    assert settings.ignored == ()


def test_only_a_team_has_an_audit_trail_that_did_not_ask_for_one(file: Path) -> None:
    for text, kept in (
        ("", False),
        (TEAM, True),
        (f"{TEAM}\n[audit]\nenabled = false", False),
        ('[[people]]\nname = "Ada"\ntelegram = 7', True),
        ("[audit]\nenabled = true", True),
    ):
        file.write_text(text)
        assert load(file).keeps_audit() is kept, text


def test_lines_of_the_audit_trail_stay_for_a_day_at_least(file: Path) -> None:
    file.write_text("[audit]\nretention = '23h'")
    with pytest.raises(SettingsError, match=r"audit\.retention"):
        load(file)
