"""The lists of people and routes: who is let in, what is refused, and that no variable adds
anybody."""

from __future__ import annotations

from pathlib import Path

import pytest

from chatbridge.channels.registry import BUILT_IN
from chatbridge.channels.telegram.spec import TELEGRAM
from chatbridge.core.errors import SettingsError
from chatbridge.core.model import Priority
from chatbridge.core.people.routes import Route
from chatbridge.core.people.team import Member, Role
from chatbridge.settings import load

pytestmark = pytest.mark.usefixtures("bare_environment")

BOT = "123456789:hunter2-hunter2-hunter2"
WHOLE = f"""
[telegram]
token = "{BOT}"
allowed_users = [7]
[slack]
bot_token = "xoxb-1-2-abcdefgh"
app_token = "xapp-1-A1-2-abcdefgh"
channel_id = ["C00000001"]
[[people]]
name = "Ann"
telegram = 4242
slack = "U00000007"
quiet = {{ mon-fri = "20:00-08:00" }}
zone = "Asia/Tokyo"
[[people]]
name = "Bob"
telegram = "4243"
roles = ["read"]
[[routes]]
project = "shop-*"
priority = "urgent"
to = ["Ann"]
second = ["Bob", "slack:C00000001"]
after = "10m"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def test_people_are_let_in_on_their_channels_beside_those_of_its_own_list(file: Path) -> None:
    file.write_text(WHOLE)
    settings = load(file)
    assert settings.table(TELEGRAM).allowed_users == (7, 4242, 4243)
    team = settings.team()
    assert [it.name for it in team.members] == ["Ann", "Bob"]
    ann, bob = team.members
    assert ann.identities == (("telegram", "4242"), ("slack", "U00000007"))
    assert ann.roles == {Role.ANSWER, Role.APPROVE}
    assert ann.quiet
    assert ann.quiet.zone == "Asia/Tokyo"
    assert ann.quiet.hours == ("20:00-08:00",) * 5 + ("", "")
    assert bob == Member(
        name="Bob", identities=(("telegram", "4243"),), roles=frozenset({Role.READ})
    )
    assert team.routes == (
        Route(
            project="shop-*",
            priority=Priority.URGENT,
            to=("Ann",),
            second=("Bob", "slack:C00000001"),
            after=600.0,
        ),
    )
    assert settings.policy().nights.team == team
    private = {"telegram:7", "telegram:4242", "telegram:4243"}
    assert team.surfaces == {*private, "slack:C00000001", "web"}


def test_without_people_nothing_is_different(file: Path) -> None:
    file.write_text(WHOLE.partition("[[people]]")[0])
    settings = load(file)
    assert settings.table(TELEGRAM).allowed_users == (7,)
    assert (settings.team().members, settings.team().routes) == ((), ())


def test_every_channel_that_knows_people_has_a_key(file: Path) -> None:
    with_people = {spec.name for spec in BUILT_IN if spec.people}
    assert with_people == {"telegram", "matrix", "slack", "discord"}
    file.write_text('[[people]]\nname = "Ann"\nmatrix = "@ann:example.org"\ndiscord = 7\n')
    (ann,) = load(file).team().members
    assert dict(ann.identities) == {"matrix": "@ann:example.org", "discord": "7"}


def test_a_file_that_names_people_of_a_chat_has_approvals_given_there(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text('[[people]]\nname = "Ann"\ntelegram = 4242\n')
    monkeypatch.setenv("CHATBRIDGE_APPROVALS__CHANNELS", "web")
    assert load(file).approval_channels() == {"telegram"}


@pytest.mark.parametrize(
    ("before", "after", "said", "line"),
    [
        ('slack = "U', 'slak = "U', "people.1.slak is not a setting, did you mean slack?", 12),
        ('"4243"', '"@bob"', "people.2.telegram: people are given by their numbers", 17),
        ('"4243"', "4242", "Ann and Bob have the same telegram", 17),
        ('"Bob"', '"ann"', "the name ann is there twice", 16),
        ('"Bob"', '"web"', "none of a channel", 16),
        ('"Bob"', '""', "people.2.name: accepted: a name in one line", 16),
        ('["read"]', '["raed"]', "did you mean read?", 18),
        ('["read"]', "[]", "people.2.roles: accepted: answer, approve, read", 18),
        ("Tokyo", "Tokio", "did you mean Asia/Tokyo?", 14),
        ("20:00-08:00", "8pm", "people.1.quiet: mon-fri: write a time such as", 13),
        ('["Bob", "s', '["Bop", "s', "routes.second: entry 1 is neither one of the people", 23),
        ('["Ann"]', "[]", "routes.to: name at least one person or chat", 22),
        ('after = "10m"', "", "second and after belong together; after is missing", 23),
        ('"10m"', '"soon"', "routes.1.after: give seconds", 24),
        ("project =", "label =", "routes.1.label is not a setting", 20),
    ],
)
def test_a_mistake_is_said_with_its_line_and_what_was_probably_meant(
    file: Path, before: str, after: str, said: str, line: int
) -> None:
    assert before in WHOLE
    file.write_text(WHOLE.replace(before, after, 1))
    if before == '["Ann"]' or before == '"Bob"':
        file.write_text(WHOLE.replace(before, after, 1).replace('["Bob", "s', '["Ann", "s'))
    with pytest.raises(SettingsError) as refused:
        load(file)
    assert said in str(refused.value)
    assert f"(line {line})" in str(refused.value)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("CHATBRIDGE_PEOPLE", '[{"name": "Eve", "telegram": 666}]'),
        ("CHATBRIDGE_ROUTES", '[{"to": ["telegram:666"]}]'),
        ("CHATBRIDGE_TELEGRAM__ALLOWED_USERS", "7,666"),
        ("CHATBRIDGE_TELEGRAM", '{"allowed_users": [666]}'),
        ("CHATBRIDGE_MATRIX__ALLOWED_USERS", "@eve:x.org"),
        ("CHATBRIDGE_DISCORD__ALLOWED_USERS", "666"),
    ],
)
@pytest.mark.parametrize("text", [WHOLE, WHOLE.replace("allowed_users = [7]\n", "")])
def test_no_variable_lets_anybody_in_beside_the_people_of_the_file(
    file: Path, monkeypatch: pytest.MonkeyPatch, text: str, variable: str, value: str
) -> None:
    file.write_text(text)
    expected = load(file)
    monkeypatch.setenv(variable, value)
    settings = load(file)
    assert settings.team() == expected.team()
    for spec in BUILT_IN:
        found = spec.people_in(settings.table(spec))
        assert set(found) <= set(spec.people_in(expected.table(spec)))
    assert settings.ignored
    assert "is ignored: " in settings.remarks()[0]


def test_without_people_in_the_file_a_variable_names_none(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHATBRIDGE_PEOPLE", '[{"name": "Eve", "telegram": 666}]')
    monkeypatch.setenv("CHATBRIDGE_ROUTES", '[{"to": ["telegram:666"]}]')
    settings = load(file)
    assert (settings.people, settings.routes) == ((), ())
    assert settings.table(TELEGRAM).allowed_users == ()
    assert len(settings.ignored) == 2
