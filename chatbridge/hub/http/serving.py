"""Whether and where the hub listens for agents over HTTP, and what the owner should know of it.

A port that is taken ends `chatbridge serve`; any other hub goes on without HTTP, says so, and tries
again: the agents on this machine have nothing to do with it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcp.server.lowlevel import Server

from chatbridge.core.asks.waiting_calls import WaitingCalls
from chatbridge.core.errors import SettingsError
from chatbridge.core.ports import Clock
from chatbridge.core.tasks import race
from chatbridge.hub.http.tokens import Tokens
from chatbridge.setting_rules import is_loopback
from chatbridge.settings.tools import Http, host_and_port

if TYPE_CHECKING:
    from chatbridge.hub.http.agents import HttpAgents

log = logging.getLogger(__name__)

RETRY_SECONDS = 30.0


@dataclass(slots=True)
class HttpServing:
    server: Server[Any]
    waiting_calls: WaitingCalls
    http: Http
    state: Path
    clock: Clock
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
        if address is None:
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
        self, address: str, begun: asyncio.Event, stop: asyncio.Event, *, insist: bool
    ) -> None:
        from chatbridge.channels.web.guard import Hosts
        from chatbridge.channels.web.server import Listener, listen
        from chatbridge.hub.http.agents import WHO, HttpAgents
        from chatbridge.hub.http.guard import PATH

        setting = "--http" if insist else "http.address"
        by = Listener(WHO, setting, setting, f"or set {setting} to another one")
        host, port = host_and_port(address)
        while True:
            try:
                listener = listen(host, port, by)
                break
            except SettingsError as error:
                if insist:
                    raise
                log.warning("%s", error)
                self._trouble = f"Agents on other machines cannot connect: {error}"
            begun.set()
            await race(stop.wait(), self.clock.sleep(RETRY_SECONDS))
            if stop.is_set():
                return
        self._trouble = None
        tokens = Tokens(str(self.state))
        self._agents = HttpAgents(
            self.server, self.waiting_calls, tokens=tokens, clock=self.clock, limit=self.http.limit
        )
        hosts = Hosts(host, port, also=self.http.hosts)
        async with self._agents.serving(listener, hosts):
            log.info("agents can connect to http://%s%s", address, PATH)
            if not is_loopback(host):
                log.warning("%s can be reached from outside, and HTTP is not encrypted", address)
            if not tokens.all():
                log.info("no agent has a token yet. Run: chatbridge token add NAME")
            begun.set()
            await stop.wait()

    def _ended(self, serving: asyncio.Task[None]) -> None:
        error = None if serving.cancelled() else serving.exception()
        if error is not None and not isinstance(error, SettingsError):
            log.error("MCP over HTTP has ended", exc_info=error)
            self._trouble = "Agents on other machines cannot connect; the hub's log says why."
