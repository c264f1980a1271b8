"""The bytes of attachments in the database, for all hubs that have it.

Each call has a connection of its own, so that a large file holds up no question. What is copied
needs no fence: a hub that does not lead any more can add what nobody asks for, and `sweep` removes
only that.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import asyncpg

from chatbridge.store.database import ConnectionLost
from chatbridge.store.postgres.connection import (
    STATEMENT_SECONDS,
    Address,
    connect,
    errors_translated,
)

T = TypeVar("T")

PART_BYTES = 1024 * 1024
TRIES = 3

_KEEP = "UPDATE attachment_bytes SET kept_at = $2 WHERE name = $1"
_ADD = """
    INSERT INTO attachment_bytes (name, kept_at, part, data) VALUES ($1, $2, $3, $4)
    ON CONFLICT DO NOTHING
"""
_PART = "SELECT data FROM attachment_bytes WHERE name = $1 AND part = $2"
_NAMES = "SELECT name FROM attachment_bytes WHERE part = 0"
_OPEN = """
    SELECT name FROM attachment_bytes WHERE part = 0 AND (name IN (
        SELECT 'attachments/' || digest FROM attachments JOIN asks ON asks.seq = attachments.ask
        WHERE status = 'open')
    OR split_part(name, '/', 2) IN (
        SELECT id FROM asks WHERE status = 'open'
        UNION ALL SELECT id FROM owner_messages WHERE settled_at IS NULL))
"""
_SWEEP = """
    DELETE FROM attachment_bytes WHERE kept_at < $1
    AND NOT EXISTS (SELECT FROM attachments WHERE 'attachments/' || digest = name)
    AND NOT EXISTS (SELECT FROM asks WHERE id = split_part(name, '/', 2))
    AND NOT EXISTS (SELECT FROM owner_messages WHERE id = split_part(name, '/', 2))
"""


@dataclass(frozen=True, slots=True)
class FileTable:
    """Implements `core.ports.FileCopies`."""

    address: Address

    async def save(self, name: str, path: Path, *, now: float) -> None:
        async def do(connection: asyncpg.Connection[Any]) -> None:
            run = partial(connection.execute, timeout=STATEMENT_SECONDS)
            if await run(_KEEP, name, now) != "UPDATE 0":
                return
            await run("BEGIN")  # undone by the end of the connection
            with closing(await asyncio.to_thread(path.open, "rb")) as file:
                part = 0
                while data := await asyncio.to_thread(file.read, PART_BYTES):
                    await run(_ADD, name, now, part, data)
                    part += 1
            await run("COMMIT")

        await self._run(do)

    async def names(self, *, of_open: bool = False) -> Sequence[str]:
        sql = _OPEN if of_open else _NAMES
        rows = await self._run(lambda one: one.fetch(sql, timeout=STATEMENT_SECONDS))
        return [str(row["name"]) for row in rows]

    async def read(self, name: str) -> AsyncIterator[bytes]:
        part = 0
        while data := await self._run(
            lambda one: one.fetchval(_PART, name, part, timeout=STATEMENT_SECONDS)  # noqa: B023
        ):
            yield data
            part += 1

    async def sweep(self, *, before: float) -> None:
        await self._run(lambda one: one.execute(_SWEEP, before, timeout=STATEMENT_SECONDS))

    async def _run(self, do: Callable[[asyncpg.Connection[Any]], Awaitable[T]]) -> T:
        """All of this can be done again."""
        for attempt in range(TRIES):
            connection = await connect(self.address)
            try:
                with errors_translated(self.address.called):
                    return await do(connection)
            except ConnectionLost:
                if attempt + 1 == TRIES:
                    raise
            finally:
                connection.terminate()
        raise AssertionError
