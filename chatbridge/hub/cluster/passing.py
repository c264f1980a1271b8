"""How a hub that follows passes on what connects to it: bytes, to the hub that leads.

Owns those connections. As long as nobody leads, or the leader cannot be reached, they are held,
unless their clients go; when the leader goes they are closed, so that links say again what has no
answer. Without `[cluster]` nothing can be passed on, and whoever connects is told who leads.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from collections.abc import Awaitable, Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import Any

from chatbridge import safe_json
from chatbridge.channels.web.limits import (
    MAX_CONNECTIONS,
    MAX_KNOWN,
    REQUEST_SECONDS,
    ConnectionLimits,
)
from chatbridge.core.tasks import end_tasks
from chatbridge.core.text import one_line
from chatbridge.framing import MAX_LINE
from chatbridge.hub.cluster.certificates import HubCertificate, digest_in, digest_of
from chatbridge.hub.cluster.port import keep_alive
from chatbridge.hub.links.entrance import Json, Reader, Writer, encoded
from chatbridge.hub.links.peers import Origin
from chatbridge.settings.tools import host_and_port
from chatbridge.store.postgres.election import Election
from chatbridge.store.postgres.lease import Row

log = logging.getLogger(__name__)

CONNECT_SECONDS = 2.0
TELL_AFTER_SECONDS = 2.0
"""A hub that has just started is known to the leader within a second."""
AGAIN_SECONDS = 0.25
COMMAND_SECONDS = 10.0
"""How long a command waits for a leader; links wait for as long as their clients do."""
CHUNK_BYTES = 65536
SAID_LATE_SECONDS = 1.0
"""What was held for less counts from when the leader reads it."""
MOST_HELD_BYTES = 2 * CHUNK_BYTES
"""Of what a client says while it is held. Whether one has gone that says more is not noticed."""
HTTP = "passing on agents over HTTP"
LEFT: Json = {"chatbridge": "left"}
SPEAKS = "speaks"
"""All that is known here of who sends something: tokens are for the leader."""

Status = Callable[[int], Awaitable[Json]]


@dataclass(frozen=True, slots=True, eq=False)
class _Caller:
    task: asyncio.Task[Any]

    def evict(self) -> None:
        self.task.cancel()


class Unreachable(Exception):
    """There is no leader, or the way to it is closed at present."""


@dataclass(slots=True, eq=False)
class Passing:
    """`certificate` is None where nothing can be passed on. `status` is what this hub itself says
    to the command of that name, which this user runs."""

    election: Election
    certificate: HubCertificate | None
    status: Status
    monotonic: Callable[[], float] = time.monotonic
    trouble: str | None = None  # Why the leader cannot be reached
    _context: tuple[str, ssl.SSLContext] | None = None
    """For the leader with this certificate."""
    _links: dict[Writer, tuple[int, Json]] = field(default_factory=dict)
    """Each with its user."""
    _to: dict[asyncio.Task[Any], tuple[str, int]] = field(default_factory=dict)
    """What is passed on, and to whom."""
    _http: set[asyncio.Task[Any]] = field(default_factory=set)
    _limits: ConnectionLimits = field(init=False)
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self._limits = ConnectionLimits(HTTP, limit=MAX_CONNECTIONS, known=MAX_KNOWN)
        self.election.on_change.append(self._look)

    def links(self, of: int | None = None) -> list[Json]:
        """Of one user, or of all."""
        return [link for uid, link in self._links.values() if of in (None, uid)]

    async def serve(self, preface: Json, reader: Reader, writer: Writer, origin: Origin) -> None:
        """Serve a connection to this hub's socket until it ends, or the leader changes."""
        if preface["chatbridge"] == "terminal":
            await self._command(preface, reader, writer, origin.uid)
            return
        name = one_line(str(preface.get("root") or preface.get("cwd") or "")).rpartition("/")[2]
        version = one_line(str(preface.get("version")))[:40]
        link = {"project": name, "version": version, "pid": origin.pid}
        self._links[writer] = (origin.uid, link)
        try:
            await self._pass_on(encoded(preface), reader, writer, last=encoded(LEFT))
        except ConnectionRefusedError as error:
            writer.write(encoded({"chatbridge": "refused", "message": str(error)}))
        finally:
            del self._links[writer]

    async def http(self, reader: Reader, writer: Writer) -> None:
        """The same for a connection to the port of agents over HTTP."""
        task = asyncio.current_task()
        assert task is not None
        self._http.add(task)
        caller = _Caller(task)
        self._limits.opened(caller)
        try:
            keep_alive(writer.get_extra_info("socket"))
            async with asyncio.timeout(REQUEST_SECONDS):
                begun = await reader.read(CHUNK_BYTES)
            if begun:
                self._limits.identified(caller, SPEAKS)
                first = encoded({"chatbridge": "http"}) + begun
                await self._pass_on(first, reader, writer, raw=True)
        except (OSError, asyncio.CancelledError):
            pass  # it has gone, says nothing, makes way for another, or this hub leads from now on
        finally:
            self._limits.closed(caller)
            self._http.discard(task)
            writer.close()

    async def close(self) -> None:
        """This hub leads from now on, or stops."""
        self.election.on_change.remove(self._look)
        await end_tasks(self._http)

    # ── commands ──────────────────────────────────────────────────────────────────────────────────

    async def _command(self, preface: Json, reader: Reader, writer: Writer, uid: int) -> None:
        while line := await reader.readline():
            with suppress(ValueError):
                request = safe_json.loads(line)
                if isinstance(request, dict) and request.get("do") == "status":
                    writer.write(encoded({"result": await self.status(uid)}))
                    await writer.drain()
                    continue
            try:
                first = encoded(preface) + line
                await self._pass_on(first, reader, writer, within=COMMAND_SECONDS)
                return
            except (Unreachable, ConnectionRefusedError) as error:
                writer.write(encoded({"error": str(error), "kind": "HubFollows"}))
                await writer.drain()

    def _refusal(self) -> str | None:
        """Why nothing that comes here can be passed on, ever."""
        if self.election.namesake is not None:
            return self.election.namesake
        row = self.election.leader
        if row is None or (self.certificate is not None and row.address):
            return None
        if not self.election.leader_alive:
            return None  # it may be the process that this one has replaced
        name = one_line(row.name) or "another one"
        missing = "This hub has no cluster.listen"
        if self.certificate is not None:
            missing = f"{name} has no cluster.listen"
        return (
            f"the hub {name} leads, and this one stands by: it asks nobody, as long as that one "
            f"runs. {missing}, so nothing can be passed on. Connect the agent to {name}, or set "
            "cluster.listen for both"
        )

    # ── passing on ────────────────────────────────────────────────────────────────────────────────

    async def _pass_on(
        self,
        first: bytes,
        reader: Reader,
        writer: Writer,
        *,
        within: float | None = None,
        raw: bool = False,
        last: bytes = b"",
    ) -> None:
        """`raw`: what is said are not a link's lines. `last` is said once the client has gone.

        :raises Unreachable: nobody could be reached `within` these seconds.
        :raises ConnectionRefusedError: nothing can be passed on, with the reason.
        """
        said = _Held(self.monotonic)
        # What a command says next may be for this hub; and it waits for some seconds only.
        most = MOST_HELD_BYTES if within is None else 0
        going = asyncio.ensure_future(said.take(reader, most))
        task = asyncio.current_task()
        assert task is not None
        try:
            if (found := await self._reached(first, going, within)) is None:
                return
            there, back, leader = found
            self._to[task] = (leader.holder, leader.epoch)
            with closing(back):
                await end_tasks([going])
                back.write(said.whole() if raw else said.with_ages())
                await joined(reader, writer, there, back, last=last)
        finally:
            self._to.pop(task, None)
            await end_tasks([going])

    async def _reached(
        self, first: bytes, going: asyncio.Task[bool], within: float | None
    ) -> tuple[Reader, Writer, Row] | None:
        """None: the client has gone."""
        loop = asyncio.get_running_loop()
        until = None if within is None else loop.time() + within
        tell_at = loop.time() + TELL_AFTER_SECONDS
        while True:
            self._news.clear()
            if going.done() and going.result():
                return None
            if (refusal := self._refusal()) is not None:
                raise ConnectionRefusedError(refusal)
            try:
                found = await self._connected(first)
            except Unreachable as error:
                if until is not None and loop.time() >= until:
                    raise
                if self.election.leader is None:
                    tell_at = loop.time() + TELL_AFTER_SECONDS
                elif self.trouble != str(error) and loop.time() >= tell_at:
                    log.warning("%s", error)
                    self.trouble = str(error)
                # Not `wait_for`: before Python 3.12 it may lose a cancellation that comes in the
                # same turn as the news, as it does when this hub is elected.
                with suppress(TimeoutError):
                    async with asyncio.timeout(AGAIN_SECONDS):
                        await self._news.wait()
            else:
                self.trouble = None
                return found

    async def _connected(self, first: bytes) -> tuple[Reader, Writer, Row]:
        leader = self.election.leader
        if leader is None or self.certificate is None:
            why = self.election.trouble or "it takes some seconds to find the next one"
            raise Unreachable(f"no hub leads at present: {why}")
        writer: Writer | None = None
        try:
            host, port = host_and_port(leader.address)
            async with asyncio.timeout(CONNECT_SECONDS):
                if self._context is None or self._context[0] != leader.certificate:
                    made = self.certificate.for_following(leader.certificate)
                    self._context = (leader.certificate, made)
                reader, writer = await asyncio.open_connection(
                    host, port, ssl=self._context[1], limit=MAX_LINE, server_hostname=""
                )
                keep_alive(writer.get_extra_info("socket"))
                if digest_in(writer.get_extra_info("ssl_object")) != digest_of(leader.certificate):
                    raise ConnectionRefusedError("another program answers there")
                writer.write(first)
                greeting = safe_json.loads(await reader.readline() or b"null")
                if greeting != {"chatbridge": "leader", "epoch": leader.epoch}:
                    raise ConnectionRefusedError("it does not lead, or does not know this hub yet")
        except (OSError, ValueError) as error:
            if writer is not None:
                writer.close()
            said = one_line(str(error)) or "no answer"
            raise Unreachable(
                f"the hub {one_line(leader.name)}, which leads, cannot be reached at "
                f"{one_line(leader.address)} ({said})"
            ) from None
        except BaseException:
            if writer is not None:
                writer.close()
            raise
        return reader, writer, leader

    def _look(self) -> None:
        """End what goes to a hub that leads no more."""
        self._news.set()
        row = self.election.row
        if row is not None:
            for task, leader in list(self._to.items()):
                if leader != (row.holder, row.epoch):
                    task.cancel()


