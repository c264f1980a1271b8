"""How long a question takes to a Matrix room and a reaction back to the agent, beside bare programs
on matrix-nio that do only that.

All talk to one real homeserver on loopback, each in a room of its own. A message is there when the
person's long-polling sync has it: the same for all. Before anything is timed a room has come to
rest, as it does before people react. The programs take turns, round by round.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiohttp

from chatbridge.hub.bot_lock import bot_lock_path, matrix_bot
from tests.bench.latency import question
from tests.bench.machine import PATIENCE, Client, Json, client, machine, percentiles
from tests.fakes.house import matrix_settings
from tests.fakes.matrix_hub import new_bot
from tests.fakes.synapse import Login, Synapse

REST = 0.3
"""Seconds without an event, after which nobody is at work in a room."""
WARM = 3
"""Rounds of each program that do not count."""
API = "/_matrix/client/v3"

BARE = """
import asyncio, sys
from nio import AsyncClient, ReactionEvent

address, user, token, room = sys.argv[1:]
client = AsyncClient(address, user)
client.user_id, client.access_token = user, token

async def send():
    body = {"msgtype": "m.text", "body": "Is it right?"}
    await client.room_send(room, "m.room.message", body)

async def reacted(where, event):
    if event.sender != user:
        hear(event.key)

async def polling(serve):
    await client.join(room)
    await client.sync(timeout=0, full_state=True)
    client.add_event_callback(reacted, ReactionEvent)
    syncing = asyncio.create_task(client.sync_forever(timeout=30000))
    await serve()
    syncing.cancel()
    await asyncio.wait({syncing})
    await client.close()
"""
"""The least that asks in Matrix and hears the answer."""

SCRIPT = """
def hear(choice):
    print('{"heard": "Yes"}', flush=True)

async def serve():
    lines = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(lines)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
    while await lines.readline():
        await send()

asyncio.run(polling(serve))
"""
"""Behind nothing: for each line a message, for each reaction a line."""

SERVER = """
import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

heard = asyncio.Queue()
hear = heard.put_nowait

async def list_tools(ctx, params):
    schema = {"type": "object"}
    return types.ListToolsResult(tools=[types.Tool(name="ask_user", input_schema=schema)])

async def call_tool(ctx, params):
    await send()
    return types.CallToolResult(content=[types.TextContent(type="text", text=await heard.get())])

async def serve():
    server = Server("bare", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())

anyio.run(polling, serve)
"""
"""Behind a minimal server on the official SDK: what an agent could call without chatbridge."""


class Ada:
    """A person's client, and no more of one than the figures need."""

    def __init__(self, synapse: Synapse, login: Login, http: aiohttp.ClientSession) -> None:
        self.login = login
        self._synapse = synapse
        self._http = http
        self._seen: dict[str, asyncio.Queue[tuple[Json, float]]] = {}

    def room(self, bot: Login) -> str:
        body = {"preset": "private_chat", "invite": [bot.user_id]}
        made = self._synapse.request(
            "POST", f"{API}/createRoom", body, token=self.login.access_token
        )
        room = str(made["room_id"])
        self._seen[room] = asyncio.Queue()
        return room

    async def watch(self) -> None:
        """Sync until cancelled."""
        since: dict[str, str] = {}
        while True:
            batch = await self._request("GET", "/sync", params={"timeout": "30000", **since})
            now = time.perf_counter()
            since = {"since": batch["next_batch"]}
            for room, found in batch.get("rooms", {}).get("join", {}).items():
                for event in found["timeline"]["events"]:
                    self._seen[room].put_nowait((event, now))

    async def sees(self, room: str, fits: Callable[[Json], bool]) -> tuple[str, float]:
        """The next event that fits, and when it was there."""
        async with asyncio.timeout(PATIENCE):
            while True:
                event, at = await self._seen[room].get()
                if fits(event):
                    return str(event["event_id"]), at

    async def rests(self, room: str) -> None:
        """Once nothing has come for a while."""
        while True:
            try:
                async with asyncio.timeout(REST):
                    await self._seen[room].get()
            except TimeoutError:
                return

    async def react(self, room: str, event: str, key: str, *, tx: str) -> None:
        relates = {"rel_type": "m.annotation", "event_id": event, "key": key}
        path = f"/rooms/{quote(room)}/send/m.reaction/{tx}"
        await self._request("PUT", path, json={"m.relates_to": relates})

    async def _request(self, method: str, path: str, **more: Any) -> Json:
        headers = {"Authorization": f"Bearer {self.login.access_token}"}
        address = f"{self._synapse.address}{API}{path}"
        async with self._http.request(method, address, headers=headers, **more) as response:
            answer: Json = await response.json()
            assert response.status == 200, answer
            return answer


