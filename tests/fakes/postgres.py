"""A real PostgreSQL server on this machine, until the process that started it ends.

`running` starts one; `Postgres.database` makes a database of this version's schema, which takes
some hundredths of a second.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncpg

from chatbridge.store.audit import Trail
from chatbridge.store.fence import Fence
from chatbridge.store.postgres import migrate
from chatbridge.store.postgres.connection import Address
from chatbridge.store.postgres.store import PostgresStore
from chatbridge.store.sql_store import SqlStore
from tests.fakes.authority import Issued

USER = "nobody"
AWAY = "127.0.0.2"
"""Who connects there looks like another computer: the server sees two addresses."""
HOSTS = f"127.0.0.1,{AWAY}"
START_SECONDS = 30.0
FENCE = Fence("test", 1)
LEADS = "UPDATE leader SET holder = 'test', epoch = 1, beat = 0"
END_SESSIONS = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = '{name}' AND pid <> pg_backend_pid()
"""
CLEAR = """
    DO $$ DECLARE name text; BEGIN
        SET LOCAL session_replication_role = replica;  -- the audit trail keeps new lines else
        FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public'
            AND tablename NOT IN ('chatbridge', 'leader', 'written') LOOP
            EXECUTE format('DELETE FROM %I', name);
        END LOOP;
    END $$
"""


