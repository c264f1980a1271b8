"""Which hub leads: the lease's statements over a connection of its own, and who takes part.

Owns the connection for the lease and what was last read over it. What leading and following mean
is for the hub. The time-out of every statement is shorter than the lease, since a server that
cannot be reached answers nothing at all.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import asyncpg

from chatbridge.core.errors import StoreError
from chatbridge.core.tasks import end_tasks
from chatbridge.core.text import one_line
from chatbridge.store.fence import Fence
from chatbridge.store.postgres.connection import FAILURES, translated_error
from chatbridge.store.postgres.hub_name import HubName
from chatbridge.store.postgres.lease import (
    LOOK_SECONDS,
    RENEW_SECONDS,
    Lease,
    Look,
    Renew,
    Row,
    Statement,
    Take,
)

log = logging.getLogger(__name__)

ANSWER_WITHIN_SECONDS = 1.0
AGAIN_AFTER_SECONDS = 0.2
WATCH_SECONDS = 0.25
"""A timer alone would not do: it stands still while the machine sleeps."""
COLUMNS = """holder, epoch, beat, name, address, certificate,
    ARRAY(SELECT version FROM hubs ORDER BY version) AS hubs"""
"""A change of `hubs` gives a row another version, or takes one away."""
LOOK = f"SELECT {COLUMNS} FROM leader"  # noqa: S608
TAKE = f"""UPDATE leader SET holder = $1, epoch = epoch + 1, beat = beat + 1,
    name = $4, address = $5, certificate = $6
    WHERE epoch = $2 AND beat = $3 RETURNING {COLUMNS}"""  # noqa: S608
RENEW = f"""UPDATE leader SET beat = beat + 1
    WHERE holder = $1 AND epoch = $2 RETURNING {COLUMNS}"""  # noqa: S608
RELEASE = "UPDATE leader SET holder = '' WHERE holder = $1 AND epoch = $2"
END_SESSIONS = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND usename = current_user AND application_name = $1"""
REGISTER = """INSERT INTO hubs (name, id, certificate, hosts, release) VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (name) DO UPDATE SET id = $2, certificate = $3, hosts = $4, release = $5,
    version = nextval('hubs_version')"""
HUBS = "SELECT name, id, certificate, hosts FROM hubs"


