"""From an SQLite file to a PostgreSQL server: everything, or nothing, and the file stays."""

from __future__ import annotations

import sqlite3
import subprocess
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from chatbridge.core.errors import NewerDatabase, StoreError
from chatbridge.core.model import ChannelState, Notice, Post
from chatbridge.hub.http import shared_tokens, tokens
from chatbridge.store import search
from chatbridge.store.postgres import copying
from chatbridge.store.postgres.connection import Address
from chatbridge.store.postgres.copying import Copied, Progress
from chatbridge.store.postgres.file_copies import FileTable
from chatbridge.store.postgres.store import PostgresStore
from chatbridge.store.postgres.tokens import TokenRow
from chatbridge.store.sqlite.store import SqliteStore
from tests.contract.asks import a_call, an_ask, answered, keep
from tests.fakes.postgres import END_SESSIONS, FENCE, LEADS, USER, Postgres, stranger
from tests.fakes.postgres_wire import Wire
from tests.integration.test_earlier_databases import ALL, load

pytestmark = pytest.mark.postgres
TABLES = """
    SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
    AND name NOT LIKE 'search\\_%' ESCAPE '\\'  -- made anew
"""
COLUMNS = "SELECT table_name, column_name FROM information_schema.columns"


async def a_file(folder: Path, *texts: str) -> Path:
    path = folder / "chatbridge.db"
    store = await SqliteStore.open(path)
    for number, text in enumerate(texts):
        ask = an_ask(text=text)
        await keep(store, ask, a_call(ask, request=str(number)))
        await keep(store, Post(ask_id=ask.id, surface="web", place="here", revision=1))
    await keep(store, answered(an_ask()), a_note("17"))
    await store.close()
    return path


async def copy(
    path: Path,
    target: Address,
    *,
    rehearse: bool = False,
    progress: Progress = lambda table, done, of: None,
) -> Copied:
    return await copying.copy(path, target, files=path.parent, rehearse=rehearse, progress=progress)


def a_note(value: str) -> ChannelState:
    return ChannelState(channel="telegram", key="offset", value=value, at=1.0)


def name_of(address: Address) -> str:
    return address.dsn.rpartition("/")[2]


def rows_of(path: Path) -> dict[str, list[dict[str, Any]]]:
    with closing(sqlite3.connect(path)) as file:
        file.row_factory = sqlite3.Row
        names = [name for (name,) in file.execute(TABLES)]
        return {it: list(map(dict, file.execute(f"SELECT * FROM {it}"))) for it in names}  # noqa: S608


async def rows_at(
    server: asyncpg.Connection[Any], like: Mapping[str, list[dict[str, Any]]]
) -> dict[str, list[dict[str, Any]]]:
    """With the columns that SQLite has."""
    found = {}
    for table, rows in like.items():
        there = await server.fetch(f"SELECT * FROM {table}")  # noqa: S608
        names = rows[0] if rows else ()
        found[table] = [{name: row[name] for name in names} for row in there]
    return found


def in_order(tables: Mapping[str, list[dict[str, Any]]]) -> dict[str, list[str]]:
    """To be compared whatever their order, and whether a time is 1 or 1.0."""
    return {
        table: sorted(
            repr({name: it + 0.0 if type(it) is int else it for name, it in row.items()})
            for row in rows
        )
        for table, rows in tables.items()
    }


@pytest.mark.parametrize("name", ALL)
async def test_databases_of_earlier_versions_arrive_row_by_row(
    tmp_path: Path, postgres: Postgres, name: str
) -> None:
    path = load(name, tmp_path)
    before = path.read_bytes()
    async with postgres.database(empty=True) as address:
        copied = await copy(path, address)
        assert path.read_bytes() == before
        await (await SqliteStore.open(path)).close()  # brings it up to date
        expected = rows_of(path)
        server = await postgres.connect(name_of(address))
        try:
            found = await rows_at(server, expected)
        finally:
            await server.close()
    assert in_order(found) == in_order(expected)
    assert copied.rows == {table: len(rows) for table, rows in expected.items()}
    assert copied.open_asks >= 2