async def joined(
    reader: Reader, writer: Writer, there: Reader, back: Writer, *, last: bytes = b""
) -> None:
    """Two connections as one, until either ends. The second one is closed, after `last` if the
    first one ended."""
    ways = [asyncio.ensure_future(_copy(*way)) for way in ((reader, back), (there, writer))]
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        if ways[0].done() and not back.is_closing():
            back.write(last)
    finally:
        back.close()
        await end_tasks(ways)


class _Held:
    """What a client has said meanwhile, and when."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._parts: list[tuple[float, bytes]] = []

    async def take(self, reader: Reader, most: int) -> bool:
        """Until the other end has gone; False: it was too much before."""
        with suppress(OSError):
            while most > 0:
                data = await reader.read(most)
                if not data:
                    return True
                self._parts.append((self._monotonic(), data))
                most -= len(data)
            return False
        return True

    def whole(self) -> bytes:
        return b"".join(data for _, data in self._parts)

    def with_ages(self) -> bytes:
        """A link's lines, and before them for how long they were held: what a link says of its
        calls' age was true when it said it."""
        now = self._monotonic()
        if not self._parts or now - self._parts[0][0] < SAID_LATE_SECONDS:
            return self.whole()
        lines = b""
        for at, data in self._parts:
            if not lines or lines.endswith(b"\n"):
                lines += _held(now - at)
            lines += data
        lines, end, rest = lines.rpartition(b"\n")
        return lines + end + _held(0.0) + rest


def _held(seconds: float) -> bytes:
    return encoded({"chatbridge": "held", "seconds": round(seconds, 3)})


async def _copy(reader: Reader, writer: Writer) -> None:
    """Until there is no more, or nobody takes it."""
    with suppress(OSError):
        while data := await reader.read(CHUNK_BYTES):
            writer.write(data)
            await writer.drain()
