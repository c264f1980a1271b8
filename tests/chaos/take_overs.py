"""Which hub leads, as the database says it, and how long it takes until another one does.

Looks at the database past the hubs' own ways to it. A take-over has ended when the lock file of the
hub that the database names shows its inbox: it leads then, and not only holds the lease.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, NamedTuple

import asyncpg

from tests.chaos.computers import Computer
from tests.chaos.log import Log, TookOver

LOOK_EVERY = 0.03
ANSWERS_WITHIN = 1.0
GIVEN_UP_AFTER = 30.0
STAYS_AFTER = 4.0
"""So long after a fault was over the hub that it met leads still, or another one takes over."""
FAILURES = (
    OSError,
    TimeoutError,
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
)


class Lease(NamedTuple):
    epoch: int
    beat: int
    name: str
    """Of the hub that has it; empty: nobody."""


class TakeOvers:
    def __init__(self, computers: Sequence[Computer], dsn: str, log: Log) -> None:
        self.lease = Lease(0, 0, "")
        self.reachable = False
        self._computers = computers
        self._dsn, self._log = dsn, log
        self._expected = 0
        self._tasks: list[asyncio.Task[None]] = []

    def leader(self) -> Computer | None:
        """The computer whose hub has the lease, and serves."""
        named = (it for it in self._computers if it.name == self.lease.name)
        return next((it for it in named if (holder := it.holder) and holder.web), None)

    def expect(self, fault: str) -> None:
        """A fault is about to strike the hub that leads: note when another one does."""
        self._expected += 1
        if (leader := self.leader()) is not None:
            self._spawn(self._measured(fault, leader, leader.hub()))

    def database_is_back(self, fault: str) -> None:
        self._spawn(self._serves_again(fault))

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        self._spawn(self._watch())
        try:
            yield
        finally:
            for task in self._tasks:
                if task.done():
                    task.result()
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _watch(self) -> None:
        while True:
            with suppress(*FAILURES):
                async with asyncio.timeout(ANSWERS_WITHIN):
                    connection = await asyncpg.connect(self._dsn)
                try:
                    await self._read(connection)
                finally:
                    connection.terminate()
            self.reachable = False
            await asyncio.sleep(LOOK_EVERY)

    async def _read(self, connection: asyncpg.Connection[Any]) -> None:
        while True:
            async with asyncio.timeout(ANSWERS_WITHIN):
                row = await connection.fetchrow("SELECT epoch, beat, holder, name FROM leader")
            assert row is not None
            self.lease = Lease(row["epoch"], row["beat"], row["name"] if row["holder"] else "")
            self.reachable = True
            await asyncio.sleep(LOOK_EVERY)

    async def _measured(self, fault: str, struck: Computer, pid: int | None) -> None:
        before, number, began = self.lease.epoch, self._expected, time.monotonic()
        at, still_since, reachable = time.time(), began, self.reachable
        steady = {it.name: it.hub() for it in self._computers if it is not struck and _follows(it)}
        while (took := time.monotonic() - began) < GIVEN_UP_AFTER:
            leader = self.leader() if self.lease.epoch > before else None
            if leader is not None and leader.hub() != pid:
                break
            if struck.disturbed or struck.hub() != pid:
                still_since = time.monotonic()
            elif self.lease.epoch == before and time.monotonic() - still_since > STAYS_AFTER:
                return  # it was over before anybody could notice
            reachable = reachable and self.reachable
            for it in self._computers:
                if steady.get(it.name) != it.hub() or not _follows(it):
                    steady.pop(it.name, None)
            await asyncio.sleep(LOOK_EVERY)
        alone = number == self._expected and self.lease.epoch <= before + 1
        self._log.add(
            TookOver(
                at=at,
                fault=fault,
                seconds=round(took, 2),
                due=reachable and alone and bool(steady),
            )
        )

    async def _serves_again(self, fault: str) -> None:
        """From the return of the database on."""
        began, at, known = time.monotonic(), time.time(), self.lease
        while (took := time.monotonic() - began) < GIVEN_UP_AFTER:
            if self.reachable and self.lease != known and self.leader() is not None:
                break
            await asyncio.sleep(LOOK_EVERY)
        self._log.add(TookOver(at=at, fault=fault, seconds=round(took, 2), due=False))

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        self._tasks.append(asyncio.create_task(work))


def _follows(computer: Computer) -> bool:
    """Whether its hub could lead."""
    holder = computer.holder
    return holder is not None and holder.socket is not None and not computer.disturbed
