"""Every store there is, opened the same way. A new one is added here and nowhere else."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from chatbridge.core.store_port import Store
from chatbridge.store.sqlite.store import SqliteStore


@asynccontextmanager
async def sqlite(folder: Path) -> AsyncIterator[Store]:
    store = await SqliteStore.open(folder / "chatbridge.db")
    try:
        yield store
    finally:
        await store.close()


STORES: dict[str, Callable[[Path], AbstractAsyncContextManager[Store]]] = {"sqlite": sqlite}
