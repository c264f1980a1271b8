"""A connection to a SQLite file, and the file itself. Knows no table.

The one place where SQLite's errors become ours, and where it is decided what the event loop waits
for: a trip to a thread and back takes longer than most statements of a transaction.
"""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import aiosqlite

from chatbridge.core.bounds import THREAD_CHARACTERS, Slices
from chatbridge.core.errors import StoreError
from chatbridge.core.text import encodable
from chatbridge.store.database import Parameters
from chatbridge.store.sqlite.reading import text_or_bytes

log = logging.getLogger(__name__)

T = TypeVar("T")

BUSY_SECONDS = 5.0
_DO_NOT_WAIT, _WAIT = (f"PRAGMA busy_timeout = {s * 1000:.0f}" for s in (0.0, BUSY_SECONDS))
_BEGIN = "BEGIN IMMEDIATE"

_CAUSES = {
    sqlite3.SQLITE_FULL: "the disk is full. Free some space, then try again",
    sqlite3.SQLITE_IOERR: "the disk reports an error. Check its space, its quota and its health",
    sqlite3.SQLITE_READONLY: "it cannot be written. Check the permissions of it and its folder",
    sqlite3.SQLITE_PERM: "it cannot be opened. Check the permissions of it and its folder",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened. Check that its folder exists and can be written",
    sqlite3.SQLITE_BUSY: "another program holds its lock. Close that program, then try again",
    sqlite3.SQLITE_NOTADB: "it is not a SQLite database. Move it away, or set "
    "CHATBRIDGE_STATE_DIR to another folder",
    sqlite3.SQLITE_CORRUPT: "it is damaged. Stop the hub and put back a copy, or save what can be "
    "read with sqlite.org's: sqlite3 <database> .recover",
}


