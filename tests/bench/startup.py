"""How soon a client has its tools, and what a link weighs, beside a minimal SDK server; and how
soon a command has said something."""

from __future__ import annotations

import asyncio
import statistics
import sys
import time

from tests.bench.machine import Json, Machine, machine, pss


async def startup(rounds: int) -> Json:
    links, references, weights = [], [], []
    async with machine() as here:
        async with here.link() as first:
            await first.list_tools()
        for _ in range(rounds):
            async with here.link() as link:
                links.append(await link.list_tools())
                weights.append(pss(link.pid))
            async with here.reference() as reference:
                references.append(await reference.list_tools())
    link_ms = statistics.median(links) * 1000
    reference_ms = statistics.median(references) * 1000
    return {
        "link_ms": round(link_ms, 1),
        "reference_ms": round(reference_ms, 1),
        "times_faster": round(reference_ms / link_ms, 1),
        "link_pss_mb": round(max(weights), 1),
    }


async def first_start(rounds: int) -> Json:
    """With no hub running: the link has to start one."""
    links, references = [], []
    for _ in range(rounds):
        async with machine() as here:
            async with here.link() as link:
                links.append(await link.list_tools())
            async with here.reference() as reference:
                references.append(await reference.list_tools())
    link_ms = statistics.median(links) * 1000
    reference_ms = statistics.median(references) * 1000
    return {
        "link_ms": round(link_ms, 1),
        "reference_ms": round(reference_ms, 1),
        "ratio": round(link_ms / reference_ms, 2),
    }


async def commands(rounds: int) -> Json:
    """From the start of the process to its end; `pending` asks a hub that runs."""
    found: Json = {}
    async with machine() as here:
        async with here.link() as first:
            await first.list_tools()
        for words in (["--help"], ["ask", "--help"], ["pending"]):
            took = [await _run(here, *words) for _ in range(rounds)]
            found[" ".join(words)] = round(statistics.median(took) * 1000, 1)
    return found


async def _run(here: Machine, *words: str) -> float:
    began = time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "chatbridge",
        *words,
        env=here.environment,
        stdout=asyncio.subprocess.DEVNULL,
    )
    assert await process.wait() == 0
    return time.perf_counter() - began
