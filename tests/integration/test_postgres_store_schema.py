"""The PostgreSQL schema: who creates it, and that every statement has its index."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import AsyncIterator
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import asyncpg
import pytest
import pytest_asyncio

from chatbridge.core.errors import NewerDatabase, StoreError
from chatbridge.core.model import Post
from chatbridge.store import audit, operations, search, sql_store, transaction
from chatbridge.store.postgres import election, file_copies, migrate, tokens
from chatbridge.store.postgres.ask_times import ASK_TIMES
from chatbridge.store.postgres.connection import Address, connect
from chatbridge.store.postgres.sql import translated
from chatbridge.store.rows import ask_row, changed_row, columns, insert, insert_of_ask
from tests.contract.asks import a_call, an_ask
from tests.fakes.postgres import Postgres, value

pytestmark = pytest.mark.postgres

SCRIPTS = sorted(Path(str(migrate.SCHEMA)).glob("*.sql"))
MODULES = (audit, transaction, operations, sql_store, search, election, file_copies, tokens)
"""In this order: each statement is named after the module that has it first."""
STATEMENTS = {
    name: sql
    for sql, name in {
        sql: f"{module.__name__.rpartition('.')[2]}.{name}"
        for module in reversed(MODULES)
        for name, sql in vars(module).items()
        if isinstance(sql, str) and re.match(r"\s*(SELECT|INSERT|UPDATE|DELETE)\b", sql)
    }.items()
}
STATEMENTS["ASK_TIMES"] = ASK_TIMES
STATEMENTS["SAVE_ASK"] = transaction.save_ask_sql(tuple(changed_row(an_ask(), None)))
STATEMENTS["ADD_ASK"] = insert("asks", ask_row(an_ask()))
STATEMENTS["SAVE_CALL"] = insert_of_ask(
    "calls", tuple(columns(a_call(an_ask()))), key=("link", "request")
)
STATEMENTS["ADD_AUDIT_LINES"] = audit._insert(2)
STATEMENTS["SAVE_POST"] = insert_of_ask("posts", Post.__slots__, key=("ask", "surface"))
FROZEN = {
    "0001_initial.sql": "3be831a3975525aae76a000807ae141c7fecefaa2bdc8ea021f5eee5251eb9f0",
    "0002_cluster.sql": "9cfc33bf21e5fe26425b6fd21f91b234bf8f12b3544f0f548f20c6c62385504a",
    "0003_audit.sql": "8bf355e30b3feddfda8a6c765ea8339f0598fbace09abf930f41ec5b45ff1946",
    "0004_attachments.sql": "3151fa041af7b1c7409258d866c74843e94dba7d3bdff99e66a3cf9f542f363b",
    "0005_search.sql": "65d0914d36d74798329a62ca373ce22feadc52b37598e0c3a9b434dc1d06e10c",
}
"""SHA-256 of each migration. Add a line with a new one; never change a line, nor its file."""
WALKS = {
    "sql_store.ATTACHMENT_DIGESTS",  # all of it is the answer
    "ASK_TIMES",
    "audit.AUDIT_NAMES",  # after a mistyped name, by a command
    "sql_store.STORED_IDS",  # for all files that people sent, every ten minutes
}
VALUES = {
    "audit.FIRST_AUDIT_LINE": "19000",
    "audit.REMOVE_AUDIT_LINES": "20, 200",
    "sql_store.BEHIND": "'telegram', 20000",
    "transaction.REMOVE_ENDED": "100, 200",
}
"""How many rows they find depends on these; the others are planned without knowing any."""
ASKS = 20_000
FILL = f"""
    INSERT INTO asks (id, project, client, fingerprint, status, revision, created_at, settled_at,
        delivered_at, kept, discarded, alone, project_name, agent_name, tool, dialect, words,
        questions, draft, attention, approval, attachments)
    SELECT 'ask-' || i, '/src/p' || i % 50, 'c', 'f' || i, CASE WHEN i % 200 = 0 THEN 'open'
        ELSE 'answered' END, 2, i, CASE WHEN i % 200 = 0 THEN NULL ELSE i + 60 END,
        CASE WHEN i % 200 = 0 THEN NULL ELSE i + 61 END, 0, 0, 0, 'p', 'a', 't', 'd', 'words',
        '[]', '{{}}', '{{}}', 0, '[]' FROM generate_series(1, {ASKS}) AS i;
    INSERT INTO calls (link, request, ask, question_ids, started_at, ended_at, delivered_at, ticket,
        late) SELECT 'link-' || seq % 100, seq::text, seq, '[]', created_at,
        CASE WHEN status = 'open' THEN NULL ELSE created_at + 60 END, delivered_at, 0, 0 FROM asks;
    INSERT INTO posts (ask, surface, place, revision) SELECT seq, 'telegram', '{{}}', 2 FROM asks;
    INSERT INTO handles (surface, handle, ask) SELECT 'telegram', seq::text, seq FROM asks;
    INSERT INTO audit (at, kind, thing, id, project, project_name, client, agent_name, who, who_id,
        channel, surface, what) SELECT created_at, 'asked', 'ask', id, project, 'p', 'c', 'a', '',
        '', '', '', '{{}}' FROM asks;