async def test_every_column_has_its_place(tmp_path: Path, postgres: Postgres) -> None:
    path = await a_file(tmp_path)
    with closing(sqlite3.connect(path)) as file:
        names = [name for (name,) in file.execute(TABLES)]
        columns = "SELECT ?, name FROM pragma_table_info(?)"
        ours = {row for name in names for row in file.execute(columns, (name, name))}
    async with postgres.database() as address:
        server = await postgres.connect(name_of(address))
        theirs = await server.fetch(COLUMNS)
        await server.close()
    assert ours <= {tuple(row) for row in theirs}


async def test_what_was_indexed_here_is_found_and_indexed_there(
    tmp_path: Path, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "DOCS", 3)
    first = answered(an_ask(text="The blue\0 one?"))
    store = await SqliteStore.open(tmp_path / "chatbridge.db")
    await keep(store, first, *(answered(an_ask()) for _ in range(3)))
    await store.sweep(before=0.0)
    await store.close()
    async with postgres.database() as address:
        await copy(tmp_path / "chatbridge.db", address)
        there = await leading(postgres, address)
        try:
            for _ in range(2):
                for term in ("blue\ufffd", "blue\0 o", "e"):
                    found = await there.past_rows(limit=9, search=term)
                    assert [row.id for row in found] == [first.id], term
                await there.sweep(before=0.0)
        finally:
            await there.close()


async def test_what_is_asked_afterwards_does_not_take_a_number_that_is_taken(
    tmp_path: Path, postgres: Postgres
) -> None:
    path = await a_file(tmp_path, "Which port?", "Which host?")
    notice = Notice(
        id="n", call=a_call(an_ask()).name, project=an_ask().project, agent=an_ask().agent,
        title="", message="Done", at=1.0,
    )  # fmt: skip
    async with postgres.database() as address:
        await copy(path, address)
        store = await leading(postgres, address)
        try:
            known = {ask.id for ask in await store.open_asks()}
            another = an_ask(text="Which user?")
            await keep(store, another, a_call(another, request="9"), notice)
            assert {ask.id for ask in await store.open_asks()} == {*known, another.id}
        finally:
            await store.close()


async def leading(server: Postgres, address: Address) -> PostgresStore:
    await server.sql(LEADS, name_of(address))
    return await PostgresStore.open(address, fence=FENCE)


async def count(server: Postgres, address: Address, table: str = "asks") -> int:
    connection = await server.connect(name_of(address))
    try:
        if await connection.fetchval("SELECT to_regclass($1) IS NULL", table):
            return 0
        return int(await connection.fetchval(f"SELECT count(*) FROM {table}"))  # noqa: S608
    finally:
        await connection.close()


async def test_a_rehearsal_leaves_an_empty_database_empty(
    tmp_path: Path, postgres: Postgres
) -> None:
    path = await a_file(tmp_path, "Which port?")
    async with postgres.database(empty=True) as address:
        copied = await copy(path, address, rehearse=True)
        assert (copied.rows["asks"], copied.open_asks) == (2, 1)
        assert await count(postgres, address, "chatbridge") == 0
        await copy(path, address)
        assert await count(postgres, address) == 2


async def test_a_check_leaves_nothing_and_says_what_a_copy_would_be_refused_for(
    tmp_path: Path, postgres: Postgres
) -> None:
    path = await a_file(tmp_path, "Which port?")
    async with postgres.database(empty=True) as address:
        await copying.check(path, address)
        assert await count(postgres, address, "chatbridge") == 0
        await copy(path, address)
        with pytest.raises(StoreError, match="already has 2 questions"):
            await copying.check(path, address)
    async with postgres.database(empty=True) as address, stranger(postgres, "a-password") as name:
        closed = Address(address.dsn.replace(f"{USER}@", f"{name}:a-password@"))
        with pytest.raises(StoreError, match="may not do that"):
            await copying.check(path, closed)
    with pytest.raises(StoreError, match="there is no database of this name"):
        await copying.check(path, postgres.address("none"))


