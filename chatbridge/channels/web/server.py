"""Listening: from an address to HTTP connections on the running loop, and their quick end.

uvicorn's protocol does the HTTP. Its `Server` is not used: it takes over the process' signals and
wakes ten times a second, both of which a hub that runs for months has other plans for.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import cast

from starlette.types import ASGIApp
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.server import ServerState

from chatbridge.core.errors import SettingsError

FIRST_PORT = 8787
PORTS_TO_TRY = 100
MAX_CONNECTIONS = 256
"""More would eat the descriptors that the hub's other channels need."""
REQUEST_SECONDS = 10.0
"""How long a request's head may take to arrive."""
FINISH_SECONDS = 0.3
"""How long what is being answered may take at the end."""


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

    :raises SettingsError: the host or the port cannot be had.
    """
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


class _Connection(H11Protocol):
    """A connection that must make its requests soon, or make room for others."""

    _awaited_after: RequestResponseCycle | None = None
    """The request whose successor has a time limit by now."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        # Whoever listens to uvicorn's log: a line of it would hold a log-in link's path.
        self.access_log = False
        if len(self.connections) > MAX_CONNECTIONS:
            transport.abort()
        else:
            self._await_request(after=None)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        # uvicorn takes any byte for a sign of life: it would wait for the other half for ever.
        last = self._last_request()
        if last is not None and last.response_complete and last is not self._awaited_after:
            self._await_request(after=last)

    def _await_request(self, *, after: RequestResponseCycle | None) -> None:
        self._awaited_after = after
        self.loop.call_later(REQUEST_SECONDS, self._close_if_last, after)

    def _close_if_last(self, request: RequestResponseCycle | None) -> None:
        if self._last_request() is request:
            self.transport.abort()

    def _last_request(self) -> RequestResponseCycle | None:
        return cast("RequestResponseCycle | None", self.cycle)  # None before the first one


@asynccontextmanager
async def serving(app: ASGIApp, listener: socket.socket) -> AsyncIterator[None]:
    """Serve the application at the socket until the block ends."""
    config = Config(
        app,
        http=_Connection,
        ws="none",
        lifespan="off",
        log_config=None,
        proxy_headers=False,
        server_header=False,
        date_header=False,
    )
    config.load()
    state = ServerState()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: _Connection(config=config, server_state=state, app_state={}, _loop=loop),
        sock=listener,
    )
    try:
        yield
    finally:
        server.close()
        await _finish(state)


async def _finish(state: ServerState) -> None:
    """Let what is being answered finish, then cut what is left. A request that is cut sees its
    client gone; what it has begun in the store it ends."""
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