"""  # noqa: S608 - constants
SEQUENTIAL = re.compile(r"Seq Scan on (asks|audit|calls|posts|handles)\b")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def full(postgres: Postgres) -> AsyncIterator[asyncpg.Connection[Any]]:
    """A database in which much has been asked."""
    async with postgres.database(empty=True) as address:
        await migrate.upgrade(address)
        connection = await asyncpg.connect(address.dsn)
        await connection.execute(FILL)
        await connection.execute("ANALYZE")
        try:
            yield connection
        finally:
            await connection.close()


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("statement", STATEMENTS)
async def test_every_statement_is_understood_and_walks_through_no_great_table(
    full: asyncpg.Connection[Any], statement: str
) -> None:
    sql, _ = translated(STATEMENTS[statement])
    prepared = await full.prepare(sql)
    given = VALUES.get(statement) or ", ".join("NULL" for _ in prepared.get_parameters())
    mode = "custom" if statement in VALUES else "generic"
    await full.execute(f"SET plan_cache_mode = force_{mode}_plan")
    await full.execute(f"PREPARE tried AS {sql}")
    try:
        execute = f"tried({given})" if given else "tried"
        plan = "\n".join(row[0] for row in await full.fetch(f"EXPLAIN EXECUTE {execute}"))
    finally:
        await full.execute("DEALLOCATE tried")
    assert statement in WALKS or not SEQUENTIAL.search(plan), plan


@pytest.fixture
async def empty(postgres: Postgres) -> AsyncIterator[Address]:
    async with postgres.database(empty=True) as address:
        yield address


def test_no_migration_is_changed_once_it_is_there() -> None:
    digests = {script.name: sha256(script.read_bytes()).hexdigest() for script in SCRIPTS}
    assert digests == FROZEN


def test_migrations_are_numbered_without_a_gap() -> None:
    assert [int(script.name[:4]) for script in SCRIPTS] == [*range(1, len(SCRIPTS) + 1)]


async def test_hubs_that_start_together_create_the_schema_once(empty: Address) -> None:
    before = await asyncio.gather(*(migrate.upgrade(empty) for _ in range(6)))
    assert sorted(before) == [0] + [migrate.newest()] * 5
    assert await value(empty, "SELECT count(*) FROM leader") == 1


async def test_a_hub_that_stands_still_while_it_changes_tables_holds_up_no_other(
    empty: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrate, "WAIT_SECONDS", 0.2)
    still = await connect(empty)
    await still.execute("SELECT pg_advisory_lock($1)", migrate.ALONE)
    with pytest.raises(StoreError, match="another hub has been changing its tables"):
        await migrate.upgrade(empty)
    still.terminate()
    await migrate.upgrade(empty)


async def test_only_who_changes_tables_says_so_before(empty: Address) -> None:
    said: list[int] = []
    for turn in range(2):
        await migrate.upgrade(empty, changing=partial(said.append, turn))
    assert said == [0]


async def test_a_newer_schema_is_refused_and_left_untouched(empty: Address) -> None:
    await migrate.upgrade(empty)
    await value(empty, f"INSERT INTO chatbridge VALUES ({migrate.newest() + 1})")  # noqa: S608
    with pytest.raises(NewerDatabase, match=str(migrate.newest() + 1)):
        await migrate.upgrade(empty)
    assert await value(empty, "SELECT max(version) FROM chatbridge") == migrate.newest() + 1


async def test_a_migration_that_fails_leaves_nothing(
    empty: Address, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "schema"
    shutil.copytree(str(migrate.SCHEMA), folder)
    (folder / "9999_broken.sql").write_text("CREATE TABLE half (a int); DROP TABLE no_such_table;")
    monkeypatch.setattr(migrate, "SCHEMA", folder)
    with pytest.raises(StoreError, match="no_such_table"):
        await migrate.upgrade(empty)
    assert await value(empty, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == 0


async def test_every_table_is_in_the_first_schema_of_the_search_path(
    empty: Address, postgres: Postgres
) -> None:
    database = empty.name.split()[0]
    await value(empty, "CREATE SCHEMA hub")
    await postgres.sql(f"ALTER DATABASE {database} SET search_path = hub, public")
    for _ in range(2):
        await migrate.upgrade(empty)
    schemas = """
        SELECT string_agg(DISTINCT schemaname, ' ') FROM pg_tables WHERE tableowner = current_user
        AND schemaname NOT IN ('pg_catalog', 'information_schema')
    """
    assert await value(empty, schemas) == "hub"


async def test_a_search_path_without_a_schema_is_said(empty: Address, postgres: Postgres) -> None:
    database = empty.name.split()[0]
    await postgres.sql(f"ALTER DATABASE {database} SET search_path = nowhere")
    with pytest.raises(StoreError, match=r"no schema to create tables in .*Check search_path"):
        await migrate.upgrade(empty)
