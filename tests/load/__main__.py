"""Let many agents and people work at a hub over each store, all in the same minutes; then raise the
rate until it breaks. Prints what was measured, and keeps it as JSON.

Ends by itself, and leaves nothing behind.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from tests.bench.computer import computer
from tests.bench.machine import ROOT, Json
from tests.bench.watchdog import say
from tests.fakes.postgres import Postgres, running
from tests.load.document import draw, on_terminal
from tests.load.figures import NAMES
from tests.load.registry import CUT
from tests.load.side import Plan

POSTGRESQL = "postgresql"
CONNECT_SECONDS = 300.0
PATIENCE = 90.0
"""Seconds for what is open at the end of a stage."""
SPARE = 60.0
GO_SECONDS = 20.0
WARM_SECONDS = 20.0
ANSWER, HURRY = (2.0, 12.0), (0.5, 2.0)
"""Seconds that a person takes."""
CROWD_AGENTS, CROWD_RATE, CROWD_SECONDS = 200, 300.0, 40.0
"""At one hub, with more and more people."""
BROKEN_MS = 1_000.0
"""If it takes longer both ways for one in twenty, the hub has had enough."""
BUSY = 0.5
LINE = 1 << 24


def main() -> int:
    options = _parser().parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that nothing is left running
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if options.draw:
        figures: Json = json.loads(options.json.read_text())
    else:
        if (load := os.getloadavg()[0]) > BUSY:
            say(f"This machine is busy (load {load:.1f}): times will be too long.")
        try:
            figures = asyncio.run(_measure(options))
        except KeyboardInterrupt:
            say("Ended. Nothing was kept.")
            return 130
        figures = _with_earlier(options.json, figures)
        options.json.write_text(json.dumps(figures, indent=2) + "\n")
    print(on_terminal(figures))
    if options.write_docs or options.draw:
        print(f"\nWritten: {draw(figures)}")
    stages = (*figures["stages"], *figures["ramp"], *figures["crowds"])
    # Beyond what it can do a hub may cut calls off, and never mix answers up.
    wrong = [it for it in stages if {*it["wrong"]} - ({CUT} if it.get("broken") else set())]
    for stage in wrong:
        say(f"{NAMES[stage['store']]} at {stage['rate']:g}: {stage['wrong']} {stage['said'][:3]}")
    for stage in stages:
        if stage["again"]:
            say(f"{NAMES[stage['store']]} at {stage['rate']:g}, again: {stage['again']}")
    lost = [it for it in figures["stages"] if it["answers"]["heard"] < it["answers"]["asked"]]
    return 1 if wrong or lost else 0


def _with_earlier(kept: Path, figures: Json) -> Json:
    """With what an earlier run has measured and this one was not asked for."""
    earlier: Json = json.loads(kept.read_text()) if kept.exists() else {}
    if not figures["stages"]:
        of_stages = ("minutes", "agents", "people", "rate", "stages", "connected")
        figures |= {name: earlier[name] for name in of_stages if name in earlier}
    missing = [name for name in ("ramp", "crowds") if not figures[name]]
    return figures | {name: earlier.get(name, []) for name in missing}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.load", description=__doc__)
    add = parser.add_argument
    add("--minutes", type=float, default=20.0, help="how long they work; 0: only the ramp")
    add("--agents", type=int, default=1000, help="at each hub, half of them over HTTP")
    add("--people", type=int, default=50, help="who answer, on four channels")
    add("--rate", type=float, default=100.0, help="questions a minute at each hub")
    add("--stores", default="sqlite,postgresql", help="each has a hub, side by side")
    add("--seed", type=int, default=1, help="who asks and what is answered")
    add(
        "--ramp",
        default="300,600,1000,1500,2000,3000",
        help="questions a minute, hub by hub; '': no ramp",
    )
    add("--ramp-seconds", type=float, default=60.0, help="how long each of these lasts")
    add("--crowds", default="10,50,100,200", help="numbers of people, one after another; '': none")
    kept = "where to keep the figures, and the hubs' logs beside them"
    add("--json", type=Path, default=Path("load.json"), help=kept)
    add("--write-docs", action="store_true", help="write the figures into docs/load.md")
    add("--draw", action="store_true", help="measure nothing, write what was kept")
    return parser


async def _measure(options: argparse.Namespace) -> Json:
    stores = options.stores.split(",")
    figures: Json = {
        "machine": computer(),
        "date": time.strftime("%Y-%m-%d"),
        **{name: getattr(options, name) for name in ("minutes", "agents", "people", "rate")},
        "stores": stores,
        "stages": [],
        "ramp": [],
        "crowds": [],
        "connected": {},
    }
    async with AsyncExitStack() as stack:
        server = _server(stack) if POSTGRESQL in stores else None
        if options.minutes:
            plans = _plans(options, stores)
            async with _sides(plans, server) as sides:
                figures["connected"] = {it.store: it.connected["hub"] for it in sides}
                await _together(sides, options.rate, WARM_SECONDS)
                figures["stages"] = await _together(sides, options.rate, options.minutes * 60)
        if options.ramp:
            rates = [float(it) for it in options.ramp.split(",")]
            plans = _plans(options, stores, profiled=True)
            async with _sides(plans, server) as sides:
                if not figures["connected"]:
                    figures["connected"] = {it.store: it.connected["hub"] for it in sides}
                await _together(sides, options.rate, WARM_SECONDS)
                figures["ramp"] = await _ramp(sides, rates, options.ramp_seconds)
        for people in map(int, filter(None, options.crowds.split(","))):
            (plan,) = _plans(options, stores[:1], profiled=True)
            plan = replace(plan, people=people, agents=min(plan.agents, CROWD_AGENTS))
            async with _sides([plan], server) as (side,):
                await _together([side], CROWD_RATE, WARM_SECONDS)
                say(f"{people} people, {CROWD_RATE:g} questions a minute")
                stage = await side.stage(CROWD_RATE, CROWD_SECONDS, HURRY)
                figures["crowds"].append({**stage, "people": people})
    return figures


def _plans(
    options: argparse.Namespace, stores: Sequence[str], *, profiled: bool = False
) -> list[Plan]:
    given = {name: getattr(options, name) for name in ("agents", "people", "seed")}
    kept = options.json.absolute()
    return [
        Plan(
            store=store,
            profiled=profiled,
            log=str(kept.with_suffix(f".{'ramp-' if profiled else ''}{store}.log")),
            **given,
        )
        for store in stores
    ]


def _server(stack: AsyncExitStack) -> Postgres:
    found = subprocess.run([ROOT / ".ci" / "postgres", "find"], capture_output=True, text=True)
    if found.returncode:
        raise SystemExit("There is no PostgreSQL here. Run: .ci/postgres set-up")
    say("PostgreSQL starts, with fsync and with its files where temporary files are")
    return stack.enter_context(running(Path(found.stdout.strip()), durable=True))


@dataclass
class Worker:
    """A side in a process of its own."""

    store: str
    process: asyncio.subprocess.Process
    connected: Json

    async def stage(self, rate: float, seconds: float, answer: Sequence[float]) -> Json:
        given = {"rate": rate, "seconds": seconds, "answer": answer, "patience": PATIENCE}
        assert self.process.stdin
        self.process.stdin.write(json.dumps(given).encode() + b"\n")
        return await _read(self.process, seconds + PATIENCE + SPARE)


async def _read(process: asyncio.subprocess.Process, within: float) -> Json:
    assert process.stdout
    line = await asyncio.wait_for(process.stdout.readline(), within)
    assert line, "a side has ended: see above"
    said: Json = json.loads(line)
    return said


@asynccontextmanager
async def _sides(plans: list[Plan], server: Postgres | None) -> AsyncIterator[list[Worker]]:
    async with AsyncExitStack() as stack:
        workers = []
        for plan in plans:
            if plan.store == POSTGRESQL:
                assert server
                assert server.process
                address = await stack.enter_async_context(server.database(empty=True))
                at = replace(plan, dsn=address.dsn, server=server.process.pid)
            else:
                at = plan
            workers.append(await stack.enter_async_context(_worker(at)))
        yield workers


@asynccontextmanager
async def _worker(plan: Plan) -> AsyncIterator[Worker]:
    process = await asyncio.create_subprocess_exec(
        *("setpriv", "--pdeathsig", "TERM", sys.executable),
        *("-m", "tests.load.side", json.dumps(asdict(plan))),
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=LINE,
    )
    try:
        connected = await _read(process, CONNECT_SECONDS)
        say(f"{NAMES[plan.store]}: {plan.agents} agents after {connected['connected']} s")
        yield Worker(plan.store, process, connected)
    finally:
        assert process.stdin
        process.stdin.close()  # it ends after its stage
        for end in (process.terminate, process.kill):
            try:
                await asyncio.wait_for(process.wait(), GO_SECONDS)
            except TimeoutError:
                end()
        await process.wait()


async def _together(workers: list[Worker], rate: float, seconds: float) -> list[Json]:
    say(f"{rate:g} questions a minute for {seconds:.0f} s, at all hubs at the same time")
    return [*await asyncio.gather(*(it.stage(rate, seconds, ANSWER) for it in workers))]


async def _ramp(workers: list[Worker], rates: list[float], seconds: float) -> list[Json]:
    """Hub by hub, so that each has the machine to itself, until it breaks."""
    found, going = [], [*workers]
    for rate in rates:
        for worker in [*going]:
            say(f"{rate:g} questions a minute for {seconds:.0f} s, {NAMES[worker.store]} alone")
            stage = await worker.stage(rate, seconds, HURRY)
            answers = stage["answers"]
            slow = answers["both"].get("p95", BROKEN_MS) >= BROKEN_MS
            stage["broken"] = slow or stage["unasked"] > 0 or answers["heard"] < answers["asked"]
            if stage["broken"]:
                going.remove(worker)
            found.append(stage)
    return found


if __name__ == "__main__":
    sys.exit(main())
