"""A connection to a PostgreSQL server, which comes back by itself. Knows no table but the fence's.

The one place where asyncpg's errors become ours.
"""

from __future__ import annotations

import asyncio
import logging
import math
import re
import secrets
import ssl
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import urlsplit

import asyncpg

from chatbridge.core.errors import StoreError
from chatbridge.core.text import one_line
from chatbridge.store.database import ConnectionLost, Parameters, Record
from chatbridge.store.fence import Deposed, Fence, held
from chatbridge.store.postgres.addresses import createdb, unreadable_authority, wrong_part
from chatbridge.store.postgres.sql import ordered, translated

log = logging.getLogger(__name__)

T = TypeVar("T")

OLDEST = 14
CONNECT_SECONDS, STATEMENT_SECONDS = 3.0, 10.0
"""For all hosts together, and for one statement; then the connection counts as lost."""
BACK_WITHIN_SECONDS = 3.0
"""For so long a lost connection is sought before a statement fails."""
QUIET_SECONDS, STILL_THERE_SECONDS = 60.0, 1.0
"""A firewall forgets a connection over which nothing passes for some minutes, and tells nobody: one
that was quiet for so long has to answer within the second time before it is used."""
RETRY_SECONDS = 0.1
IDLE_TRANSACTION_MILLISECONDS = 1_500
"""A hub that stands still inside a transaction holds up who takes over from it no longer."""
_SESSION = f"""
    SET synchronous_commit = on;
    SET default_transaction_isolation = 'read committed';
    SET idle_in_transaction_session_timeout = {IDLE_TRANSACTION_MILLISECONDS};
    SET tcp_keepalives_idle = {QUIET_SECONDS:.0f};
    SET tcp_keepalives_interval = 10;
    SET jit = off
"""
"""Whatever the database has as its own: a stricter isolation would fail transactions because of a
renewal of the lease. A just-in-time compiler takes longer than these statements. Without
keep-alives the server would hold a connection to a hub that has gone for two hours."""
_ABOUT = """
    SELECT pg_backend_pid() AS pid, current_setting('transaction_read_only') = 'on' AS read_only,
    current_setting('server_version_num')::int / 10000 AS version,
    current_setting('server_encoding') AS encoding
"""
_WRITTEN = "SELECT token FROM written FOR SHARE"
"""Waits for a transaction that the server has not ended yet."""
FAILURES = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,  # among them TimeoutError
)
"""What a statement fails with."""
_LOST = (
    asyncpg.PostgresConnectionError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.CannotConnectNowError,
    asyncpg.TooManyConnectionsError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.ReadOnlySQLTransactionError,  # another server has become the primary one
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # a connection that ended in the middle of what it said
    OSError,
    TimeoutError,
)
_BEHIND_POOLER = ("26000", "42P05", "08P01")
"""A prepared statement is not there, or somebody else's; a setting is not known."""
_CAUSES: dict[str, str] = {
    "42501": "this user may not do that. Make it the owner of this database: ALTER DATABASE … "
    "OWNER TO …",
    "3F000": "there is no schema to create tables in. Check search_path of this user",
    "53100": "the server's disk is full. Free some space there; chatbridge goes on by itself",
    "53200": "the server is out of memory",
    "53300": "the server has too many connections. Raise max_connections, or close some",
    "25006": "the server is read-only. Name the primary one, or several hosts with "
    "?target_session_attrs=read-write",
    "57P": "the server shuts down or restarts; chatbridge goes on when it is back",
    "08": "the connection was lost; chatbridge goes on when it is back",
}
"""By the beginning of the error's code, the longest first."""
NO_TLS = "rejected SSL upgrade"  # As asyncpg says it, without a code


