"""A real PostgreSQL server on this machine, until the process that started it ends.

`running` starts one; `Postgres.database` makes a database of this version's schema, which takes
some hundredths of a second.
"""

from __future__ import annotations

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

from chatbridge.store.fence import Fence
from chatbridge.store.postgres import migrate
from chatbridge.store.postgres.connection import Address

USER = "nobody"
START_SECONDS = 30.0
FENCE = Fence("test", 1)
LEADS = "UPDATE leader SET holder = 'test', epoch = 1, beat = 0"
END_SESSIONS = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
CLEAR = """
    DO $$ DECLARE name text; BEGIN
        FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public'
            AND tablename NOT IN ('chatbridge', 'leader') LOOP
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
        address = self.address(name)
        if not empty:
            await migrate.upgrade(address)
            await self.sql(LEADS, name)
        try:
            yield address
        finally:
            await self.sql(END_SESSIONS.format(name=name))
            if not empty:  # to make one takes longer than most tests
                await self.sql(CLEAR, name)
                self._free.append(name)

    def start(self) -> None:
        """:raises AssertionError: it does not come up; with its log."""
        log = self.folder / "log"
        with log.open("ab") as out:
            self.process = subprocess.Popen(
                [
                    *_as_another_user(die_with_us=True),
                    self.programs / "postgres",
                    *("-D", self.folder / "data", "-p", str(self.port), "-h", "127.0.0.1"),
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

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT is orderly, and ends the connections; SIGQUIT is a crash."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(START_SECONDS)
            self.process = None


def _as_another_user(*, die_with_us: bool = False) -> Sequence[str]:
    dying = ("--pdeathsig", "QUIT") if die_with_us else ()
    if os.getuid() == 0:
        return ("setpriv", "--reuid", USER, "--regid", "nogroup", "--clear-groups", *dying)
    return ("setpriv", *dying) if dying else ()


@contextmanager
def running(programs: Path, *, durable: bool = False) -> Iterator[Postgres]:
    """A server with an empty database. Its files are away from pytest's, which are root's alone.
    `durable`: what it commits is synced to the disk, as it is by default."""
    folder = Path(tempfile.mkdtemp(prefix="chatbridge-postgres-"))
    try:
        if os.getuid() == 0:
            shutil.chown(folder, USER, "nogroup")
        # As it is without a disk: a test's server is not there after a power cut.
        subprocess.run(
            [
                *_as_another_user(),
                str(programs / "initdb"),
                *("-D", str(folder / "data"), "-U", USER, "-A", "trust", "-E", "UTF8"),
                *("--locale", "C.UTF-8", "--no-sync", "--no-instructions"),
            ],
            check=True,
            capture_output=True,
            cwd="/",
        )
        server = Postgres(programs, folder, _free_port(), durable=durable)
        server.start()
        try:
            yield server
        finally:
            server.stop(signal.SIGQUIT)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])
