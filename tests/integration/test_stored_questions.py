"""`pending`, `history` and `summary` without a hub: what the database has. Nothing is made or
started."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
import time
from dataclasses import replace
from pathlib import Path

import pytest

from chatbridge.cli import commands
from chatbridge.cli.ui.wording import seconds_of
from chatbridge.core.cards.phrases import local_time
from chatbridge.core.model import Answer, Ask, Option, Outcome, Question, QuestionType, Status
from chatbridge.store.sqlite import SqliteStore
from tests.contract.asks import an_ask, keep, timed_out

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


def stored(state: Path, *asks: Ask) -> Path:
    """The database that a hub has left."""
    path = state / "chatbridge.db"
    state.mkdir(mode=0o700)
    (state / "hub.lock").touch()

    async def write() -> None:
        store = await SqliteStore.open(path)
        await keep(store, *asks)
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
    assert commands.history(["--search", "nothing of this"]) == 0
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


def test_a_summary_without_a_database_or_usable_settings_says_so(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert commands.summary([]) == 0
    assert capsys.readouterr().out.endswith("\nNothing is waiting.\n")
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
