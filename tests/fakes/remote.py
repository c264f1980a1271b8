"""Agents over HTTP before a hub's inside: a real socket, real tokens, official clients."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.lowlevel import Server
from mcp_types import Implementation

from chatbridge.channels.web.guard import Hosts
from chatbridge.channels.web.server import listen
from chatbridge.core.asks.reach import Reach
from chatbridge.core.model import Ask
from chatbridge.hub.http import tokens
from chatbridge.hub.http.agents import HttpAgents
from chatbridge.hub.http.tokens import Tokens
from chatbridge.tools import ask_user
from chatbridge.tools.ask_user import AskUser
from chatbridge.tools.clients import Clients
from chatbridge.tools.messages import CheckMessages, ToolMessages
from chatbridge.tools.offer import Offer
from chatbridge.tools.server import build_server
from chatbridge.tools.waiting import WaitForAnswer, Waiting
from tests.fakes.clock import StillClock
from tests.fakes.core_env import PATIENCE, World, world

MODES = ("legacy", "auto", "2026-07-28")
ERAS = ("2025-11-25", "2026-07-28")
"""The last protocol version with sessions, and the first without."""
COLOUR = {"question": "Which colour?", "options": ["red", "blue"]}
Json = dict[str, Any]


async def nobody(_ask_id: str) -> Reach:
    return Reach()


@dataclass(slots=True)
class Door:
    """A hub that can be reached over HTTP."""

    hub: World
    agents: HttpAgents
    state: Path
    port: int
    token: str
    """That of an agent named `ci`."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def visitor(self, token: str | None = None, **headers: str) -> httpx2.AsyncClient:
        """With this token; the empty one is none."""
        given = self.token if token is None else token
        own = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
        bearer = {"authorization": f"Bearer {given}"} if given else {}
        return httpx2.AsyncClient(
            base_url=f"http://127.0.0.1:{self.port}",
            headers={**own, **bearer, **headers},
            verify=False,
            trust_env=False,
            timeout=PATIENCE,
        )

    @asynccontextmanager
    async def client(
        self, mode: str = "auto", *, token: str | None = None, name: str = "remote"
    ) -> AsyncIterator[Client]:
        async with self.visitor(token) as http:
            transport = streamable_http_client(self.url, http_client=http)
            info = Implementation(name=name, version="1")
            async with Client(transport, mode=mode, client_info=info) as client:
                yield client

    @asynccontextmanager
    async def agent(self, era: str) -> AsyncIterator[RawAgent]:
        """One that has begun its session, where its era has some."""
        async with self.visitor() as http:
            agent = RawAgent(http, era)
            await agent.begin()
            yield agent

    def add_token(self, name: str) -> str:
        return tokens.add(str(self.state), name, now=self.hub.clock.time())

    async def shown(self) -> Ask:
        """The next ask that is announced as open."""
        return await self.hub.until(lambda ask: ask.open)

    async def left_alone(self) -> Ask:
        return await self.hub.until(lambda ask: ask.open and ask.orphaned_since is not None)

    async def joined(self) -> Ask:
        """One that somebody waits for."""
        return await self.hub.until(lambda ask: ask.open and ask.orphaned_since is None)


