"""How long an ask from a terminal takes to another one, and its answer back, beside the start of a
Python process: each way is a command of its own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from tests.bench.machine import (
    CHATBRIDGE,
    PATIENCE,
    Json,
    Machine,
    machine,
    milliseconds,
    percentiles,
)
from tests.bench.references import python_process

ASK = ("ask", "Is it right?", "--confirm")


async def terminal(rounds: int) -> Json:
    async with machine() as here:
        await here.begin()
        out, back, bare = [], [], []
        async with watching(here) as seen:
            for _ in range(rounds):
                shown, heard = await once(here, seen.get)
                out.append(shown)
                back.append(heard)
                bare.append(python_process("-c", "pass"))
    return {
        "out_ms": percentiles(out),
        "back_ms": percentiles(back),
        "python_ms": milliseconds(bare),
    }


async def once(here: Machine, seen: Callable[[], Awaitable[str]]) -> tuple[float, float]:
    """Seconds from the start of `ask` until another terminal has seen its id; and from the start
    of `answer` until `ask` has said it."""
    began = time.perf_counter()
    asking = await asyncio.create_subprocess_exec(
        *CHATBRIDGE,
        *ASK,
        env=here.environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert asking.stdout
    short = await asyncio.wait_for(seen(), PATIENCE)
    shown = time.perf_counter() - began
    began = time.perf_counter()
    answering = asyncio.ensure_future(here.run("answer", short, "yes"))
    said = await asyncio.wait_for(asking.stdout.readline(), PATIENCE)
    heard = time.perf_counter() - began
    assert said.strip().lower() == b"yes", said
    await answering
    await asking.wait()
    return shown, heard


@asynccontextmanager
async def watching(here: Machine) -> AsyncIterator[asyncio.Queue[str]]:
    """The ids of open asks as `chatbridge pending --watch` prints them, each once."""
    process = await asyncio.create_subprocess_exec(
        *CHATBRIDGE,
        "pending",
        "--watch",
        "--ids",
        env=here.environment,
        stdout=asyncio.subprocess.PIPE,
    )
    seen: asyncio.Queue[str] = asyncio.Queue()
    reading = asyncio.ensure_future(_read(process, seen))
    try:
        yield seen
    finally:
        process.kill()
        await process.wait()
        await reading


async def _read(process: asyncio.subprocess.Process, seen: asyncio.Queue[str]) -> None:
    assert process.stdout
    known = set()
    while line := (await process.stdout.readline()).decode().strip():
        if line not in known:
            known.add(line)
            seen.put_nowait(line)


async def first_seen(here: Machine) -> str:
    """The id of the open ask, once a hub runs and says it."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        process = await asyncio.create_subprocess_exec(
            *CHATBRIDGE,
            "pending",
            "--ids",
            env=here.environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        said, _ = await process.communicate()
        if said.strip():
            return said.decode().split()[0]
    raise TimeoutError("no ask came")
