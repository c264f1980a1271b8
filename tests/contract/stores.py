"""Every store there is, opened the same way. A new one is added here and nowhere else."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from chatbridge.core.store_port import Store
from chatbridge.store.audit import Trail
from chatbridge.store.sqlite.store import SqliteStore
from tests.fakes.postgres import FENCE, Postgres

Opened = AbstractAsyncContextManager[Store]


@asynccontextmanager
async def sqlite(
    folder: Path, _: pytest.FixtureRequest | None = None, trail: Trail | None = None
) -> AsyncIterator[Store]:
    store = await SqliteStore.open(folder / "chatbridge.db", trail=trail)
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def postgresql(
    _: Path, request: pytest.FixtureRequest, trail: Trail | None = None
) -> AsyncIterator[Store]:
    from chatbridge.store.postgres.store import PostgresStore

    server: Postgres = request.getfixturevalue("postgres")
    async with server.database() as address:
        store = await PostgresStore.open(address, fence=FENCE, trail=trail)
        try:
            yield store
        finally:
            await store.close()


STORES: dict[str, Callable[..., Opened]] = {
    "sqlite": sqlite,
    "postgresql": postgresql,
}
PARAMETERS = ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)]


def takes(store: Store, value: object) -> bool:
    """Whether it comes back from this store as it is: a text in PostgreSQL has no NUL."""
    return isinstance(store, SqliteStore) or "\\x00" not in repr(value)
