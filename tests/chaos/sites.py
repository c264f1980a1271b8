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

from tests.chaos.computers import Computer
from tests.chaos.log import Log
from tests.chaos.moved_clock import MovedClock, NoClock
from tests.chaos.schedule import FOR_SEVERAL, WEIGHTS
from tests.chaos.services import Service
from tests.chaos.small_disk import SmallDisk
from tests.chaos.take_overs import FAILURES, TakeOvers
from tests.conftest import found
from tests.fakes.cluster import Hole
from tests.fakes.network import free_port
from tests.fakes.postgres import USER, Postgres, running

Rows = Sequence[Mapping[str, Any]]

FILL_DISK, MOVE_CLOCK = "fill the disk", "move the clock"
NO_DISK = "a small disk cannot be mounted here (it needs root)"
HUBS = 3
DATABASE = "chaos"


class NotReadable(Exception):
    """The database cannot be read now."""


class Site:
    weights = WEIGHTS
    """Of the faults."""
    paths = True
    """Whether files go between agents and the hub by their paths."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.left_out: dict[str, str] = {}
        self.services: dict[str, Service] = {}
        self.computers: list[Computer] = []

    async def begin(self, stack: AsyncExitStack, log: Log) -> None:
        """Everything is there but the hubs. What belongs to it ends with the stack."""
        try:
            for computer in self.computers:
                computer.clock = MovedClock(computer.configuration.parent)
        except NoClock as why:
            self.left_out[MOVE_CLOCK] = str(why)

    def settings(self, computer: Computer) -> dict[str, dict[str, object]]:
        """Tables of its configuration; what stands before them has no name."""
        return {}

    def computer_of(self, agent: str) -> Computer:
        """Agents of one project are together."""
        return self.computers[int(agent.rpartition("-")[2]) % len(self.computers)]

    def project(self, agent: str) -> str:
        """What people call the project of this agent."""
        return agent

    def leader(self) -> Computer | None:
        return self.computers[0]

    def expect_take_over(self, fault: str) -> None:
        """A fault is about to strike the hub that leads."""

    def database_is_back(self, fault: str) -> None:
        """It was away by this fault."""

    def rows(self, *statements: str) -> list[Rows]:
        """What the database has. :raises NotReadable:"""
        raise NotImplementedError

    def keep(self, folder: Path) -> None:
        """What was stored, for whoever looks into a failure; and tidy up."""
        for computer in self.computers:
            computer.tidy(folder if len(self.computers) == 1 else folder / computer.name)


class OneHub(Site):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.disk = SmallDisk(folder / "disk")
        if not self.disk.mounted:
            self.left_out[FILL_DISK] = NO_DISK
        self.computers.append(Computer("hub", folder, folder / "disk" / "s", home=folder))

    def rows(self, *statements: str) -> list[Rows]:
        file = self.computers[0].state / "chatbridge.db"
        try:
            with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=5.0)) as store:
                store.row_factory = sqlite3.Row
                return [store.execute(statement).fetchall() for statement in statements]
        except sqlite3.Error as error:
            raise NotReadable(str(error)) from error

    def keep(self, folder: Path) -> None:
        super().keep(folder)
        self.disk.close()


class SeveralHubs(Site):
    weights = FOR_SEVERAL
    paths = False

    async def begin(self, stack: AsyncExitStack, log: Log) -> None:
        programs = found("postgres")
        assert programs, "there is no PostgreSQL on this machine"
        self._server: Postgres = stack.enter_context(running(Path(programs)))
        await self._server.sql(f"CREATE DATABASE {DATABASE}")
        service = Service("postgresql", start=self._server.start, kill=self._kill)
        service.up = True
        self.services["postgresql"] = service
        for name in (f"hub-{number}" for number in range(HUBS)):
            place, hole = self.folder / name, Hole(self._server.port)
            stack.callback(hole.close)
            self.computers.append(Computer(name, place, place / "s", home=self.folder, hole=hole))
        dsn = self._server.address(DATABASE).dsn
        self._take_overs = TakeOvers(self.computers, dsn, log)
        await stack.enter_async_context(self._take_overs.watching())
        await super().begin(stack, log)

    def _kill(self, how: signal.Signals = signal.SIGQUIT) -> None:
        self._server.stop(how)

    def settings(self, computer: Computer) -> dict[str, dict[str, object]]:
        assert computer.hole is not None
        store = f"postgresql://{USER}@127.0.0.1:{computer.hole.port}/{DATABASE}"
        listen = f"127.0.0.1:{free_port()}"
        return {"": {"store": store}, "cluster": {"listen": listen, "name": computer.name}}

    def project(self, agent: str) -> str:
        return f"{self.computer_of(agent).name}/{agent}"

    def leader(self) -> Computer | None:
        return self._take_overs.leader()

    def expect_take_over(self, fault: str) -> None:
        self._take_overs.expect(fault)

    def database_is_back(self, fault: str) -> None:
        self._take_overs.database_is_back(fault)

    def rows(self, *statements: str) -> list[Rows]:
        return asyncio.run(self._rows(statements))

    async def _rows(self, statements: Sequence[str]) -> list[Rows]:
        try:
            connection = await self._server.connect(DATABASE)
            try:
                return [await connection.fetch(statement) for statement in statements]
            finally:
                await connection.close()
        except FAILURES as error:
            raise NotReadable(str(error)) from error

    def keep(self, folder: Path) -> None:
        super().keep(folder)
        if not self.computers:
            return  # it has not begun
        program = self._server.programs / "pg_dump"
        server = ("-h", "127.0.0.1", "-p", str(self._server.port), "-U", USER)
        folder.mkdir(exist_ok=True)
        with (folder / "database.sql").open("wb") as dump:
            subprocess.run([program, *server, DATABASE], stdout=dump, cwd="/")


SITES: dict[str, type[Site]] = {"sqlite": OneHub, "postgresql": SeveralHubs}
