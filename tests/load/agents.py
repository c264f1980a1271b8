"""Agents in one process: half of them are links, the others come over HTTP.

A link is a connection to the hub's socket that speaks the links' protocol, and an agent over HTTP a
session with a token of its own: without the processes around them, which are the agents' machines'.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

from chatbridge import __version__
from chatbridge.hub.http.tokens import PREFIX
from tests.bench.kept import Kept
from tests.bench.machine import INITIALIZE, PATIENCE, Json

LONGEST_LINE = 1 << 22
VERSION = str(INITIALIZE["protocolVersion"])


class Agent(ABC):
    kind: str

    def __init__(self, project: str) -> None:
        self.project = project

    @abstractmethod
    async def begin(self) -> None:
        """Connect, and shake hands."""

    @abstractmethod
    async def ask(self, arguments: Json) -> Json:
        """The response to its call of `ask_user`."""

    @abstractmethod
    async def end(self) -> None: ...


class LinkAgent(Agent):
    kind = "link"

    def __init__(self, project: str, *, socket: str, folder: Path) -> None:
        super().__init__(project)
        self._socket, self._folder = socket, folder
        self._ids = count(1)
        self._open: dict[int, asyncio.Future[Json]] = {}
        self.unexpected = 0
        """Responses to what nobody has asked, or that came before."""

    async def begin(self) -> None:
        opened = asyncio.open_unix_connection(self._socket, limit=LONGEST_LINE)
        self._reader, self._writer = await opened
        preface = {"chatbridge": "link", "protocol": 1, "version": __version__}
        named = {"link": secrets.token_hex(16), "cwd": str(self._folder), "limit": None}
        self._say({**preface, **named, "root": str(self._folder), "file": None, "label": None})
        greeting = json.loads(await self._reader.readline())
        assert greeting["chatbridge"] == "hub", greeting
        self._reading = asyncio.create_task(self._read())
        await self.request("initialize", INITIALIZE)
        self._say({"jsonrpc": "2.0", "method": "notifications/initialized"})

    async def ask(self, arguments: Json) -> Json:
        said = await self.request("tools/call", {"name": "ask_user", "arguments": arguments})
        self._say({"chatbridge": "delivered", "request": said["id"]})
        return said

    async def ping(self) -> None:
        await self.request("ping", {})

    async def request(self, method: str, params: Json) -> Json:
        number = next(self._ids)
        self._open[number] = asyncio.get_running_loop().create_future()
        self._say({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return await self._open[number]

    def _say(self, line: Json) -> None:
        self._writer.write(json.dumps(line).encode() + b"\n")

    async def _read(self) -> None:
        while line := await self._reader.readline():
            said = json.loads(line)
            if "chatbridge" in said or "method" in said:
                continue
            waiting = self._open.pop(said["id"], None)
            if waiting is None:
                self.unexpected += 1
            elif not waiting.done():
                waiting.set_result(said)
        for waiting in self._open.values():
            if not waiting.done():  # nobody waits for it any more
                waiting.set_exception(ConnectionResetError("the hub has gone"))

    async def end(self) -> None:
        self._writer.close()
        await asyncio.wait({self._reading}, timeout=PATIENCE)


class HttpAgent(Agent):
    """Has a connection only while it calls something."""

    kind = "http"

    def __init__(self, project: str, *, address: tuple[str, int], number: int) -> None:
        super().__init__(project)
        self._address = address
        self.name = f"{project}-{number}"
        self.token = PREFIX + secrets.token_urlsafe(32)
        self._ids = count(1)
        self._session = {"Mcp-Protocol-Version": VERSION}

    async def begin(self) -> None:
        async with self._connection() as http:
            hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": INITIALIZE}
            await http.post("/mcp", hello)
            self._session["Mcp-Session-Id"] = http.headers["mcp-session-id"]
            done = {"jsonrpc": "2.0", "method": "notifications/initialized"}
            await http.post("/mcp", done, **self._session)

    async def ask(self, arguments: Json) -> Json:
        params = {"name": "ask_user", "arguments": arguments}
        call = {"jsonrpc": "2.0", "id": next(self._ids), "method": "tools/call", "params": params}
        async with self._connection() as http:
            body = await http.post("/mcp", call, **self._session)
        data = [line[6:] for line in body.splitlines() if line.startswith(b"data: ")]
        said: Json = json.loads(data[-1] if data else body)
        return said

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[Kept]:
        headers = {"Authorization": f"Bearer {self.token}"}
        accepted = {"Accept": "application/json, text/event-stream"}
        async with Kept.open(self._address, **headers, **accepted) as http:
            yield http

    async def end(self) -> None:
        """It just goes."""
