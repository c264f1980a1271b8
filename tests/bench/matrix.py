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
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

import aiohttp

from chatbridge.channels.matrix.spec import account_lock
from tests.bench.chats import remove_lock
from tests.bench.machine import PATIENCE, Client, Json, machine
from tests.bench.programs import SCRIPT, SERVER
from tests.bench.rooms import bare_matrix, homeserver
from tests.bench.turns import Programs, Side, in_turns
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
            now = time.time()
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


class RoomSide(Side):
    """One program and the room that it writes to."""

    def __init__(self, ada: Ada, bot: Login, room: str, program: Client, way_in: str = "") -> None:
        super().__init__(program, way_in)
        self._ada, self._bot, self._room = ada, bot, room
        self._cards = 0

    async def settles(self) -> None:
        await self._ada.rests(self._room)

    async def sees(self) -> float:
        self._card, seen = await self._ada.sees(self._room, self._is_card)
        return seen

    async def answers(self) -> None:
        self._cards += 1
        await self._ada.react(self._room, self._card, "👍", tx=f"tap{self._cards}")

    def _is_card(self, event: Json) -> bool:
        relation = event["content"].get("m.relates_to", {})
        edit = relation.get("rel_type") == "m.replace"
        ours = event["sender"] == self._bot.user_id
        return bool(event["type"] == "m.room.message" and ours and not edit)


@asynccontextmanager
async def ours(synapse: Synapse, ada: Ada) -> AsyncIterator[Side]:
    _, bot = new_bot(synapse)
    room = ada.room(bot)
    settings = matrix_settings(synapse, bot, ada.login.user_id, room=room)
    async with machine(**settings) as here, here.link() as link:
        await link.list_tools()
        yield RoomSide(ada, bot, room, link)
    remove_lock(account_lock(bot.user_id).id)


@asynccontextmanager
async def bare(synapse: Synapse, ada: Ada, way_in: str) -> AsyncIterator[Side]:
    _, bot = new_bot(synapse)
    room = ada.room(bot)
    async with bare_matrix(synapse, bot, room, way_in) as program:
        yield RoomSide(ada, bot, room, program, way_in)


@asynccontextmanager
async def person(synapse: Synapse) -> AsyncIterator[Ada]:
    login = synapse.log_in(synapse.register("Ada"))
    async with aiohttp.ClientSession() as http:
        ada = Ada(synapse, login, http)
        watching = asyncio.ensure_future(ada.watch())
        yield ada
        watching.cancel()


async def matrix(rounds: int) -> Json:
    async with homeserver() as synapse, person(synapse) as ada:
        programs: Programs = {
            "ours": lambda: ours(synapse, ada),
            "script": lambda: bare(synapse, ada, SCRIPT),
            "server": lambda: bare(synapse, ada, SERVER),
        }
        return await in_turns(programs, rounds, warm=WARM)
