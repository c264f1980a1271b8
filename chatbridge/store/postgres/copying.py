"""Takes an SQLite database over into this one: every table, in one transaction.

The file is only read; one of an earlier schema is brought up to date as a copy. Rows are moved as
they are, whether this version can read them or not.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import astuple, dataclass, fields
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import asyncpg

from chatbridge.attachments.files import RECEIVED, SENT
from chatbridge.core.errors import NewerDatabase, StoreError
from chatbridge.store.postgres.connection import FAILURES, Address, connect, translated_error
from chatbridge.store.postgres.file_copies import PART_BYTES
from chatbridge.store.postgres.migrate import ALONE, apply, newest, version_of
from chatbridge.store.postgres.sql import storable
from chatbridge.store.postgres.tokens import TokenRow
from chatbridge.store.sqlite import migrate as sqlite_migrate
from chatbridge.store.sqlite.connection import SqliteConnection
from chatbridge.store.sqlite.reading import mode_to_read, text_or_bytes

REPLACED = ("notes",)
"""What a hub on an empty database may have noted before anything was asked."""
TOKENS = "http_tokens"
NAMES = {"asks": "question", "notices": "notice", "owner_messages": "message", TOKENS: "token"}
NUMBERS = {"integer": 2**31, "bigint": 2**63}
ROWS_AT_ONCE = 500
STATEMENT_SECONDS = 3600.0
SESSION = "SET LOCAL idle_in_transaction_session_timeout = '60s'"
DEPOSE = "UPDATE leader SET epoch = epoch + 1, beat = beat + 1, holder = ''"
"""Waits for the transaction of who leads. A hub that takes over afterwards knows nothing of before,
and so looks at what was copied."""
COLUMNS = """
    SELECT column_name, data_type, is_identity = 'YES' AS counts FROM information_schema.columns
    WHERE table_schema = current_schema() AND table_name = $1
"""
COUNT_ON = "SELECT setval(pg_get_serial_sequence($1, $2), $3)"
_TABLES = """
    SELECT name, sql NOT LIKE '%WITHOUT ROWID' FROM sqlite_master
    WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
    AND name NOT LIKE 'search\\_%' ESCAPE '\\'
    ORDER BY EXISTS (SELECT 1 FROM pragma_foreign_key_list(sqlite_master.name)), name
"""
"""Those that others refer to come first. The search's index is made anew, of what is copied."""
_COLUMNS_OF = "SELECT name FROM pragma_table_info(?)"

Progress = Callable[[str, int, int], None]
"""Told of the table, of how many of its rows are copied, and of how many there are."""


