"""Listen at an address and serve HTTP on the running loop; end quickly.

Uses uvicorn's protocol class, because time limits and evictions need each connection's transport,
which no public interface gives. Measured on 2 cores, beside this module (62 ms to import, 3,140
requests/s, 1 wake-up in 10 s of idling, stopped after 1 ms): `uvicorn.Server` wakes 101 times and
stops after 150 ms, with its main loop left out after 100 ms; Hypercorn takes 150 ms to import, h2
included, and serves 1,870 requests/s.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial

from starlette.requests import Request
from starlette.types import ASGIApp, Scope
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle
from uvicorn.server import ServerState

from chatbridge.channels.web.certificate import Certificate
from chatbridge.channels.web.limits import (
    MAX_CONNECTIONS,
    MAX_KNOWN,
    REQUEST_SECONDS,
    ConnectionLimits,
    Evictable,
)
from chatbridge.channels.web.strict_http import StrictHttp
from chatbridge.core.errors import SettingsError
from chatbridge.core.tasks import end_tasks


def _is_a_fault(record: logging.LogRecord) -> bool:
    """Anybody at the port can send what is no HTTP: as a line each they would fill the log. A
    request that still waits for the database when the hub stops leading is cancelled."""
    error = record.exc_info[1] if record.exc_info else None
    return record.levelno >= logging.ERROR and not isinstance(error, asyncio.CancelledError)


logging.getLogger("uvicorn.error").addFilter(_is_a_fault)

FIRST_PORT = 8787
PORTS_TO_TRY = 100
IDLE_SECONDS = 5
"""How long a connection may be without a request."""
STALLED_SECONDS = 60.0
"""How long somebody may read nothing of what waits for them."""
FINISH_SECONDS = 0.3
"""How long what is being answered may take at the end."""
IDENTIFY = "chatbridge.identify"
"""Where a request's state has the function to tell whose credential it came with."""
ACCEPT_AGAIN_SECONDS = 1.0
"""After which a connection is accepted again, if one could not be."""