@dataclass(frozen=True, slots=True)
class Address:
    """Where the database is. `dsn` may have a password in it, and is never shown."""

    dsn: str = field(repr=False)
    password: str | None = field(default=None, repr=False)
    given_in: str = "store"
    """The setting, or the option, in which somebody would correct it."""

    @property
    def name(self) -> str:
        parts = urlsplit(self.dsn)
        place = re.sub(r"[^\w.,:\[\]-]", "?", parts.netloc.rpartition("@")[2]) or "this computer"
        return f"{parts.path.lstrip('/') or 'of its user'} on {place}"

    @property
    def called(self) -> str:
        return f"the database {self.name}"

    @property
    def hosts(self) -> list[str]:
        """One address for each: a host that does not answer is not to use up the others' time."""
        parts = urlsplit(self.dsn)
        user, at, places = parts.netloc.rpartition("@")
        each = (parts._replace(netloc=f"{user}{at}{place}") for place in places.split(","))
        return [one.geturl() for one in each]


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
        self._used = 0.0  # When it was needed last
        self._turn = asyncio.Lock()
        self._transaction: int | None = None  # By which the server knows whether it was committed
        self._leads = True
        self._closed = False

    async def open(self) -> None:
        """Connect, without waiting for a server that is not there. :raises StoreError:"""
        self._server = await self._connect()

    async def rows(self, sql: str, parameters: Parameters = ()) -> Sequence[Record]:
        return await self._run(asyncpg.Connection.fetch, sql, parameters)

    async def change(self, sql: str, parameters: Parameters = ()) -> int:
        status = await self._run(asyncpg.Connection.execute, sql, parameters)
        return int(status.rpartition(" ")[2])

    async def change_each(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        text, _ = translated(sql)
        async with self._turn:
            await self._tried(lambda server: server.executemany(text, rows))

    async def _run(self, run: Callable[..., Awaitable[T]], sql: str, parameters: Parameters) -> T:
        text, names = translated(sql)
        values, self.replaced = ordered(parameters, names)
        async with self._turn:
            return await self._tried(lambda server: run(server, text, *values))

    async def _tried(self, do: Callable[[asyncpg.Connection[Any]], Awaitable[T]]) -> T:
        """What only reads, or begins, is tried again; a transaction is gone."""
        until: float | None = None  # From the first failure on, which may take longer than that
        while True:
            server = await self._connected(until or _now() + BACK_WITHIN_SECONDS)
            try:
                async with asyncio.timeout(STATEMENT_SECONDS):
                    return await do(server)
            except Exception as error:
                failure = self._translated(error)
                lost = isinstance(failure, ConnectionLost)
                if self._transaction or not lost or (until and _now() >= until):
                    raise failure from error
                until = until or _now() + BACK_WITHIN_SECONDS

    async def begin(self) -> None:
        """:raises Deposed:"""
        async with self._turn:
            if not self._leads:
                raise Deposed(self.called)
            try:
                self._transaction = await self._tried(self._begun)
            except StoreError:
                self._drop()  # it may have begun
                raise

    async def _begun(self, server: asyncpg.Connection[Any]) -> int:
        token = secrets.randbits(62)
        where = f" WHERE {held(self._fence)}" if self._fence else ""
        status = await server.execute(f"BEGIN; UPDATE written SET token = {token}{where}")  # noqa: S608
        if status == "UPDATE 1":
            return token
        self._leads = False
        self._deposed()
        raise Deposed(self.called)

    async def commit(self) -> None:
        async with self._turn:
            transaction, self._transaction = self._transaction, None
            try:
                assert self._server is not None
                async with asyncio.timeout(STATEMENT_SECONDS):
                    status = await self._server.execute("COMMIT")
            except Exception as error:
                failure = self._translated(error)
                if not isinstance(failure, ConnectionLost) or not await self._ended(transaction):
                    raise failure from error
            else:
                if status != "COMMIT":
                    raise StoreError(f"{self.called}: the server rolled back what failed before")

    async def _ended(self, transaction: int | None) -> bool:
        """Whether this transaction was committed, of which the server did not say so any more. Asks
        until it knows: until then nobody may be told anything. A hub that is deposed meanwhile
        closes the connection, and its agents ask again."""
        while True:
            self.check_open()
            try:
                server = await self._connected(math.inf)
                async with asyncio.timeout(STATEMENT_SECONDS):
                    return bool(await server.fetchval(_WRITTEN) == transaction)
            except Exception as error:  # noqa: BLE001 - whatever it is, it says nothing of that
                log.warning("%s", self._translated(error))
                self._drop()
                await asyncio.sleep(RETRY_SECONDS)

    async def roll_back(self) -> None:
        async with self._turn:
            transaction, self._transaction = self._transaction, None
            if transaction and self._server is not None and not self._server.is_closed():
                try:
                    async with asyncio.timeout(STATEMENT_SECONDS):
                        await self._server.execute("ROLLBACK")
                except Exception as error:
                    raise self._translated(error) from error

    async def _connected(self, until: float) -> asyncpg.Connection[Any]:
        """The connection, or another one. :raises ConnectionLost: none can be had `until` then."""
        while True:
            if self._closed:
                self._drop()
            self.check_open()
            if self._server is not None and not self._server.is_closed():
                if await self._is_there(self._server):
                    self._used = _now()
                    return self._server
                self._drop()
                continue
            if self._transaction:
                raise ConnectionLost(f"{self.called}: the connection was lost")
            try:
                self._server = await self._connect()
            except ConnectionLost as lost:
                if _now() >= until:
                    raise
                log.debug("%s", lost)
                await asyncio.sleep(RETRY_SECONDS)

    async def _is_there(self, server: asyncpg.Connection[Any]) -> bool:
        if _now() < self._used + QUIET_SECONDS:
            return True
        try:
            async with asyncio.timeout(STILL_THERE_SECONDS):
                await server.execute("SELECT 1")
        except FAILURES:
            log.info("%s: a connection that was quiet has gone", self.called)
            return False
        return True

    async def _connect(self) -> asyncpg.Connection[Any]:
        session = {} if self._fence is None else {"session": self._fence.session}
        server = await connect(self._address, **session)
        self._used = _now()
        return server

    def _translated(self, error: BaseException) -> StoreError:
        failure = translated_error(error, self.called)
        if isinstance(failure, ConnectionLost) and self._server is not None:
            log.warning("%s", failure)
            self._drop()
        return failure

    def _drop(self) -> None:
        if self._server is not None:
            self._server.terminate()
            self._server = None

    def check_open(self) -> None:
        if self._closed:
            raise StoreError(f"{self.called} has been closed: the hub is stopping")

    def check_lasts(self) -> None:
        """There is no file that somebody could take away."""

    async def close(self) -> None:
        """At once: what is under way fails."""
        self._closed = True
        self._drop()


async def connect(address: Address, *, session: str = "chatbridge") -> asyncpg.Connection[Any]:
    """A connection that can write, to the first of the hosts where one can be had, called `session`
    in the server's lists. :raises StoreError: with what to do. :raises ConnectionLost: there is
    none at present."""
    hosts = address.hosts
    for host in hosts:
        try:
            return await _connect(address, host, session, CONNECT_SECONDS / len(hosts))
        except ConnectionLost:
            if host == hosts[-1]:
                raise
    raise AssertionError  # there is one at least


async def _connect(
    address: Address, host: str, session: str, seconds: float
) -> asyncpg.Connection[Any]:
    connection: asyncpg.Connection[Any] | None = None
    try:
        async with asyncio.timeout(seconds):
            connection = await asyncpg.connect(
                host, password=address.password, server_settings={"application_name": session}
            )
            about = await connection.fetchrow(_ABOUT)
            assert about is not None
            if about["pid"] != connection.get_server_pid():
                raise _Pooled(address)
            check_fit(about, address.called, host)
            await connection.execute(_SESSION)
            return connection
    except BaseException as error:
        if connection is not None:
            connection.terminate()
        if not isinstance(error, Exception):
            raise
        if connection is not None and getattr(error, "sqlstate", None) in _BEHIND_POOLER:
            error = _Pooled(address)
        cause = _why_refused(error, address, host) if connection is None else None
        raise translated_error(error, address.called, cause) from None  # it may quote the address


def _why_refused(error: Exception, address: Address, host: str) -> str | None:
    """What is to be corrected where there has been no connection yet."""
    code, where = getattr(error, "sqlstate", None) or "", address.given_in
    if code.startswith("28") and "pg_hba" in str(error):
        return (
            "the server does not let this computer in. Add it to pg_hba.conf there, and reload it"
        )
    if code.startswith("28"):
        return (
            f"the server refused the log-in. Check user and password in {where}, or store_password"
        )
    if code.startswith("3D"):
        return f"there is no database of this name. Create it there: {createdb(host)}"
    if isinstance(error, ssl.SSLCertVerificationError):
        return (
            "nothing proves that the server is the right one. Check its certificate, and host and "
            f"sslrootcert in {where}"
        )
    if isinstance(error, TimeoutError):
        return None
    if isinstance(error, OSError):
        if NO_TLS in str(error):
            return f"the server has no TLS. Switch ssl on there, or take sslmode out of {where}"
        if path := unreadable_authority(host):
            return f"the file of sslrootcert cannot be read: {one_line(path)}"
        return f"the server cannot be reached. Check that it runs, and the address in {where}"
    if isinstance(error, ValueError | OverflowError):
        part = wrong_part(host)
        return f"the address in {where} cannot be read{f': {part}' if part else ''}"
    return None


class _Pooled(StoreError):
    def __init__(self, address: Address) -> None:
        super().__init__(
            f"{address.called} is behind a connection pooler, which hands one connection to "
            "several programs, and ends transactions that it does not know. Name the server itself "
            f"in {address.given_in}"
        )


def check_fit(about: Record, called: str, host: str) -> None:
    """:raises StoreError: what has to be done before this server can be used."""
    if about["version"] < OLDEST:
        raise StoreError(
            f"{called}: PostgreSQL {about['version']} is too old. Use version {OLDEST} or newer"
        )
    if about["encoding"] != "UTF8":
        raise StoreError(
            f"{called}: its encoding is {about['encoding']}, and not UTF8. Drop it if it is "
            f"empty, and create it anew: {createdb(host)}"
        )
    if about["read_only"]:
        raise ConnectionLost(f"{called}: {_CAUSES['25006']}")


@contextmanager
def errors_translated(called: str) -> Iterator[None]:
    """:raises StoreError: a statement has failed."""
    try:
        yield
    except FAILURES as error:
        raise translated_error(error, called) from error


def translated_error(error: BaseException, called: str, cause: str | None = None) -> StoreError:
    """asyncpg's error as ours, without its detail, which may have values of rows. `cause`: if more
    is known than the error says."""
    if isinstance(error, StoreError):
        return error
    code = getattr(error, "sqlstate", None) or ""
    cause = cause or next((each for begin, each in _CAUSES.items() if code.startswith(begin)), None)
    said = f" ({_one_line(error)})"
    if isinstance(error, TimeoutError):
        cause, said = "the server does not answer", ""
    elif isinstance(error, asyncpg.TargetServerAttributeNotMatched):
        cause, said = _CAUSES["25006"], ""
    elif isinstance(error, ValueError) and not isinstance(error, OSError):
        cause, said = cause or "it cannot take a value", ""  # which it may quote
    if isinstance(error, _LOST) and not isinstance(error, ValueError):
        return ConnectionLost(_told(called, cause or _CAUSES["08"], said))
    return StoreError(_told(called, cause or "the server refused a statement", said))


def _told(called: str, cause: str, said: str) -> str:
    """What the server or the system said comes before what to do."""
    advice = re.search(r"[.;] |$", cause)
    assert advice is not None
    return f"{called}: {cause[: advice.start()]}{said}{cause[advice.start() :]}"


def _one_line(error: BaseException) -> str:
    return one_line(str(error).partition("\n")[0] or type(error).__name__)


def _now() -> float:
    return asyncio.get_running_loop().time()
