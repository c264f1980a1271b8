"""Agents in one process: half of them are links, the others come over HTTP.

A link is a connection to the hub's socket, with the relay of `chatbridge mcp` and without its
process; an agent over HTTP is a session with a token of its own. Both go on after their hub has
gone: the link says its open calls again, as it always does, and the other one asks again.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from itertools import count
from pathlib import Path

from chatbridge import __version__
from chatbridge.framing import LineReader
from chatbridge.hub.http.tokens import PREFIX
from chatbridge.link.preface import PROTOCOL
from chatbridge.link.relay import Relay
from tests.bench.kept import BadStatus, Kept
from tests.bench.machine import INITIALIZE, PATIENCE, Json

AT_ONCE = 65_536
AGAIN_SECONDS = 0.1
MOST_SECONDS = 10.0
"""Between attempts to reach a hub, of which each pause is twice as long as the last."""
VERSION = str(INITIALIZE["protocolVersion"])


class Agent(ABC):
    kind: str

    def __init__(self, project: str) -> None:
        self.project = project
        self.cut: Counter[str] = Counter()
        """How often its hub had gone, in words."""

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
        self._socket = socket
        preface = {"chatbridge": "link", "protocol": PROTOCOL, "version": __version__}
        named = {"link": secrets.token_hex(16), "cwd": str(folder), "limit": None}
        more = {"root": str(folder), "file": None, "label": None}
        self._relay = Relay({**preface, **named, **more})
        self._client_lines = LineReader()
        self._writer: asyncio.StreamWriter | None = None
        self._ids = count(1)
        self._open: dict[int, asyncio.Future[Json]] = {}

    async def begin(self) -> None:
        self._running = asyncio.create_task(self._run())
        await self.request("initialize", INITIALIZE)
        self._say({"jsonrpc": "2.0", "method": "notifications/initialized"})

    async def ask(self, arguments: Json) -> Json:
        return await self.request("tools/call", {"name": "ask_user", "arguments": arguments})

    async def ping(self) -> None:
        await self.request("ping", {})

    async def request(self, method: str, params: Json) -> Json:
        number = next(self._ids)
        self._open[number] = asyncio.get_running_loop().create_future()
        self._say({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return await self._open[number]

    def _say(self, message: Json) -> None:
        self._relay.from_client(json.dumps(message).encode())
        self._flush()

    async def _run(self) -> None:
        pause = AGAIN_SECONDS
        while True:
            with suppress(OSError):  # no hub listens now
                await self._connected()
                self.cut["a link's connection"] += 1
                pause = AGAIN_SECONDS
            await asyncio.sleep(pause)
            pause = min(2 * pause, MOST_SECONDS)

    async def _connected(self) -> None:
        reader, self._writer = await asyncio.open_unix_connection(self._socket)
        self._relay.hub_found()
        self._flush()
        lines = LineReader()
        try:
            while data := await reader.read(AT_ONCE):
                for line in lines.feed(data):
                    said = self._relay.from_hub(line)
                    assert said is None or said["chatbridge"] != "refused", said
                self._flush()
        finally:
            self._relay.hub_lost()
            self._writer.close()
            self._writer = None

    def _flush(self) -> None:
        """Carry what the relay has for either side."""
        relay = self._relay
        while relay.to_client.size:
            chunk = relay.to_client.chunk()
            for line in self._client_lines.feed(chunk):
                assert isinstance(line, bytes)
                self._hear(json.loads(line))
            relay.written(len(chunk))
        if self._writer is not None and relay.to_hub:
            self._writer.write(bytes(relay.to_hub))
            relay.to_hub.clear()

    def _hear(self, said: Json) -> None:
        waiting = self._open.pop(said["id"], None) if "method" not in said else None
        if waiting is not None and not waiting.done():  # else nobody waits for it any more
            waiting.set_result(said)

    async def end(self) -> None:
        self._running.cancel()
        await asyncio.wait({self._running}, timeout=PATIENCE)


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
        self._session.pop("Mcp-Session-Id", None)
        async with self._connection() as http:
            hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": INITIALIZE}
            await http.post("/mcp", hello)
            self._session["Mcp-Session-Id"] = http.headers["mcp-session-id"]
            done = {"jsonrpc": "2.0", "method": "notifications/initialized"}
            await http.post("/mcp", done, **self._session)

    async def ask(self, arguments: Json) -> Json:
        params = {"name": "ask_user", "arguments": arguments}
        call = {"jsonrpc": "2.0", "id": next(self._ids), "method": "tools/call", "params": params}
        pause = AGAIN_SECONDS
        while True:
            try:
                if "Mcp-Session-Id" not in self._session:
                    await self.begin()
                return await self._call(call)
            except (OSError, EOFError, BadStatus) as error:
                self.cut[f"over HTTP: {error!r}"] += 1
            self._session.pop("Mcp-Session-Id", None)
            await asyncio.sleep(pause)
            pause = min(2 * pause, MOST_SECONDS)

    async def _call(self, call: Json) -> Json:
        async with self._connection() as http:
            body = await http.post("/mcp", call, **self._session)
        lines = [line.removeprefix(b"data: ") for line in body.splitlines()]
        objects = [line for line in lines if line.startswith(b"{")]
        if not objects:
            raise EOFError("a stream without a response")
        said: Json = json.loads(objects[-1])
        return said

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[Kept]:
        headers = {"Authorization": f"Bearer {self.token}"}
        accepted = {"Accept": "application/json, text/event-stream"}
        async with Kept.open(self._address, **headers, **accepted) as http:
            yield http

    async def end(self) -> None:
        """It just goes."""
