"""How long an agent's command takes from the call on, and a thousand of them at once, beside
`subprocess` in the same run."""

from __future__ import annotations

import asyncio
import json
import os
import select
import shutil
import tempfile
import time
from pathlib import Path

from tests.bench.machine import PATIENCE, Client, Json, machine, percentiles, pss
from tests.bench.runner import bare

TRUE = shutil.which("true") or "/bin/true"
TEE = shutil.which("tee") or "/usr/bin/tee"
WARM = 20


async def calls(rounds: int, many: int) -> Json:
    """Through a real link and hub. The process is seen to run when it opens a pipe of ours."""
    folder = Path(tempfile.mkdtemp(prefix="cb-"))
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    _define(folder, "true", [TRUE], synchronous=True)
    _define(folder, "tee", [TEE, str(pipe)], synchronous=False)
    _define(folder, "background", [TRUE], synchronous=False)
    try:
        async with machine(CHATBRIDGE_COMMANDS__DIRS=str(folder)) as here, here.link() as link:
            await link.list_tools()
            for number in range(WARM):
                await _called(link, "true", number)
                await _opened(link, number, pipe)
            whole: list[float] = []
            started: list[float] = []
            orphaned: list[float] = []
            for number in range(rounds):
                whole.append(await _called(link, "true", number))
                started.append(await _opened(link, number, pipe))
                orphaned.append(bare())
            before = pss(here.hub())
            took = await _burst(link, many)
            weight = pss(here.hub()) - before
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return {
        "call_to_running_ms": percentiles(started),
        "call_to_result_ms": percentiles(whole),
        "subprocess_ms": percentiles(orphaned),
        "many": many,
        "seconds_for_many": round(took, 2),
        "hub_grew_mb": round(weight, 1),
    }


def _define(folder: Path, name: str, command: list[str], *, synchronous: bool) -> None:
    said = {
        "schema": 2,
        "name": name,
        "command": command,
        "synchronous": synchronous,
        "subcommands": [{"name": "default", "description": "Run it"}],
    }
    (folder / f"{name}.json").write_text(json.dumps(said))


async def _called(link: Client, tool: str, number: int) -> float:
    began = time.perf_counter()
    link.request(number + 10, "tools/call", {"name": tool, "arguments": {}})
    while (message := await link.receive()).get("id") != number + 10:
        pass  # of an asynchronous one: its response, or its end
    assert not message["result"].get("isError"), message
    return time.perf_counter() - began


async def _opened(link: Client, number: int, pipe: Path) -> float:
    """Until the process of an asynchronous call has opened the pipe, and closed it again."""
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        poll = select.poll()
        poll.register(reading, select.POLLIN | select.POLLHUP)
        began = time.perf_counter()
        link.request(number + 1_000_000, "tools/call", {"name": "tee", "arguments": {}})
        assert await asyncio.to_thread(poll.poll, PATIENCE * 1000)
        return time.perf_counter() - began
    finally:
        os.close(reading)


async def _burst(link: Client, count: int) -> float:
    """So many asynchronous calls at once, until the end of the last was pushed."""
    began = time.perf_counter()
    for number in range(count):
        link.request(number + 2_000_000, "tools/call", {"name": "background", "arguments": {}})
    ended = 0
    while ended < count:
        message = await link.receive()
        data = message.get("params", {}).get("data", {})
        ended += data.get("tool") == "background" and data["status"] == "succeeded"
    return time.perf_counter() - began
