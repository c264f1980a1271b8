"""The database on a PostgreSQL server: whether a hub can work with it, how far away it is, and who
leads. Only reads; the commits that it times change nothing.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from chatbridge.channels.checks import Finding, HubState, fine, from_error, problem, remark
from chatbridge.cli.database import DatabaseServer
from chatbridge.cli.ui.wording import counted, first_of, lasted
from chatbridge.core.errors import ChatbridgeError, NewerDatabase
from chatbridge.core.ports import Clock

if TYPE_CHECKING:
    import asyncpg

    from chatbridge.store.postgres.connection import Address

NAME = "database"
TIMES = 5
LOOK_SECONDS = 4.0
ROWS_AT_ONCE = 200
FAR_SECONDS, SLOW_SECONDS = 0.010, 0.050
"""A question takes about ten statements and three commits."""
SKEW_SECONDS = 2.0
FEW_CONNECTIONS = 5
"""A hub has four, and `doctor` and other commands one each."""
VERIFIED = "?sslmode=verify-full&sslrootcert=/path/to/its/ca.pem"
LEADS_SECONDS = 1.5
"""Who leads says so each second."""

ABOUT = """
    SELECT current_setting('server_version') AS version,
    (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) AS superuser,
    coalesce(has_schema_privilege(current_schema(), 'CREATE'), false) AS may_create,
    coalesce((SELECT bool_and(has_table_privilege(c.oid, 'SELECT')
        AND has_table_privilege(c.oid, 'INSERT') AND has_table_privilege(c.oid, 'UPDATE')
        AND has_table_privilege(c.oid, 'DELETE')) FROM pg_class c
        WHERE c.relkind = 'r' AND c.relnamespace = to_regnamespace(quote_ident(current_schema()))
    ), true) AS may_write,
    current_setting('max_connections')::int
        - current_setting('superuser_reserved_connections')::int
        - (SELECT sum(numbackends) FROM pg_stat_database)::int AS connections_left,
    coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false) AS encrypted,
    coalesce(inet_client_addr() = inet_server_addr(), true) AS same_computer,
    current_setting('fsync') = 'on' AND current_setting('full_page_writes') = 'on' AS safe
"""
CLOCK = "SELECT extract(epoch FROM clock_timestamp())::double precision"
COMMIT = "SELECT pg_logical_emit_message(true, 'chatbridge', 'doctor')"
"""It is in the server's log alone, which has to be on the disk for the commit."""
LEADER = "SELECT holder, beat, name FROM leader"

Hub = Callable[[], Awaitable[HubState]]
"""What the hub of this computer says, once one leads or none has for a while."""


async def server(database: DatabaseServer, clock: Clock, *, hub: Hub) -> Sequence[Finding]:
    try:
        address = database.address
        from chatbridge.store.postgres.connection import connect, errors_translated

        connection = await connect(address)
        try:
            with errors_translated(address.called):
                return await _looked_at(connection, address, clock, hub)
        finally:
            connection.terminate()
    except ChatbridgeError as error:
        return [from_error(NAME, str(error))]


async def _looked_at(
    server: asyncpg.Connection[Any], address: Address, clock: Clock, hub: Hub
) -> list[Finding]:
    from chatbridge.store.postgres import migrate

    schema, known = await migrate.version_of(server), migrate.newest()
    if schema > known:
        newer = NewerDatabase(path=address.name, found=schema, known=known)
        return [from_error(NAME, str(newer))]
    about = await server.fetchrow(ABOUT)
    assert about is not None
    leader = await server.fetchrow(LEADER) if schema else None
    seen = time.monotonic()
    there = await _median(lambda: server.execute("SELECT 1"))
    commit = await _median(lambda: server.execute(COMMIT))
    skew = await _skew(server, clock)
    details = {
        "server": address.name,
        "postgresql": about["version"],
        "schema": schema,
        "roundTripSeconds": there,
        "commitSeconds": commit,
        "clockAheadSeconds": skew,
        "connectionsLeft": about["connections_left"],
        "encrypted": about["encrypted"],
    }
    if not about["may_write"] or (schema < known and not about["may_create"]):
        what = f"{address.name}: this user may not write there, or make tables"
        return [problem(NAME, what, _owner(address), **details)]
    found = [*_remarks(about, address, there=there, commit=commit, skew=skew)]
    if schema == known and (unreadable := await _unreadable(server)):
        return [cannot_read(unreadable, **details), *found]
    said = [await _content(server, schema, known)]
    said.append(f"PostgreSQL {about['version'].split()[0]}")
    said.append(f"{_ms(there)} there and back, {_ms(commit)} for a commit")
    if leader is not None:
        name = await _who_leads(server, leader, seen)
        if name is None and (await hub()).status is not None:
            name = await _who_leads(server, await server.fetchrow(LEADER), time.monotonic())
        details["leader"] = name
        said.append(f"{name} leads" if name else "no hub leads")
    return [fine(NAME, f"{address.name}: {'; '.join(said)}", **details), *found]


