"""The life of a hub with a PostgreSQL database: it follows, leads, and follows again.

Owns the order: the lease first, then everything of a hub (`wiring`); and when the lease is lost,
the bots first, then the rest. Sockets stay open over all of that, so that nobody is refused
meanwhile.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import secrets
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import asyncpg

from chatbridge import __version__
from chatbridge.channels.web.guard import Hosts
from chatbridge.clock import SystemClock
from chatbridge.core.errors import ChatbridgeError, NewerDatabase, SettingsError
from chatbridge.core.tasks import BackgroundTasks, end_tasks, race
from chatbridge.hub.cluster.certificates import HubCertificate
from chatbridge.hub.cluster.passing import Passing, joined
from chatbridge.hub.cluster.port import ClusterPort, PassedOn
from chatbridge.hub.http.serving import listen_at, listen_when_free
from chatbridge.hub.links.entrance import Entrance, Json, Reader, Writer
from chatbridge.hub.links.peers import Peers, owns
from chatbridge.hub.process.lock import Lock
from chatbridge.hub.process.systemd import Systemd
from chatbridge.hub.wiring.database import Term
from chatbridge.hub.wiring.serving import ServingHub, attended, fed, import_everything, serving
from chatbridge.settings import Settings
from chatbridge.settings.tools import host_and_port
from chatbridge.store.fence import Fence
from chatbridge.store.postgres import migrate
from chatbridge.store.postgres.connection import Address, connect
from chatbridge.store.postgres.election import Candidate, Election

log = logging.getLogger(__name__)

ABSTAIN_SECONDS = 10.0
"""For a hub that could not lead: another one may be able to."""
TURN_SECONDS = 20.0
"""From following to leading, or back, or to the end, which takes a tenth of a second."""
HANGS = 70
"""The exit status of a hub that came to none of these."""
LEADING = (
    *("chatbridge.store.postgres.store", "chatbridge.hub.http.agents"),
    "chatbridge.hub.http.shared_tokens",
)
"""Imported while this hub follows, so that it leads at once."""
NOT_FOR_SEVERAL_USERS = (
    "a hub for several users (--system) cannot be one of several hubs. Take [cluster] out of its "
    "configuration, or give each user a hub"
)


async def run_member(
    lock: Lock,
    settings: Settings,
    *,
    config: Path | None,
    ready: Callable[[], None],
    systemd: Systemd,
    bind: Callable[[], socket.socket],
    path: str,
    system: bool,
    http: str | None,
    stop: asyncio.Event,
) -> None:
    """:raises SettingsError: something that it was told to listen at cannot be had."""
    cluster = settings.cluster
    if system and cluster.listen is not None:
        raise SettingsError(NOT_FOR_SEVERAL_USERS)
    server = settings.server()
    assert server is not None
    address = Address(*server)
    certificate = HubCertificate.made(cluster.hub) if cluster.listen else None
    served_at = http or settings.http.address
    candidate = Candidate(
        id=secrets.token_hex(16),
        name=cluster.hub,
        release=__version__,
        address=cluster.published if certificate else "",
        certificate=certificate.pem if certificate else "",
        hosts=json.dumps([served_at or "", *settings.http.hosts]),
    )
    election = Election(
        partial(connect, address), candidate, partial(looked_over, address), called=address.called
    )
    async with AsyncExitStack() as stack:
        port: ClusterPort | None = None
        if cluster.listen is not None and certificate is not None:
            port = ClusterPort(certificate, election)
            listener = _bound(cluster.listen)
            await stack.enter_async_context(port.listening(listener))
        agents = listen_at(http, insist=True) if http and port else None
        entrance = bind()
        stack.callback(entrance.close)
        running = asyncio.ensure_future(election.run())
        stack.push_async_callback(end_tasks, [running])
        modules = (*(spec.module for spec in settings.active_channels()), *LEADING)
        importing = asyncio.ensure_future(asyncio.to_thread(import_everything, modules))
        stack.push_async_callback(asyncio.wait, {importing})
        lock.note(socket=path)
        ready()
        member = _Member(
            lock=lock,
            settings=settings,
            config=config,
            election=election,
            certificate=certificate,
            port=port,
            entrance=entrance,
            served_at=served_at if port else None,
            agents=agents,
            address=address,
            path=path,
            system=system,
            http=None if port else http,
            systemd=systemd,
            since=time.time(),
        )
        stack.callback(member.close)
        await member.live(stop)
        log.info("hub stops; open questions stay open")


async def looked_over(address: Address, connection: asyncpg.Connection[Any]) -> str | None:
    """Why this hub must not lead; makes the tables in an empty database. Those of an older version
    are changed by who leads: the hub that leads now may be of that version."""
    found = await migrate.version_of(connection)
    if found == 0:
        await migrate.upgrade(address)
    elif found > (known := migrate.newest()):
        return str(NewerDatabase(path=address.name, found=found, known=known))
    return None


def _bound(place: str) -> socket.socket:
    host, port = host_and_port(place)
    try:
        family, kind, proto, _, where = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, proto)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.setblocking(False)
            listener.bind(where)
            listener.listen(128)
        except OSError:
            listener.close()
            raise
    except OSError as error:
        raise SettingsError(
            f"the other hubs cannot reach this one: it cannot listen at {place} "
            f"({error.strerror}). Check cluster.listen"
        ) from error
    return listener


@dataclass(slots=True)
class Turns:
    """Watches over the turns from following to leading and back, and over the end. One that gets
    no further costs the lease, so that another hub has it, and after the same time again the
    process: whoever started it starts it anew, and agents wait for that."""

    election: Election
    end: Callable[[], None]
    seconds: float
    _timer: asyncio.TimerHandle | None = None

    def begins(self) -> None:
        self._then(self._give_up)

    def is_over(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _then(self, do: Callable[[], None]) -> None:
        self.is_over()
        self._timer = asyncio.get_running_loop().call_later(self.seconds, do)

    def _give_up(self) -> None:
        log.error("this hub gets no further: another one may lead")
        self.election.abstain(ABSTAIN_SECONDS)
        self.election.depose()
        # Not set before: after a process has stood still, all timers are due at once.
        self._then(self.end)


@dataclass(slots=True, kw_only=True)
class _Member:
    lock: Lock
    settings: Settings
    config: Path | None
    election: Election
    certificate: HubCertificate | None
    port: ClusterPort | None
    entrance: socket.socket
    served_at: str | None  # Where agents over HTTP connect, if this hub passes any on
    agents: socket.socket | None  # The same, once it can be had
    address: Address
    path: str
    system: bool
    http: str | None
    systemd: Systemd
    since: float
    _passing: Passing | None = None
    _http_trouble: str | None = None
    _turns: Turns = field(init=False)

    def __post_init__(self) -> None:
        self._turns = Turns(self.election, _hangs, TURN_SECONDS)

    def close(self) -> None:
        if self.agents is not None:
            self.agents.close()

    async def live(self, stop: asyncio.Event) -> None:
        try:
            while not stop.is_set():
                async with self._following():
                    self._turns.is_over()
                    await race(stop.wait(), self.election.elected.wait())
                    self._turns.begins()
                try:
                    await self._lead(stop)
                except SettingsError:
                    raise
                except ChatbridgeError as error:
                    log.error("this hub cannot lead: %s", error)
                    self.election.abstain(ABSTAIN_SECONDS)
                finally:
                    await self.election.release()
        finally:
            self._turns.is_over()

    @asynccontextmanager
    async def _following(self) -> AsyncIterator[None]:
        passing = self._passing = Passing(self.election, self.certificate, self._status)
        gate = Entrance(Peers(None, self._hub), passing.serve)
        if self.system:
            gate.peers = Peers(os.stat(self.path).st_gid)
        await gate.listen(self.entrance.dup())
        try:
            async with self._passing_http(passing), fed(self.systemd, _responds):
                self.systemd.notify("READY=1", f"STATUS=version {__version__}, follows")
                yield
        finally:
            gate.stop()
            await end_tasks(gate.tasks.values())
            await passing.close()
            self._passing = None

    @asynccontextmanager
    async def _passing_http(self, passing: Passing) -> AsyncIterator[None]:
        """Agents over HTTP are passed on as soon as their port can be had."""
        server: asyncio.Server | None = None

        def failed(trouble: str) -> None:
            self._http_trouble = trouble

        async def serve(address: str) -> None:
            nonlocal server
            if self.agents is None:
                self.agents = await listen_when_free(address, SystemClock(), failed)
            self._http_trouble = None
            # A server that accepts before it is known here might never be closed.
            server = await asyncio.start_server(
                passing.http, sock=self.agents.dup(), start_serving=False
            )
            await server.start_serving()

        beginning = BackgroundTasks("agents over HTTP")
        if self.served_at is not None:
            beginning.spawn(serve(self.served_at))
        try:
            yield
        finally:
            await beginning.end()
            if server is not None:
                server.close()

    async def _lead(self, stop: asyncio.Event) -> None:
        election = self.election
        epoch = election.epoch
        if epoch is None or stop.is_set():
            return
        log.info("this hub leads (epoch %d)", epoch)
        over = asyncio.ensure_future(self._over(stop))
        try:
            async with fed(self.systemd, _responds):
                upgrading = migrate.upgrade(self.address, changing=self._turns.is_over)
                if await race(upgrading, asyncio.wait({over})) is None:
                    return
            self._turns.begins()
            await self._serve(stop, epoch, over)
        finally:
            await end_tasks([over])

    async def _over(self, stop: asyncio.Event) -> None:
        await race(stop.wait(), self.election.deposed.wait())

    async def _serve(self, stop: asyncio.Event, epoch: int, over: asyncio.Future[None]) -> None:
        """As the hub that leads, until that is `over`."""
        election = self.election
        term = Term(
            address=self.address,
            fence=Fence(election.candidate.id, epoch),
            over=election.depose,
            about=self._about,
            hub=self._hub,
            knows=self._knows if self._hub else None,
            http=self.agents.dup() if self.agents is not None else None,
        )
        try:
            async with serving(
                self.lock,
                self.settings,
                config=self.config,
                bind=self.entrance.dup,
                path=self.path,
                system=self.system,
                http=self.http,
                term=term,
            ) as served:
                election.on_deposed = served.halt
                if election.deposed.is_set():
                    served.halt()
                if self.port is not None:
                    self.port.taken = PassedOn(served.links.take, partial(_take_http, served))
                self._turns.is_over()
                async with attended(self.systemd, served):
                    await asyncio.wait({over})
                    self._turns.begins()
                if self.port is not None:
                    self.port.taken = None
                    served.links.mute()
        finally:
            election.on_deposed = lambda: None
            if self.port is not None:
                await self.port.hang_up()
            self.lock.info.web = None
            self.lock.note()
        if not stop.is_set():
            log.info("this hub follows from now on")

    @property
    def _hub(self) -> str | None:
        return self.election.candidate.name if self.certificate is not None else None

    def _knows(self, host: str) -> bool:
        """Whether agents address another hub by this name."""
        for hub in self.election.hubs.values():
            with suppress(ValueError, TypeError, AttributeError):
                address, *also = json.loads(hub.hosts)
                if address and Hosts(*host_and_port(address), also=also).knows(host):
                    return True
                if not address and host.lower() in also:
                    return True
        return False

    # ── what `chatbridge status` says ─────────────────────────────────────────────────────────────

    def _about(self) -> Json:
        election = self.election
        leads = election.epoch is not None
        leader, me = election.row if leads else election.leader, election.candidate
        if not leads and leader is not None and leader.address == me.address != "":
            leader = None  # the process that this one has replaced, until its lease ends
        return {
            "name": me.name,
            "role": "leads" if leads else "follows",
            "leader": leader.name if leader else None,
            "address": leader.address if leader else None,
            "epoch": leader.epoch if leader else None,
            "hubs": sorted(election.hubs),
        }

    async def _status(self, uid: int) -> Json:
        """Of a hub that follows, for this user: what only the leader knows is left out."""
        owner = owns(uid)
        passing = self._passing.trouble if self._passing else None
        troubles = [self.election.trouble, passing, self._http_trouble]
        return {
            "version": __version__,
            "pid": os.getpid(),
            "since": self.since,
            "startedBy": self.lock.info.started_by,
            "state": str(self.lock.state),
            "web": None,
            "open": 0,
            "links": self._passing.links(None if owner else uid) if self._passing else [],
            "channels": [],
            "faults": [],
            "remarks": [trouble for trouble in troubles if trouble and owner],
            "cluster": self._about(),
        }


def _hangs() -> None:
    log.critical("this hub gets no further: its process ends, to be started anew")
    logging.shutdown()
    os._exit(HANGS)


async def _responds() -> None:
    """The event loop runs, or the watchdog would not be fed."""


async def _take_http(served: ServingHub, reader: Reader, writer: Writer) -> None:
    """Serve a connection of an agent to another hub, as if it had come to ours."""
    if (take := served.http.take) is None:
        return
    ours, theirs = socket.socketpair()
    try:
        for each in (ours, theirs):
            each.setblocking(False)
        await take(theirs)
        there, back = await asyncio.open_unix_connection(sock=ours)
    except BaseException:
        ours.close()
        theirs.close()
        raise
    await joined(reader, writer, there, back)
