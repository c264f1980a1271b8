"""Whether and where the hub listens for agents over HTTP, and what the owner should know of it.

A port that is taken ends `chatbridge serve`; any other hub goes on without HTTP, says so, and tries
again: the agents on this machine have nothing to do with it.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from chatbridge.core.asks.waiting_calls import WaitingCalls
from chatbridge.core.errors import SettingsError
from chatbridge.core.ports import Clock
from chatbridge.core.tasks import race
from chatbridge.hub.http.tokens import TokenList, Tokens
from chatbridge.setting_rules import is_loopback
from chatbridge.settings.tools import Http, host_and_port
from chatbridge.tools.late_server import LateServer

if TYPE_CHECKING:
    from chatbridge.channels.web.server import Take
    from chatbridge.hub.http.agents import HttpAgents

log = logging.getLogger(__name__)

RETRY_SECONDS = 30.0


@dataclass(slots=True)
class HttpServing:
    server: LateServer
    waiting_calls: WaitingCalls
    http: Http
    state: Path
    clock: Clock
    tokens: TokenList | None = None  # Others than those in the file
    passed_on: Callable[[str], bool] | None = None
    """Whether another hub, which passes agents on to this one, is addressed by this name. None:
    there is no other hub."""
    listener: socket.socket | None = None  # Where there is one already
    take: Take | None = None
    """Serves a connection that was accepted elsewhere. None: not yet, or not any more."""
    _agents: HttpAgents | None = None
    _trouble: str | None = None

    def projects(self) -> list[str]:
        return self._agents.projects() if self._agents else []

    def remarks(self) -> list[str]:
        return [self._trouble] if self._trouble else []

    @asynccontextmanager
    async def listening(self, asked: str | None = None) -> AsyncIterator[None]:
        """Until the block ends. `asked`: where, whatever the settings say.
        :raises SettingsError: it was asked for and cannot be had."""
        address = asked or self.http.address
        if address is None and self.passed_on is None:
            yield
            return
        begun, stop = asyncio.Event(), asyncio.Event()
        serving = asyncio.ensure_future(self._serve(address, begun, stop, insist=bool(asked)))
        serving.add_done_callback(self._ended)
        try:
            await race(begun.wait(), asyncio.wait({serving}))
            if serving.done():
                await serving
            yield
        finally:
            stop.set()
            await asyncio.gather(serving, return_exceptions=True)

    async def _serve(
        self, address: str | None, begun: asyncio.Event, stop: asyncio.Event, *, insist: bool
    ) -> None:
        server = await self.server.get()
        from chatbridge.hub.http.agents import HttpAgents
        from chatbridge.hub.http.guard import PATH

        def failed(trouble: str) -> None:
            self._trouble = trouble
            begun.set()

        listener = self.listener
        if listener is None and address is not None:
            if insist:
                listener = listen_at(address, insist=True)
            else:
                listening = listen_when_free(address, self.clock, failed)
                if (listener := await race(listening, stop.wait())) is None:
                    return
        self._trouble = None
        tokens = self.tokens or Tokens(str(self.state))
        self._agents = HttpAgents(
            server,
            self.waiting_calls,
            tokens=tokens,
            clock=self.clock,
            limit=self.http.limit,
        )
        names = _Names(address, self.http.hosts, self.passed_on)
        async with self._agents.serving(listener, names) as take:
            self.take = take
            if address is not None:
                log.info("agents can connect to http://%s%s", address, PATH)
                if not is_loopback(host_and_port(address)[0]):
                    outside = "%s can be reached from outside, and HTTP is not encrypted"
                    log.warning(outside, address)
                if not tokens.all():
                    log.info("no agent has a token yet. Run: chatbridge token add NAME")
            begun.set()
            await stop.wait()
            self.take = None

    def _ended(self, serving: asyncio.Task[None]) -> None:
        error = None if serving.cancelled() else serving.exception()
        if error is not None and not isinstance(error, SettingsError):
            log.error("MCP over HTTP has ended", exc_info=error)
            self._trouble = "Agents on other machines cannot connect; the hub's log says why."


async def listen_when_free(
    address: str, clock: Clock, failed: Callable[[str], None]
) -> socket.socket:
    """Tries again until the port can be had. `failed` is told what the owner should know of it."""
    while True:
        try:
            return listen_at(address)
        except SettingsError as error:
            log.warning("%s", error)
            failed(f"Agents on other machines cannot connect: {error}")
        await clock.sleep(RETRY_SECONDS)


def listen_at(address: str, *, insist: bool = False) -> socket.socket:
    """:raises SettingsError: the port cannot be had."""
    from chatbridge.channels.web.server import Listener, listen
    from chatbridge.hub.http.agents import WHO

    setting = "--http" if insist else "http.address"
    by = Listener(WHO, setting, setting, f"or set {setting} to another one")
    return listen(*host_and_port(address), by)


class _Names:
    """The names under which agents may address this hub, and those that follow it."""

    def __init__(
        self, address: str | None, also: Sequence[str], passed_on: Callable[[str], bool] | None
    ) -> None:
        from chatbridge.channels.web.guard import Hosts

        self._own = Hosts(*host_and_port(address), also=also) if address is not None else None
        self._passed_on = passed_on

    def knows(self, host: str) -> bool:
        if self._own is not None and self._own.knows(host):
            return True
        return self._passed_on is not None and self._passed_on(host)
