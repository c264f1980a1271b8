"""How soon a command runs once it is ordered, and has run, beside `subprocess` in the same run."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from chatbridge.clock import SystemClock
from chatbridge.commands.operations.runner_client import Order, RunnerClient
from chatbridge.commands.runner import start
from tests.bench.machine import Json, percentiles, pss

PROGRAM = shutil.which("true") or "/bin/true"


async def runner(rounds: int) -> Json:
    """The hub's side is in this process; the first order has to start the runner."""
    state = tempfile.mkdtemp(prefix="cb-")
    outputs = Path(state) / "operations"
    try:
        async with RunnerClient(state=state, clock=SystemClock(), outputs=outputs) as line:
            first = (await _run(line, state, 0))[1]
            ours: list[tuple[float, float]] = []
            orphaned: list[float] = []
            for n in range(1, rounds + 1):
                ours.append(await _run(line, state, n))
                orphaned.append(bare())
            pid = start.holder(state)[1]
            assert pid is not None
            weight = pss(pid)
    finally:
        shutil.rmtree(state, ignore_errors=True)
    return {
        "first_ms": round(first * 1000, 1),
        "order_to_started_ms": percentiles([started for started, _ in ours]),
        "order_to_ended_ms": percentiles([ended for _, ended in ours]),
        "subprocess_ms": percentiles(orphaned),
        "pss_mb": round(weight, 1),
    }


async def _run(line: RunnerClient, state: str, number: int) -> tuple[float, float]:
    """Seconds until the process was there, and until its end was known."""
    name = f"{number}"
    ended: asyncio.Future[float] = asyncio.get_running_loop().create_future()
    line.ended = lambda _end: ended.set_result(time.perf_counter())
    order = Order(
        id=name,
        executable=PROGRAM,
        argv=("true",),
        folder="/",
        environment={},
        output=f"{state}/operations/{name}",
        limit=1_000_000,
        timeout=60.0,
    )
    began = time.perf_counter()
    await line.start(order)
    started = time.perf_counter()
    found = started - began, await ended - began
    await line.forget(name)
    return found


def bare() -> float:
    began = time.perf_counter()
    subprocess.run(
        [PROGRAM],
        env={},
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        check=True,
    )
    return time.perf_counter() - began
