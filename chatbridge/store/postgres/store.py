"""The store in a PostgreSQL database: opens it, for a hub that leads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack

from chatbridge.store.audit import Trail
from chatbridge.store.fence import Fence
from chatbridge.store.postgres.ask_times import ASK_TIMES
from chatbridge.store.postgres.connection import Address, PostgresConnection
from chatbridge.store.postgres.file_copies import FileTable
from chatbridge.store.sql_store import SqlStore

FINISH_SECONDS = 1.0
"""For what is queued when the hub ends: a server that does not answer holds up nobody."""


class PostgresStore(SqlStore):
    ask_times_sql = ASK_TIMES

    @classmethod
    async def open(
        cls,
        address: Address,
        *,
        fence: Fence | None = None,
        deposed: Callable[[], None] = lambda: None,
        trail: Trail | None = None,
    ) -> PostgresStore:
        """A database with this version's schema. What is written needs the `fence`; `deposed` is
        called once it does not hold any more. :raises StoreError: it cannot be used."""
        async with AsyncExitStack() as opened:
            writing = PostgresConnection(address, fence=fence, deposed=deposed)
            reading = PostgresConnection(address)
            for connection in (writing, reading):
                opened.push_async_callback(connection.close)
                await connection.open()
            opened.pop_all()
        store = cls(reading=reading, writing=writing, trail=trail)
        store.file_copies = FileTable(address)
        return store

    async def close(self) -> None:
        await self._index.close()
        finishing = asyncio.ensure_future(self._writer.close())
        await asyncio.wait({finishing}, timeout=FINISH_SECONDS)
        self._writer.abandon()
        await self._writing.close()
        await self._reading.close()
        await finishing