def _remarks(
    about: asyncpg.Record, address: Address, *, there: float, commit: float, skew: float
) -> Iterator[Finding]:
    if about["superuser"]:
        what = "chatbridge is a superuser of the server, and needs to be none"
        yield remark(NAME, what, f"give it a user of its own; {_owner(address)}")
    if not about["safe"]:
        what = "the server may lose what it has committed in a power cut"
        yield remark(NAME, what, "set fsync and full_page_writes to on in postgresql.conf")
    if there > FAR_SECONDS or commit > SLOW_SECONDS:
        what = f"far away: {_ms(there)} there and back, {_ms(commit)} for a commit"
        yield remark(NAME, what, "run the hubs near the server, or give it a faster disk")
    if abs(skew) > SKEW_SECONDS:
        ahead = "ahead of" if skew > 0 else "behind"
        what = f"the server's clock is {lasted(abs(skew))} {ahead} this computer's"
        yield remark(NAME, what, "timedatectl set-ntp true, on both")
    if about["connections_left"] < FEW_CONNECTIONS:
        what = f"the server has {counted(about['connections_left'], 'connection')} left"
        yield remark(NAME, what, "raise max_connections in postgresql.conf, or close some")
    if not about["same_computer"]:
        mode = parse_qs(urlsplit(address.dsn).query).get("sslmode", [""])[-1]
        if not about["encrypted"]:
            what = "questions and answers go to the server without encryption"
            yield remark(NAME, what, f"set up TLS there, and add {VERIFIED} to store")
        elif not mode.startswith("verify-"):
            what = "nobody checks that the server is the right one"
            yield remark(NAME, what, f"add {VERIFIED} to store")


def cannot_read(names: Sequence[str], **details: Any) -> Finding:
    what = f"this version cannot read {first_of(names)}"
    fix = "reinstall the version that wrote it; everything else works"
    return problem(NAME, what, fix, unreadable=names, **details)


async def _median(work: Callable[[], Awaitable[object]]) -> float:
    taken = []
    for _ in range(TIMES):
        began = time.perf_counter()
        await work()
        taken.append(time.perf_counter() - began)
    return median(taken)


async def _skew(server: asyncpg.Connection[Any], clock: Clock) -> float:
    """By how much the server's clock is ahead; 0 if the way there and back explains it."""
    before = clock.time()
    theirs = float(await server.fetchval(CLOCK))
    after = clock.time()
    return theirs - after if theirs > after else min(theirs - before, 0.0)


async def _content(server: asyncpg.Connection[Any], schema: int, known: int) -> str:
    if not schema:
        return "empty: the first hub makes its tables"
    said = counted(await server.fetchval("SELECT count(*) FROM asks"), "question")
    return said if schema == known else f"{said}, brought up to date by the next hub"


async def _unreadable(server: asyncpg.Connection[Any]) -> list[str]:
    """As far as there is time."""
    from chatbridge.store.rows import STORED, unreadable

    until, found = time.monotonic() + LOOK_SECONDS, list[str]()
    async with server.transaction(readonly=True):
        for kind, sql in STORED:
            cursor = await server.cursor(sql)
            while time.monotonic() < until and (rows := await cursor.fetch(ROWS_AT_ONCE)):
                found += unreadable(kind, rows)
    return found


async def _who_leads(
    server: asyncpg.Connection[Any], first: asyncpg.Record, seen: float
) -> str | None:
    """Its name. One that has ended without a word is still named there, but says nothing."""
    row = first
    while row["holder"] and row["beat"] == first["beat"]:
        if time.monotonic() > seen + LEADS_SECONDS:
            return None
        await asyncio.sleep(0.1)
        row = await server.fetchrow(LEADER)
    return (row["name"] or "a hub") if row["holder"] else None


def _owner(address: Address) -> str:
    name = urlsplit(address.dsn).path.lstrip("/") or "chatbridge"
    return f"as the server's owner: ALTER DATABASE {name} OWNER TO …"


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"
