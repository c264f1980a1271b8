"""What the owner can set for nights, and what a mistake is answered with."""

from __future__ import annotations

import zoneinfo
from pathlib import Path

import pytest

from chatbridge.core.errors import SettingsError
from chatbridge.core.model import QuietRule
from chatbridge.core.nights.policy import NightPolicy
from chatbridge.settings import load

pytestmark = pytest.mark.usefixtures("bare_environment")

TELEGRAM = "[telegram]\ntoken = '123456789:hunter2-hunter2-hunter2'\nallowed_users = [7, 8]\n"
MATRIX = (
    "[matrix]\nhomeserver = 'https://x.org'\nuser_id = '@bot:x.org'\naccess_token = 'secret'\n"
    "allowed_users = ['@ada:x.org']\n"
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def night_policy(file: Path, text: str) -> NightPolicy:
    file.write_text(text)
    return load(file).policy().nights.policy


def mistake(file: Path, text: str) -> str:
    file.write_text(text)
    with pytest.raises(SettingsError) as error:
        load(file)
    assert str(file) in str(error.value)
    return str(error.value)


def quiet_rule(file: Path, text: str) -> QuietRule:
    rule = night_policy(file, text).quiet
    assert rule is not None
    return rule


def test_without_settings_nothing_is_quiet_and_reminders_are_on(file: Path) -> None:
    assert load(file).policy().nights.policy == NightPolicy()


def test_everything_that_is_set_reaches_the_policy(file: Path) -> None:
    text = """
        [quiet]
        hours = "22:30-07:00"
        zone = "Europe/Berlin"
        mode = "hold"
        let_through = ["urgent"]
        deadlines = "run"
        grace = "10min"
        max_urgent = 0
        [reminders]
        after = ["5min", 3600]
        [summary]
        enabled = false
        at = 08:30:00
    """
    assert night_policy(file, text) == NightPolicy(
        quiet=QuietRule(hours=("22:30-07:00",) * 7, zone="Europe/Berlin", hold=True),
        let_through=frozenset({"urgent"}),
        extend_deadlines=False,
        grace=600.0,
        max_urgent=0,
        reminders=(300.0, 3600.0),
        summary=False,
        summary_at=8 * 60 + 30,
    )


def test_hours_can_be_given_by_weekday_and_by_a_range_of_days(file: Path) -> None:
    text = '[quiet.hours]\nmon-wed = "22:00-06:00"\nSat-Sun = "01:00-10:00, 14:00-15:00"'
    week, weekend = "22:00-06:00", "01:00-10:00, 14:00-15:00"
    assert quiet_rule(file, text).hours == (week, week, week, "", "", weekend, weekend)


def test_a_range_of_days_may_run_over_sunday(file: Path) -> None:
    hours = quiet_rule(file, '[quiet]\nhours = {sun-mon = "00:00-24:00"}').hours
    assert [bool(each) for each in hours] == [True, False, False, False, False, False, True]


def test_hours_by_weekday_in_a_variable_are_json(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHATBRIDGE_QUIET__HOURS", '{"fri": "23:00-08:00"}')
    assert quiet_rule(file, "").hours == ("", "", "", "", "23:00-08:00", "", "")


def test_holding_and_the_zone_count_without_hours_for_those_that_are_switched_on(
    file: Path,
) -> None:
    assert quiet_rule(file, "[quiet]\nmode = 'hold'") == QuietRule(hours=("",) * 7, hold=True)
    rule = quiet_rule(file, "[quiet]\nzone = 'Asia/Tokyo'")
    assert rule == QuietRule(hours=("",) * 7, zone="Asia/Tokyo")
    assert night_policy(file, "[quiet]\nhours = ''").quiet is None


def test_no_reminders_can_be_wanted(file: Path) -> None:
    assert night_policy(file, "[reminders]\nafter = []").reminders == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[quiet]\nhours = 'at night'", 'quiet.hours: write a time such as "22:30-07:00" (line 2)'),
        ("[quiet]\nhours = 22", "quiet.hours: write a time such as"),
        ("[quiet]\nhours = ['22:00-07:00']", "quiet.hours: write a time such as"),
        ("[quiet]\nhours = '22:30-25:00'", "quiet.hours: there is no time 25:00"),
        ("[quiet]\nhours = '22:60-07:00'", "quiet.hours: there is no time 22:60"),
        ("[quiet]\nhours = '22:30-22:30'", "quiet.hours: it has to end at another time"),
        ("quiet = '22:30-07:00'", "quiet is a table: write [quiet] in a line of its own"),
        ("[quiet]\nhours = '٢٢:30-07:00'", "quiet.hours: write a time such as"),
        ("[quiet]\nhours = '00:00-24:00'", "quiet.hours: that is quiet all week long"),
        ("[quiet]\nhours = '20:00-09:00, 08:00-21:00'", "quiet.hours: that is quiet all week long"),
        ("[quiet]\nhours = '1:00-1:01,2:00-2:01,3:00-3:01,4:00-4:01,5:00-5:01'", "at most 4 times"),
        ("[quiet.hours]\nmo = '22:00-07:00'", "quiet.hours: mo: the days are mon, tue, wed"),
        ("[quiet.hours]\nmon-fry = '22:00-07:00'", "quiet.hours: mon-fry: the days are mon, tue"),
        (f"[quiet.hours]\n{'x' * 99} = '22:00-07:00'", f"quiet.hours: {'x' * 19}…: the days are"),
        ("[quiet.hours]\nmon = 5", "quiet.hours: mon: write a time such as"),
        ("[quiet.hours]\nmon = '1:00-2:00'\ntue = '9-5'", "quiet.hours: tue: write a time such as"),
        (
            "[quiet.hours]\nmon-fri='1:00-2:00'\nfri='3:00-4:00'",
            "quiet.hours: fri: fri is there twice",
        ),
        ("[quiet]\nzone = 'Europe/Berln'", "quiet.zone: write a time zone such as"),
        ("[quiet]\nzone = 'Europe/Berln'", "did you mean Europe/Berlin? (line 2)"),
        ("[quiet]\nzone = '../../etc/passwd'", "quiet.zone: write a time zone such as"),
        ("[quiet]\nzone = 'Europe'", "quiet.zone: write a time zone such as"),
        ('[quiet]\nzone = "a\\u0000b"', "quiet.zone: write a time zone such as"),
        ("[quiet]\nmode = 'silnt'", "did you mean silent?"),
        ("[quiet]\nmode = 'off'", "quiet.mode: accepted: 'silent' or 'hold' (line 2)"),
        ("[quiet]\nlet_through = ['approvals']", "did you mean approval?"),
        ("[quiet]\nlet_through = true", "quiet.let_through: accepted: a list in brackets (line 2)"),
        ("[quiet]\ndeadlines = 'stay'", "quiet.deadlines"),
        ("[quiet]\ngrace = 0", "quiet.grace: accepted: greater than 0 (line 2)"),
        ("[quiet]\nmax_urgent = -1", "quiet.max_urgent: accepted: greater than or equal to 0"),
        ("[quiet]\nmax_urgent = 'many'", "quiet.max_urgent: accepted: a whole number (line 2)"),
        ("[quiet]\nhour = '22:00-07:00'", "quiet.hour is not a setting, did you mean hours?"),
        ("[reminders]\nafter = ['3h', '15min']", "reminders.after: they must rise"),
        ("[reminders]\nafter = ['15min', '15min']", "reminders.after: they must rise"),
        ("[reminders]\nafter = [1, 2, 3, 4, 5, 6]", "reminders.after: accepted: at most 5 times"),
        ("[reminders]\nafter = ['0min']", "reminders.after"),
        ("[reminders]\nafter = ['soon']", "reminders.after"),
        ("[reminders]\nafter = []\nescalate = 'matrix'", "escalate needs a reminder; add a time"),
        ("[reminders]\nescalate = ['matrix']", "reminders.escalate: accepted: a text in quotes"),
        ("[summary]\nat = '8 o'", 'summary.at: write a time such as "08:00"'),
        ("[summary]\nat = '24:01'", "summary.at: there is no time 24:01"),
        ("[summary]\nat = 8", "summary.at: write a time such as"),
        ("[summary]\nenabled = 'maybe'", "summary.enabled: accepted: true or false (line 2)"),
    ],
)
def test_a_mistake_is_named_with_its_key_and_what_is_accepted(
    file: Path, text: str, said: str
) -> None:
    assert said in mistake(file, text)


