"""Processes to be measured, and what the kernel knows of them."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

from chatbridge import lock_file

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 120.0
MARK = "BENCH_OF_CHATBRIDGE"
"""A variable that all processes of a run have, hubs that a link started included."""
CHATBRIDGE = [sys.executable, "-m", "chatbridge"]
Json = dict[str, Any]
INITIALIZE: Json = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}

REFERENCE = """
import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

async def list_tools(ctx, params):
    schema = {"type": "object"}
    return types.ListToolsResult(tools=[types.Tool(name="echo", input_schema=schema)])

async def call_tool(ctx, params):
    return types.CallToolResult(content=[types.TextContent(type="text", text="ok")])

async def main():
    server = Server("reference", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())

anyio.run(main)
"""
"""A minimal server on the official SDK: what a program without a link would cost."""


class Machine:
    """A state directory of its own; the hub in it is started by the first link."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.state = folder / "s"
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "PYTHONPATH": str(ROOT),
            "CHATBRIDGE_STATE_DIR": str(self.state),
            "CHATBRIDGE_RUNTIME_DIR": str(self.state),
            "CHATBRIDGE_MAX_OPEN_ASKS": "1000000",
            MARK: str(os.getpid()),
            **settings,
        }

    def link(
        self, *options: str, folder: Path | None = None
    ) -> AbstractAsyncContextManager[Client]:
        """`folder`: where its agent was started."""
        return client([*CHATBRIDGE, "mcp", *options], self.environment, folder)

    def reference(self) -> AbstractAsyncContextManager[Client]:
        return client([sys.executable, "-c", REFERENCE], self.environment)

    async def begin(self) -> None:
        """Until a hub runs and its inbox is up."""
        async with self.link() as first:
            await first.list_tools()
        await self.web()

    async def web(self) -> tuple[str, int]:
        """Host and port of the inbox, once it is up."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            info = lock_file.find_holder(str(self.state))
            if info is not None and info.web:
                host, _, port = info.web.removeprefix("http://").rpartition(":")
                return host, int(port)
            await asyncio.sleep(0.02)
        raise TimeoutError("no inbox came up")

    def hub(self) -> int:
        info = lock_file.find_holder(str(self.state))
        assert info is not None, "no hub runs"
        return info.pid

    async def stop(self) -> None:
        await self.run("stop")

    async def run(self, *words: str) -> tuple[str, float]:
        """What a command says, and the seconds from the start of its process to its end."""
        began = time.perf_counter()
        process = await asyncio.create_subprocess_exec(
            *CHATBRIDGE,
            *words,
            env=self.environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        said, complained = await asyncio.wait_for(process.communicate(), PATIENCE)
        assert process.returncode == 0, (words, complained)
        return said.decode(), time.perf_counter() - began


@asynccontextmanager
async def machine(**settings: str) -> AsyncIterator[Machine]:
    folder = Path(tempfile.mkdtemp(prefix="cb-"))
    here = Machine(folder, **settings)
    try:
        yield here
    finally:
        await here.stop()
        shutil.rmtree(folder, ignore_errors=True)


class Client:
    """A client's end of a stdio server."""

    def __init__(self, process: asyncio.subprocess.Process, spawned_at: float) -> None:
        assert process.stdin
        assert process.stdout
        self.pid = process.pid
        self.spawned_at = spawned_at
        self._in, self._out = process.stdin, process.stdout

    def send(self, message: Json) -> None:
        self._in.write(json.dumps(message).encode() + b"\n")

    def request(self, id: int, method: str, params: Json) -> None:
        self.send({"jsonrpc": "2.0", "id": id, "method": method, "params": params})

    async def receive(self) -> Json:
        async with asyncio.timeout(PATIENCE):
            line = await self._out.readline()
        message: Json = json.loads(line)
        return message

    async def initialize(self) -> None:
        self.request(0, "initialize", INITIALIZE)
        await self.receive()
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    async def list_tools(self) -> float:
        """Initialize and list; the seconds since the process was spawned."""
        await self.initialize()
        self.request(1, "tools/list", {})
        await self.receive()
        return time.perf_counter() - self.spawned_at


@asynccontextmanager
async def client(
    words: Sequence[str], environment: dict[str, str], folder: Path | None = None
) -> AsyncIterator[Client]:
    spawned_at = time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        *words,
        env=environment,
        cwd=folder,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        limit=1 << 22,
    )
    try:
        yield Client(process, spawned_at)
    finally:
        assert process.stdin
        process.stdin.close()
        try:
            async with asyncio.timeout(5):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


def pss(pid: int) -> float:
    """Megabytes: its own memory and its share of what it shares."""
    return _of_rollup(pid, "Pss:")


def written(pid: int) -> float:
    """Megabytes that it alone has written: other programs that come and go do not change it."""
    return _of_rollup(pid, "Private_Dirty:")


def _of_rollup(pid: int, name: str) -> float:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) / 1024
    raise ValueError(f"no {name} of {pid}")


def reset_peak(pid: int) -> None:
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def peak(pid: int) -> float:
    """Megabytes: the most that it has had in memory since `reset_peak`."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise ValueError(f"no peak of {pid}")


def cpu_seconds(pid: int) -> float:
    """Read in the scheduler's nanoseconds: clock ticks of 10 ms are too coarse here."""
    total = 0
    for thread in Path(f"/proc/{pid}/task").iterdir():
        total += int((thread / "schedstat").read_text().split()[0])
    return total / 1e9


def wake_ups(pid: int) -> int:
    """How often its threads have waited for something, and it came."""
    total = 0
    for thread in Path(f"/proc/{pid}/task").iterdir():
        for line in (thread / "status").read_text().splitlines():
            if line.startswith("voluntary_ctxt_switches:"):
                total += int(line.split()[1])
    return total


def milliseconds(seconds: Sequence[float]) -> float:
    """The median."""
    return round(statistics.median(seconds) * 1000, 2)


def percentiles(seconds: Sequence[float]) -> Json:
    cuts = statistics.quantiles(seconds, n=100, method="inclusive")
    return {f"p{p}": round(cuts[p - 1] * 1000, 2) for p in (50, 95, 99)}