async def test_agents_over_http_are_let_in_afterwards_with_the_tokens_that_they_have(
    tmp_path: Path, postgres: Postgres
) -> None:
    path, state = await a_file(tmp_path), str(tmp_path)
    given = tokens.add(state, "build-server", now=1.0)
    tokens.add(state, "ci", now=2.0)
    used = tokens.Tokens(state).owner(given)
    assert used is not None
    await tokens.Tokens(state).note_used(used, now=100.0)
    rows = [TokenRow(it.name, it.created, it.digest, at) for it, at in tokens.listed(state)]
    async with postgres.database(empty=True) as address:
        assert await shared_tokens.listed(address) == []
        copied = await copying.copy(path, address, files=tmp_path, tokens=rows)
        assert copied.tokens == 2
        assert await shared_tokens.listed(address) == tokens.listed(state)


async def test_tokens_that_are_there_already_are_not_mixed_with_others(
    tmp_path: Path, postgres: Postgres
) -> None:
    path = await a_file(tmp_path)
    async with postgres.database() as address:
        await shared_tokens.add(address, "ci", now=1.0)
        with pytest.raises(StoreError, match=r"already has 1 token\."):
            await copying.check(path, address, tokens=[TokenRow("other", 1.0, "a" * 64, None)])
        await copy(path, address)
        assert [it.name for it, _ in await shared_tokens.listed(address)] == ["ci"]


async def test_a_second_copy_is_refused_and_changes_nothing(
    tmp_path: Path, postgres: Postgres
) -> None:
    path = await a_file(tmp_path, "Which port?")
    async with postgres.database() as address:
        await copy(path, address)
        with pytest.raises(StoreError, match="already has 2 questions"):
            await copy(path, address)
        assert await count(postgres, address) == 2


async def test_what_a_hub_noted_before_anything_was_asked_is_replaced(
    tmp_path: Path, postgres: Postgres
) -> None:
    path = await a_file(tmp_path)
    async with postgres.database() as address:
        store = await PostgresStore.open(address, fence=FENCE)
        await keep(store, a_note("3"))
        await store.close()
        await copy(path, address)
        store = await PostgresStore.open(address)
        note = await store.note("telegram", "offset")
        await store.close()
    assert note is not None
    assert note.value == "17"


async def test_a_hub_that_leads_there_does_not_go_on_with_what_it_remembers(
    tmp_path: Path, postgres: Postgres
) -> None:
    path = await a_file(tmp_path)
    async with postgres.database() as address:
        told = list[str]()
        store = await PostgresStore.open(address, fence=FENCE, deposed=lambda: told.append("over"))
        await copy(path, address)
        with pytest.raises(StoreError, match="another hub leads"):
            await keep(store, an_ask())
        await store.close()
    assert told == ["over"]


async def test_rows_that_cannot_be_read_and_texts_with_odd_characters_arrive(
    tmp_path: Path, postgres: Postgres
) -> None:
    path = await a_file(tmp_path, "Which port?")
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("UPDATE asks SET questions = '[7]' WHERE status = 'open'")
        file.execute("UPDATE asks SET title = 'a' || char(0) || 'b' WHERE status != 'open'")
        file.execute("INSERT INTO notes VALUES ('odd', 'key', CAST(x'61eda080' AS TEXT), 1)")
    async with postgres.database() as address:
        copied = await copy(path, address)
        store = await PostgresStore.open(address)
        (ended,) = await store.history(limit=9)
        note, read = await store.note("odd", "key"), await store.open_asks()
        faults = store.faults()
        await store.close()
        assert await count(postgres, address) == 2
    assert copied.replaced == 2
    assert ended.title == "a\ufffdb"
    assert note is not None
    assert note.value.startswith("a\ufffd")
    assert read == []
    assert "cannot read question" in faults[0]


