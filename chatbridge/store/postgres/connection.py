"""A connection to a PostgreSQL server, which comes back by itself. Knows no table but the fence's.

The one place where asyncpg's errors become ours.
"""

from __future__ import annotations

import asyncio
import logging
import math
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

import asyncpg

from chatbridge.core.errors import StoreError
from chatbridge.core.text import one_line
from chatbridge.store.database import ConnectionLost, Parameters, Record
from chatbridge.store.fence import HELD, Deposed, Fence
from chatbridge.store.postgres.sql import ordered, translated

log = logging.getLogger(__name__)

T = TypeVar("T")

OLDEST = 14
CONNECT_SECONDS, STATEMENT_SECONDS = 3.0, 30.0
BACK_WITHIN_SECONDS = 3.0
"""For so long a lost connection is sought before a statement fails."""
RETRY_SECONDS = 0.1
IDLE_TRANSACTION_MILLISECONDS = 1_500
"""A hub that stands still inside a transaction holds up who takes over from it no longer."""
SESSION = {
    "synchronous_commit": "on",
    "idle_in_transaction_session_timeout": str(IDLE_TRANSACTION_MILLISECONDS),
    "jit": "off",  # it takes longer than these statements
}
_ABOUT = """
    SELECT pg_backend_pid() AS pid, pg_is_in_recovery() AS replica,
    current_setting('server_version_num')::int / 10000 AS version,
    current_setting('server_encoding') AS encoding
"""
_LOST = (
    asyncpg.PostgresConnectionError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.CannotConnectNowError,
    asyncpg.TooManyConnectionsError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.ReadOnlySQLTransactionError,  # another server has become the primary one
    OSError,
    TimeoutError,
)
_CAUSES: dict[str, str] = {
    "28": "the server refused the log-in. Check user and password in store, or store_password",
    "3D": "there is no database of this name. Create it: CREATE DATABASE chatbridge",
    "42501": "this user may not do that. Make it the owner of the database",
    "53100": "the server's disk is full. Free some space there; chatbridge goes on by itself",
    "53200": "the server is out of memory",
    "53300": "the server has too many connections. Raise max_connections, or close some",
    "25006": "the server is read-only. Name the primary one, or several hosts with "
    "?target_session_attrs=read-write",
    "57": "the server shuts down or restarts; chatbridge goes on when it is back",
    "08": "the connection was lost; chatbridge goes on when it is back",
}
"""By the beginning of the error's code, the longest first."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where the database is. `dsn` may have a password in it, and is never shown."""

    dsn: str
    password: str | None = None

    @property
    def name(self) -> str:
        parts = urlsplit(self.dsn)
        place = re.sub(r"[^\w.,:\[\]-]", "?", parts.netloc.rpartition("@")[2]) or "this computer"
        return f"{parts.path.lstrip('/') or 'of its user'} on {place}"

    @property
    def called(self) -> str:
        return f"the database {self.name}"


class PostgresConnection:
    """One statement at a time. With a `fence` it writes only as long as that holds."""

    def __init__(
        self,
        address: Address,
        *,
        fence: Fence | None = None,
        deposed: Callable[[], None] = lambda: None,
    ) -> None:
        """`deposed` is called when the fence does not hold any more."""
        self.called = address.called
        self.replaced = False
        self._address = address
        self._fence = fence
        self._deposed = deposed
        self._server: asyncpg.Connection[Any] | None = None
        self._turn = asyncio.Lock()
        self._transaction: str | None = None  # Its id, by which the server knows how it ended
        self._closed = False

    async def open(self) -> None:
        """Connect, without waiting for a server that is not there. :raises StoreError:"""
        self._server = await self._connect()

    async def rows(self, sql: str, parameters: Parameters = ()) -> Sequence[Record]:
        return await self._run(asyncpg.Connection.fetch, sql, parameters)

    async def change(self, sql: str, parameters: Parameters = ()) -> int:
        status = await self._run(asyncpg.Connection.execute, sql, parameters)
        return int(status.rpartition(" ")[2])

    async def _run(self, run: Callable[..., Awaitable[T]], sql: str, parameters: Parameters) -> T:
        text, names = translated(sql)
        values, self.replaced = ordered(parameters, names)
        async with self._turn:
            until = _now() + BACK_WITHIN_SECONDS
            while True:
                server = await self._connected(until)
                try:
                    return await run(server, text, *values)
                except Exception as error:
                    failure = self._translated(error)
                    # What only reads is asked again; a transaction is gone.
                    if self._transaction or not isinstance(failure, ConnectionLost):
                        raise failure from error

    async def begin(self) -> None:
        """:raises Deposed:"""
        async with self._turn:
            until = _now() + BACK_WITHIN_SECONDS
            while self._transaction is None:
                server = await self._connected(until)
                try:
                    await server.execute("BEGIN")
                    self._transaction = await self._held(server)
                except ConnectionLost:
                    continue

    async def _held(self, server: asyncpg.Connection[Any]) -> str:
        try:
            if self._fence is None:
                return str(await server.fetchval("SELECT pg_current_xact_id()::text"))
            if held := await server.fetchval(HELD, *self._fence):
                return str(held)
            await server.execute("ROLLBACK")
        except Exception as error:
            raise self._translated(error) from error
        self._deposed()
        raise Deposed(self.called)

    async def commit(self) -> None:
        async with self._turn:
            transaction, self._transaction = self._transaction, None
            try:
                assert self._server is not None
                await self._server.execute("COMMIT")
            except Exception as error:
                failure = self._translated(error)
                if not isinstance(failure, ConnectionLost) or not await self._ended(transaction):
                    raise failure from error

    async def _ended(self, transaction: str | None) -> bool:
        """Whether this transaction was committed, of which the server did not say so any more. Asks
        until it knows: until then nobody may be told anything. A hub that is deposed meanwhile
        closes the connection, and its agents ask again."""
        while True:
            server = await self._connected(math.inf)
            try:
                status = await server.fetchval("SELECT pg_xact_status($1::text::xid8)", transaction)
            except asyncpg.InvalidParameterValueError:
                return False  # a server that has taken over without it
            except Exception as error:
                if not isinstance(failure := self._translated(error), ConnectionLost):
                    raise failure from error
                continue
            if status != "in progress":
                return bool(status == "committed")
            await asyncio.sleep(RETRY_SECONDS)

    async def roll_back(self) -> None:
        async with self._turn:
            transaction, self._transaction = self._transaction, None
            if transaction and self._server is not None and not self._server.is_closed():
                try:
                    await self._server.execute("ROLLBACK")
                except Exception as error:
                    raise self._translated(error) from error

    async def _connected(self, until: float) -> asyncpg.Connection[Any]:
        """The connection, or another one. :raises ConnectionLost: none can be had `until` then."""
        while True:
            self.check_open()
            if self._server is not None and not self._server.is_closed():
                return self._server
            if self._transaction:
                raise ConnectionLost(f"{self.called}: the connection was lost")
            try:
                self._server = await self._connect()
            except ConnectionLost as lost:
                if _now() >= until:
                    raise
                log.debug("%s", lost)
                await asyncio.sleep(RETRY_SECONDS)

    async def _connect(self) -> asyncpg.Connection[Any]:
        if self._fence is None:
            return await connect(self._address)
        return await connect(self._address, session=self._fence.session)

    def _translated(self, error: BaseException) -> StoreError:
        failure = translated_error(error, self.called)
        if isinstance(failure, ConnectionLost) and self._server is not None:
            log.warning("%s", failure)
            self._server.terminate()
            self._server = None
        return failure

    def check_open(self) -> None:
        if self._closed:
            raise StoreError(f"{self.called} has been closed: the hub is stopping")

    def check_lasts(self) -> None:
        """There is no file that somebody could take away."""

    async def close(self) -> None:
        """At once: what is under way fails."""
        self._closed = True
        if self._server is not None:
            self._server.terminate()


