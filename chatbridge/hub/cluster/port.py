"""The port of a hub that the others connect to: while this hub leads, it takes what they pass on.

Owns the handshake: nobody but a hub of the database is read a byte of. The first line says what is
passed on; it is answered with one that says that this hub leads.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from chatbridge import safe_json
from chatbridge.core.tasks import end_tasks
from chatbridge.core.text import one_line
from chatbridge.framing import MAX_LINE
from chatbridge.hub.cluster.certificates import HubCertificate, digest_in, digest_of
from chatbridge.hub.links.entrance import Json, Reader, Writer, encoded
from chatbridge.hub.links.peers import Origin
from chatbridge.store.postgres.election import Election, KnownHub

log = logging.getLogger(__name__)

HANDSHAKE_SECONDS = 5.0
MOST_STRANGERS = 64
"""Connections that have not shown who they are. The oldest makes room."""
ACCEPT_AGAIN_SECONDS = 1.0
SAY_EVERY = 600.0


@dataclass(frozen=True, slots=True)
class PassedOn:
    """What the leading hub does with each kind of connection."""

    link: Callable[[Json, Reader, Writer, Origin], Awaitable[None]]
    http: Callable[[Reader, Writer], Awaitable[None]]


@dataclass(slots=True, eq=False)
class ClusterPort:
    certificate: HubCertificate
    election: Election
    taken: PassedOn | None = None  # Set while this hub leads
    _context: ssl.SSLContext | None = None
    """Lets in `_hubs`. None: made for the next connection, again and again if that fails."""
    _hubs: dict[str, KnownHub] = field(default_factory=dict)  # By digests of certificates
    _strangers: dict[asyncio.Task[Any], None] = field(default_factory=dict)
    _known: dict[asyncio.Task[Any], str] = field(default_factory=dict)
    """What is passed on, with the digest of its hub's certificate."""
    _said: float | None = None

    def __post_init__(self) -> None:
        self.election.on_change.append(self._look)

    @asynccontextmanager
    async def listening(self, listener: socket.socket) -> AsyncIterator[None]:
        self._look()
        accepting = asyncio.ensure_future(self._accept(listener))
        try:
            yield
        finally:
            await end_tasks([accepting])
            listener.close()
            await self.hang_up()
            await end_tasks(self._strangers)

    async def hang_up(self) -> None:
        """End what was passed on: this hub leads no more."""
        self.taken = None
        await end_tasks(self._known)

    def _look(self) -> None:
        """The list of hubs may be another one."""
        known: dict[str, KnownHub] = {}
        for hub in self.election.hubs.values():
            with suppress(ValueError):
                known[digest_of(hub.certificate)] = hub
        if known != self._hubs:
            self._hubs, self._context = known, None
            for task, shown in list(self._known.items()):
                if shown not in known:
                    task.cancel()

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, _ = await loop.sock_accept(listener)
            except OSError:  # no descriptor is left, for instance
                await asyncio.sleep(ACCEPT_AGAIN_SECONDS)
                continue
            task = loop.create_task(self._serve(accepted))
            self._strangers[task] = None
            task.add_done_callback(partial(self._served, accepted))
            if len(self._strangers) > MOST_STRANGERS:
                oldest = next(iter(self._strangers))
                del self._strangers[oldest]  # it takes a while to end: another one has its place
                oldest.cancel()

    def _served(self, accepted: socket.socket, task: asyncio.Task[None]) -> None:
        self._strangers.pop(task, None)
        if task.cancelled():  # before it began
            accepted.close()

    async def _serve(self, accepted: socket.socket) -> None:
        writer: Writer | None = None
        hub: KnownHub | None = None
        try:
            reader, writer, shown = await self._admitted(accepted)
            if shown not in self._hubs:
                self._refused("its certificate is not that of a hub of this database")
                return
            async with asyncio.timeout(HANDSHAKE_SECONDS):
                line = await reader.readline()
            preface = safe_json.loads(line)
            taken, hub = self.taken, self._hubs.get(shown)  # another list by now, perhaps
            if not isinstance(preface, dict) or taken is None or hub is None:
                return
            task = asyncio.current_task()
            assert task is not None
            self._strangers.pop(task, None)
            self._known[task] = shown
            task.add_done_callback(lambda done: self._known.pop(done, None))
            writer.write(encoded({"chatbridge": "leader", "epoch": self.election.epoch}))
            if preface.get("chatbridge") == "http":
                await taken.http(reader, writer)
            else:
                origin = Origin(pid=0, uid=os.getuid(), hub=hub.name)
                await taken.link(preface, reader, writer, origin)
        except (OSError, ValueError) as error:
            why = one_line(str(error)) or type(error).__name__
            if hub is None:
                self._refused(why)
            else:
                log.info("a connection that %s passed on ended: %s", one_line(hub.name), why)
        except asyncio.CancelledError:
            pass  # at the end, or to make room
        finally:
            if writer is None:
                accepted.close()
            else:
                writer.close()

    async def _admitted(self, accepted: socket.socket) -> tuple[Reader, Writer, str]:
        """Once it is encrypted, with the digest of the certificate at the other end."""
        if self._context is None:
            pems = [hub.certificate for hub in self._hubs.values()]
            self._context = self.certificate.for_leading(pems)
        loop = asyncio.get_running_loop()
        keep_alive(accepted)
        reader = asyncio.StreamReader(limit=MAX_LINE)
        protocol = asyncio.StreamReaderProtocol(reader)
        transport, _ = await loop.connect_accepted_socket(
            lambda: protocol,
            accepted,
            ssl=self._context,
            ssl_handshake_timeout=HANDSHAKE_SECONDS,
            ssl_shutdown_timeout=HANDSHAKE_SECONDS,
        )
        writer = asyncio.StreamWriter(transport, protocol, reader, loop)
        return reader, writer, digest_in(writer.get_extra_info("ssl_object")) or ""

    def _refused(self, why: str) -> None:
        now = asyncio.get_running_loop().time()
        if self._said is None or now - self._said > SAY_EVERY:
            log.warning("a connection to the port for hubs was refused: %s", why)
            self._said = now


def keep_alive(sock: socket.socket) -> None:
    """Notice within some seconds that the other hub cannot be reached any more."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", 3), ("TCP_KEEPINTVL", 1), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, option):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 6_000)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
