"""`pending`, `history`, `summary` and `stats` without a hub: what the database has. Nothing is made
or started."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
import time
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from chatbridge.cli.questions import commands
from chatbridge.cli.questions.stats import stats_screen
from chatbridge.cli.ui import tables
from chatbridge.cli.ui.wording import seconds_of
from chatbridge.core.cards.phrases import local_time
from chatbridge.core.model import (
    Agent,
    Answer,
    Ask,
    ChannelState,
    Option,
    Outcome,
    Question,
    QuestionType,
    Status,
)
from chatbridge.core.nights.hours import Period, Switch
from chatbridge.core.nights.switching import to_note
from chatbridge.core.statistics import AskTimes, statistics_object, statistics_of
from chatbridge.store.sqlite.store import SqliteStore
from tests.contract.asks import an_ask, answered, keep, timed_out

MARKDOWN = "Use **Valkey** or `redis`?\n\nBoth work."
QUESTION = Question(
    id="port",
    text=MARKDOWN,
    type=QuestionType.SELECT,
    options=(Option(label="Valkey (recommended)"), Option(label="redis")),
)
CONFIRM = Question(id="port", text="Deploy?", type=QuestionType.CONFIRM)


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "state"
    monkeypatch.setenv("CHATBRIDGE_STATE_DIR", str(folder))
    monkeypatch.setenv("CHATBRIDGE_RUNTIME_DIR", str(folder))
    monkeypatch.setenv("CHATBRIDGE_CONFIG", str(tmp_path / "config.toml"))
    return folder


def stored(state: Path, *things: Ask | ChannelState) -> Path:
    """The database that a hub has left."""
    path = state / "chatbridge.db"
    state.mkdir(mode=0o700)
    (state / "hub.lock").touch()

    async def write() -> None:
        store = await SqliteStore.open(path)
        await keep(store, *things)
        await store.close()

    asyncio.run(write())
    return path


def an_open(question: Question) -> Ask:
    now = time.time()
    return replace(an_ask(), questions=(question,), created_at=now, deadline=now + 3_700.0)


def an_answered(question: Question, value: str) -> Ask:
    at = time.time()
    outcome = Outcome(at=at, answers=(Answer(values=(value,)),))
    return replace(an_open(question), status=Status.ANSWERED, settled_at=at, outcome=outcome)


def test_open_questions_are_listed_without_markdown(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ask = an_open(QUESTION)
    path = stored(state, ask)
    before = path.read_bytes()
    assert commands.pending([]) == 0
    (_, row) = capsys.readouterr().out.splitlines()
    cells = re.split(r" {3,}", row)
    assert cells[:4] == [ask.id[:6], "shop", "Claude", "Use Valkey or redis?"]
    assert commands.pending(["--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["questions"][0]["question"] == MARKDOWN
    assert commands.pending(["--ids"]) == 0
    assert capsys.readouterr().out == f"{ask.id[:6]}\n"
    assert path.read_bytes() == before
    assert {it.name for it in state.iterdir()} <= {"chatbridge.db", "hub.lock"}


def test_history_has_the_labels_that_people_saw(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stored(state, an_answered(QUESTION, "Valkey (recommended)"), an_answered(CONFIRM, "yes"))
    assert commands.history([]) == 0
    said = capsys.readouterr().out
    assert "Use Valkey or redis?   Valkey\n" in said
    assert "Deploy?                Yes\n" in said
    assert commands.history(["--search", "REDIS", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["outcome"]["answers"][0]["values"] == ["Valkey (recommended)"]
    for search in ("nothing of this", "bytes that are no text: \udcff"):
        assert commands.history(["--search", search]) == 0
        assert capsys.readouterr().out == "Nothing was found.\n"


def test_a_summary_says_what_happened_and_lists_what_waits(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ask, now = an_open(QUESTION), time.time()
    path = stored(state, ask, *(timed_out(an_ask(), at=now - at) for at in (60.0, 120.0, 7300.0)))
    before = path.read_bytes()
    assert commands.summary(["--since", "2h"]) == 0
    heading, counts, empty, _, row = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"While you were away, \d\d:\d\d–\d\d:\d\d", heading)
    assert counts == "1 question is waiting · 2 timed out"
    assert empty == ""
    assert row.startswith(ask.id[:6])
    assert commands.summary(["--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["id"] for each in found.pop("waiting")] == [ask.id]
    assert seconds_of(found["until"]) - seconds_of(found["since"]) == pytest.approx(
        12 * 3600, abs=5
    )
    numbers = {"timedOut": 3, "lateAnswers": 0, "notices": 0, "failedCommands": 0}
    assert {name: found[name] for name in numbers} == numbers
    assert path.read_bytes() == before
    assert {it.name for it in state.iterdir()} <= {"chatbridge.db", "hub.lock"}


def test_a_summary_is_about_the_last_quiet_hours_also_by_hand(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    now = time.time()
    nap = Switch(on=True, period=Period(now - 3000.0, now - 600.0))
    stored(state, to_note(nap, at=now - 3000.0), timed_out(an_ask(), at=now - 3600.0))
    assert commands.summary(["--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert seconds_of(found["since"]) == pytest.approx(now - 3000.0, abs=1)
    assert found["timedOut"] == 0


def test_a_summary_without_a_database_or_usable_settings_says_so(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert commands.summary([]) == 0
    assert capsys.readouterr().out.endswith("\nNothing is waiting.\nNext: chatbridge setup\n")
    stored(state, an_open(CONFIRM))
    state.with_name("config.toml").write_text("max_open_ask = 1")
    assert commands.summary([]) == 0
    said = capsys.readouterr()
    assert "Deploy?" in said.out
    assert "did you mean max_open_asks?" in said.err


@pytest.mark.parametrize(
    "since", ["25:00", "7:60", "morning", "", "0", "-2h", "1e9", "99999d", "22.30", "２２:３０"]
)
def test_a_time_that_is_none_is_refused_with_what_to_write(
    state: Path, capsys: pytest.CaptureFixture[str], since: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        commands.summary([f"--since={since}"])
    assert ended.value.code == 2
    assert "give the time of day, as in 22:30, or how long ago, as in 8h" in capsys.readouterr().err


def test_a_time_of_day_is_the_last_one(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for since in ("00:00", "23:59", " 7:05 ", "24:00"):
        assert commands.summary(["--json", "--since", since]) == 0
        found = json.loads(capsys.readouterr().out)
        at, now = seconds_of(found["since"]), time.time()
        assert now - 25 * 3600 < at <= now
        assert f"{local_time(at):%H:%M}" == since.strip().rjust(5, "0").replace("24:", "00:")


def test_settings_that_cannot_be_used_are_said_and_hide_no_question(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stored(state, an_open(CONFIRM))
    state.with_name("config.toml").write_text("max_open_ask = 1")
    assert commands.pending([]) == 0
    said = capsys.readouterr()
    assert "Deploy?" in said.out
    assert "did you mean max_open_asks? (line 1)" in said.err


def test_a_database_that_cannot_be_read_is_said_and_left_as_it_is(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = stored(state)
    path.write_bytes(b"no database at all, but a text " * 100)
    assert commands.pending([]) == 1
    assert "is not a SQLite database" in capsys.readouterr().err
    path.unlink()
    with sqlite3.connect(path) as newer:
        newer.execute("PRAGMA user_version = 9999")
    newer.close()
    assert commands.history([]) == 1
    assert str(path) in capsys.readouterr().err


def of_a_day(*asks: Ask) -> list[Ask]:
    """As if asked within the last day, one after another."""
    begin = time.time() - 80_000.0
    moved = []
    for number, ask in enumerate(asks):
        at = begin + number * 3_600.0
        later = at - ask.created_at
        settled = None if ask.settled_at is None else ask.settled_at + later
        moved.append(replace(ask, created_at=at, settled_at=settled))
    return moved


def test_statistics_are_counted_without_a_hub(
    state: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    quick, slow = answered(an_ask(), at=1020.0), answered(an_ask(), at=1600.0)
    path = stored(state, *of_a_day(quick, timed_out(an_ask(), at=29_800.0), slow))
    before = path.read_bytes()
    assert commands.stats([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [
        "The last 30 d",
        "  3 questions: 2 answered, 1 timed out",
        "  Median answer after 20 s, worst after 10 min · Waited 8 h 10 min",
    ]
    assert [re.split(r" {3,}", line) for line in lines[4:6]] == [
        ["PROJECT", "AGENT", "ASKED", "ANSWERED", "TIMED OUT", "CANCELLED", "MEDIAN", "WORST",
         "APPROVALS", "WAITED"],
        ["shop", "Claude", "3", "2", "1", "0", "20 s", "10 min", "0", "8 h 10 min"],
    ]  # fmt: skip
    (longest,) = [line for line in lines if line.endswith("█" * 24)]
    assert re.search(r":00 +1 +0 +1 +8 h", longest)
    assert sum("█" in line for line in lines) == 3
    assert commands.stats(["--json", "--since", "90d"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["total"]["questions"]["timedOut"] == 1
    assert found["agents"][0]["worstSeconds"] == 600
    assert path.read_bytes() == before
    assert {it.name for it in state.iterdir()} <= {"chatbridge.db", "hub.lock"}


@pytest.mark.parametrize("room", [30, 50, 80, 110, 200])
def test_statistics_fit_the_terminal(room: int) -> None:
    hostile = Agent(client="x", name="\x1b[31mred\u202e\n" + "wide " * 40)
    asks = [answered(an_ask(agent=hostile), at=93_000.0), answered(an_ask(), at=1600.0)]
    times = [
        AskTimes(
            project=ask.project.name,
            agent=ask.agent.name,
            approval=False,
            status=ask.status,
            taken=([1], [int((ask.settled_at or 0.0) - ask.created_at)]),
        )
        for ask in asks
    ]
    found = statistics_object(statistics_of(times, since=0.0, until=9e6))
    lines = [
        line
        for parts in stats_screen(found, over="30 d", room=room)
        for line in tables.lines(parts, room)
    ]
    assert max(map(tables.width, lines)) <= room
    whole = "\n".join(lines)
    assert not set("\x1b\u202e").intersection(whole)
    assert "⟨U+001B⟩[31mred" in whole or room in (110, 200)
    assert ("PROJECT" in whole) == (room >= 110)
    assert "1 question: 1 answered" in whole or "PROJECT" in whole


def test_statistics_of_nothing_are_a_kind_sentence(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert commands.stats(["--since", "12h"]) == 0
    assert capsys.readouterr().out == (
        "No agent has asked anything in the last 12 h.\nNext: chatbridge setup\n"
    )
    stored(state)
    assert commands.stats([]) == 0
    assert capsys.readouterr().out == "No agent has asked anything in the last 30 d.\n"


def test_statistics_have_the_hours_of_the_owners_zone(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stored(state, an_open(CONFIRM))
    state.with_name("config.toml").write_text('[quiet]\nzone = "Pacific/Kiritimati"\n')
    assert commands.stats(["--json"]) == 0
    hours = json.loads(capsys.readouterr().out)["hours"]
    here = datetime.now(ZoneInfo("Pacific/Kiritimati")).hour
    asked = [hour["hour"] for hour in hours if hour["asked"]]
    assert asked in ([here], [(here - 1) % 24])  # an hour may have passed since
