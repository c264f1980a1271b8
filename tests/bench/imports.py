"""What each channel adds to a hub that has the web inbox: time to import, and memory; and how much
of it is the client library's."""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys

from chatbridge.channels.registry import BUILT_IN
from chatbridge.channels.web.spec import WEB
from tests.bench.machine import Json, machine, milliseconds

LIBRARIES = {
    "telegram": ["telegram.ext"],
    "matrix": ["nio"],
    "slack": ["slack_sdk.web.async_client"],
    "discord": ["aiohttp"],
    "ntfy": ["httpx"],
}
LOAD = """
import json, os, sys, time
os.environ.setdefault("PTB_TIMEDELTA", "true")
from importlib import import_module
from pathlib import Path
from chatbridge.hub.wiring.serving import import_everything

def pss():
    for line in Path("/proc/self/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024

web, channel, *libraries = sys.argv[1:]
import_everything([web])
found = [(time.perf_counter(), pss())]
for names in (libraries, [channel]):
    for name in names:
        import_module(name)
    found.append((time.perf_counter(), pss()))
print(json.dumps([[after - before for before, after in zip(found[0], each)] for each in found[1:]]))
"""


async def imports(rounds: int) -> Json:
    async with machine() as here:
        return {
            spec.name: await _channel(spec.name, spec.module, here.environment, rounds)
            for spec in BUILT_IN
            if spec.name in LIBRARIES
        }


async def _channel(name: str, module: str, environment: dict[str, str], rounds: int) -> Json:
    """The first does not count: it may have to compile."""
    words = [sys.executable, "-c", LOAD, WEB.module, module, *LIBRARIES[name]]
    said = [
        await asyncio.to_thread(subprocess.check_output, words, env=environment)
        for _ in range(rounds + 1)
    ]
    libraries, alls = zip(*map(json.loads, said[1:]), strict=True)
    return {
        "ms": milliseconds([seconds for seconds, _ in alls]),
        "library_ms": milliseconds([seconds for seconds, _ in libraries]),
        "mb": round(statistics.median(mb for _, mb in alls), 1),
        "library_mb": round(statistics.median(mb for _, mb in libraries), 1),
    }
