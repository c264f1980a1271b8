"""Every store there is, opened the same way. A new one is added here and nowhere else."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from chatbridge.core.store_port import Store
from chatbridge.store.audit import Trail
from chatbridge.store.sqlite.store import SqliteStore
from tests.fakes.databases import Database, SqliteFile
from tests.fakes.postgres import Postgres, PostgresDatabase


@asynccontextmanager
async def sqlite(folder: Path, _: pytest.FixtureRequest) -> AsyncIterator[Database]:
    yield SqliteFile(folder / "chatbridge.db")


@asynccontextmanager
async def postgresql(_: Path, request: pytest.FixtureRequest) -> AsyncIterator[Database]:
    server: Postgres = request.getfixturevalue("postgres")
    async with server.database() as address:
        yield PostgresDatabase(server, address)


DATABASES: dict[
    str, Callable[[Path, pytest.FixtureRequest], AbstractAsyncContextManager[Database]]
] = {"sqlite": sqlite, "postgresql": postgresql}
PARAMETERS = ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)]


@asynccontextmanager
async def store_in(database: Database, trail: Trail | None = None) -> AsyncIterator[Store]:
    store = await database.open(trail=trail)
    try:
        yield store
    finally:
        await store.close()


def takes(store: Store, value: object) -> bool:
    """Whether it comes back from this store as it is: a text in PostgreSQL has no NUL."""
    return isinstance(store, SqliteStore) or "\\x00" not in repr(value)