class SqliteConnection:
    """Opened with `SqliteConnection.open`, one statement at a time, no implicit transactions.

    Statements run in aiosqlite's thread. Those of a transaction run on the event loop, except for
    what waits for the disk or for a lock, and for long texts.
    """

    def __init__(
        self, sqlite: sqlite3.Connection, in_thread: aiosqlite.Connection, path: Path
    ) -> None:
        """Both are the same connection."""
        self._sqlite = sqlite
        self._in_thread = in_thread
        self.path = path
        self.called = f"the database {path}"
        self.file: DatabaseFile | None = None  # Looked after, if this connection writes
        self._slices = Slices()
        self._closed = False
        self.replaced = False  # Whether the last statement used another text than it was given

    @classmethod
    async def open(cls, path: Path, *, mode: str) -> SqliteConnection:
        """`mode` is a parameter of SQLite's file addresses, such as "mode=rw".
        :raises StoreError:"""
        address = f"{_uri(path)}?{mode}"
        try:
            sqlite = sqlite3.connect(
                address,
                uri=True,
                isolation_level=None,
                timeout=BUSY_SECONDS,
                check_same_thread=False,
            )
            in_thread = await aiosqlite.Connection(lambda: sqlite, iter_chunk_size=1)
        except sqlite3.Error as error:
            raise _translated(error, path) from error
        sqlite.row_factory = sqlite3.Row
        sqlite.text_factory = text_or_bytes
        return cls(sqlite, in_thread, path)

    async def rows(self, sql: str, parameters: Parameters = ()) -> list[sqlite3.Row]:
        """:raises StoreError:"""
        return list(await self._run(self._rows, self._in_thread.execute_fetchall, sql, parameters))

    async def change(self, sql: str, parameters: Parameters = ()) -> int:
        """How many rows it changed. :raises StoreError:"""
        cursor: sqlite3.Cursor | aiosqlite.Cursor
        cursor = await self._run(self._execute, self._in_thread.execute, sql, parameters)
        return cursor.rowcount

    async def change_each(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """For many rows. :raises StoreError:"""
        self.check_open()
        try:
            await self._in_thread.executemany(sql, rows)
        except sqlite3.Error as error:
            raise _translated(error, self.path) from error

    def _rows(self, sql: str, parameters: Parameters) -> Iterable[sqlite3.Row]:
        return self._execute(sql, parameters).fetchall()

    def _execute(self, sql: str, parameters: Parameters) -> sqlite3.Cursor:
        return self._sqlite.execute(sql, parameters)

    async def _run(
        self,
        run: Callable[[str, Parameters], T],
        in_thread: Callable[[str, Any], Awaitable[T]],
        sql: str,
        parameters: Parameters,
    ) -> T:
        self.check_open()
        self.replaced = False
        try:
            try:
                if not self._sqlite.in_transaction or _weight(parameters) > THREAD_CHARACTERS:
                    return await in_thread(sql, parameters)
                await self._slices.pause()
                return run(sql, parameters)
            except UnicodeEncodeError:
                self.replaced = True
                return await in_thread(sql, _storable(parameters))
        except sqlite3.Error as error:
            raise _translated(error, self.path) from error

    async def script(self, sql: str) -> None:
        """Several statements, rolled back if one fails. :raises StoreError:"""
        self.check_open()
        try:
            await self._in_thread.executescript(sql)
        except sqlite3.Error as error:
            await self.roll_back()
            raise _translated(error, self.path) from error

    async def begin(self) -> None:
        self.check_open()
        self._slices = Slices()
        try:
            self._sqlite.execute(_DO_NOT_WAIT)
            self._sqlite.execute(_BEGIN)
        except sqlite3.Error:  # another program has the lock, mostly
            await self.change(_WAIT)
            await self.change(_BEGIN)

    async def commit(self) -> None:
        self.check_open()
        try:
            await self._in_thread.execute("COMMIT")
        except sqlite3.Error as error:
            raise _translated(error, self.path) from error
        if self.file is not None:
            self.file.is_there()

    async def roll_back(self) -> None:
        """SQLite itself rolls back after some errors, so there may be nothing to do."""
        if self._sqlite.in_transaction:
            await self.change("ROLLBACK")

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            await self._in_thread.close()

    def check_open(self) -> None:
        """:raises StoreError:"""
        if self._closed:
            raise StoreError(f"{self.called} has been closed: the hub is stopping")

    def check_lasts(self) -> None:
        if self.file is not None:
            self.file.check()


def _uri(path: Path) -> str:
    return path.absolute().as_uri()


def _translated(error: sqlite3.Error, path: Path) -> StoreError:
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    cause = _CAUSES.get(code, "SQLite refused a statement")
    return StoreError(f"the database {path}: {cause} ({error})")


def _weight(parameters: Parameters) -> int:
    values = parameters.values() if isinstance(parameters, Mapping) else parameters
    return sum(len(value) for value in values if isinstance(value, str))


def _storable(parameters: Parameters) -> Parameters:
    """A question with half a surrogate pair is asked with a replacement sign, not refused."""

    def stored(value: Any) -> Any:
        return encodable(value) if isinstance(value, str) else value

    if isinstance(parameters, Mapping):
        return {name: stored(value) for name, value in parameters.items()}
    return [stored(value) for value in parameters]


class DatabaseFile:
    """The file that was opened: whether it is still the one under its name. A file that was deleted
    or replaced can still be written, and is lost when its last user closes it. Nothing is watched:
    whoever writes, or asks, looks."""

    def __init__(self, path: Path) -> None:
        """After it was opened, and its log with it: what is not yet in the file is in there."""
        self._path = path
        self._names = (str(path), f"{path}-wal")
        self._opened = [_identity(name) for name in self._names]
        self._there = True
        self.on_lost: Callable[[str], None] = lambda fault: None  # Called once when it is gone

    def is_there(self) -> bool:
        there = [_identity(name) for name in self._names] == self._opened
        if there != self._there:
            self._there = there
            if there:
                log.info("the database %s is back", self._path)
            else:
                log.error("%s", self.fault)
                self.on_lost(self.fault)
        return there

    def check(self) -> None:
        """:raises StoreError: the next hub would not find what is written now."""
        if not self.is_there():
            raise StoreError(self.fault)

    @property
    def fault(self) -> str:
        return (
            f"the database {self._path} was deleted or replaced while the hub runs. Answers still "
            "reach agents that wait, but nothing new is asked or run, and what is not under that "
            "name is lost when the hub ends. Put the file back, or run: chatbridge restart"
        )


def _identity(name: str) -> tuple[int, int] | None:
    try:
        found = os.stat(name)
    except OSError:
        return None
    return found.st_dev, found.st_ino
