"""Where a hub's store is: a file, or a database of `tests.fakes.postgres`. The next hub opens it
again, and a test changes it from beside the hub."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from chatbridge.store.audit import Trail
from chatbridge.store.sql_store import SqlStore
from chatbridge.store.sqlite.store import SqliteStore


class Database(Protocol):
    async def open(self, *, trail: Trail | None = None) -> SqlStore: ...

    async def rows(self, sql: str) -> list[Any]:
        """Of one statement."""

    async def add_trigger(self, name: str, event: str, *, do: str, when: str = "1 = 1") -> None: ...

    async def add_refusal(self, name: str, event: str, *, when: str = "1 = 1") -> None:
        """A trigger that refuses it."""

    async def drop_trigger(self, name: str, table: str) -> None: ...

    async def clear(self) -> None:
        """Forget all rows. No store is open."""


@dataclass(frozen=True, slots=True)
class SqliteFile:
    path: Path

    async def open(self, *, trail: Trail | None = None) -> SqlStore:
        return await SqliteStore.open(self.path, trail=trail)

    async def rows(self, sql: str) -> list[Any]:
        def run() -> list[Any]:
            with closing(sqlite3.connect(self.path, isolation_level=None)) as database:
                return database.execute(sql).fetchall()

        return await asyncio.to_thread(run)  # who has the lock may need our loop to give it back

    async def add_trigger(self, name: str, event: str, *, do: str, when: str = "1 = 1") -> None:
        await self.rows(f"CREATE TRIGGER {name} {event} WHEN {when} BEGIN {do}; END")

    async def add_refusal(self, name: str, event: str, *, when: str = "1 = 1") -> None:
        await self.add_trigger(name, event, do="SELECT RAISE(ABORT, 'no more')", when=when)

    async def drop_trigger(self, name: str, table: str) -> None:
        await self.rows(f"DROP TRIGGER {name}")

    async def clear(self) -> None:
        for file in self.path.parent.glob(f"{self.path.name}*"):
            file.unlink()
