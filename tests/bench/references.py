"""What lies under every figure: a commit that is synced to the disk, and one HTTP request."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from tests.bench.machine import Json, machine, percentiles
from tests.bench.person import person


def synced_commit(rounds: int) -> Json:
    """One row each, as the hub's database is set: in WAL mode, with a full sync."""
    times = []
    with (
        tempfile.TemporaryDirectory(prefix="cb-") as folder,
        closing(sqlite3.connect(Path(folder) / "a.db", isolation_level=None)) as database,
    ):
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        database.execute("CREATE TABLE a (b TEXT)")
        for _ in range(rounds):
            began = time.perf_counter()
            database.execute("INSERT INTO a VALUES ('x')")
            times.append(time.perf_counter() - began)
    return percentiles(times)


async def plain_request(rounds: int) -> Json:
    """A small file of the inbox, over one kept connection."""
    async with machine() as here:
        await here.begin()
        async with person(here) as somebody:
            times = await somebody.loads("/static/manifest.webmanifest", rounds)
    return percentiles(times)


async def empty_call(rounds: int) -> Json:
    """A tool call of the minimal SDK server that returns at once: the SDK's own share."""
    async with machine() as here, here.reference() as reference:
        await reference.list_tools()
        times = []
        for number in range(rounds):
            began = time.perf_counter()
            reference.request(number + 10, "tools/call", {"name": "echo", "arguments": {}})
            await reference.receive()
            times.append(time.perf_counter() - began)
    return percentiles(times)


def python_process(*words: str) -> float:
    """Seconds from the start of a Python process to its end."""
    began = time.perf_counter()
    subprocess.run([sys.executable, *words], check=True, stdin=subprocess.DEVNULL)
    return time.perf_counter() - began


async def references(rounds: int) -> Json:
    return {
        "commit_ms": await asyncio.to_thread(synced_commit, rounds),
        "request_ms": await plain_request(rounds),
        "empty_call_ms": await empty_call(rounds),
    }