def test_a_computer_without_time_zones_says_what_to_install(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    zoneinfo.ZoneInfo.clear_cache()
    before = zoneinfo.TZPATH
    monkeypatch.setattr("importlib.resources.files", _no_package)
    monkeypatch.setattr("importlib.resources.open_binary", _no_package, raising=False)
    zoneinfo.reset_tzpath(to=[])
    try:
        said = mistake(file, "[quiet]\nzone = 'Europe/Berlin'")
    finally:
        zoneinfo.reset_tzpath(to=before)
    assert "quiet.zone: this computer knows no time zones; install its package tzdata" in said


def _no_package(*_: object, **__: object) -> None:
    raise ImportError


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[reminders]\nescalate = 'matrix'", "there is none"),
        (f"{TELEGRAM}[reminders]\nescalate = 'matrix'", "there is telegram"),
        (f"{TELEGRAM}{MATRIX}[reminders]\nescalate = 'matrx'", "did you mean matrix?"),
        (f"{TELEGRAM}[reminders]\nescalate = 'web'", "name a chat channel that is set up"),
        (f"{TELEGRAM}[reminders]\nescalate = 'telegram'", "approvals can be given only there"),
        (f"{TELEGRAM}[reminders]\nescalate = 'telegram:9'", 'or "telegram:" and a chat\'s id'),
        (
            f"{TELEGRAM}chat_id = -100\n[reminders]\nescalate = 'telegram:-100'",
            "approvals can be given only there",
        ),
        (
            f"{TELEGRAM}{MATRIX}[approvals]\nchannels = ['matrix']\n[reminders]\n"
            "escalate = 'matrix'",
            "approvals can be given only there",
        ),
    ],
)
def test_a_last_reminder_that_would_reach_nobody_or_take_approvals_away_is_refused(
    file: Path, text: str, said: str
) -> None:
    found = mistake(file, text)
    assert found.startswith("reminders.escalate: ")
    assert said in found
    assert f"(line {len(text.splitlines())}). Correct {file}; " in found


def test_a_last_reminder_that_a_variable_sends_nowhere_names_the_variable(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHATBRIDGE_REMINDERS__ESCALATE", "matrix")
    said = mistake(file, TELEGRAM)
    assert "there is telegram (variable CHATBRIDGE_REMINDERS__ESCALATE). Check " in said


@pytest.mark.parametrize(
    ("text", "escalate"),
    [
        (f"{TELEGRAM}{MATRIX}", "matrix"),
        (TELEGRAM, "telegram:8"),
        (f"{TELEGRAM}{MATRIX}", "matrix:@ada:x.org"),
        (f"{TELEGRAM}[approvals]\nchannels = ['web']\n", "telegram"),
        (f"{TELEGRAM}[ntfy]\ntopic = 'agents'\n", "ntfy"),
    ],
)
def test_the_last_reminder_can_go_to_another_channel_or_chat(
    file: Path, text: str, escalate: str
) -> None:
    assert night_policy(file, f"{text}[reminders]\nescalate = '{escalate}'").escalate == escalate
