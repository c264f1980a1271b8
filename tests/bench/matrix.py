"""How long a question takes to a Matrix room and a reaction back to the agent, beside bare programs
on matrix-nio that do only that.

All talk to one real homeserver on loopback, each in a room of its own. A message is there when the
person's long-polling sync has it: the same for all. Before anything is timed a room has come to
rest, as it does before people react. The programs take turns, round by round.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import aiohttp

from tests.bench.chats import bare_matrix, homeserver, remove_lock
from tests.bench.latency import question
from tests.bench.machine import PATIENCE, Client, Json, machine, percentiles
from tests.bench.programs import SCRIPT, SERVER
from tests.fakes.chat_settings import matrix_settings
from tests.fakes.matrix_hub import new_bot
from tests.fakes.synapse import Login, Synapse

REST = 0.3
"""Seconds without an event, after which nobody is at work in a room."""
WARM = 3
"""Rounds of each program that do not count."""
API = "/_matrix/client/v3"


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
            "out_ms": percentiles(self.out),
            "back_ms": percentiles(self.back),
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
    remove_lock(bot)


@asynccontextmanager
async def bare(synapse: Synapse, ada: Ada, way_in: str) -> AsyncIterator[Side]:
    _, bot = new_bot(synapse)
    room = ada.room(bot)
    async with bare_matrix(synapse, bot, room, way_in) as program:
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
        synapse = await stack.enter_async_context(homeserver())
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