class RawAgent:
    """A client that says exactly what a test wants, in either era."""

    def __init__(self, http: httpx2.AsyncClient, era: str) -> None:
        self._http = http
        self._era = era
        self.session: str | None = None
        self.tool = "ask_user"  # That it calls

    async def initialize(self) -> httpx2.Response:
        response = await self._http.post("/mcp", json=initialize())
        self.session = response.headers.get("mcp-session-id")
        return response

    async def begin(self) -> None:
        if self._era == ERAS[0]:
            assert (await self.initialize()).status_code == 200

    def headers(self) -> dict[str, str]:
        named = {"mcp-protocol-version": self._era}
        if self._era == ERAS[1]:
            return {**named, "mcp-method": "tools/call", "mcp-name": self.tool}
        return {**named, "mcp-session-id": self.session or "none"}

    def call(self, request: int = 1, **arguments: Any) -> Json:
        default = COLOUR if self.tool == "ask_user" else {}
        params: Json = {"name": self.tool, "arguments": arguments or default}
        if self._era == ERAS[1]:
            params["_meta"] = {
                "io.modelcontextprotocol/protocolVersion": self._era,
                "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            }
        return {"jsonrpc": "2.0", "id": request, "method": "tools/call", "params": params}

    async def post(self, message: Json) -> httpx2.Response:
        body = json.dumps(message).encode()
        return await self._http.post("/mcp", content=body, headers=self.headers())

    def asking(self, request: int = 1, **arguments: Any) -> asyncio.Task[httpx2.Response]:
        """A call that waits. Cancel it, and the connection is cut without a word."""
        return asyncio.create_task(self.post(self.call(request, **arguments)))


def initialize() -> Json:
    params = {
        "protocolVersion": ERAS[0],
        "capabilities": {},
        "clientInfo": {"name": "raw", "version": "1"},
    }
    return {"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": params}


def result_of(response: httpx2.Response) -> Json:
    """The result in a response, whether it came as JSON or as an event."""
    assert response.status_code == 200, response.text
    lines = response.text.splitlines()
    data = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
    found: Json = json.loads(data[-1] if data else response.text)
    result: Json = found["result"]
    return result


def text_of(result: Json) -> str:
    text: str = result["content"][0]["text"]
    return text


async def cut(task: asyncio.Task[Any]) -> None:
    task.cancel()
    await asyncio.wait({task})


@asynccontextmanager
async def open_door(
    path: Path,
    *,
    clock: StillClock | None = None,
    also: Iterable[str] = (),
    body_seconds: float = PATIENCE,
    limit: float = 60.0,
    token: str | None = None,
    **policy: float | bool,
) -> AsyncIterator[Door]:
    """Leaving it is an orderly stop of the HTTP side, and kill -9 for the rest."""
    async with world(path, clock, **policy) as hub:  # type: ignore[arg-type]
        waiting = Waiting(hub.broker, nobody)
        tools = (
            AskUser(waiting),
            WaitForAnswer(waiting, {AskUser.name: ask_user.render_result}),
            CheckMessages(hub.inbox.messages),
        )
        server = build_server(
            Offer(lambda: tools, Clients()),
            waiting_calls=hub.broker.waiting_calls,
            clock=hub.clock,
            messages=ToolMessages(hub.inbox.messages),
            after_call=lambda: None,
            spawn=asyncio.ensure_future,
        )
        async with served(
            hub, server, path, token=token, also=also, body_seconds=body_seconds, limit=limit
        ) as door:
            yield door


@asynccontextmanager
async def served(
    hub: World,
    server: Server[Any],
    path: Path,
    *,
    token: str | None = None,
    also: Iterable[str] = (),
    body_seconds: float = PATIENCE,
    limit: float = 60.0,
) -> AsyncIterator[Door]:
    """This hub's server, for agents over HTTP."""
    token = token or tokens.add(str(path), "ci", now=1.0)
    agents = HttpAgents(
        server,
        hub.broker.waiting_calls,
        tokens=Tokens(str(path)),
        clock=hub.clock,
        limit=limit,
        body_seconds=body_seconds,
    )
    listener = listen("127.0.0.1", 0)
    port = listener.getsockname()[1]
    hosts = Hosts("127.0.0.1", port, also=also)
    begun, over = asyncio.Event(), asyncio.Event()

    async def serve() -> None:
        async with agents.serving(listener, hosts):
            begun.set()
            await over.wait()

    # In a task of its own: a fixture is left in another task than it was entered in.
    serving = asyncio.create_task(serve())
    await begun.wait()
    try:
        yield Door(hub, agents, path, port, token)
    finally:
        over.set()
        await serving
