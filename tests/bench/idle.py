"""What a hub costs while nothing happens."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

from tests.bench.latency import question
from tests.bench.machine import Json, cpu_seconds, machine, pss
from tests.bench.person import person


async def idle(seconds: float, links: int, *, progress: bool) -> Json:
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
        await asyncio.sleep(2)  # what was begun has been finished
        hub = here.hub()
        before = cpu_seconds(hub)
        links_before = sum(cpu_seconds(link.pid) for link in clients)
        await asyncio.sleep(seconds)
        return {
            "links": links,
            "seconds": seconds,
            "hub_cpu_seconds": round(cpu_seconds(hub) - before, 4),
            "links_cpu_seconds": round(
                sum(cpu_seconds(link.pid) for link in clients) - links_before, 4
            ),
            "hub_pss_mb": round(pss(hub), 1),
        }
