"""`doctor --tonight`: what would stop an agent in the night, and what to do about each."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from chatbridge.channels.checks import Finding, Mark
from chatbridge.cli.connect.plans import plan, write
from chatbridge.cli.doctor import tonight
from chatbridge.cli.doctor.run import Check, all_checks, run_tonight, tonight_checks
from chatbridge.core.cards.phrases import format_time
from chatbridge.core.model import Answer, Ask, ChannelState, Outcome, Person, Status
from chatbridge.core.nights.hours import MINUTE, Period, Switch
from chatbridge.core.nights.switching import to_note
from chatbridge.store.sqlite.store import SqliteStore
from tests.contract.asks import an_ask, keep
from tests.fakes.clock import START, StillClock
from tests.fakes.doctor import Machine

HOUR = 3600.0
TELEGRAM = '[telegram]\ntoken = "12345:abcdefghijklmnopqrstuvwxyz0123456789"\nallowed_users = [7]\n'
WORKS = {"name": "telegram", "trouble": None}


@pytest.fixture
def machine(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Machine:
    for name in ("CODEX_HOME", "XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(machine.home)
    return machine


async def one(machine: Machine, look: Callable[..., Any]) -> Finding:
    (found,) = await machine.look(Check("it", look), clock=StillClock())
    return found


async def stored(machine: Machine, *things: Ask | ChannelState) -> None:
    machine.state.mkdir(mode=0o700, exist_ok=True)
    store = await SqliteStore.open(machine.state / "chatbridge.db")
    await keep(store, *things)
    await store.close()


def answered(at: float, *, name: str = "Ada", channel: str = "telegram") -> Ask:
    ask, by = an_ask(), Person(name=name, channel=channel)
    outcome = Outcome(at=at, answers=(Answer(values=("Go",)),) * len(ask.questions), by=by)
    return replace(ask, status=Status.ANSWERED, settled_at=at, outcome=outcome)


# ── a phone ───────────────────────────────────────────────────────────────────────────────────────


async def test_the_browser_of_this_computer_is_no_phone(machine: Machine) -> None:
    found = await one(machine, tonight.phone)
    assert (found.mark, found.fix) == (Mark.PROBLEM, ("chatbridge setup",))


async def test_somebody_who_answered_in_the_last_hour_was_reached(machine: Machine) -> None:
    machine.configure(TELEGRAM)
    await stored(machine, answered(START - 2 * HOUR), answered(START - 120, name="Ada"))
    with machine.hub(channels=[WORKS]):
        found = await one(machine, tonight.phone)
    assert (found.mark, found.what) == (Mark.FINE, "Ada answered on Telegram 2 min ago")


@pytest.mark.parametrize(
    "ask", [answered(START - HOUR - 1), answered(START - 60, channel="terminal"), an_ask()]
)
async def test_an_old_answer_or_one_at_this_computer_shows_no_phone(
    machine: Machine, ask: Ask
) -> None:
    machine.configure(TELEGRAM)
    await stored(machine, ask)
    found = await one(machine, tonight.phone)
    assert (found.mark, found.what) == (
        Mark.PROBLEM,
        "nobody has answered from a phone in the last hour",
    )


async def test_a_chat_that_does_not_work_is_named_whoever_answered(machine: Machine) -> None:
    machine.configure(TELEGRAM)
    await stored(machine, answered(START - 60))
    with machine.hub(channels=[{"name": "telegram", "trouble": "No network. Check it"}]):
        found = await one(machine, tonight.phone)
    assert (found.mark, found.name, found.what) == (Mark.PROBLEM, "telegram", "No network")


async def test_an_inbox_that_other_computers_reach_counts_as_a_phone(machine: Machine) -> None:
    machine.configure('[web]\nurl = "https://inbox.example.org"\n')
    await stored(machine, answered(START - 60, channel="web", name=""))
    assert (
        await one(machine, tonight.phone)
    ).what == "somebody answered in the web inbox 1 min ago"


# ── waiting ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("toml", "mark", "what"),
    [
        ("", Mark.PROBLEM, "questions end after 5 min if the agent does not ask for more"),
        ('default_timeout = "8h"\nmax_timeout = "16h"', Mark.FINE, "questions may wait 8 h"),
        (
            'default_timeout = "8h"\nmax_timeout = "16h"\n[approvals]\ntimeout = "10m"',
            Mark.REMARK,
            "questions may wait 8 h, but approvals are denied after 10 min",
        ),
        (
            '[quiet]\nhours = "22:30-07:00"',
            Mark.PROBLEM,
            "questions end after 30 min at most, before quiet hours are over",
        ),
        (
            'max_timeout = "9h"\n[quiet]\nhours = "22:30-07:00"\n[approvals]\ntimeout = "8h"',
            Mark.FINE,
            "questions wait until quiet hours are over",
        ),
        (
            'max_timeout = "9h"\n[quiet]\nhours = "22:30-07:00"',
            Mark.REMARK,
            "questions wait until quiet hours are over, but approvals are denied after 5 min",
        ),
        (
            'max_timeout = "9h"\n[quiet]\nhours = "22:30-07:00"\ndeadlines = "run"',
            Mark.PROBLEM,
            "questions end after 5 min if the agent does not ask for more",
        ),
    ],
)
async def test_questions_and_approvals_have_to_wait_a_night(
    machine: Machine, toml: str, mark: Mark, what: str
) -> None:
    machine.configure(toml)
    found = await one(machine, tonight.waiting)
    assert (found.mark, found.what) == (mark, what)


async def test_open_questions_that_end_in_the_night_are_named(machine: Machine) -> None:
    await stored(machine, an_ask(deadline=START + 9 * HOUR), an_ask(deadline=None))
    assert await machine.look(Check("it", tonight.deadlines), clock=StillClock()) == []
    await stored(machine, an_ask(deadline=START + 7 * HOUR), an_ask(deadline=START + HOUR))
    found = await one(machine, tonight.deadlines)
    assert found.mark is Mark.REMARK
    assert found.what.startswith("2 open questions would time out in the night, the first (")


# ── agents ────────────────────────────────────────────────────────────────────────────────────────


async def test_without_an_agent_there_is_nothing_to_leave_alone(machine: Machine) -> None:
    found = await one(machine, tonight.agents)
    assert (found.mark, found.fix) == (Mark.PROBLEM, ("chatbridge connect",))


@pytest.mark.parametrize(
    ("part", "mark", "what"),
    [
        ("permissions", Mark.PROBLEM, "would ask for your permission in its own window"),
        ("hooks", Mark.REMARK, "its own questions and permissions stay in its window"),
    ],
)
async def test_an_agent_that_would_stop_at_its_own_window_is_named_until_it_is_connected_again(
    machine: Machine, part: str, mark: Mark, what: str
) -> None:
    machine.configure('default_timeout = "8h"\nmax_timeout = "16h"')
    (machine.home / ".claude").mkdir()
    write(plan("claude-code"))
    found = await one(machine, tonight.agents)
    assert found.mark is Mark.FINE
    assert found.what == "a call waits up to 1 d; permission and hooks set"
    settings = machine.home / ".claude/settings.json"
    settings.write_text(json.dumps({**json.loads(settings.read_text()), part: {}}))
    found = await one(machine, tonight.agents)
    assert found.mark is mark
    assert found.what.startswith(what)
    assert found.fix == ("chatbridge connect claude-code",)
    write(plan("claude-code"))
    assert (await one(machine, tonight.agents)).mark is Mark.FINE


async def test_hooks_that_end_before_the_questions_do_are_a_warning(machine: Machine) -> None:
    machine.configure("")
    (machine.home / ".claude").mkdir()
    write(plan("claude-code"))
    machine.configure('default_timeout = "8h"\nmax_timeout = "16h"')
    found = await one(machine, tonight.agents)
    assert (found.mark, found.what) == (Mark.REMARK, "its own questions end after 1 h")


# ── the computer ──────────────────────────────────────────────────────────────────────────────────


async def test_too_little_disk_space_is_a_problem(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (await one(machine, tonight.disk)).what.endswith(" free")
    monkeypatch.setattr(tonight, "MIN_FREE_BYTES", 2**60)
    assert (await one(machine, tonight.disk)).mark is Mark.PROBLEM


async def test_a_full_disk_is_a_problem_at_any_time_of_the_day(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = next(check for check in all_checks() if check.name == "disk")
    assert await machine.look(named) == []
    monkeypatch.setattr(tonight, "FULL_BYTES", 2**60)
    (found,) = await machine.look(named)
    assert (found.mark, found.fix) == (
        Mark.PROBLEM,
        ("make room, or questions cannot be stored",),
    )


# ── all of it ─────────────────────────────────────────────────────────────────────────────────────


def test_it_ends_with_0_only_if_all_is_well(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    context = machine.situation(StillClock())
    assert run_tonight(context) == 1
    shown = capsys.readouterr().out
    assert shown.startswith("Ready for tonight?\n")
    assert "✗ phone " in shown
    warned = [Check("it", lambda _: [Finding(mark=Mark.REMARK, name="it", what="so")])]
    well = [Check("it", lambda _: [Finding(mark=Mark.FINE, name="it", what="so")])]
    for checks, code, end in ((warned, 1, "1 warning.\n"), (well, 0, "All is well. Good night.\n")):
        monkeypatch.setattr("chatbridge.cli.doctor.run.tonight_checks", lambda it=checks: it)
        assert run_tonight(context) == code
        assert capsys.readouterr().out.endswith(f"\n{end}")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("default_timout = 3\n", "default_timout is not a setting"),
        ("[reminders]\nescalate = 'matrix'\n", "there is none yet (line 2)"),
    ],
)
async def test_a_configuration_that_cannot_be_used_comes_first(
    machine: Machine, settings: str, said: str
) -> None:
    machine.configure(settings)
    found = await machine.look(*tonight_checks(), clock=StillClock())
    assert (found[0].mark, found[0].name) == (Mark.PROBLEM, "configuration")
    assert said in found[0].what
    assert str(machine.config) in " ".join(found[0].fix)


# ── quiet hours ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("", "no quiet hours: every question rings; reminders after 15 min and 3 h"),
        (
            '[quiet]\nhours = "22:30-07:00"\n[reminders]\nafter = []',
            "22:30–07:00, without sound; approvals and urgent questions ring; no reminders",
        ),
        (
            '[quiet]\nmode = "hold"\nlet_through = []\n[quiet.hours]\nsat = "00:00-09:00"',
            "Sat 00:00–09:00, held until they end; reminders after 15 min and 3 h",
        ),
    ],
)
async def test_it_says_what_rings_in_the_night(machine: Machine, settings: str, said: str) -> None:
    machine.configure(settings)
    found = await one(machine, tonight.quiet)
    assert (found.mark, found.what) == (Mark.FINE, said)


async def test_the_whole_check_names_quiet_hours_only_where_there_are_some(
    machine: Machine,
) -> None:
    check = Check("it", tonight.quiet_hours)
    assert not await machine.look(check, clock=StillClock())
    machine.configure('[quiet]\nhours = "22:30-07:00"')
    assert await machine.look(check, clock=StillClock())


HOURS = '[quiet]\nhours = "22:30-07:00"\nzone = "UTC"\n'
"""The clock stands still at 22:41 UTC."""


async def switched(machine: Machine, *, on: bool, seconds: float) -> None:
    """By hand, for so long from now on."""
    await stored(machine, to_note(Switch(on, Period(START - MINUTE, START + seconds)), at=START))


@pytest.mark.parametrize(
    ("settings", "on", "hours", "said"),
    [
        (
            "",
            True,
            2.0,
            "no regular quiet hours; by hand on until {end}, without sound; "
            "approvals and urgent questions ring; reminders after 15 min and 3 h",
        ),
        (HOURS, False, 8.5, "22:30–07:00, without sound; by hand off until {end}; approvals"),
        (HOURS, True, 10.0, "22:30–07:00, without sound; by hand on until {end}; approvals"),
        (HOURS, False, 0.0, "22:30–07:00, without sound; approvals"),  # that is over
    ],
)
async def test_quiet_hours_by_hand_are_told_as_long_as_they_count(
    machine: Machine, settings: str, on: bool, hours: float, said: str
) -> None:
    machine.configure(settings)
    await switched(machine, on=on, seconds=hours * HOUR)
    end = format_time(START + hours * HOUR, now=START)
    for check in (tonight.quiet, tonight.quiet_hours):
        found = await one(machine, check)
        assert found.mark is Mark.FINE
        assert found.what.startswith(said.format(end=end))


@pytest.mark.parametrize(
    ("settings", "on", "hours", "mark"),
    [
        (HOURS, False, 8.0, Mark.PROBLEM),  # tonight no deadline moves
        (HOURS, True, 2.0, Mark.FINE),  # the regular ones follow
        ("", True, 2.0, Mark.PROBLEM),  # over before the night is
        ("", True, 8.5, Mark.FINE),
        ("", True, 11.6, Mark.PROBLEM),  # longer than questions may wait
    ],
)
async def test_quiet_hours_by_hand_decide_whether_questions_wait_all_night(
    machine: Machine, settings: str, on: bool, hours: float, mark: Mark
) -> None:
    machine.configure(f'max_timeout = "12h"\n{settings}[approvals]\ntimeout = "8h"')
    await switched(machine, on=on, seconds=hours * HOUR)
    assert (await one(machine, tonight.waiting)).mark is mark