Take = Callable[[socket.socket], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Listener:
    """Who listens, and which settings say where: for the errors."""

    who: str = "the web inbox"
    host: str = "web.host"
    port: str = "web.port"
    instead: str = "set web.port to another one, or leave web.port out for the next free one"


INBOX = Listener()


def listen(host: str, port: int | None, by: Listener = INBOX) -> socket.socket:
    """A listening socket; without a port, at the first free one from 8787 on.
    :raises SettingsError: the host or the port cannot be had."""
    if port is not None:
        return _bound(host, port, by)
    for candidate in range(FIRST_PORT, FIRST_PORT + PORTS_TO_TRY):
        try:
            return _bound(host, candidate, by)
        except _Taken:
            continue
    raise SettingsError(
        f"the web inbox found no free port from {FIRST_PORT} to {FIRST_PORT + PORTS_TO_TRY - 1} on "
        f"{host}. Set web.port to a free one"
    )


class _Taken(SettingsError):
    """The port is taken."""


def _bound(host: str, port: int, by: Listener) -> socket.socket:
    try:
        family, kind, proto, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError as error:
        raise SettingsError(
            f"{by.who} cannot listen on {host}: {error.strerror}. Check {by.host}"
        ) from error
    listener = socket.socket(family, kind, proto)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setblocking(False)
        listener.bind(address)
        listener.listen(128)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise _Taken(
                f"{by.who} cannot listen on {host}:{port}: another program uses that port. "
                f"Stop it, {by.instead}"
            ) from error
        setting = by.host if error.errno == errno.EADDRNOTAVAIL else by.port
        raise SettingsError(
            f"{by.who} cannot listen on {host}:{port}: {error.strerror}. Check {setting}"
        ) from error
    return listener


class _Connection(StrictHttp):
    """A connection that must make its requests soon and read the answers, or make room for
    others."""

    _late: asyncio.TimerHandle | None = None
    """Ends a connection whose next request does not come."""
    _stalled: asyncio.TimerHandle | None = None
    """Ends a connection whose other end does not read."""
    _awaited_after: RequestResponseCycle | None = None
    """The request whose successor has a time limit by now."""

    def __init__(
        self,
        config: Config,
        state: ServerState,
        limits: ConnectionLimits,
        loop: asyncio.AbstractEventLoop,
        handshake: Evictable | None = None,
    ) -> None:
        """`handshake` is over once the connection is made."""
        super().__init__(config, state, {IDENTIFY: partial(limits.identified, self)}, loop)
        self._limits, self._handshake = limits, handshake

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        # Whoever listens to uvicorn's log: a line of it would hold a log-in link's path.
        self.access_log = False
        self._await_request(after=None)
        if self._handshake is not None:
            self._limits.closed(self._handshake)
        self._limits.opened(self)

    def evict(self) -> None:
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        # uvicorn takes any byte for a sign of life: it would wait for the other half for ever.
        last: RequestResponseCycle | None = self.cycle
        if last is not None and last.response_complete and last is not self._awaited_after:
            self._await_request(after=last)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._await_reading()

    def resume_writing(self) -> None:
        super().resume_writing()
        _cancel(self._stalled)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._limits.closed(self)
        _cancel(self._stalled)
        _cancel(self._late)  # else a flood's dead connections would all be kept until then

    def _await_reading(self) -> None:
        waits = self.transport.get_write_buffer_size()
        self._stalled = self.loop.call_later(STALLED_SECONDS, self._close_if_unread, waits)

    def _close_if_unread(self, waits: int) -> None:
        # It goes on being told to pause until nearly everything was read.
        if self.transport.get_write_buffer_size() < waits:
            self._await_reading()
        else:
            self.transport.abort()

    def _await_request(self, *, after: RequestResponseCycle | None) -> None:
        self._awaited_after = after
        _cancel(self._late)
        self._late = self.loop.call_later(REQUEST_SECONDS, self._close_if_last, after)

    def _close_if_last(self, request: RequestResponseCycle | None) -> None:
        if self.cycle is request:
            self.transport.abort()


class _Handshake:
    """A connection until it is encrypted: a stranger's, with as much time as a request's head."""

    def __init__(
        self,
        accepted: socket.socket,
        connect: Callable[[Evictable], asyncio.Protocol],
        certificate: Certificate,
        limits: ConnectionLimits,
    ) -> None:
        self._accepted, self._connect = accepted, connect
        self._certificate, self._limits = certificate, limits
        self.task = asyncio.ensure_future(self._encrypt())
        self.task.add_done_callback(self._ended)
        limits.opened(self)

    def evict(self) -> None:
        self.task.cancel()

    async def _encrypt(self) -> None:
        with suppress(OSError):  # it has gone, speaks no TLS, or took too long
            await asyncio.get_running_loop().connect_accepted_socket(
                partial(self._connect, self),
                self._accepted,
                ssl=self._certificate.context(),
                ssl_handshake_timeout=REQUEST_SECONDS,
                ssl_shutdown_timeout=IDLE_SECONDS,
            )

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._limits.closed(self)
        if task.cancelled():
            self._accepted.close()  # it may not have begun


async def _accept(
    listener: socket.socket, handshake: Callable[[socket.socket], _Handshake]
) -> None:
    """`asyncio`'s own server tells nobody of a connection before it is encrypted: those who never
    begin would be bounded by nothing."""
    loop = asyncio.get_running_loop()
    running: set[asyncio.Task[None]] = set()
    try:
        while True:
            try:
                accepted, _ = await loop.sock_accept(listener)
            except OSError:  # no descriptor is left, for instance
                await asyncio.sleep(ACCEPT_AGAIN_SECONDS)
                continue
            task = handshake(accepted).task
            running.add(task)
            task.add_done_callback(running.discard)
    finally:
        await end_tasks(running)


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()


@asynccontextmanager
async def serving(
    app: ASGIApp,
    listener: socket.socket | None,
    who: str = INBOX.who,
    *,
    certificate: Certificate | None = None,
) -> AsyncIterator[Take]:
    """`certificate`: with it https is spoken, else http. Yields a function for connections that
    were accepted elsewhere; without a `listener` they are the only ones."""
    config = Config(
        app,
        http=_Connection,
        ws="none",
        lifespan="off",
        log_config=None,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=IDLE_SECONDS,
    )
    config.load()
    state = ServerState()
    limits = ConnectionLimits(who, limit=MAX_CONNECTIONS, known=MAX_KNOWN)
    loop = asyncio.get_running_loop()
    connect = partial(_Connection, config, state, limits, loop)
    server, accepting = None, []

    async def take(accepted: socket.socket) -> None:
        await loop.connect_accepted_socket(connect, accepted)

    if listener is None:
        pass
    elif certificate is None:
        server = await loop.create_server(connect, sock=listener)
    else:
        handshake = partial(_Handshake, connect=connect, certificate=certificate, limits=limits)
        accepting = [loop.create_task(_accept(listener, handshake))]
    try:
        yield take
    finally:
        if server is not None:
            server.close()
        await end_tasks(accepting)
        # Let what is being answered finish, then cut what is left. A request that is cut sees its
        # client gone; what it has begun in the store it ends.
        for connection in list(state.connections):
            connection.shutdown()
        if state.tasks:
            await asyncio.wait(state.tasks, timeout=FINISH_SECONDS)
        for connection in list(state.connections):
            connection.transport.abort()
        if state.tasks:
            _, late = await asyncio.wait(state.tasks, timeout=FINISH_SECONDS)
            for task in late:
                task.cancel()


async def read_body(request: Request, *, limit: int) -> bytes | None:
    """The whole body; None if it is too long.
    :raises ClientDisconnect: an unfinished one is a cut connection: nothing was asked."""
    declared = request.headers.get("content-length", "0")
    if not declared.isdecimal() or len(declared) > 20 or int(declared) > limit:
        return None
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            return None
    return bytes(body)


def note_credential(scope: Scope, credential: str | None) -> None:
    """Tell the limits, where there are some, whose credential a request came with."""
    identify: Callable[[str | None], None] | None = scope.get("state", {}).get(IDENTIFY)
    if identify is not None:
        identify(credential)
