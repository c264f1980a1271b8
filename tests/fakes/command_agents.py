"""Agents at a `command_hub`: official MCP clients of both eras, and a raw one behind a real link's
bookkeeping, which can go on with the next hub."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio
import mcp_types as types
from mcp.client.client import Client
from mcp.shared.message import SessionMessage

from chatbridge.framing import MAX_LINE
from chatbridge.hub.links.session import Send, Session
from chatbridge.link.relay import Relay
from chatbridge.projects import project_of
from tests.fakes.command_hub import PATIENCE, CommandHub, Json


def _session(
    hub: CommandHub,
    reader: asyncio.StreamReader,
    send: Send,
    *,
    link: str,
    folder: Path | None,
    confirms: bool,
) -> Session:
    at = str(folder or hub.project)
    hub.world.broker.waiting_calls.link_opened(link)
    return Session(
        link=link,
        project=project_of(at, link=link, label=None),
        reader=reader,
        send=send,
        waiting_calls=hub.world.broker.waiting_calls,
        confirms=confirms,
        folder=at,
        pushes=hub.pushes,
        delivered=hub.operations.delivered,
    )


# ── official clients ──────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class Official:
    client: Client
    heard: list[Any] = field(default_factory=list)
    """What nobody asked for."""
    news: asyncio.Event = field(default_factory=asyncio.Event)

    async def names(self) -> list[str]:
        return [tool["name"] for tool in await self.listed()]

    async def listed(self) -> list[Json]:
        found = await self.client.list_tools(cache_mode="bypass")
        return [tool.model_dump(by_alias=True, exclude_none=True) for tool in found.tools]

    async def call(self, tool: str, **arguments: Any) -> types.CallToolResult:
        return await self.client.call_tool(tool, arguments, read_timeout_seconds=PATIENCE)

    async def told(self, tool: str, **arguments: Any) -> Json:
        """A result that is JSON, both times."""
        result = await self.call(tool, **arguments)
        assert not result.is_error, text_of(result)
        found: Json = json.loads(text_of(result))
        assert result.structured_content == found
        return found

    async def hears(self, method: str) -> Json:
        """The first notification of this kind, which is taken away."""
        async with asyncio.timeout(PATIENCE):
            while True:
                for message in self.heard:
                    if getattr(message, "method", None) == method:
                        self.heard.remove(message)
                        found: Json = message.model_dump(by_alias=True, exclude_none=True)
                        return found
                self.news.clear()
                await self.news.wait()


def text_of(result: types.CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    return block.text


@asynccontextmanager
async def official(
    hub: CommandHub, *, mode: str = "legacy", folder: Path | None = None
) -> AsyncIterator[Official]:
    """Enter and leave it in one task."""
    heard: list[Any] = []
    news = asyncio.Event()

    async def hear(message: Any) -> None:
        heard.append(message)
        news.set()

    async with Client(
        _pipe(hub, uuid4().hex, folder),
        mode=mode,
        message_handler=hear,
        client_info=types.Implementation(name="official", version="1"),
    ) as client:
        yield Official(client, heard, news)


@asynccontextmanager
async def _pipe(hub: CommandHub, link: str, folder: Path | None) -> AsyncIterator[Any]:
    to_client, from_hub = anyio.create_memory_object_stream[SessionMessage | Exception](math.inf)
    to_hub, from_client = anyio.create_memory_object_stream[SessionMessage](math.inf)
    reader = asyncio.StreamReader(limit=MAX_LINE)

    async def send(line: bytes) -> None:
        message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        to_client.send_nowait(SessionMessage(message))

    async def pump() -> None:
        async for item in from_client:
            line = item.message.model_dump_json(by_alias=True, exclude_unset=True)
            reader.feed_data(line.encode() + b"\n")
        reader.feed_eof()

    session = _session(hub, reader, send, link=link, folder=folder, confirms=False)
    pumping = asyncio.ensure_future(pump())
    serving = asyncio.ensure_future(session.serve(hub.server))
    try:
        yield from_hub, to_hub
    finally:
        session.mute()
        for task in (pumping, serving):
            task.cancel()
        await asyncio.gather(pumping, serving, return_exceptions=True)
        for stream in (to_client, from_hub, to_hub, from_client):
            stream.close()


# ── a raw one behind a link ───────────────────────────────────────────────────────────────────────


class Raw:
    """Handshake era; every line is the test's."""

    def __init__(self) -> None:
        self.id = uuid4().hex
        self.heard: list[Json] = []
        self._relay = Relay({"chatbridge": "link", "link": self.id}, monotonic=lambda: 0.0)
        self._reader: asyncio.StreamReader | None = None
        self._session: Session | None = None
        self._serving: asyncio.Future[None] | None = None
        self._news = asyncio.Event()

    async def connect(self, hub: CommandHub) -> None:
        again = self._relay.generation > 0
        self._reader = asyncio.StreamReader(limit=MAX_LINE)
        self._session = _session(
            hub, self._reader, self._from_hub, link=self.id, folder=None, confirms=True
        )
        self._relay.hub_found()
        _, _, rest = self._relay.to_hub.partition(b"\n")  # the preface is for the socket's keeper
        self._relay.to_hub[:] = rest
        self._serving = asyncio.ensure_future(self._session.serve(hub.server))
        self._pump()
        if not again:
            info = {"name": "raw", "version": "1"}
            offer = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
            self.request("hello", "initialize", offer)
            await self.response("hello")
            self.notify("notifications/initialized")

    async def hub_died(self) -> None:
        assert self._session
        assert self._serving
        self._session.mute()
        self._serving.cancel()
        await asyncio.gather(self._serving, return_exceptions=True)  # the SDK may fail over it
        self._reader = None
        self._relay.hub_lost()

    def request(self, id: str, method: str, params: Json) -> None:
        self._say({"jsonrpc": "2.0", "id": id, "method": method, "params": params})

    def call(self, id: str, tool: str, *, progress: bool = False, **arguments: Any) -> None:
        meta = {"_meta": {"progressToken": id}} if progress else {}
        self.request(id, "tools/call", {"name": tool, "arguments": arguments, **meta})

    def notify(self, method: str, params: Json | None = None) -> None:
        self._say({"jsonrpc": "2.0", "method": method, "params": params or {}})

    async def response(self, id: str) -> Json:
        return await self.hears(lambda message: message.get("id") == id)

    async def result(self, id: str) -> Json:
        found: Json = (await self.response(id))["result"]
        return found

    async def hears(self, fits: Callable[[Json], bool]) -> Json:
        async with asyncio.timeout(PATIENCE):
            while True:
                if found := next(filter(fits, self.heard), None):
                    return found
                self._news.clear()
                await self._news.wait()

    def notified(self, method: str) -> list[Json]:
        return [message for message in self.heard if message.get("method") == method]

    def _say(self, message: Json) -> None:
        self._relay.from_client(json.dumps(message).encode())
        self._pump()

    async def _from_hub(self, data: bytes) -> None:
        self._relay.from_hub(data.rstrip(b"\n"))
        self._pump()

    def _pump(self) -> None:
        got = b""
        while chunk := self._relay.to_client.chunk():
            got += chunk
            self._relay.written(len(chunk))
        if self._reader is not None and self._relay.to_hub:
            self._reader.feed_data(bytes(self._relay.to_hub))
            self._relay.to_hub.clear()
        self.heard += [json.loads(line) for line in got.splitlines()]
        self._news.set()


@asynccontextmanager
async def raw(hub: CommandHub) -> AsyncIterator[Raw]:
    agent = Raw()
    await agent.connect(hub)
    try:
        yield agent
    finally:
        await agent.hub_died()