def boot_time() -> float:
    """Seconds on a clock that goes on while the machine sleeps, and that nobody sets."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """What a hub says of itself. `address` is empty where others cannot pass anything on to it."""

    id: str  # Of its process, random
    name: str
    release: str
    address: str = ""
    certificate: str = ""
    hosts: str = "[]"


@dataclass(frozen=True, slots=True)
class KnownHub:
    name: str
    certificate: str
    hosts: str


@dataclass(slots=True, eq=False)
class Election:
    """One hub's part in it. `prepare` looks over a new connection, and says why this hub must not
    lead, if it must not."""

    connect: Callable[[], Awaitable[asyncpg.Connection[Any]]]
    candidate: Candidate
    prepare: Callable[[asyncpg.Connection[Any]], Awaitable[str | None]]
    called: str = "the database"
    now: Callable[[], float] = boot_time
    trouble: str | None = None  # Why the lease cannot be read, or this hub cannot lead
    hubs: Mapping[str, KnownHub] = field(default_factory=dict)
    on_change: list[Callable[[], None]] = field(default_factory=list)
    """Called whenever another hub leads, or the list of hubs is another one."""
    on_deposed: Callable[[], None] = lambda: None
    """Called at the moment in which this hub stops leading without having wanted to."""
    elected: asyncio.Event = field(default_factory=asyncio.Event)  # Set while this hub leads
    deposed: asyncio.Event = field(default_factory=asyncio.Event)  # Set while it does not
    following_only: bool = False
    namesake: str | None = None
    """Why this hub neither leads nor passes anything on, if another one has its name."""
    _lease: Lease = field(init=False)
    _versions: list[int] | None = None  # Of `hubs`
    _name: HubName = field(default_factory=HubName)
    _has_name: bool = False
    connection: asyncpg.Connection[Any] | None = None
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Has who uses the connection: it takes one statement at a time."""
    _known: tuple[str, int] | None = None
    _abstains_until: float = float("-inf")

    def __post_init__(self) -> None:
        self._lease = Lease(self.candidate.id)
        self.deposed.set()

    @property
    def row(self) -> Row | None:
        """The lease as it was read last; None: it is not known now."""
        return self._lease.row

    @property
    def epoch(self) -> int | None:
        """While this hub leads."""
        return self._lease.epoch

    @property
    def leader(self) -> Row | None:
        """Another hub that leads, as far as is known."""
        row = self._lease.row
        mine = row is None or row.holder in ("", self.candidate.id)
        return None if mine or self.now() >= self._lease.free_at else row

    @property
    def leader_alive(self) -> bool:
        """Whether the leader was seen to renew its lease. That of a hub that has gone, as of the
        one whose place this one takes, lasts for some seconds without."""
        return self.leader is not None and self._lease.alive

    def holds(self) -> bool:
        """Whether this hub may act as the leader at this very moment."""
        return self._lease.holds(self.now())

    async def run(self) -> None:
        """Until it is cancelled. Leave it running while the hub gives up what it has led."""
        watching = asyncio.ensure_future(self._watch())
        try:
            while True:
                try:
                    await self._connected()
                except (StoreError, *FAILURES) as error:
                    self._failed(error)
                except Exception:
                    log.exception("the lease could not be looked at")
                finally:
                    self._drop()
                leading = self._lease.epoch is not None
                await asyncio.sleep(AGAIN_AFTER_SECONDS if leading else LOOK_SECONDS)
        finally:
            await end_tasks([watching])

    def abstain(self, seconds: float) -> None:
        """Leave the lease to others for a while."""
        self._abstains_until = self.now() + seconds

    def depose(self) -> None:
        """This hub does not lead any more, whoever has noticed it."""
        if self._lease.epoch is None:
            return
        self._lease.lost()
        self.elected.clear()
        self.deposed.set()
        self.on_deposed()

    async def release(self) -> None:
        """Give the lease back, once nothing of what it covers is left: the next one has it at once.
        If that fails it ends by itself."""
        epoch, connection = self._lease.epoch, self.connection
        self.depose()
        if epoch is not None and connection is not None:
            with suppress(StoreError, *FAILURES):
                async with asyncio.timeout(ANSWER_WITHIN_SECONDS), self._turn:
                    await connection.execute(RELEASE, self.candidate.id, epoch)

    # ── the connection ────────────────────────────────────────────────────────────────────────────

    async def _connected(self) -> None:
        self.connection = connection = await self.connect()  # with a limit for each of the hosts
        async with asyncio.timeout(2 * ANSWER_WITHIN_SECONDS), self._turn:
            if self._lease.epoch is None:  # else it has been looked over
                self._may_not_lead(self.namesake or await self.prepare(connection))
            await self._register(connection, anew=True)
        while True:
            await self._step(connection)
            if self.trouble is not None and not self.following_only:
                log.info("the database can be reached again")
                self.trouble = None
            await asyncio.sleep(self._pause())

    def _may_not_lead(self, why: str | None) -> None:
        if why is not None and why != self.trouble:
            log.error("this hub only follows: %s", why)
        self.following_only = why is not None
        self.trouble = why or self.trouble

    async def _register(self, connection: asyncpg.Connection[Any], *, anew: bool) -> None:
        """As the hub of this name, or give it up. `anew`: also if nobody has it."""
        me, owner = self.candidate, self._owner(await connection.fetch(HUBS))
        if not me.address or self.namesake is not None or owner == me.id:
            return
        if owner is None and not anew:
            return
        if owner is not None and not self._name.may_be_taken(self.now()):
            self._give_up_name()
            return
        if owner is not None and self._has_name:
            log.warning("another hub wants to be called %s, too: it is told so", one_line(me.name))
        given = (me.name, me.id, me.certificate, me.hosts, me.release)
        await connection.execute(REGISTER, *given)
        self._name.taken(self.now())

    def _give_up_name(self) -> None:
        self.namesake = (
            f"another hub is called {one_line(self.candidate.name)}, too. Give this one its own "
            "cluster.name, and restart it: chatbridge restart"
        )
        self._may_not_lead(self.namesake)
        self.depose()
        self._changed()

    def _owner(self, hubs: Iterable[asyncpg.Record]) -> str | None:
        """Who has the name of this hub."""
        return next((hub["id"] for hub in hubs if hub["name"] == self.candidate.name), None)

    async def _step(self, connection: asyncpg.Connection[Any]) -> None:
        began = self.now()
        statement = self._lease.statement(began)
        if isinstance(statement, Take) and not self._may_take:
            statement = Look()
        async with asyncio.timeout(ANSWER_WITHIN_SECONDS), self._turn:
            found = await self._ask(connection, statement)
        row = _row(found)
        if isinstance(statement, Renew) and row is None and self._lease.epoch == statement.epoch:
            log.warning("another hub has taken the lease over")
            self.depose()
            return
        self._lease.answered(statement, row, began=began, now=self.now())
        if isinstance(statement, Take) and row is not None:
            self.deposed.clear()
            self.elected.set()
        if found is not None and found["hubs"] != self._versions:
            async with asyncio.timeout(ANSWER_WITHIN_SECONDS), self._turn:
                await self._register(connection, anew=False)
                hubs = await connection.fetch(HUBS)
            self._has_name = self._owner(hubs) == self.candidate.id
            known = [KnownHub(hub["name"], hub["certificate"], hub["hosts"]) for hub in hubs]
            self.hubs = {hub.name: hub for hub in known}
            self._versions = found["hubs"]
            self._changed()
        elif found is not None and self._has_name:
            self._name.seen(began)
        if row is not None and (row.holder, row.epoch) != self._known:
            self._known = (row.holder, row.epoch)
            self._changed()

    async def _ask(
        self, connection: asyncpg.Connection[Any], statement: Statement
    ) -> asyncpg.Record | None:
        me = self.candidate
        match statement:
            case Take(epoch, beat, holder):
                if holder not in ("", me.id):
                    await connection.execute(END_SESSIONS, Fence(holder, epoch).session)
                given = (me.name, me.address, me.certificate)
                return await connection.fetchrow(TAKE, me.id, epoch, beat, *given)
            case Renew(epoch):
                return await connection.fetchrow(RENEW, me.id, epoch)
        return await connection.fetchrow(LOOK)

    def _pause(self) -> float:
        if self._lease.epoch is not None:
            return RENEW_SECONDS
        until_free = self._lease.free_at - self.now()
        return max(0.01, min(LOOK_SECONDS, until_free)) if self._may_take else LOOK_SECONDS

    @property
    def _may_take(self) -> bool:
        return not self.following_only and self.now() >= self._abstains_until

    def _failed(self, error: BaseException) -> None:
        problem = str(translated_error(error, self.called))
        if self.trouble is None:  # an outage is one line in the log
            log.error("%s", problem)
        self.trouble = problem

    def _drop(self) -> None:
        connection, self.connection = self.connection, None
        if connection is not None:
            connection.terminate()

    # ── the end of leading ────────────────────────────────────────────────────────────────────────

    async def _watch(self) -> None:
        while True:
            await self.elected.wait()
            await asyncio.sleep(WATCH_SECONDS)
            if self._lease.epoch is not None and not self.holds():
                log.warning("the lease could not be renewed in time: this hub leads no more")
                self.depose()

    def _changed(self) -> None:
        for tell in self.on_change:
            tell()


def _row(found: asyncpg.Record | None) -> Row | None:
    if found is None:
        return None
    names = ("holder", "epoch", "beat", "name", "address", "certificate")
    return Row(**{name: found[name] for name in names})
