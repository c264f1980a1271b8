"""What hubs and links cost while nothing happens, beside bare programs that wait in the same
minute."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from tests.bench.chats import CHATS, bare, hub_with
from tests.bench.latency import question
from tests.bench.machine import Client, Json, cpu_seconds, machine, wake_ups
from tests.bench.person import person
from tests.bench.programs import SCRIPT
from tests.bench.rooms import bare_account, homeserver, matrix_room

SETTLED = 5.0
"""Seconds until what was begun has been finished."""


async def idle(seconds: float, links: int) -> Json:
    async with _waiting(links, progress=False) as (hub, clients):
        found = await _spent(seconds, {"hub": [hub], "links": [link.pid for link in clients]})
    async with _waiting(links, progress=True) as (hub, _):
        found["heartbeat"] = (await _spent(seconds, {"heartbeat": [hub]}))["heartbeat"]
    return {"seconds": seconds, "links_count": links, **found, **await _channels(seconds)}


async def _spent(
    seconds: float, watched: dict[str, list[int]], *, settled: float = SETTLED
) -> Json:
    """CPU seconds of these processes together, by name."""
    await asyncio.sleep(settled)
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
    """All at once: a process' CPU time does not depend on the others. For twice as long, because
    signs of life are up to 45 s apart; of the CPU time, half."""
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        synapse = await enter(homeserver())
        page = await enter(machine())
        await page.begin()
        await enter(person(page))
        none = await enter(machine())
        await none.begin()
        plain = await enter(matrix_room(synapse, encrypted=False))
        await plain.machine.begin()
        secret = await enter(matrix_room(synapse, encrypted=True))
        await secret.machine.begin()
        for room in (plain, secret):
            await room.ada.sees_member(room.room, room.bot.user_id)
        pids = {
            "hub_none": none.hub(),
            "hub_page": page.hub(),
            "hub_matrix": plain.machine.hub(),
            "hub_matrix_encrypted": secret.machine.hub(),
            "bare_matrix": (await enter(bare_account(synapse))).pid,
        }
        for name, make in CHATS.items():
            chat, other = await enter(make.running()), await enter(make.running())
            here = await enter(hub_with(chat))
            await here.begin()
            pids[f"hub_{name}"] = here.hub()
            pids[f"bare_{name}"] = (await enter(bare(other, SCRIPT))).pid
            await chat.listened_to()
            await other.listened_to()
        await asyncio.sleep(2 * SETTLED)
        woken = {name: wake_ups(pid) for name, pid in pids.items()}
        spent = await _spent(2 * seconds, {name: [pid] for name, pid in pids.items()}, settled=0)
        woken = {name: wake_ups(pid) - woken[name] for name, pid in pids.items()}
    return {name: round(found / 2, 4) for name, found in spent.items()} | {
        "wake_ups": {name: round(30 / seconds * found) for name, found in woken.items()}
    }