def _tell_nobody(table: str, done: int, of: int) -> None:
    """No progress is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    rows: Mapping[str, int]
    """Of each table."""
    open_asks: int
    files: int
    """Of questions and answers, from the state directory."""
    tokens: int
    replaced: int
    """How many texts had something in them that PostgreSQL cannot store."""


async def copy(
    source: Path,
    target: Address,
    *,
    files: Path,
    tokens: Sequence[TokenRow] = (),
    rehearse: bool = False,
    progress: Progress = _tell_nobody,
) -> Copied:
    """`files`: the state directory. `tokens`: those in it, which are in no database there.
    `rehearse`: do everything, and undo it.
    :raises StoreError: nothing was copied."""
    async with _begun(source, target, tokens, progress) as (begun, transaction):
        copied = await begun.run(files)
        if rehearse:
            await transaction.rollback()
        else:
            await _commit(transaction, target)
    return copied


async def check(source: Path, target: Address, *, tokens: Sequence[TokenRow] = ()) -> None:
    """Begin, and undo it. :raises StoreError: nothing could be copied, and why."""
    async with _begun(source, target, tokens) as (_, transaction):
        await transaction.rollback()


@asynccontextmanager
async def _begun(
    source: Path,
    target: Address,
    tokens: Sequence[TokenRow],
    progress: Progress = _tell_nobody,
) -> AsyncIterator[tuple[_Copy, Any]]:
    """With the transaction in which everything happens."""
    await sqlite_migrate.check(source)
    async with _up_to_date(source) as path:
        server = await connect(target)
        try:
            # Not inside the transaction, which may not see what was created while it waited.
            await server.execute("SELECT pg_advisory_lock($1)", ALONE)
            transaction = server.transaction()
            await transaction.start()
            with closing(_opened(path)) as file:
                begun = _Copy(file, server, target, tokens, progress)
                await begun.prepare()
                yield begun, transaction
        except sqlite3.Error as error:
            raise StoreError(
                f"the database {source} cannot be read ({error}). Nothing was copied"
            ) from error
        except FAILURES as error:
            raise translated_error(error, target.called) from error
        finally:
            server.terminate()


async def _commit(transaction: Any, target: Address) -> None:
    try:
        await transaction.commit()
    except FAILURES as error:
        raise StoreError(
            f"{translated_error(error, target.called)}. Whether the last step was carried out is "
            "not known: run the same command again. It copies everything, or finds everything there"
        ) from error


@asynccontextmanager
async def _up_to_date(source: Path) -> AsyncIterator[Path]:
    """The file, or a copy of it with this version's schema."""
    with closing(_opened(source)) as file:
        ((version,),) = file.execute("PRAGMA user_version")
        if version == sqlite_migrate.newest():
            yield source
            return
        with TemporaryDirectory(prefix="chatbridge-") as folder:
            path = Path(folder, source.name)
            with closing(sqlite3.connect(path)) as other:
                file.backup(other)
            connection = await SqliteConnection.open(path, mode="mode=rw")
            try:
                await sqlite_migrate.upgrade(connection)
            finally:
                await connection.close()
            yield path


def _opened(path: Path) -> sqlite3.Connection:
    """For one view of it, as it is now."""
    mode = mode_to_read(path)
    file = sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, isolation_level=None)
    file.text_factory = text_or_bytes
    file.execute("BEGIN")
    return file


