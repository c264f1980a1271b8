"""The file of the SQLite store: who can read it, which files are refused, and closing it."""

from __future__ import annotations

import asyncio
import os
import re
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from chatbridge.core.errors import NewerDatabase, StoreError
from chatbridge.core.model import Post
from chatbridge.core.store_port import Transaction
from chatbridge.store import rows
from chatbridge.store.sqlite.connection import SqliteConnection
from chatbridge.store.sqlite.store import SqliteStore
from tests.contract.asks import a_call, an_ask, answered, keep
from tests.fakes.loop_watch import calls_in_this_thread


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "chatbridge.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqliteStore]:
    opened = await SqliteStore.open(path)
    yield opened
    await opened.close()


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def overwrite(path: Path, content: bytes, *, start: int = 0) -> None:
    with path.open("r+b" if path.exists() else "wb") as file:
        file.seek(start)
        file.write(content)


async def test_no_file_of_the_store_can_be_read_by_others(path: Path) -> None:
    umask = os.umask(0)
    try:
        store = await SqliteStore.open(path)
        await store.write(lambda tx: tx.add_ask(an_ask()))
        modes = {file.name: file.stat().st_mode & 0o777 for file in path.parent.iterdir()}
        await store.close()
    finally:
        os.umask(umask)
    assert modes == {path.name + end: 0o600 for end in ("", "-wal", "-shm")}


async def test_a_file_that_others_can_read_is_made_private(path: Path) -> None:
    await (await SqliteStore.open(path)).close()
    os.chmod(path, 0o644)
    await (await SqliteStore.open(path)).close()
    assert os.stat(path).st_mode & 0o777 == 0o600


async def test_every_commit_is_synced_to_disk_and_reads_cannot_write(store: SqliteStore) -> None:
    assert [tuple(row) for row in await store._writing.rows("PRAGMA synchronous")] == [(2,)]
    assert [tuple(row) for row in await store._writing.rows("PRAGMA journal_mode")] == [("wal",)]
    with pytest.raises(StoreError):
        await store._reading.change("DELETE FROM asks")


async def test_a_sweep_leaves_no_row_of_what_it_removed(store: SqliteStore) -> None:
    ask = answered(an_ask(), at=10.0)

    async def work(tx: Transaction) -> None:
        await tx.add_ask(ask)
        await tx.save_call(a_call(ask))
        await tx.save_post(Post(ask_id=ask.id, surface="web", place="1", revision=1))

    await store.write(work)
    await store.sweep(before=11.0)
    for table in ("asks", "calls", "posts"):
        assert await store._reading.rows(f"SELECT * FROM {table}") == []  # noqa: S608 - constants


async def test_what_was_written_is_there_after_opening_again(path: Path) -> None:
    ask = an_ask()
    first = await SqliteStore.open(path)
    await first.write(lambda tx: tx.add_ask(ask))
    await first.close()
    second = await SqliteStore.open(path)
    assert await second.ask(ask.id) == ask
    await second.close()


async def test_closing_finishes_what_is_queued_and_refuses_what_comes_after(path: Path) -> None:
    store = await SqliteStore.open(path)
    asks = [an_ask() for _ in range(250)]
    queued = [
        asyncio.create_task(store.write(lambda tx, ask=ask: tx.add_ask(ask)))  # type: ignore[misc]
        for ask in asks
    ]
    await asyncio.sleep(0)
    await store.close()
    await asyncio.wait_for(asyncio.gather(*queued), 10)
    with pytest.raises(StoreError, match="closed"):
        await store.write(lambda tx: tx.add_ask(an_ask()))
    with pytest.raises(StoreError, match="closed"):
        await store.open_asks()
    await store.close()
    again = await SqliteStore.open(path)
    assert len(await again.open_asks()) == len(asks)
    await again.close()


async def test_a_newer_database_is_refused_and_left_as_it_was(path: Path) -> None:
    await (await SqliteStore.open(path)).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    before = contents(path.parent)
    with pytest.raises(NewerDatabase, match=r"schema version 99.*knows up to \d+"):
        await SqliteStore.open(path)
    assert contents(path.parent) == before


async def test_a_newer_version_that_is_still_in_the_log_is_refused_too(
    path: Path, tmp_path: Path
) -> None:
    await (await SqliteStore.open(path)).close()
    crashed = tmp_path / "crashed"
    crashed.mkdir()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")
        # As a kill leaves it: the log not yet carried into the file.
        for name in (path.name, path.name + "-wal"):
            (crashed / name).write_bytes((tmp_path / name).read_bytes())
    before = contents(crashed)
    assert int.from_bytes(before[path.name][60:64]) < 99
    with pytest.raises(NewerDatabase):
        await SqliteStore.open(crashed / path.name)
    after = contents(crashed)
    assert {name: after[name] for name in before} == before


