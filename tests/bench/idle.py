"""What hubs and links cost while nothing happens, beside bare programs that wait in the same
minute."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from tests.bench.chats import (
    bare_matrix,
    bare_telegram,
    homeserver,
    matrix_room,
    telegram_chat,
)
from tests.bench.latency import question
from tests.bench.machine import Client, Json, cpu_seconds, machine
from tests.bench.person import person
from tests.bench.programs import SCRIPT
from tests.fakes.matrix_hub import new_bot

SETTLED = 5.0
"""Seconds until what was begun has been finished."""


async def idle(seconds: float, links: int) -> Json:
    async with _waiting(links, progress=False) as (hub, clients):
        found = await _spent(seconds, {"hub": [hub], "links": [link.pid for link in clients]})
    async with _waiting(links, progress=True) as (hub, _):
        found["heartbeat"] = (await _spent(seconds, {"heartbeat": [hub]}))["heartbeat"]
    return {"seconds": seconds, "links_count": links, **found, **await _channels(seconds)}


async def _spent(seconds: float, watched: dict[str, list[int]]) -> Json:
    """CPU seconds of these processes together, by name."""
    await asyncio.sleep(SETTLED)
    before = {name: sum(map(cpu_seconds, pids)) for name, pids in watched.items()}
    await asyncio.sleep(seconds)
    after = {name: sum(map(cpu_seconds, pids)) for name, pids in watched.items()}
    return {name: round(after[name] - before[name], 4) for name in watched}


@asynccontextmanager
async def _waiting(links: int, *, progress: bool) -> AsyncIterator[tuple[int, list[Client]]]:
    """Each link waits with one open ask. `progress`: with a heartbeat about every 15 s."""
    async with machine() as here, AsyncExitStack() as stack:
        clients = []
        for _ in range(links):
            link = await stack.enter_async_context(here.link())
            await link.list_tools()
            clients.append(link)
        async with person(here) as somebody:
            for number, link in enumerate(clients):
                link.request(10, "tools/call", question(number, token="t" if progress else None))
            for _ in clients:
                await somebody.sees()
        yield here.hub(), clients


async def _channels(seconds: float) -> Json:
    """All at once: a process' CPU time does not depend on the others."""
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        synapse = await enter(homeserver())
        page = await enter(machine())
        await page.begin()
        await enter(person(page))
        telegram = await enter(telegram_chat())
        await telegram.machine.begin()
        plain = await enter(matrix_room(synapse, encrypted=False))
        await plain.machine.begin()
        secret = await enter(matrix_room(synapse, encrypted=True))
        await secret.machine.begin()
        for chat in (plain, secret):
            await chat.ada.sees_member(chat.room, chat.bot.user_id)
        _, _, bare_bot = await enter(bare_telegram(SCRIPT))
        _, bot = await asyncio.to_thread(new_bot, synapse)
        room = synapse.request("POST", "/_matrix/client/v3/createRoom", {}, token=bot.access_token)
        bare_account = await enter(bare_matrix(synapse, bot, str(room["room_id"]), SCRIPT))
        hubs = {
            "hub_page": page,
            "hub_telegram": telegram.machine,
            "hub_matrix": plain.machine,
            "hub_matrix_encrypted": secret.machine,
        }
        bare = {"bare_telegram": [bare_bot.pid], "bare_matrix": [bare_account.pid]}
        return await _spent(seconds, {name: [it.hub()] for name, it in hubs.items()} | bare)
