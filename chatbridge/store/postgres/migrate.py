"""Schema versions: which one a database has, and the way up from it. There is no way down.

A migration is `schema/NNNN_name.sql`. All that a database lacks are applied in one transaction,
together with their numbers in the table `chatbridge`. One that was committed is never changed: a
test holds their digests. None may hold the row of `leader` for long: a hub that cannot renew its
lease changes no tables any more, and begins anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

import asyncpg

from chatbridge.core.errors import NewerDatabase, StoreError
from chatbridge.store.postgres.connection import (
    FAILURES,
    STATEMENT_SECONDS,
    Address,
    connect,
    translated_error,
)

SCHEMA: Traversable = files("chatbridge.store.postgres") / "schema"

ALONE = 0x63627267  # The lock under which one hub at a time changes the version
WAIT_SECONDS = 10.0  # For another hub that does: it may stand still, and keep others from leading
_BUSY = (
    "another hub has been changing its tables for a while. This one tries again; if that hub "
    "stands still, end it"
)


async def upgrade(address: Address, *, changing: Callable[[], None] = lambda: None) -> int:
    """Bring the database to this version's schema, and return the version that it had. `changing`
    is called before tables are changed, which may take any time; nothing else does.
    :raises NewerDatabase: it was left untouched. :raises StoreError:"""
    connection = await connect(address)
    try:
        async with asyncio.timeout(STATEMENT_SECONDS):
            found = await version_of(connection)
        if found < newest():
            # Not inside the transaction, which may not see what was created while it waited.
            try:
                async with asyncio.timeout(WAIT_SECONDS):
                    await connection.execute("SELECT pg_advisory_lock($1)", ALONE)
            except TimeoutError:
                raise StoreError(f"{address.called}: {_BUSY}") from None
            # Not asyncpg's transaction: at its end it waits for a server that does not answer.
            async with asyncio.timeout(STATEMENT_SECONDS):
                await connection.execute("BEGIN")
                found = await version_of(connection)  # another hub may have been first
            if found < newest():
                changing()
                await apply(connection, found)
                await connection.execute("COMMIT")
        if found > newest():
            raise NewerDatabase(path=address.name, found=found, known=newest())
        return found
    except FAILURES as error:
        raise translated_error(error, address.called) from error
    finally:
        connection.terminate()


async def version_of(connection: asyncpg.Connection[Any]) -> int:
    if await connection.fetchval("SELECT to_regclass('chatbridge') IS NULL"):
        return 0
    return int(await connection.fetchval("SELECT max(version) FROM chatbridge"))


async def apply(connection: asyncpg.Connection[Any], found: int) -> None:
    """Within a transaction, under the lock `ALONE`: bring up to date what has version `found`."""
    if not found:
        await connection.execute("CREATE TABLE chatbridge (version integer PRIMARY KEY)")
    for version, sql in _migrations():
        if version > found:
            await connection.execute(sql)
            await connection.execute("INSERT INTO chatbridge VALUES ($1)", version)


def newest() -> int:
    """The version of the schema that this version of chatbridge uses."""
    return _migrations()[-1][0]


def _migrations() -> list[tuple[int, str]]:
    scripts = [file for file in SCHEMA.iterdir() if file.name.endswith(".sql")]
    return sorted((int(file.name[:4]), file.read_text(encoding="utf-8")) for file in scripts)
