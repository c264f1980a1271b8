"""A database that the first release has left: the way up keeps every row, readable as it was."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from chatbridge.core.model import (
    Answer,
    CallName,
    ChannelState,
    Draft,
    Entry,
    Option,
    Person,
    Post,
    Project,
    Status,
)
from chatbridge.core.store_port import Transaction
from chatbridge.store.sqlite.store import SqliteStore

DUMP = Path(__file__).parents[1] / "databases" / "schema-1.sql"
ADA = Person(name="Ada Ærlig", channel="web")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Made by the first release's own code, in every table of its."""
    path = tmp_path / "chatbridge.db"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(DUMP.read_text(encoding="utf-8"))
        tables = [
            name
            for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        ours = [name for name in tables if not name.startswith("sqlite_")]
        assert sorted(ours) == ["asks", "calls", "cursors", "posts"]
        for table in ours:
            assert database.execute(f"SELECT count(*) FROM {table}").fetchone() > (0,)  # noqa: S608
        assert database.execute("PRAGMA user_version").fetchone() == (1,)
    return path


def number(n: int) -> str:
    return f"0000000{n}-1111-4222-8333-444444444444"


async def test_open_questions_stay_open_with_what_was_put_in(path: Path) -> None:
    store = await SqliteStore.open(path)
    try:
        first, second = await store.open_asks()
        assert (first.id, second.id) == (number(1), number(6))
        assert (first.title, first.revision) == ("Release 2.4", 4)
        assert [question.id for question in first.questions] == ["branch", "checks", "go"]
        assert first.questions[1].options == (Option(label="Unit tests"), Option(label="Load test"))
        assert first.draft == Draft(
            entries=(Entry(text="release/2.4", done=True), Entry(picked=(0,)), Entry()),
            at=1,
            step=3,
        )
        assert (second.deadline, second.orphaned, second.orphaned_since) == (
            None,
            True,
            1794700600.0,
        )
    finally:
        await store.close()


async def test_ended_questions_keep_how_they_ended(path: Path) -> None:
    store = await SqliteStore.open(path)
    try:
        found = {ask.id: ask for ask in await store.history(limit=10)}
        assert {ask.id: ask.status for ask in found.values()} == {
            number(2): Status.ANSWERED,
            number(3): Status.CANCELLED,
            number(4): Status.TIMED_OUT,
            number(5): Status.WITHDRAWN,
        }
        answered, cancelled, late = (found[number(n)] for n in (2, 3, 4))
        assert answered.outcome
        assert answered.outcome.answers == (Answer(values=("PostgreSQL in Docker",)),)
        assert (answered.outcome.by, answered.delivered_at) == (ADA, 1794700100.5)
        assert cancelled.outcome
        assert cancelled.outcome.reason == "Not today: “später”"
        assert late.late
        assert late.late.answers == (Answer(values=("yes",)),)
        assert (late.kept, late.kept_until) == (True, 1794746900.0)
        assert late.project == Project(
            key="/home/ada/docs-site", name="docs-site", label="public pages"
        )
        (by_word,) = await store.history(limit=10, search="colour")
        assert by_word.id == number(5)
    finally:
        await store.close()


async def test_calls_posts_and_cursors_are_still_there(path: Path) -> None:
    store = await SqliteStore.open(path)

    async def read(tx: Transaction) -> None:
        waiting = await tx.call(CallName(link="link-a", request="1"))
        assert waiting
        assert (waiting.ask_id, waiting.ended_at) == (number(1), None)
        assert waiting.question_ids == ("branch", "checks", "go")
        ticket = await tx.call(CallName(link="link-b", request="7"))
        assert ticket
        assert (ticket.ticket, ticket.delivered_at) == (True, 1794703604.3)
        assert list(await tx.live_links()) == ["link-a"]
        kept = await tx.kept_twin(
            project="/home/ada/docs-site", fingerprint="words 4", now=1794740000.0
        )
        assert kept
        assert kept.id == number(4)

    try:
        await store.write(read)
        post = await store.post(ask_id=number(1), surface="web")
        assert post == Post(ask_id=number(1), surface="web", place=number(1), revision=3)
        assert [ask.id for ask in await store.behind(surface="web", since=0.0)] == [
            number(1),
            number(6),
        ]
        assert await store.note(channel="telegram", key="offset:123456789") == ChannelState(
            channel="telegram", key="offset:123456789", value="815", at=1794700700.0
        )
    finally:
        await store.close()


async def raise_revision(tx: Transaction) -> bool:
    ask = await tx.ask(number(1))
    assert ask
    return await tx.save_ask(replace(ask, revision=ask.revision + 1), was=Status.OPEN)


async def test_it_goes_on_being_used(path: Path) -> None:
    """And is not brought up a second time."""
    for _ in range(2):
        store = await SqliteStore.open(path)
        assert await store.write(raise_revision)
        await store.close()
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert database.execute("PRAGMA foreign_key_check").fetchall() == []


async def test_its_asks_are_in_lists_though_it_kept_no_summaries(path: Path) -> None:
    store = await SqliteStore.open(path)
    try:
        listed = await store.open_rows(limit=10)
        assert [row.id for row in listed.rows] == [number(1), number(6)]
        assert (listed.total, listed.rows[0].summary.title) == (2, "Release 2.4")
        past = {row.id: row for row in await store.past_rows(limit=10)}
        assert past[number(2)].summary.said == "PostgreSQL in Docker"
        assert past[number(3)].summary.said == "Not today: “später”"
    finally:
        await store.close()
