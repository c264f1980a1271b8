"""Reads the database without a hub: a file, or a team's server. Starts nothing and creates nothing.

Blocks, so that a check of `doctor` does it in a thread.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from chatbridge.core.errors import ChatbridgeError, NewerDatabase, StoreError
from chatbridge.core.model import Ask
from chatbridge.extras import need
from chatbridge.settings import Settings
from chatbridge.store.database import Parameters, Record
from chatbridge.store.fence import POSTGRES

if TYPE_CHECKING:
    from chatbridge.core.nights.hours import Switch
    from chatbridge.store.postgres.connection import Address

TIMED_GRANTS = """
    SELECT asks.project_name, grants.folder, grants.until FROM grants JOIN asks ON seq = ask
    WHERE grants.taken_back_at IS NULL AND grants.until > ? ORDER BY grants.until, ask
"""


class Database(Protocol):
    def is_readable(self) -> bool | None:
        """Whether this version's statements fit; not those of an earlier schema, which a hub brings
        up to date. None: there is none yet. :raises StoreError:"""

    def rows(self, sql: str, given: Parameters = ()) -> Sequence[Record]:
        """:raises StoreError: :raises ExtraMissing:"""

    @property
    def ask_times_sql(self) -> str: ...


class DatabaseFile:
    def __init__(self, path: Path) -> None:
        self.path = path

    def is_readable(self) -> bool | None:
        from chatbridge.store.sqlite import migrate

        if not self.path.exists():
            return None
        asyncio.run(migrate.check(self.path))
        ((version,),) = self.rows("PRAGMA user_version")
        return bool(version == migrate.newest())

    def rows(self, sql: str, given: Parameters = ()) -> Sequence[Record]:
        from chatbridge.store.sqlite.reading import text_or_bytes

        try:
            with opened(self.path) as file:
                file.row_factory, file.text_factory = sqlite3.Row, text_or_bytes
                return file.execute(sql, given).fetchall()
        except sqlite3.Error as error:
            raise StoreError(f"the database {self.path} cannot be read: {error}") from error

    @property
    def ask_times_sql(self) -> str:
        from chatbridge.store.sqlite.ask_times import ASK_TIMES

        return ASK_TIMES


class DatabaseServer:
    def __init__(self, dsn: str, password: str | None) -> None:
        self._given = dsn, password

    @property
    def address(self) -> Address:
        """:raises ExtraMissing:"""
        need(POSTGRES)
        from chatbridge.store.postgres.connection import Address

        return Address(*self._given)

    def is_readable(self) -> bool | None:
        address = self.address
        from chatbridge.store.postgres import migrate

        ((there,),) = self.rows("SELECT to_regclass('chatbridge') IS NOT NULL")
        if not there:
            return None
        ((version,),) = self.rows("SELECT max(version) FROM chatbridge")
        if version > migrate.newest():
            raise NewerDatabase(path=address.name, found=version, known=migrate.newest())
        return bool(version == migrate.newest())

    def rows(self, sql: str, given: Parameters = ()) -> Sequence[Record]:
        return asyncio.run(self._rows(self.address, sql, given))

    async def _rows(self, address: Address, sql: str, given: Parameters) -> Sequence[Record]:
        from chatbridge.store.postgres.connection import PostgresConnection

        connection = PostgresConnection(address)
        try:
            await connection.open()
            return await connection.rows(sql, given)
        finally:
            await connection.close()

    @property
    def ask_times_sql(self) -> str:
        from chatbridge.store.postgres.ask_times import ASK_TIMES

        return ASK_TIMES


def database_of(settings: Settings, state: Path) -> DatabaseFile | DatabaseServer:
    server = settings.server()
    return DatabaseServer(*server) if server else DatabaseFile(settings.database(state))


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Reads the log beside the file, too, and creates none. :raises sqlite3.Error:"""
    from chatbridge.store.sqlite.reading import mode_to_read

    address = f"{path.absolute().as_uri()}?{mode_to_read(path)}"
    with closing(sqlite3.connect(address, uri=True)) as file:
        yield file


def asks(database: Database, sql: str, given: Parameters = ()) -> list[Ask]:
    """Those that this version can read. :raises StoreError:"""
    from chatbridge.store.rows import QUESTION, UnreadableRows

    return UnreadableRows().read(QUESTION, database.rows(sql, given))


def notes(database: Database, channel: str) -> dict[str, str]:
    """What a channel remembers, such as where a chat has moved to, if that can be read."""
    try:
        rows = database.rows("SELECT key, value FROM notes WHERE channel = ?", (channel,))
    except ChatbridgeError:
        return {}
    return {_text(key): _text(value) for key, value in rows}


def quiet_switch(database: Database) -> Switch | None:
    """Quiet hours by hand, if that can be read."""
    from chatbridge.core.nights import switching

    noted = notes(database, switching.CHANNEL).get(switching.KEY)
    return switching.from_text(noted) if noted else None


def timed_grants(database: Database, now: float) -> list[tuple[str, str | None, float]]:
    """What was allowed for a time that is not over: the project's name, the folder in which edits
    are allowed, and until when."""
    try:
        return [(row[0], row[1], row[2]) for row in database.rows(TIMED_GRANTS, (now,))]
    except ChatbridgeError:
        return []  # the check of the database says why, or an earlier version wrote it


def _text(stored: Any) -> str:
    return stored.decode(errors="replace") if isinstance(stored, bytes) else str(stored)
