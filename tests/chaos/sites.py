"""The two ways to run chatbridge: one hub with SQLite on a small disk, or three hubs on three
computers with one PostgreSQL server.

Owns what differs between the two, beside the faults: the computers, their settings for the
database, how that is read at the end, and who leads.
"""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, closing
from pathlib import Path
from typing import Any

import asyncpg

from tests.chaos.computers import Computer
from tests.chaos.log import Log
from tests.chaos.moved_clock import MovedClock, NoClock
from tests.chaos.services import Service
from tests.chaos.small_disk import SmallDisk
from tests.chaos.take_overs import TakeOvers
from tests.conftest import found
from tests.fakes.cluster import Hole
from tests.fakes.network import free_port
from tests.fakes.postgres import USER, Postgres, running

Rows = Sequence[Mapping[str, Any]]

FILL_DISK, MOVE_CLOCK = "fill the disk", "move the clock"
NO_DISK = "a small disk cannot be mounted here (it needs root)"
DATABASE_ELSEWHERE = "the database is on a disk of its own"
HUBS = 3
DATABASE = "chaos"


class NotReadable(Exception):
    """The database cannot be read now."""


class OneHub:
    hubs = 1
    paths = True
    """Whether files go between agents and the hub by their paths."""

    def __init__(self, folder: Path) -> None:
        self.left_out: dict[str, str] = {}
        self.services: dict[str, Service] = {}
        self.disk = SmallDisk(folder / "disk")
        if not self.disk.mounted:
            self.left_out[FILL_DISK] = NO_DISK
        self.computers = [Computer("hub", folder, folder / "disk" / "s", home=folder)]
        _give_clocks(self)

    async def begin(self, stack: AsyncExitStack, log: Log) -> None:
        pass

    def settings(self, computer: Computer) -> dict[str, dict[str, object]]:
        """Tables of its configuration; those without a name first."""
        return {}

    def project(self, agent: str) -> str:
        """What people call the project of this agent."""
        return agent

    def computer_of(self, agent: str) -> Computer:
        return self.computers[0]

    def leader(self) -> Computer | None:
        return self.computers[0]

    def expect_take_over(self, fault: str) -> None:
        pass

    def database_is_back(self, fault: str) -> None:
        pass

    async def settle(self) -> None:
        self.disk.free()

    def rows(self, *statements: str) -> list[Rows]:
        """:raises NotReadable:"""
        file = self.computers[0].state / "chatbridge.db"
        try:
            with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=5.0)) as store:
                store.row_factory = sqlite3.Row
                return [store.execute(statement).fetchall() for statement in statements]
        except sqlite3.Error as error:
            raise NotReadable(str(error)) from error

    def keep(self, folder: Path) -> None:
        """What was stored, for whoever looks into a failure."""
        for computer in self.computers:
            computer.tidy(folder)

    def close(self) -> None:
        self.disk.close()


class SeveralHubs:
    hubs = HUBS
    paths = False

    def __init__(self, folder: Path) -> None:
        self.left_out = {FILL_DISK: DATABASE_ELSEWHERE}
        self.services: dict[str, Service] = {}
        self.computers: list[Computer] = []
        self._folder = folder
        self._listen = [free_port() for _ in range(HUBS)]

    async def begin(self, stack: AsyncExitStack, log: Log) -> None:
        programs = found("postgres")
        assert programs, "there is no PostgreSQL on this machine"
        self._server: Postgres = stack.enter_context(running(Path(programs)))
        await self._server.sql(f"CREATE DATABASE {DATABASE}")
        service = Service("postgresql", start=self._server.start, kill=self._kill)
        service.up = True
        self.services["postgresql"] = service
        for number in range(HUBS):
            name = f"hub-{number}"
            folder = self._folder / name
            hole = Hole(self._server.port)
            self.computers.append(
                Computer(name, folder, folder / "s", home=self._folder, hole=hole)
            )
        _give_clocks(self)
        dsn = self._server.address(DATABASE).dsn
        self.take_overs = TakeOvers(self.computers, dsn, log)
        await stack.enter_async_context(self.take_overs.watching())

    def _kill(self, how: signal.Signals = signal.SIGQUIT) -> None:
        self._server.stop(how)

    def settings(self, computer: Computer) -> dict[str, dict[str, object]]:
        assert computer.hole is not None
        store = f"postgresql://{USER}@127.0.0.1:{computer.hole.port}/{DATABASE}"
        listen = f"127.0.0.1:{self._listen[self.computers.index(computer)]}"
        return {"": {"store": store}, "cluster": {"listen": listen, "name": computer.name}}

    def project(self, agent: str) -> str:
        return f"{self.computer_of(agent).name}/{agent}"

    def computer_of(self, agent: str) -> Computer:
        return self.computers[int(agent.rpartition("-")[2]) % HUBS]

    def leader(self) -> Computer | None:
        return self.take_overs.leader()

    def expect_take_over(self, fault: str) -> None:
        self.take_overs.expect(fault)

    def database_is_back(self, fault: str) -> None:
        self.take_overs.database_is_back(fault)

    async def settle(self) -> None:
        pass

    def rows(self, *statements: str) -> list[Rows]:
        return asyncio.run(self._rows(statements))

    async def _rows(self, statements: Sequence[str]) -> list[Rows]:
        try:
            connection = await self._server.connect(DATABASE)
            try:
                return [await connection.fetch(statement) for statement in statements]
            finally:
                await connection.close()
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
            raise NotReadable(str(error)) from error

    def keep(self, folder: Path) -> None:
        for computer in self.computers:
            computer.tidy(folder / computer.name)
        if not self.computers:
            return
        server = ("-h", "127.0.0.1", "-p", str(self._server.port), "-U", USER)
        with (folder / "database.sql").open("wb") as dump:
            program = self._server.programs / "pg_dump"
            subprocess.run([program, *server, DATABASE], stdout=dump, cwd="/")

    def close(self) -> None:
        pass


Site = OneHub | SeveralHubs
SITES: dict[str, type[OneHub] | type[SeveralHubs]] = {"sqlite": OneHub, "postgresql": SeveralHubs}


def _give_clocks(site: Site) -> None:
    try:
        for computer in site.computers:
            computer.clock = MovedClock(computer.configuration.parent)
    except NoClock as why:
        site.left_out[MOVE_CLOCK] = str(why)
