"""A hub's database that does not do what it should: for a while it refuses to write."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.fakes.databases import Database, SqliteFile

VERBS = ("INSERT", "UPDATE")


@asynccontextmanager
async def failing(
    where: Path | Database, table: str, *, when: str = "1 = 1"
) -> AsyncIterator[None]:
    """Rows of this table cannot be written, or only those that are like this. A folder has a file
    in it."""
    database = SqliteFile(where / "chatbridge.db") if isinstance(where, Path) else where
    names = {verb: f"fail_{table}_{verb}" for verb in VERBS}
    for verb, name in names.items():
        await database.add_refusal(name, f"BEFORE {verb} ON {table}", when=when)
    try:
        yield
    finally:
        for name in names.values():
            await database.drop_trigger(name, table)
