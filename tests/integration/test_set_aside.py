"""A row that this version cannot read is left alone and told of; everything else goes on."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from chatbridge.core.delivery.delivery import Delivery
from chatbridge.core.delivery.notices import Notices
from chatbridge.core.errors import StoreError, UnknownAsk
from chatbridge.core.model import Ask, Call, ChannelState, Level, Notice, Post, Question, Status
from chatbridge.core.operation import Operation, Plan, Stage
from chatbridge.core.store_port import Transaction
from chatbridge.store.sqlite.store import SqliteStore
from tests.contract.asks import a_call, an_ask, answered, keep
from tests.fakes.chat import Chat
from tests.fakes.clock import StillClock
from tests.fakes.core_env import BLUE, OWNER, PATIENCE, World, name, request, world

OTHER = Question(id="q", text="And now?")
DAMAGES = {
    "no JSON": "questions = 'no JSON'",
    "a newer kind of question": """questions = '[{"id": "q", "text": "?", "type": "drawing"}]'""",
    "no question": "questions = '[]'",
    "a draft of another form": """draft = '{"entries": []}'""",
    "a choice that is not there": """draft = '{"entries": [{"picked": [7]}]}'""",
    "a status of a newer version": "status = 'paused', settled_at = 1.0",
    "a deadline that is none": "deadline = 'tomorrow'",
    "a number that is none": "revision = 'new'",
    "bytes": "title = x'ff00'",
    "text that is none": "title = CAST(x'ff41' AS TEXT)",
    "answered without an answer": "status = 'answered', settled_at = 1.0",
}


def change(folder: Path, sql: str, *parameters: object) -> None:
    with closing(sqlite3.connect(folder / "chatbridge.db")) as database, database:
        database.execute(sql, parameters)


async def two_asks(folder: Path) -> tuple[Ask, Ask, StillClock]:
    """Each of an agent of its own that has gone."""
    async with world(folder) as hub:
        return await hub.ask(link="a"), await hub.ask(OTHER, link="b"), hub.clock


@pytest.mark.parametrize("damage", DAMAGES)
async def test_the_deadlines_of_all_others_are_applied(
    tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    broken, ask, clock = await two_asks(tmp_path)
    change(tmp_path, f"UPDATE asks SET {DAMAGES[damage]} WHERE id = ?", broken.id)  # noqa: S608
    async with world(tmp_path, clock) as hub:
        waiting = asyncio.ensure_future(hub.ended(ask))
        async with asyncio.timeout(PATIENCE):
            while not waiting.done():
                clock.advance(30.0)
                await asyncio.sleep(0.001)
        assert (await waiting).status is Status.TIMED_OUT
        with pytest.raises(UnknownAsk):
            await hub.ended(broken)
        (fault,) = hub.store.faults()
    assert f"question {broken.id}" in fault
    said = [record.message for record in caplog.records if "set aside" in record.message]
    assert len(said) == 1
    assert broken.id in said[0]


@pytest.mark.parametrize("damage", DAMAGES)
async def test_all_others_are_shown_answered_and_listed(tmp_path: Path, damage: str) -> None:
    broken, ask, clock = await two_asks(tmp_path)
    change(tmp_path, f"UPDATE asks SET {DAMAGES[damage]} WHERE id = ?", broken.id)  # noqa: S608
    chat = Chat()
    async with world(tmp_path, clock) as hub:
        ready = asyncio.Event()
        ready.set()
        delivery = Delivery(hub.store, clock=clock)
        serving = asyncio.ensure_future(delivery.serve(chat, ready=ready))
        try:
            async with asyncio.timeout(PATIENCE):
                place, _ = await chat.shown.get()
            assert chat.asks[place] == ask.id
            assert [each.id for each in await hub.inbox.open_asks()] == [ask.id]
            await hub.inbox.answer(ask.id, BLUE, person=OWNER)
            assert [each.id for each in await hub.inbox.history(limit=10)] == [ask.id]
        finally:
            serving.cancel()
            await asyncio.wait({serving})


@pytest.mark.parametrize("damage", ["draft = ''", "id = CAST(x'ff41' AS TEXT)", "deadline = 'no'"])
async def test_what_is_open_and_cannot_be_read_is_neither_listed_nor_counted(
    tmp_path: Path, damage: str
) -> None:
    broken, ask, clock = await two_asks(tmp_path)
    change(tmp_path, f"UPDATE asks SET {damage} WHERE id = ?", broken.id)  # noqa: S608
    async with world(tmp_path, clock) as hub:
        await hub.inbox.open_asks()
        only = (await hub.inbox.open_rows(limit=10)).only
        assert only is not None
        assert only.id == ask.id
        for party in (None, "/src/shop", "/src/shop:"):
            assert await hub.store.write(partial(count_open, party=party)) == 1


async def count_open(tx: Transaction, party: str | None) -> int:
    return await tx.count_open_asks(party=party)


async def test_a_page_of_the_history_is_full_though_a_row_of_it_cannot_be_read(
    tmp_path: Path,
) -> None:
    store = await SqliteStore.open(tmp_path / "chatbridge.db")
    await keep(store, *(answered(an_ask(id=f"{at}"), at=float(at)) for at in range(9)))
    await store.close()
    change(tmp_path, "UPDATE asks SET summary = '', draft = '' WHERE settled_at IN (8, 5, 4)")
    store = await SqliteStore.open(tmp_path / "chatbridge.db")
    try:
        first = await store.past_rows(limit=3)
        assert [row.id for row in first] == ["7", "6", "3"]
        rest = await store.past_rows(limit=9, before=(3.0, first[-1].seq))
        assert [row.id for row in rest] == ["2", "1", "0"]
        assert [row.id for row in await store.past_rows(limit=6)] == ["7", "6", "3", "2", "1", "0"]
    finally:
        await store.close()


async def test_a_call_whose_question_cannot_be_read_asks_anew(tmp_path: Path) -> None:
    broken, _, clock = await two_asks(tmp_path)
    change(tmp_path, "UPDATE asks SET draft = '' WHERE id = ?", broken.id)
    async with world(tmp_path, clock) as hub:
        again = await hub.ask(link="a")
        assert again.id != broken.id
        await hub.inbox.answer(again.id, BLUE, person=OWNER)
        assert (await hub.ended(again)).status is Status.ANSWERED


async def test_a_twin_that_cannot_be_read_hides_no_older_one(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "chatbridge.db")
    try:
        for number in (1, 2):
            kept = answered(an_ask(id=f"kept-{number}"), kept=True, kept_until=9.0)
            await keep(store, an_ask(id=f"open-{number}"), kept)
        change(tmp_path, "UPDATE asks SET draft = '' WHERE id IN ('open-2', 'kept-2')")
        of = {"project": "/src/shop", "fingerprint": "same words"}
        twin = await store.write(lambda tx: tx.open_twin(**of))
        assert twin is not None
        assert twin.id == "open-1"
        twin = await store.write(lambda tx: tx.kept_twin(**of, now=1.0))
        assert twin is not None
        assert twin.id == "kept-1"
    finally:
        await store.close()


async def test_calls_posts_and_notes_that_cannot_be_read_keep_nothing_from_going_on(
    tmp_path: Path,
) -> None:
    _, ask, clock = await two_asks(tmp_path)
    change(tmp_path, "UPDATE calls SET question_ids = '7', started_at = 'then'")
    change(tmp_path, "INSERT INTO posts SELECT seq, 'chat', x'00', 'new' FROM asks")
    change(tmp_path, "INSERT INTO notes VALUES ('telegram', 'offset:1', 7, 'yesterday')")
    async with world(tmp_path, clock) as hub:
        note = await hub.store.note(channel="telegram", key="offset:1")
        assert (note and note.value, note and note.at) == ("7", 0.0)
        assert await hub.store.post(ask_id=ask.id, surface="chat") is None
        assert (await hub.ask(OTHER, link="b")).id != ask.id
        await hub.broker.waiting_calls.link_closed("b")


async def test_a_notice_that_cannot_be_read_keeps_no_other_back(tmp_path: Path) -> None:
    async with world(tmp_path) as hub:
        for number in (1, 2):
            await tell(hub, number)
        change(tmp_path, "UPDATE notices SET level = 'deafening' WHERE message = 'number 1'")
        found = await hub.store.notices_behind(surface="chat", since=0.0)
        assert [notice.message for notice in found] == ["number 2"]
        assert [it.message for it in await hub.store.notices(since=0.0, limit=9)] == ["number 2"]


async def tell(hub: World, number: int) -> None:
    of = request()
    await Notices(hub.store, Delivery(hub.store, clock=hub.clock), clock=hub.clock).send(
        name(number=number), project=of.project, agent=of.agent, message=f"number {number}"
    )


def operation(number: int) -> Operation:
    of = request()
    return Operation(
        id=f"op-{number}",
        call=name(number=number),
        project=of.project,
        agent=of.agent,
        tool="make",
        title="make",
        group="make",
        plan=Plan(argv=("make",), executable="/bin/make", folder="/", timeout=1.0, output_limit=1),
        created_at=0.0,
        stage=Stage.QUEUED,
    )


async def test_a_command_that_cannot_be_read_is_not_run_a_second_time(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "chatbridge.db")
    try:
        for number in (1, 2):
            await store.operations.add(operation(number))
        change(tmp_path, "UPDATE operations SET result = '7' WHERE id = 'op-1'")
        assert await store.operations.get("op-1") is None
        assert [each.id for each in await store.operations.unended()] == ["op-2"]
        found = await store.operations.of_project(project=request().project.key, limit=9)
        assert [each.id for each in found] == ["op-2"]
        with pytest.raises(StoreError, match="op-1"):
            await store.operations.add(operation(1))
        assert store.faults()
    finally:
        await store.close()


# ── text that is none ─────────────────────────────────────────────────────────────────────────────

FIRST = {
    "asks": "seq IN (1, 3)",
    "calls": "link = 'link-1'",
    "posts": "ask = 1",
    "handles": "ask = 1",
    "notes": "key = '1'",
    "notices": "seq = 1",
    "notice_posts": "notice = 1",
    "operations": "seq = 1",
}
"""In each table, the rows that are damaged. All others are there a second time."""


async def fill(path: Path) -> None:
    """Open asks 1 and 2, ended ones 3 and 4, and for each of the first two one of all else."""
    store = await SqliteStore.open(path)

    async def one(tx: Transaction, number: int) -> None:
        ask, of = an_ask(id=f"ask-{number}"), request()
        await tx.add_ask(ask)
        await tx.save_call(a_call(ask, link=f"link-{number}"))
        post = Post(ask_id=ask.id, surface="chat", place="here", revision=1)
        await tx.save_post(post, handles=[f"handle-{number}"])
        await tx.save_note(ChannelState(channel="chat", key=str(number), value="7", at=1.0))
        notice = Notice(
            id=f"notice-{number}",
            call=name(number=number),
            project=of.project,
            agent=of.agent,
            title="",
            message="done",
            level=Level.INFO,
            at=1.0,
        )
        await tx.add_notice(notice)
        await tx.save_notice_post(notice.id, surface="chat")

    for number in (1, 2):
        await store.write(partial(one, number=number))
        await store.operations.add(operation(number))
    await keep(store, answered(an_ask(id="ask-3")), answered(an_ask(id="ask-4")))
    await store.close()


async def everything(store: SqliteStore) -> Mapping[str, list[object]]:
    """By the part of its representation that tells that a second one is there."""

    async def calls(tx: Transaction) -> list[Call]:
        return [call for link in await tx.live_links() for call in await tx.live_calls_of(link)]

    of = request().project.key
    second: dict[str, list[object]] = {
        "ask-2": [
            await store.open_asks(),
            (await store.open_rows(limit=9)).rows,
            await store.behind(surface="other", since=0.0),
            await store.post(ask_id="ask-2", surface="chat"),
            await store.post_at(surface="chat", handle="handle-2"),
            await store.write(calls),
        ],
        "ask-4": [
            await store.history(limit=9),
            await store.past_rows(limit=9),
            await store.unsettled_delivery(),
            await store.answers_in(project="/src/shop", limit=9),
            await store.asks_by_prefix(project="/src/shop", prefix="ask"),
        ],
        "notice-2": [
            await store.notices(since=0.0, limit=9),
            await store.notices_behind(surface="other", since=0.0),
        ],
        "op-2": [
            await store.operations.unended(),
            await store.operations.of_project(project=of, limit=9),
            await store.operations.by_prefix(project=of, prefix="op"),
        ],
    }
    first = [
        await store.ask("ask-1"),
        await store.post(ask_id="ask-1", surface="chat"),
        await store.post_at(surface="chat", handle="handle-1"),
        await store.surfaces_of("ask-1"),
        await store.operations.get("op-1"),
        await store.notice_surfaces("notice-1"),
    ]
    assert "\\xff" not in repr([first, second])
    return second


@pytest.mark.parametrize("table", FIRST)
async def test_text_that_is_none_costs_no_other_row_anything_wherever_it_is(
    tmp_path: Path, table: str, caplog: pytest.LogCaptureFixture
) -> None:
    await fill(tmp_path / "whole.db")
    with closing(sqlite3.connect(tmp_path / "whole.db")) as whole:
        columns = [column[1:3] for column in whole.execute(f"PRAGMA table_info({table})")]
    for column, kind in columns:
        if kind != "TEXT":
            continue
        folder = tmp_path / column
        folder.mkdir()
        shutil.copy(tmp_path / "whole.db", folder / "chatbridge.db")
        spoil(folder, table, column)
        store = await SqliteStore.open(folder / "chatbridge.db")
        try:
            for second, found in (await everything(store)).items():
                assert all(second in repr(each) for each in found), (column, found)
        finally:
            await store.close()
    assert "SECRET" not in caplog.text


def spoil(folder: Path, table: str, column: str) -> None:
    with closing(sqlite3.connect(folder / "chatbridge.db")) as database, database:
        database.execute("PRAGMA ignore_check_constraints = ON")
        spoilt = "CAST(x'ff' || 'SECRET' || hex(randomblob(8)) AS TEXT)"
        database.execute(f"UPDATE {table} SET {column} = {spoilt} WHERE {FIRST[table]}")  # noqa: S608


async def test_a_command_whose_name_is_no_text_is_swept_with_the_others(tmp_path: Path) -> None:
    await fill(tmp_path / "chatbridge.db")
    change(tmp_path, "UPDATE operations SET stage = 'failed', ended_at = seq")
    spoil(tmp_path, "operations", "id")
    store = await SqliteStore.open(tmp_path / "chatbridge.db")
    try:
        assert await store.operations.remove(before=9.0, keep=9, limit=9) == ["op-2"]
        assert await store.operations.remove(before=9.0, keep=9, limit=9) == []
    finally:
        await store.close()
    with closing(sqlite3.connect(tmp_path / "chatbridge.db")) as database:
        assert database.execute("SELECT count(*) FROM operations").fetchone() == (0,)