async def connect(address: Address, *, session: str = "chatbridge") -> asyncpg.Connection[Any]:
    """A connection that can write, called `session` in the server's lists. :raises StoreError: with
    what to do. :raises ConnectionLost: there is none at present."""
    connection: asyncpg.Connection[Any] | None = None
    try:
        connection = await asyncpg.connect(
            address.dsn,
            password=address.password,
            timeout=CONNECT_SECONDS,
            command_timeout=STATEMENT_SECONDS,
            server_settings={**SESSION, "application_name": session},
        )
        about = await connection.fetchrow(_ABOUT)
    except asyncio.CancelledError:
        if connection is not None:
            connection.terminate()
        raise
    except Exception as error:  # noqa: BLE001 - translated, all of them
        if connection is not None:
            connection.terminate()
        raise translated_error(error, address.called) from None  # it may quote the address
    assert about is not None
    if about["pid"] == connection.get_server_pid() and not (problem := _unfit(about)):
        return connection
    connection.terminate()
    if about["pid"] != connection.get_server_pid():
        raise StoreError(
            f"{address.called} is behind a connection pooler, which hands one connection to "
            "several programs, and ends transactions that it does not know. Name the server itself "
            "in store"
        )
    if about["replica"]:
        raise ConnectionLost(f"{address.called}: {_CAUSES['25006']}")
    raise StoreError(f"{address.called}: {problem}")


def _unfit(about: Record) -> str | None:
    if about["replica"]:
        return _CAUSES["25006"]
    if about["version"] < OLDEST:
        return f"PostgreSQL {about['version']} is too old. Use version {OLDEST} or newer"
    if about["encoding"] != "UTF8":
        return (
            f"its encoding is {about['encoding']}. Create one with: CREATE DATABASE chatbridge "
            "ENCODING 'UTF8' TEMPLATE template0"
        )
    return None


def translated_error(error: BaseException, called: str) -> StoreError:
    """asyncpg's error as ours, without its detail, which may have values of rows."""
    if isinstance(error, StoreError):
        return error
    code = getattr(error, "sqlstate", None) or ""
    found = (cause for begin, cause in _CAUSES.items() if code.startswith(begin))
    cause = next(found, None)
    if isinstance(error, TimeoutError):
        cause = "the server does not answer"
    elif isinstance(error, OSError):
        cause = "the server cannot be reached. Check that it runs, and the address in store"
    elif isinstance(error, ValueError) and not code:
        cause = "the address in store cannot be read"
    said = "" if isinstance(error, ValueError) and not code else f" ({_one_line(error)})"
    gone = isinstance(error, _LOST) or (
        isinstance(error, asyncpg.InterfaceError) and not isinstance(error, ValueError)
    )
    kind = ConnectionLost if gone else StoreError
    return kind(f"{called}: {cause or 'the server refused a statement'}{said}")


def _one_line(error: BaseException) -> str:
    return one_line(str(error).partition("\n")[0] or type(error).__name__)


def _now() -> float:
    return asyncio.get_running_loop().time()
