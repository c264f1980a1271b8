"""The hub's door for links, and a link at it whose every line is the test's."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from chatbridge.core.asks.reach import Reach
from chatbridge.hub.links.listener import Links
from chatbridge.hub.links.peers import Peers
from chatbridge.tools.ask_user import AskUser
from chatbridge.tools.call import ToolHandler
from chatbridge.tools.clients import Clients, agent_of
from chatbridge.tools.messages import ToolMessages
from chatbridge.tools.offer import Offer
from chatbridge.tools.waiting import Waiting
from tests.fakes.core_env import World
from tests.fakes.late_server import at_once


async def nobody(_ask_id: str) -> Reach:
    return Reach()


@asynccontextmanager
async def door(
    hub: World,
    path: Path,
    *,
    told: list[str] | None = None,
    tool: type[AskUser] = AskUser,
    tools: Sequence[ToolHandler] = (),
    settings: dict[str, str] | None = None,
    peers: Peers | None = None,
) -> AsyncIterator[Links]:
    """`told` is what the owner hears. `tools`: those that there are instead of `tool`."""
    offered = [*tools] or [tool(Waiting(hub.broker, nobody))]
    messages = ToolMessages(hub.inbox.messages)
    server = at_once(
        Offer(lambda: offered, Clients()),
        waiting_calls=hub.broker.waiting_calls,
        clock=hub.clock,
        messages=messages,
        after_call=lambda: None,
        spawn=asyncio.ensure_future,
    )
    heard: list[str] = [] if told is None else told
    links = Links(
        server,
        hub.broker.waiting_calls,
        settings=settings or {},
        tell=heard.append,
        peers=peers or Peers(),
        returned=lambda caller, client: messages.seen(caller, agent_of(client)),
    )
    await links.listen(_listener(path))
    try:
        yield links
    finally:
        await links.close()


def _listener(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()
    path.chmod(0o666)  # so that it is the hub that decides here, and not the kernel
    return listener


class Link:
    """The other end, line by line."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def connect(cls, path: Path, **changes: Any) -> Link:
        return cls.over(*await asyncio.open_unix_connection(str(path)), **changes)

    @classmethod
    def over(
        cls, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, **changes: Any
    ) -> Link:
        link = cls(reader, writer)
        preface = {"chatbridge": "link", "protocol": 1, "link": "a" * 32, "cwd": "/", **changes}
        link.say(preface)
        return link

    def say(self, *lines: dict[str, Any]) -> None:
        for line in lines:
            self._writer.write(json.dumps(line).encode() + b"\n")

    async def hear(self) -> dict[str, Any]:
        line = await asyncio.wait_for(self._reader.readline(), 20)
        heard: dict[str, Any] = json.loads(line) if line else {}
        return heard

    def close(self) -> None:
        self._writer.close()

    async def ask(self, request: int) -> None:
        initialize = {"protocolVersion": "2025-11-25", "capabilities": {}}
        initialize["clientInfo"] = {"name": "claude-code", "version": "1"}
        self.say({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": initialize})
        await self.hear()
        self.say(call_of(request))


def call_of(request: int, *, question: str = "Which?") -> dict[str, Any]:
    call = {"name": "ask_user", "arguments": {"question": question, "options": ["blue"]}}
    return {"jsonrpc": "2.0", "id": request, "method": "tools/call", "params": call}