async def test_an_answer_that_the_library_does_not_understand_ends_the_copy_in_order(
    tmp_path: Path, postgres: Postgres
) -> None:
    path = await a_file(tmp_path)
    async with postgres.database() as address, Wire.running(postgres.port) as wire:
        wire.spoils = b"FROM information_schema.columns"
        with pytest.raises(StoreError, match="number of columns"):
            await copy(path, wire.over(address))
        assert await count(postgres, address) == 0


async def test_what_no_database_can_hold_is_named_and_nothing_is_copied(
    tmp_path: Path, postgres: Postgres
) -> None:
    path = await a_file(tmp_path, "Which port?")
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("UPDATE posts SET revision = 'many'")
    async with postgres.database() as address:
        with pytest.raises(StoreError, match="than a number in the column revision"):
            await copy(path, address)
        assert await count(postgres, address) == 0


async def test_a_newer_file_and_a_newer_database_are_refused(
    tmp_path: Path, postgres: Postgres
) -> None:
    path = await a_file(tmp_path)
    async with postgres.database(empty=True) as address:
        name = name_of(address)
        await copy(path, address, rehearse=True)
        await postgres.sql("CREATE TABLE chatbridge (version integer PRIMARY KEY)", name)
        await postgres.sql("INSERT INTO chatbridge VALUES (99)", name)
        with pytest.raises(NewerDatabase, match="schema version 99"):
            await copy(path, address)
        with closing(sqlite3.connect(path)) as file:
            file.execute("PRAGMA user_version = 98")
        with pytest.raises(NewerDatabase, match="schema version 98"):
            await copy(path, address)


async def test_a_connection_that_is_lost_in_the_middle_leaves_nothing(
    tmp_path: Path, postgres: Postgres
) -> None:
    path = await a_file(tmp_path, *(f"Question {number}" for number in range(3)))
    seen = list[str]()
    async with postgres.database() as address:
        name = name_of(address)

        def cut(table: str, done: int, of: int) -> None:
            if not seen and table == "calls":
                seen.append(table)
                end_sessions(postgres, name)

        with pytest.raises(StoreError, match=r"goes on|connection"):
            await copy(path, address, progress=cut)
        assert await count(postgres, address) == 0
        copied: Copied = await copy(path, address)
        assert copied.open_asks == 3
        assert await count(postgres, address) == 4


def end_sessions(server: Postgres, name: str) -> None:
    """From outside of this event loop, which is in the middle of the copy."""
    psql = [str(server.programs / "psql"), "-qAt", "-h", "127.0.0.1", "-p", str(server.port)]
    words = ["-U", USER, "-c", END_SESSIONS.format(name=name), "postgres"]
    subprocess.run([*psql, *words], check=True, capture_output=True)


async def test_files_of_questions_and_answers_come_along_and_no_others(
    tmp_path: Path, postgres: Postgres
) -> None:
    path = await a_file(tmp_path, "Which port?")
    with closing(sqlite3.connect(path)) as file, file:
        ((ask, seq),) = file.execute("SELECT id, seq FROM asks WHERE status = 'open'")
        file.execute("INSERT INTO attachments VALUES (?, ?, NULL)", ("a" * 64, seq))
    large = bytes(range(256)) * 10_000
    names = [f"attachments/{'a' * 64}", f"received/{ask}/{'b' * 12}.png"]
    others = ["attachments/.new-1", f"attachments/{'c' * 64}", "received/gone/dddddddddddd.png"]
    for name in (*names, *others):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(large)
    async with postgres.database() as address:
        copied = await copy(path, address)
        table = FileTable(address)
        assert sorted(await table.names()) == names
        found = b"".join([piece async for piece in table.read(names[1])])
    assert found == large
    assert copied.files == 2