@dataclass
class Postgres:
    programs: Path
    folder: Path
    port: int
    durable: bool = False
    process: subprocess.Popen[bytes] | None = None
    _made: int = 0
    _free: list[str] = field(default_factory=list)

    def address(self, database: str, *, user: str = USER, port: int | None = None) -> Address:
        return Address(f"postgresql://{user}@127.0.0.1:{port or self.port}/{database}")

    async def connect(self, database: str = "postgres") -> asyncpg.Connection[Any]:
        return await asyncpg.connect(self.address(database).dsn)

    async def sql(self, statement: str, database: str = "postgres") -> None:
        connection = await self.connect(database)
        try:
            await connection.execute(statement)
        finally:
            await connection.close()

    @asynccontextmanager
    async def database(self, *, empty: bool = False) -> AsyncIterator[Address]:
        """A database of its own, with this version's schema unless it is to be `empty`. The hub of
        `FENCE` leads there."""
        if self._free and not empty:
            name = self._free.pop()
        else:
            self._made += 1
            name = f"test_{self._made}"
            await self.sql(f"CREATE DATABASE {name}")
            if not empty:
                await migrate.upgrade(self.address(name))
                await self.sql(LEADS, name)
        address = self.address(name)
        try:
            yield address
        finally:
            if not empty:  # to make one takes longer than most tests
                await self.clear(address)
                self._free.append(name)
            else:
                await self.sql(END_SESSIONS.format(name=name))

    async def clear(self, address: Address) -> None:
        """End its sessions, and forget what hubs have written there. One connection does it all: to
        make another takes longer than most of these tests."""
        name = address.name.split()[0]
        await self.sql(f"{END_SESSIONS.format(name=name)}; {CLEAR}; {LEADS}", name)

    def start(self) -> None:
        """:raises AssertionError: it does not come up; with its log."""
        log = self.folder / "log"
        with log.open("ab") as out:
            self.process = subprocess.Popen(
                [
                    *_as_another_user(die_with_us=True),
                    self.programs / "postgres",
                    *("-D", self.folder / "data", "-p", str(self.port), "-h", HOSTS),
                    *("-k", "", "-c", "max_connections=200"),
                    *(() if self.durable else ("-c", "full_page_writes=off", "-F")),
                ],
                stdout=out,
                stderr=out,
                cwd="/",
            )
        until = time.monotonic() + START_SECONDS
        ready = [str(self.programs / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        while subprocess.run(ready, check=False).returncode:
            said = (self.folder / "log").read_text(errors="replace")
            assert self.process.poll() is None, said
            assert time.monotonic() < until, said

    @asynccontextmanager
    async def encrypted(self, issued: Issued) -> AsyncIterator[None]:
        """For connections that begin meanwhile and want that."""
        for name, file in (("server.crt", issued.file), ("server.key", issued.key)):
            there = self.folder / "data" / name
            shutil.copy(file, there)
            if os.getuid() == 0:
                shutil.chown(there, USER, "nogroup")
        await self._set("ssl", "on")
        try:
            yield
        finally:
            await self._set("ssl", "off")

    async def _set(self, name: str, value: str) -> None:
        await self.sql(f"ALTER SYSTEM SET {name} = {value}")
        await self.reload()

    async def reload(self) -> None:
        """Its configuration and its rules, for the connections that begin from now on."""
        loaded = "SELECT pg_conf_load_time()"
        before = await self._value(loaded)
        await self.sql("SELECT pg_reload_conf()")
        async with asyncio.timeout(START_SECONDS):
            while await self._value(loaded) == before:  # noqa: ASYNC110 - it tells nobody
                await asyncio.sleep(0.01)

    async def _value(self, sql: str) -> object:
        connection = await self.connect()
        try:
            return await connection.fetchval(sql)
        finally:
            await connection.close()

    @contextmanager
    def standby(self) -> Iterator[Postgres]:
        """A server that follows this one, and can be promoted: this one commits nothing without
        it."""
        with _folder() as folder:
            _run(
                self.programs / "pg_basebackup",
                *("-D", folder / "data", "-h", "127.0.0.1", "-p", str(self.port), "-U", USER),
                *("--write-recovery-conf", "--checkpoint=fast", "--no-sync"),
            )
            server = Postgres(self.programs, folder, _free_port())
            server.start()
            _run(
                self.programs / "psql",
                *("-h", "127.0.0.1", "-p", str(self.port), "-U", USER, "-d", "postgres"),
                *("-c", "ALTER SYSTEM SET synchronous_standby_names = '*'"),
                *("-c", "SELECT pg_reload_conf()"),
            )
            try:
                yield server
            finally:
                server.stop(signal.SIGQUIT)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT is orderly, and ends the connections; SIGQUIT is a crash."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(START_SECONDS)
            self.process = None


@dataclass(frozen=True, slots=True)
class PostgresDatabase:
    """Implements `tests.fakes.databases.Database`. The hub of `FENCE` leads there."""

    server: Postgres
    address: Address

    async def open(self, *, trail: Trail | None = None) -> SqlStore:
        return await PostgresStore.open(self.address, fence=FENCE, trail=trail)

    async def rows(self, sql: str) -> list[Any]:
        connection = await asyncpg.connect(self.address.dsn)
        try:
            return [*await connection.fetch(sql)]
        finally:
            await connection.close()

    async def add_trigger(self, name: str, event: str, *, do: str, when: str = "1 = 1") -> None:
        await self.rows(
            f"CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql "
            f"AS $$ BEGIN {do}; RETURN new; END $$"
        )
        await self.rows(
            f"CREATE TRIGGER {name} {event} FOR EACH ROW WHEN ({when}) EXECUTE FUNCTION {name}()"
        )

    async def add_refusal(self, name: str, event: str, *, when: str = "1 = 1") -> None:
        await self.add_trigger(name, event, do="RAISE EXCEPTION 'no more'", when=when)

    async def drop_trigger(self, name: str, table: str) -> None:
        await self.rows(f"DROP TRIGGER {name} ON {table}")

    async def clear(self) -> None:
        await self.server.clear(self.address)


def _as_another_user(*, die_with_us: bool = False) -> Sequence[str]:
    dying = ("--pdeathsig", "QUIT") if die_with_us else ()
    if os.getuid() == 0:
        return ("setpriv", "--reuid", USER, "--regid", "nogroup", "--clear-groups", *dying)
    return ("setpriv", *dying) if dying else ()


async def value(address: Address, sql: str) -> Any:
    connection = await asyncpg.connect(address.dsn)
    try:
        return await connection.fetchval(sql)
    finally:
        await connection.close()


@contextmanager
def running(programs: Path, *, durable: bool = False) -> Iterator[Postgres]:
    """A server with an empty database. `durable`: what it commits is synced to the disk, as it is
    by default."""
    with _folder() as folder:
        # As it is without a disk: a test's server is not there after a power cut.
        _run(
            programs / "initdb",
            *("-D", folder / "data", "-U", USER, "-A", "trust", "-E", "UTF8"),
            *("--locale", "C.UTF-8", "--no-sync", "--no-instructions"),
        )
        server = Postgres(programs, folder, _free_port(), durable=durable)
        server.start()
        try:
            yield server
        finally:
            server.stop(signal.SIGQUIT)


@asynccontextmanager
async def stranger(server: Postgres, password: str) -> AsyncIterator[str]:
    """A user who has to log in and owns nothing."""
    await server.sql(f"CREATE ROLE stranger LOGIN PASSWORD '{password}'")
    try:
        async with rule(server, "host all stranger 127.0.0.1/32 scram-sha-256"):
            yield "stranger"
    finally:
        await server.sql("DROP ROLE stranger")


@asynccontextmanager
async def rule(server: Postgres, line: str) -> AsyncIterator[None]:
    """Of pg_hba.conf, before its others."""
    rules = server.folder / "data" / "pg_hba.conf"
    before = rules.read_text()
    rules.write_text(f"{line}\n{before}")
    try:
        await server.reload()
        yield
    finally:
        rules.write_text(before)
        await server.reload()


@contextmanager
def pooler(program: Path, server: Postgres, *, mode: str) -> Iterator[int]:
    """A pgbouncer before the server: its port."""
    port = _free_port()
    with _folder() as folder:
        configuration = folder / "pgbouncer.ini"
        configuration.write_text(
            f"[databases]\n* = host=127.0.0.1 port={server.port} user={USER}\n[pgbouncer]\n"
            f"listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
            f"auth_type = any\nauth_file =\npool_mode = {mode}\n"
        )
        command = [*_as_another_user(die_with_us=True), str(program), "-q", str(configuration)]
        with subprocess.Popen(command, cwd="/", stderr=subprocess.DEVNULL) as process:
            try:
                _until_it_listens(port, process)
                yield port
            finally:
                process.kill()


def _until_it_listens(port: int, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + START_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.01)
        else:
            return


@contextmanager
def _folder() -> Iterator[Path]:
    """Away from pytest's, which are root's alone."""
    folder = Path(tempfile.mkdtemp(prefix="chatbridge-postgres-"))
    try:
        if os.getuid() == 0:
            shutil.chown(folder, USER, "nogroup")
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(*command: str | Path) -> None:
    subprocess.run([*_as_another_user(), *command], check=True, capture_output=True, cwd="/")


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])