class _Copy:
    def __init__(
        self,
        file: sqlite3.Connection,
        server: asyncpg.Connection[Any],
        target: Address,
        tokens: Sequence[TokenRow],
        progress: Progress,
    ) -> None:
        self._file, self._server, self._target, self._tokens = file, server, target, tokens
        self._progress = progress
        self._replaced = 0
        self._tables: list[tuple[str, bool]] = file.execute(_TABLES).fetchall()

    async def prepare(self) -> None:
        """This version's tables, all of them empty, which no hub changes meanwhile."""
        await self._server.execute(SESSION)
        if (found := await version_of(self._server)) > newest():
            raise NewerDatabase(path=self._target.name, found=found, known=newest())
        await apply(self._server, found)
        await self._server.execute(DEPOSE)
        for table, _ in self._tables:
            await self._check_empty(table)
        if self._tokens:
            await self._check_empty(TOKENS)

    async def run(self, files: Path) -> Copied:
        rows = {table: await self._table(table, numbered) for table, numbered in self._tables}
        await self._server.copy_records_to_table(
            TOKENS,
            records=map(astuple, self._tokens),
            columns=[field.name for field in fields(TokenRow)],
        )
        ((open_asks,),) = self._file.execute("SELECT count(*) FROM asks WHERE status = 'open'")
        return Copied(
            rows=rows,
            open_asks=open_asks,
            files=await self._files(files),
            tokens=len(self._tokens),
            replaced=self._replaced,
        )

    async def _check_empty(self, table: str) -> None:
        """:raises StoreError:"""
        if table in REPLACED:
            await self._server.execute(f"DELETE FROM {table}")  # noqa: S608 - our names
            return
        number = await self._server.fetchval(f"SELECT count(*) FROM {table}")  # noqa: S608
        if number:
            name = NAMES.get(table, f"row of {table}")
            raise StoreError(
                f"{self._target.called} already has {number:,} {name}{'' if number == 1 else 's'}. "
                "Nothing was copied: two histories cannot be made one. Name an empty database"
            )

    async def _table(self, table: str, numbered: bool) -> int:
        there = {name for (name,) in self._file.execute(_COLUMNS_OF, (table,))}
        there |= {"rowid"} if numbered else set()
        found = await self._server.fetch(COLUMNS, table)
        columns = [column for column in found if column["column_name"] in there]
        highest = "max(rowid)" if numbered else "0"
        ((rows, last),) = self._file.execute(
            f"SELECT count(*), {highest} FROM {table}"  # noqa: S608 - our names
        )
        if not rows:
            return 0
        await self._server.copy_records_to_table(
            table,
            records=self._records(table, columns, rows),
            columns=[column["column_name"] for column in columns],
            timeout=STATEMENT_SECONDS,
        )
        for column in columns:
            if column["counts"]:
                await self._server.fetchval(COUNT_ON, table, column["column_name"], last)
        return int(rows)

    async def _files(self, folder: Path) -> int:
        found = self._found(folder)
        await self._server.execute("DELETE FROM attachment_bytes")
        await self._server.copy_records_to_table(
            "attachment_bytes",
            records=self._parts(folder, found),
            columns=["name", "part", "kept_at", "data"],
            timeout=STATEMENT_SECONDS,
        )
        return len(found)

    def _found(self, folder: Path) -> list[Path]:
        """The files that belong to something."""
        known = {
            f"{SENT}/{digest}" for (digest,) in self._file.execute("SELECT digest FROM attachments")
        }
        ids = "SELECT id FROM asks UNION ALL SELECT id FROM owner_messages"
        received = {name for (name,) in self._file.execute(ids)}
        found = [it for it in folder.glob(f"{SENT}/*") if f"{SENT}/{it.name}" in known]
        found += [it for it in folder.glob(f"{RECEIVED}/*/*") if it.parent.name in received]
        return found

    def _parts(self, folder: Path, files: Sequence[Path]) -> Iterator[tuple[Any, ...]]:
        now = time.time()
        for done, path in enumerate(files):
            self._progress("files", done, len(files))
            try:
                with path.open("rb") as file:
                    for part in count():
                        if not (data := file.read(PART_BYTES)):
                            break
                        yield str(path.relative_to(folder)), part, now, data
            except OSError as error:
                raise StoreError(
                    f"the file {path} cannot be read ({error.strerror}). Nothing was copied"
                ) from error

    def _records(
        self, table: str, columns: Sequence[asyncpg.Record], of: int
    ) -> Iterator[tuple[Any, ...]]:
        names = [column["column_name"] for column in columns]
        kinds = [column["data_type"] for column in columns]
        order = f"SELECT {', '.join(names)} FROM {table}"  # noqa: S608 - our names
        done, rows = 0, self._file.execute(order)
        while batch := rows.fetchmany(ROWS_AT_ONCE):
            self._progress(table, done, of)
            for row in batch:
                yield tuple(map(self._value, row, kinds, names))
            done += len(batch)
        self._progress(table, done, of)

    def _value(self, value: Any, kind: str, name: str) -> Any:
        """SQLite keeps a value of any type in any column. :raises StoreError:"""
        if value is None:
            return None
        if kind == "text":
            return self._text(value)
        if kind == "double precision" and isinstance(value, int | float):
            return float(value)
        if isinstance(value, int) and abs(value) < NUMBERS.get(kind, 0):
            return value
        raise StoreError(
            f"one row of the SQLite database has something else than a number in the column {name}."
            " Nothing was copied. Correct that row, or remove it, with the program sqlite3"
        )

    def _text(self, value: Any) -> str:
        given = value.decode(errors="replace") if isinstance(value, bytes) else str(value)
        stored = storable(given)
        self._replaced += stored is not given or isinstance(value, bytes)
        return stored
