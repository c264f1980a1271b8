"""How long an ask takes to be seen and an answer to be heard, one after another and all at once."""

from __future__ import annotations

import asyncio
import statistics
import time
from contextlib import AsyncExitStack, nullcontext
from functools import partial

from tests.bench.loop_turns import longest, pinging
from tests.bench.machine import Client, Json, cpu_seconds, machine, percentiles, pss
from tests.bench.person import Person, person

CONNECTIONS = 8
LINKS = 10
WARM = 20
"""Rounds that do not count."""


def question(number: int, *, token: str | None = None) -> Json:
    """`token`: the client wants to see progress, as most real ones do."""
    one = {"id": "q", "question": f"Is number {number} right?", "type": "confirm"}
    meta = {"_meta": {"progressToken": token}} if token else {}
    return {"name": "ask_user", "arguments": {"questions": [one]}, **meta}


async def round_trips(
    link: Client, somebody: Person, count: int
) -> tuple[list[float], list[float]]:
    """Seconds from the call to the card, and from the answer to the result."""
    visible, heard = [], []
    for number in range(count):
        began = time.perf_counter()
        link.request(number + 10, "tools/call", question(number))
        ask_id, seen = await somebody.sees()
        visible.append(seen - began)
        answered = time.perf_counter()
        answering = asyncio.ensure_future(somebody.answer_all([ask_id]))
        result = await link.receive()
        heard.append(time.perf_counter() - answered)
        assert result["result"]["structuredContent"]["answered"]
        await answering
    return visible, heard


async def latency(count: int) -> Json:
    async with machine() as here, here.link() as link:
        await link.list_tools()
        async with person(here) as somebody:
            await round_trips(link, somebody, WARM)
            visible, heard = await round_trips(link, somebody, count)
    return {"out_ms": percentiles(visible), "back_ms": percentiles(heard)}


async def bursts(count: int, rounds: int) -> Json:
    """Many open asks, all answered at once: the median of some bursts, and of as many in which an
    SDK server answers as many empty calls. One more for the hub's loop: to look at it takes time.
    """
    found, sdk = [], []
    for _ in range(rounds):
        found.append(await burst(count))
        sdk.append(await empty_calls(count))
    turns = await burst(count, looked_at=True)
    times = [it["seconds"] for it in found]
    return {
        "asks": count,
        "rounds": rounds,
        **{name: round(statistics.median(it[name] for it in found), 2) for name in found[0]},
        "fastest": round(min(times), 2),
        "slowest": round(max(times), 2),
        "sdk_seconds": round(statistics.median(sdk), 2),
        "longest_wait_ms": turns["longest_wait_ms"],
    }


async def burst(count: int, *, looked_at: bool = False) -> Json:
    """Seconds until all are heard, and of the hub's CPU; the kilobytes by which it grew for each
    open ask. `looked_at`: how long its loop was busy with one thing at most instead."""
    async with machine() as here, AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(here.link()) for _ in range(LINKS)]
        for link in clients:
            await link.list_tools()
        somebody = await stack.enter_async_context(person(here))
        hub, look = here.hub(), partial(pinging, await here.web())
        with look() if looked_at else nullcontext([0.0]) as asking:
            before = pss(hub)
            ids = await ask_all(clients, somebody, count // LINKS)
            weight = pss(hub) - before
        with look() if looked_at else nullcontext([0.0]) as answering:
            spent, began = cpu_seconds(hub), time.perf_counter()
            took = await answer_all(clients, somebody, ids) - began
            spent = cpu_seconds(hub) - spent
    if looked_at:
        return {"longest_wait_ms": {"asking": longest(asking), "answering": longest(answering)}}
    return {"seconds": took, "hub_cpu": spent, "kb_per_open_ask": weight * 1024 / count}


async def empty_calls(count: int) -> float:
    """Seconds in which a minimal server on the SDK answers as many calls of one client at once."""
    async with machine() as here, here.reference() as reference:
        await reference.list_tools()
        began = time.perf_counter()
        for number in range(count):
            reference.request(number + 10, "tools/call", {"name": "echo", "arguments": {}})
        for _ in range(count):
            await reference.receive()
        return time.perf_counter() - began


async def ask_all(clients: list[Client], somebody: Person, each: int) -> list[str]:
    for number in range(each):
        for link in clients:
            link.request(number + 10, "tools/call", question(number))
    return [(await somebody.sees())[0] for _ in range(each * len(clients))]


async def answer_all(clients: list[Client], somebody: Person, ids: list[str]) -> float:
    """When the last of them had its result."""
    answering = [
        asyncio.ensure_future(somebody.answer_all(ids[i::CONNECTIONS])) for i in range(CONNECTIONS)
    ]
    each = len(ids) // len(clients)
    hearing = [asyncio.ensure_future(_receive(link, each)) for link in clients]
    await asyncio.gather(*answering, *hearing)  # together: a failed one must not be waited for
    return max(await asyncio.gather(*hearing))


async def _receive(link: Client, count: int) -> float:
    """Until all are heard; the time of the last one."""
    for _ in range(count):
        result = await link.receive()
        assert result["result"]["structuredContent"]["answered"]
    return time.perf_counter()