@dataclass(slots=True)
class Times:
    """In seconds."""

    out: list[float] = field(default_factory=list)
    """From the call until its message is seen in the room."""
    back: list[float] = field(default_factory=list)
    """From the reaction until its result is read."""

    def figures(self) -> Json:
        return {
            "call_to_event_ms": percentiles(self.out),
            "reaction_to_result_ms": percentiles(self.back),
        }


@dataclass(slots=True, kw_only=True)
class Side:
    """One program and the room that it writes to."""

    ada: Ada
    bot: Login
    room: str
    program: Client
    ask: Callable[[Client, int], None]
    rounds: int = 0

    async def round(self, times: Times) -> None:
        self.rounds += 1
        await self.ada.rests(self.room)
        began = time.perf_counter()
        self.ask(self.program, self.rounds)
        card, seen = await self.ada.sees(self.room, self._is_card)
        times.out.append(seen - began)
        await self.ada.rests(self.room)
        tapped = time.perf_counter()
        reacting = asyncio.ensure_future(
            self.ada.react(self.room, card, "👍", tx=f"tap{self.rounds}")
        )
        result = await self.program.receive()
        times.back.append(time.perf_counter() - tapped)
        assert "error" not in result, result
        await reacting

    def _is_card(self, event: Json) -> bool:
        relation = event["content"].get("m.relates_to", {})
        edit = relation.get("rel_type") == "m.replace"
        ours = event["sender"] == self.bot.user_id
        return bool(event["type"] == "m.room.message" and ours and not edit)


def _call(program: Client, number: int) -> None:
    program.request(number + 10, "tools/call", question(number))


def _line(program: Client, number: int) -> None:
    program.send({"number": number})


@asynccontextmanager
async def ours(synapse: Synapse, ada: Ada) -> AsyncIterator[Side]:
    _, bot = new_bot(synapse)
    room = ada.room(bot)
    settings = matrix_settings(synapse, bot, ada.login.user_id, room=room)
    async with machine(**settings) as here, here.link() as link:
        await link.list_tools()
        yield Side(ada=ada, bot=bot, room=room, program=link, ask=_call)
    _remove_lock(bot)


def _remove_lock(bot: Login) -> None:
    """Every run has bots of its own."""
    Path(bot_lock_path(matrix_bot(bot.user_id).id)).unlink(missing_ok=True)


@asynccontextmanager
async def bare(synapse: Synapse, ada: Ada, way_in: str) -> AsyncIterator[Side]:
    _, bot = new_bot(synapse)
    room = ada.room(bot)
    account = [synapse.address, bot.user_id, bot.access_token, room]
    words = [sys.executable, "-c", BARE + way_in, *account]
    async with machine() as here, client(words, here.environment) as program:
        if way_in == SERVER:
            await program.list_tools()
        ask = _call if way_in == SERVER else _line
        yield Side(ada=ada, bot=bot, room=room, program=program, ask=ask)


@asynccontextmanager
async def person(synapse: Synapse) -> AsyncIterator[Ada]:
    login = synapse.log_in(synapse.register("Ada"))
    async with aiohttp.ClientSession() as http:
        yield Ada(synapse, login, http)


async def matrix(rounds: int) -> Json:
    """So many rounds of each program, in turns."""
    programs: dict[str, Callable[[Synapse, Ada], AbstractAsyncContextManager[Side]]] = {
        "ours": ours,
        "script": lambda synapse, ada: bare(synapse, ada, SCRIPT),
        "server": lambda synapse, ada: bare(synapse, ada, SERVER),
    }
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="cb-"))
        synapse = stack.enter_context(Synapse.running(Path(folder)))
        ada = await stack.enter_async_context(person(synapse))
        sides = {
            name: await stack.enter_async_context(make(synapse, ada))
            for name, make in programs.items()
        }
        watching = asyncio.ensure_future(ada.watch())
        stack.callback(watching.cancel)
        for number in range(-WARM, rounds):
            if number in (-WARM, 0):
                times = {name: Times() for name in programs}
            for name, side in sides.items():
                await side.round(times[name])
                assert not watching.done(), watching
    return {"rounds": rounds, **{name: found.figures() for name, found in times.items()}}
