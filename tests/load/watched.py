"""What the kernel and the store know of a hub: CPU, memory, connections, the database's size."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable
from pathlib import Path

import asyncpg

from chatbridge.store.postgres.tokens import ADD
from tests.bench.machine import Json, cpu_seconds, pss


class StoreWatch(ABC):
    @abstractmethod
    async def look(self) -> Json:
        """Counts since the beginning, and the bytes of the database."""

    @abstractmethod
    def cpu(self) -> float:
        """Seconds of the store's own processes."""


class SqliteWatch(StoreWatch):
    def __init__(self, state: Path) -> None:
        self._state = state

    async def look(self) -> Json:
        return {"bytes": sum(it.stat().st_size for it in self._state.glob("chatbridge.db*"))}

    def cpu(self) -> float:
        """It is a part of the hub."""
        return 0.0


class PostgresWatch(StoreWatch):
    """Over a connection of its own, one of which is not counted."""

    SQL = """
        SELECT pg_database_size(current_database()) AS bytes,
            (SELECT xact_commit FROM pg_stat_database WHERE datname = current_database())
                AS commits,
            (SELECT wal_sync FROM pg_stat_wal) AS syncs,
            (SELECT wal_bytes::bigint FROM pg_stat_wal) AS wal,
            (SELECT count(*) - 1 FROM pg_stat_activity WHERE datname = current_database())
                AS connections
    """

    def __init__(self, dsn: str, server: int) -> None:
        self._dsn, self._server = dsn, server

    async def look(self) -> Json:
        connection = await asyncpg.connect(self._dsn)
        try:
            return dict(await connection.fetchrow(self.SQL) or {})
        finally:
            await connection.close()

    async def add_tokens(self, tokens: Iterable[tuple[str, str]]) -> None:
        """Names and digests, as `chatbridge token add` would."""
        connection = await asyncpg.connect(self._dsn)
        try:
            await connection.executemany(ADD, [(name, 1.0, digest) for name, digest in tokens])
        finally:
            await connection.close()

    def cpu(self) -> float:
        """Of its processes that live, and of those that have ended."""
        fields = Path(f"/proc/{self._server}/stat").read_text().rpartition(")")[2].split()
        ended = (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")
        return ended + sum(cpu_seconds(pid) for pid in (self._server, *children(self._server)))


def children(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(it) for it in found]


def hub_now(pid: int) -> Json:
    tasks = Path(f"/proc/{pid}/status").read_text().splitlines()
    rss = next(int(it.split()[1]) for it in tasks if it.startswith("VmRSS:"))
    return {
        "pss_mb": round(pss(pid), 1),
        "rss_mb": round(rss / 1024, 1),
        "descriptors": len(list(Path(f"/proc/{pid}/fd").iterdir())),
    }


def cpu_of(pid: int) -> float:
    """With the processes that it has started."""
    return sum(cpu_seconds(it) for it in (pid, *children(pid)))
