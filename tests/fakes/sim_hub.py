"""A hub and the links to it, in simulated time and without processes: the real link's bookkeeping,
a real session, server, tools, broker and database. Leaving a bridge is kill -9 for its hub."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from chatbridge.core.asks.reach import Reach
from chatbridge.core.delivery.notices import Notices
from chatbridge.core.model import Answer, Ask, Notice, Project
from chatbridge.core.store_port import Transaction
from chatbridge.framing import MAX_LINE
from chatbridge.hub.links.session import Session
from chatbridge.link.relay import Relay
from chatbridge.tools import ask_user
from chatbridge.tools.ask_user import AskUser
from chatbridge.tools.clients import Clients, agent_of
from chatbridge.tools.late_server import LateServer
from chatbridge.tools.messages import CheckMessages, ToolMessages
from chatbridge.tools.offer import Offer
from chatbridge.tools.waiting import WaitForAnswer, Waiting
from chatbridge.tools.what_next import WhatNext
from tests.fakes.clock import StillClock
from tests.fakes.core_env import OWNER, World, world
from tests.fakes.late_server import at_once

Json = dict[str, Any]
PATIENCE = 20.0
HOUR = 3600.0
TICK = 0.001
"""Wall time is not exact to the last digit."""
LISTED = -1  # The request with which each client begins
PROJECT = Project(key="/src/shop", name="shop")
QUESTION: Json = {
    "questions": [{"id": "c", "question": "Blue?", "type": "select", "options": ["red", "blue"]}],
    "timeout": 12 * HOUR * 1000,
}
BLUE = (Answer(values=("blue",)),)


async def until(fits: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            if await fits():
                return
            await asyncio.sleep(0.001)


class WatchedClock(StillClock):
    """A test must not move it between the moment at which somebody has looked at it and the one at
    which they sleep."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = CallsClock(self)
        self._asked: list[float] = []

    def sleep(self, seconds: float) -> Coroutine[None, None, None]:
        self._asked.append(seconds)
        return super().sleep(seconds)

    def advance(self, seconds: float) -> None:
        self._asked.clear()
        self.calls.asked.clear()
        super().advance(seconds)

    def somebody_sleeps_for(self, seconds: float) -> bool:
        """Since it was last moved."""
        return _among(self._asked, seconds)


class CallsClock:
    """The same time, for calls alone: so their sleeps are known from everybody else's."""

    def __init__(self, clock: StillClock) -> None:
        self.time, self.monotonic = clock.time, clock.monotonic
        self.asked: list[float] = []
        self._sleep = clock.sleep

    def sleep(self, seconds: float) -> Coroutine[None, None, None]:
        self.asked.append(seconds)
        return self._sleep(seconds)

    def sleeps_for(self, seconds: float) -> bool:
        """Whether a call does, since the clock was last moved."""
        return _among(self.asked, seconds)


def _among(asked: list[float], seconds: float) -> bool:
    return any(abs(one - seconds) < 10 * TICK for one in asked)


@dataclass(slots=True)
class Bridge:
    """One hub's inside, with the MCP server of a real one."""

    hub: World
    server: LateServer
    clients: Clients
    pipes: list[Pipe] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)

    async def asks(self) -> list[Ask]:
        """All that were ever made."""
        return [*await self.hub.store.open_asks(), *await self.hub.store.history(limit=100)]

    async def the_ask(self) -> Ask:
        (ask,) = await self.asks()
        return ask

    async def answered(self) -> None:
        await self.hub.inbox.answer((await self.the_ask()).id, BLUE, person=OWNER)

    async def has(self, pipe: Pipe, request: int, *, pause: float | None) -> None:
        """Once this call has its response, or is stored and sleeps for this long."""

        async def work(tx: Transaction) -> bool:
            calls = await tx.live_calls_of(pipe.id)
            return any(call.name.request == str(request) for call in calls)

        async def waits() -> bool:
            if request in pipe.responses:
                return True
            clock = self.hub.clock
            assert isinstance(clock, WatchedClock)
            sleeps = not pause or clock.calls.sleeps_for(pause)
            return sleeps and await self.hub.store.write(work)

        await until(waits)


class _Told:
    """Implements `core.delivery.notices.NoticeDelivery`."""

    def __init__(self) -> None:
        self.notices: list[Notice] = []

    def announce(self, notice: Notice) -> None:
        self.notices.append(notice)

    async def tried(self, notice_id: str) -> None:
        pass


@asynccontextmanager
async def bridge(
    path: Path,
    clock: WatchedClock,
    *,
    clients: Clients | None = None,
    when_done: str = "tell",
) -> AsyncIterator[Bridge]:
    beside: set[asyncio.Future[Any]] = set()

    async def reached(ask_id: str) -> Reach:
        return Reach(shown=("telegram",))

    async with world(path, clock, max_timeout=24 * HOUR) as hub:
        waiting, told = Waiting(hub.broker, reached), _Told()
        known = clients or Clients()
        tools = (
            AskUser(waiting),
            WaitForAnswer(waiting, {AskUser.name: ask_user.render_result}),
            CheckMessages(hub.inbox.messages),
            WhatNext(
                waiting,
                hub.inbox.messages,
                Notices(hub.store, told, clock=clock),
                asks=when_done == "ask",
                wait=HOUR,
            ),
        )
        server = at_once(
            Offer(lambda: tools, known),
            waiting_calls=hub.broker.waiting_calls,
            clock=clock.calls,
            messages=ToolMessages(hub.inbox.messages),
            after_call=lambda: None,
            spawn=lambda work: beside.add(asyncio.ensure_future(work)),
        )
        here = Bridge(hub, server, known, notices=told.notices)
        try:
            yield here
        finally:
            for pipe in list(here.pipes):
                await pipe.hub_died()
            await asyncio.gather(*beside, return_exceptions=True)