@pytest.mark.parametrize("junk", [b"not a database at all\n" * 100, b"\xff" * 5000])
async def test_a_file_that_is_no_database_is_refused_and_left_as_it_was(
    path: Path, junk: bytes
) -> None:
    overwrite(path, junk)
    with pytest.raises(StoreError, match=re.escape(str(path)) + ".*not a SQLite database"):
        await SqliteStore.open(path)
    assert contents(path.parent) == {path.name: junk}


async def test_another_programs_database_is_refused_and_left_as_it_was(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT)")
    before = contents(path.parent)
    with pytest.raises(StoreError, match="belongs to another program"):
        await SqliteStore.open(path)
    assert contents(path.parent) == before


async def test_a_damaged_database_is_called_damaged(path: Path) -> None:
    store = await SqliteStore.open(path)
    await store.write(lambda tx: tx.add_ask(an_ask()))
    await store.close()
    overwrite(path, b"\x5a" * (os.stat(path).st_size - 4096), start=4096)
    with pytest.raises(StoreError, match=re.escape(str(path)) + ".*damaged"):
        await SqliteStore.open(path)


async def test_a_database_that_is_damaged_where_the_asks_are_is_called_damaged(path: Path) -> None:
    store = await SqliteStore.open(path)
    await store.write(lambda tx: tx.add_ask(an_ask()))
    await store.close()
    with closing(sqlite3.connect(path)) as file:
        ((root,),) = file.execute("SELECT rootpage FROM sqlite_master WHERE name = 'asks'")
        ((size,),) = file.execute("PRAGMA page_size")
    overwrite(path, b"\x5a" * size, start=(root - 1) * size)
    store = await SqliteStore.open(path)
    with pytest.raises(StoreError, match=re.escape(str(path)) + ".*damaged"):
        await store.open_asks()
    await store.close()


async def test_a_folder_that_is_missing_is_named(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "chatbridge.db"
    with pytest.raises(StoreError, match=re.escape(str(path)) + ".*folder exists"):
        await SqliteStore.open(path)


async def test_a_very_long_ask_is_read_from_the_file_and_not_held_in_memory(
    store: SqliteStore,
) -> None:
    short, long = an_ask(), an_ask(text="word " * 20_000)

    async def work(tx: Transaction) -> None:
        for ask in (short, long):
            await tx.add_ask(ask)
            assert await tx.ask(ask.id) == ask

    await store.write(work)
    assert [await store.ask(ask.id) for ask in (short, long)] == [short, long]
    kept = store._cache.asks
    assert [kept.get(ask.id) for ask in (short, long)] == [short, None]


# ── the event loop ────────────────────────────────────────────────────────────────────────────────


async def test_while_another_program_has_the_lock_the_hub_goes_on_and_writes_afterwards(
    path: Path, store: SqliteStore
) -> None:
    ask = an_ask()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        writing = asyncio.create_task(store.write(lambda tx: tx.add_ask(ask)))
        assert await store.open_asks() == []  # and the loop turns: else the lock would stay
        assert not writing.done()
        other.execute("COMMIT")
    await writing
    assert await store.open_asks() == [ask]


async def test_a_work_of_many_statements_lets_others_go_on(store: SqliteStore) -> None:
    others = asyncio.Event()
    asyncio.get_running_loop().call_later(0.01, others.set)

    async def work(tx: Transaction) -> bool:
        for _ in range(100_000):
            await tx.ask("none")
            if others.is_set():
                return True
        return False

    assert await store.write(work)


async def test_a_long_text_is_stored_in_a_thread(store: SqliteStore) -> None:
    for text, on_the_loop in (("short", 1), ("long " * 1_000, 0)):
        with calls_in_this_thread(SqliteConnection._execute) as called:
            await store.write(lambda tx, text=text: tx.add_ask(an_ask(text=text)))  # type: ignore[misc]
        assert len(called) == on_the_loop


async def test_a_first_ask_and_its_answer_wait_for_nothing_that_can_be_made_before(
    store: SqliteStore,
) -> None:
    for made in (rows.adapter, rows._fields):
        made.cache_clear()
    rows.prepare()
    adapters = rows.adapter.cache_info().misses
    ask = an_ask()
    await keep(store, ask, a_call(ask), Post(ask_id=ask.id, surface="web", place="1", revision=1))
    await store.write(lambda tx: tx.save_ask(answered(ask), was=ask.status))
    store._cache.asks.clear()
    assert (await store.history(limit=1))[0] == answered(ask)
    assert rows.adapter.cache_info().misses == adapters
