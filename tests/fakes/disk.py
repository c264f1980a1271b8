"""A hub's database that does not do what it should: for a while it refuses to write."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

VERBS = ("INSERT", "UPDATE")


@asynccontextmanager
async def failing(folder: Path, table: str, *, when: str = "1") -> AsyncIterator[None]:
    """Rows of this table cannot be written, or only those that are like this."""
    fails = f"WHEN {when} BEGIN SELECT RAISE(ABORT, 'no more'); END"
    name = f"fail_{table}"
    with closing(
        sqlite3.connect(folder / "chatbridge.db", isolation_level=None, check_same_thread=False)
    ) as database:
        # In threads: who has the lock may need our loop to give it back.
        for verb in VERBS:
            trigger = f"CREATE TRIGGER {name}_{verb} BEFORE {verb} ON {table} {fails}"
            await asyncio.to_thread(database.execute, trigger)
        try:
            yield
        finally:
            for verb in VERBS:
                await asyncio.to_thread(database.execute, f"DROP TRIGGER {name}_{verb}")
