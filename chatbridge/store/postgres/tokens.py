"""The tokens of agents over HTTP, where several hubs share them: digests in the database.

The hub that leads reads them each second; `chatbridge token` changes them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import asyncpg

from chatbridge.core.errors import StoreError
from chatbridge.store.postgres.connection import (
    STATEMENT_SECONDS,
    Address,
    connect,
    errors_translated,
)

SELECT = "SELECT name, created, digest, used FROM http_tokens ORDER BY created, name"
ADD = "INSERT INTO http_tokens (name, created, digest) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING"
REMOVE = "DELETE FROM http_tokens WHERE name = $1"
USED = "UPDATE http_tokens SET used = $2 WHERE digest = $1"


@dataclass(frozen=True, slots=True)
class TokenRow:
    name: str
    created: float
    digest: str
    used: float | None


class TokenTable:
    """One connection; it comes back with the next request. Every method can raise StoreError."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._connection: asyncpg.Connection[Any] | None = None

    async def rows(self) -> list[TokenRow]:
        """None, before the first hub has made the table."""
        try:
            found = await self._run(asyncpg.Connection.fetch, SELECT)
        except StoreError as error:
            if isinstance(error.__cause__, asyncpg.UndefinedTableError):
                return []
            raise
        return [TokenRow(**dict(row)) for row in found]

    async def add(self, name: str, *, created: float, digest: str) -> bool:
        """Whether there was none of this name, in whatever case."""
        execute = asyncpg.Connection.execute
        return bool(await self._run(execute, ADD, name, created, digest) == "INSERT 0 1")

    async def remove(self, name: str) -> bool:
        return bool(await self._run(asyncpg.Connection.execute, REMOVE, name) == "DELETE 1")

    async def note_used(self, used: Iterable[tuple[str, float]]) -> None:
        for digest, at in used:
            await self._run(asyncpg.Connection.execute, USED, digest, at)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.terminate()

    async def _run(self, run: Any, sql: str, *values: object) -> Any:
        if self._connection is None or self._connection.is_closed():
            self._connection = await connect(self._address)
        try:
            with errors_translated(self._address.called):
                async with asyncio.timeout(STATEMENT_SECONDS):
                    return await run(self._connection, sql, *values)
        except BaseException:
            self._connection.terminate()
            raise
