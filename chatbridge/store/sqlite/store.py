"""The store in one SQLite file: opens it, and looks whether it is still there."""

from __future__ import annotations

import os
from contextlib import AsyncExitStack
from pathlib import Path

from chatbridge.core.errors import StoreError
from chatbridge.store.audit import Trail
from chatbridge.store.sql_store import SqlStore
from chatbridge.store.sqlite import migrate
from chatbridge.store.sqlite.ask_times import ASK_TIMES
from chatbridge.store.sqlite.connection import DatabaseFile, SqliteConnection


class SqliteStore(SqlStore):
    ask_times_sql = ASK_TIMES

    def __init__(
        self, *, reading: SqliteConnection, writing: SqliteConnection, trail: Trail | None = None
    ) -> None:
        super().__init__(reading=reading, writing=writing, trail=trail)
        self.file = writing.file = DatabaseFile(writing.path)
        self.file.on_lost = self._lost

    @classmethod
    async def open(cls, path: Path, *, trail: Trail | None = None) -> SqliteStore:
        """Create the file where there is none, or bring it to this version's schema. Close it in
        the end: its threads would keep the process alive. :raises NewerDatabase: the file was left
        untouched. :raises StoreError: it cannot be opened, or is not chatbridge's."""
        _create(path)
        await migrate.check(path)
        _make_private(path)
        async with AsyncExitStack() as opened:
            writing = await SqliteConnection.open(path, mode="mode=rw")
            opened.push_async_callback(writing.close)
            await writing.rows("PRAGMA journal_mode = WAL")
            await writing.rows("PRAGMA synchronous = FULL")
            # On macOS a plain fsync leaves it in the disk's memory; elsewhere this means nothing.
            await writing.rows("PRAGMA fullfsync = ON")
            await migrate.upgrade(writing)
            await writing.rows("PRAGMA foreign_keys = ON")
            reading = await SqliteConnection.open(path, mode="mode=rw")
            opened.push_async_callback(reading.close)
            await reading.rows("PRAGMA query_only = ON")
            opened.pop_all()
        return cls(reading=reading, writing=writing, trail=trail)

    def faults(self) -> list[str]:
        return [*([] if self.file.is_there() else [self.file.fault]), *super().faults()]

    def look(self) -> None:
        self.file.is_there()

    def _lost(self, fault: str) -> None:
        self.on_lost(fault)


def _create(path: Path) -> None:
    """SQLite would make it readable for others; the files beside it take over its mode."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        pass
    except OSError as error:
        raise StoreError(
            f"the database {path} cannot be created: {error.strerror}. Check that its folder "
            "exists and can be written, or set CHATBRIDGE_STATE_DIR to another folder"
        ) from error


def _make_private(path: Path) -> None:
    """One that was put back from a copy, say."""
    try:
        path.chmod(0o600)
    except OSError as error:
        raise StoreError(
            f"the database {path} belongs to another user ({error.strerror}). Run chatbridge as "
            "that user, or set CHATBRIDGE_STATE_DIR to another folder"
        ) from error