class Pipe:
    """A link, without its process: the real bookkeeping between a client and one hub at a time."""

    def __init__(
        self,
        client: str,
        clock: StillClock,
        *,
        progress: bool = False,
        project: Project = PROJECT,
    ) -> None:
        self.id = uuid4().hex
        self.project = project
        self.responses: dict[int, Json] = {}
        self.heard_at = clock.monotonic()
        """When the client was last shown that a call is alive."""
        self.beats: list[str] = []
        self.frozen = False
        """Whether the link's process is stopped: what the hub says stays in the socket."""
        self.unheard = False
        """Whether the connection is broken: what the link says does not reach the hub."""
        self._socket: list[bytes] = []
        self._clock = clock
        self._progress = progress
        self._news = asyncio.Event()
        self._relay = Relay({"chatbridge": "link", "link": self.id}, monotonic=clock.monotonic)
        self._reader: asyncio.StreamReader | None = None
        self._bridge: Bridge | None = None
        self._session: Session | None = None
        self._serving: asyncio.Task[None] | None = None
        self._last = 0
        self._say(
            "initialize",
            {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": client, "version": "1"},
            },
            number=0,
        )

    # ── the client's side ─────────────────────────────────────────────────────────────────────────

    def call(self, tool: str, arguments: Json) -> int:
        self._last += 1
        meta = {"_meta": {"progressToken": self._last}} if self._progress else {}
        self._say("tools/call", {"name": tool, "arguments": arguments, **meta}, number=self._last)
        self.heard_at = self._clock.monotonic()
        return self._last

    def cancel(self, request: int) -> None:
        self._say("notifications/cancelled", {"requestId": request, "reason": "timeout"})

    async def response(self, request: int) -> Json:
        await self.until(lambda: request in self.responses)
        return self.responses[request]

    async def until(self, fits: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not fits():
                self._news.clear()
                await self._news.wait()

    def _say(self, method: str, params: Json, *, number: int | None = None) -> None:
        message: Json = {"jsonrpc": "2.0", "method": method, "params": params}
        if number is not None:
            message["id"] = number
        self._relay.from_client(json.dumps(message).encode())
        self._pump()

    def _hears(self, message: Json) -> None:
        if message.get("method") == "notifications/progress":
            self.heard_at = self._clock.monotonic()
            self.beats.append(message["params"]["message"])
        elif "id" in message and "method" not in message:
            assert message["id"] not in self.responses, "a second response to one request"
            self.responses[message["id"]] = message
        self._news.set()

    # ── the hub's side ────────────────────────────────────────────────────────────────────────────

    async def connect(self, here: Bridge) -> None:
        """To the first hub, or to the next one."""
        again = self._relay.generation > 0
        self.frozen = self.unheard = False
        self._socket.clear()
        self._bridge, self._reader = here, asyncio.StreamReader(limit=MAX_LINE)
        here.pipes.append(self)
        waiting_calls = here.hub.broker.waiting_calls
        waiting_calls.link_opened(self.id)
        self._session = Session(
            link=self.id,
            project=self.project,
            reader=self._reader,
            send=self._from_hub,
            waiting_calls=waiting_calls,
            confirms=True,
        )
        if again:  # as its first line says to a hub that comes after another
            agent = agent_of(str(self._relay.client))
            here.hub.inbox.messages.agents.seen(self.id, self.project, agent)
        self._relay.hub_found()
        _, _, rest = self._relay.to_hub.partition(b"\n")  # the preface is for the socket's keeper
        self._relay.to_hub[:] = rest
        self._serving = asyncio.create_task(self._session.serve(here.server))
        self._pump()
        if not again:
            await self.response(0)
            self._say("notifications/initialized", {})
            self._say("tools/list", {}, number=LISTED)
            await self.response(LISTED)
            del self.responses[LISTED]

    async def hub_died(self) -> None:
        assert self._session
        self._session.mute()
        await self._end()
        self._relay.hub_lost()

    async def cut_off(self) -> None:
        """Its connection breaks; it may connect again, to the same hub."""
        here = self._bridge
        assert here
        await self.hub_died()
        await here.hub.broker.waiting_calls.link_closed(self.id)

    async def die(self) -> None:
        """The link goes with its client, and the hub sees its connection close, if there is one."""
        here = self._bridge
        if here is not None:
            await self._end()
            await here.hub.broker.waiting_calls.link_closed(self.id)

    async def _end(self) -> None:
        assert self._reader
        assert self._serving
        self._reader.feed_eof()
        await asyncio.wait({self._serving}, timeout=PATIENCE)
        assert self._serving.done()
        if self._bridge is not None:
            self._bridge.pipes.remove(self)
        self._reader = self._bridge = None

    async def _from_hub(self, data: bytes) -> None:
        self._socket.append(data)
        self._news.set()
        if not self.frozen:
            self.thaw()

    async def answered_while_frozen(self) -> None:
        async with asyncio.timeout(PATIENCE):
            while not any(b'"result"' in data for data in self._socket):
                self._news.clear()
                await self._news.wait()

    def thaw(self) -> None:
        self.frozen = False
        lines, self._socket = self._socket, []
        for line in lines:
            self._relay.from_hub(line.rstrip(b"\n"))
        self._pump()

    def _pump(self) -> None:
        got = b""
        while chunk := self._relay.to_client.chunk():
            got += chunk
            self._relay.written(len(chunk))
        if self._reader is not None and self._relay.to_hub:
            if not self.unheard:
                self._reader.feed_data(bytes(self._relay.to_hub))
            self._relay.to_hub.clear()
        for line in got.splitlines():
            self._hears(json.loads(line))
