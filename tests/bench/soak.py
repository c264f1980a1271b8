"""`make soak`: whether a hub that works for hours needs more and more of anything.

A hundred links are connected, one of them asks each second (`--rate`), and the person answers in
the inbox while Telegram shows the cards. Each minute ten links end and others come; two of those
are killed while they wait, and ask once more in the same words. Each minute is written down what
the hub uses. What has ended is kept for ten minutes only, so that the database comes to its full
size.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import random
import signal
import statistics
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from stat import S_ISREG
from typing import Literal

from tests.bench.chats import TelegramChat, hub_with
from tests.bench.latency import question
from tests.bench.machine import Client, Json, Machine, cpu_seconds, pss, written
from tests.bench.person import YES, Person, person
from tests.bench.watchdog import say

LINKS, LEAVE, KILLED = 100, 8, 2
MINUTE = 60.0
DECIDES = (0.2, 5.0)
"""Seconds that the person takes."""
HEARD_WITHIN = 60.0
KEPT = "10m"
GROWN = 25
"""Minutes until the database has its full size. What comes later is compared."""
ROWS = {
    "hub_mb": "hub, memory (PSS), MB",
    "written_mb": "hub, memory that it alone has written, MB",
    "link_mb": "a link, memory (PSS, the mean of all), MB",
    "descriptors": "hub, open files and sockets",
    "threads": "hub, threads",
    "database_mb": "database, MB",
    "log_kb": "hub's log, KB",
    "other_kb": "all else in the state directory, KB",
    "cpu_ms": "hub, processor time of a question, ms",
}
Order = Literal["ask", "leave", "be killed"]


@dataclass(slots=True)
class Soak:
    here: Machine
    chance: random.Random
    rate: float
    """Questions in a second."""
    orders: asyncio.Queue[Order] = field(default_factory=asyncio.Queue)
    """Who has waited longest gets the next one."""
    pids: set[int] = field(default_factory=set)
    all_there: asyncio.Event = field(default_factory=asyncio.Event)
    connected: int = 0
    asked: int = 0
    heard: int = 0

    async def run(self, minutes: int, out: Path) -> list[Json]:
        samples = []
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._agent()) for _ in range(LINKS)]
            await self.all_there.wait()
            async with person(self.here) as somebody:
                tasks += [group.create_task(it) for it in (self._answer(somebody), self._pace())]
                began, spent = time.monotonic(), cpu_seconds(self.here.hub())
                for minute in range(1, minutes + 1):
                    await asyncio.sleep(began + minute * MINUTE - time.monotonic())
                    spent, before = cpu_seconds(self.here.hub()), spent
                    samples.append(self._sample(minute, (spent - before) / MINUTE))
                    say(json.dumps(samples[-1]))
                    await asyncio.to_thread(out.write_text, json.dumps(samples) + "\n")
                for task in tasks:
                    task.cancel()
        return samples

    async def _pace(self) -> None:
        for count in itertools.count(1):
            self.orders.put_nowait("ask")
            if count % round(MINUTE * self.rate) == 0:
                for number in range(LEAVE + KILLED):
                    self.orders.put_nowait("leave" if number < LEAVE else "be killed")
            await asyncio.sleep(1 / self.rate)

    async def _agent(self) -> None:
        """One agent after another, each with a link of its own."""
        again: int | None = None
        while True:
            async with self.here.link() as link:
                await link.list_tools()
                self.pids.add(link.pid)
                self.connected += 1
                if self.connected == LINKS:
                    self.all_there.set()
                if again is not None:
                    await self._hears(link, again)
                again = await self._works(link)
                self.pids.discard(link.pid)

    async def _works(self, link: Client) -> int | None:
        """Until it is to end. Return what it had asked as it was killed."""
        while (order := await self.orders.get()) == "ask":
            self.asked += 1
            await self._hears(link, self.asked)
        if order == "leave":
            return None
        self.asked += 1
        number = self.asked
        link.request(number, "tools/call", question(number))
        await asyncio.sleep(self.chance.uniform(0.0, 3.0))
        os.kill(link.pid, signal.SIGKILL)
        return number

    async def _hears(self, link: Client, number: int) -> None:
        link.request(number, "tools/call", question(number))
        async with asyncio.timeout(HEARD_WITHIN):
            result = await link.receive()
        assert result["result"]["structuredContent"]["answered"], result
        self.heard += 1

    async def _answer(self, somebody: Person) -> None:
        async with asyncio.TaskGroup() as group:
            while True:
                ask_id, _ = await somebody.sees()
                group.create_task(self._decide(somebody, ask_id))

    async def _decide(self, somebody: Person, ask_id: str) -> None:
        await asyncio.sleep(self.chance.uniform(*DECIDES))
        async with somebody.connection() as page:
            await page.post(f"/api/asks/{ask_id}/answer", YES)

    def _sample(self, minute: int, cpu: float) -> Json:
        hub, state = self.here.hub(), self.here.state
        files = dict(sizes(state))
        base = sum(size for path, size in files.items() if path.name.startswith("chatbridge.db"))
        logs = sum(size for path, size in files.items() if path.suffix == ".log")
        return {
            "minute": minute,
            "asked": self.asked,
            "heard": self.heard,
            "links": self.connected,
            "hub_mb": round(pss(hub), 1),
            "written_mb": round(written(hub), 1),
            "link_mb": round(statistics.mean(memory_of(self.pids)), 2),
            "descriptors": len(os.listdir(f"/proc/{hub}/fd")),
            "threads": len(os.listdir(f"/proc/{hub}/task")),
            "database_mb": round(base / 2**20, 2),
            "log_kb": round(logs / 1024, 1),
            "other_kb": round((sum(files.values()) - base - logs) / 1024, 1),
            "cpu_ms": round(cpu * 1000 / self.rate, 1),
        }


def sizes(folder: Path) -> Iterator[tuple[Path, int]]:
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):  # some are there for a moment only
            found = path.stat()
            if S_ISREG(found.st_mode):
                yield path, found.st_size


def memory_of(pids: Iterable[int]) -> Iterator[float]:
    for pid in pids:
        with suppress(OSError, ValueError):  # it has just ended
            yield pss(pid)


def table(samples: Sequence[Json]) -> str:
    """The first and the last half hour after everything has its full size, side by side."""
    grown = samples[GROWN:] or samples
    part = max(1, min(30, len(grown) // 3))
    lines = [
        f"| | after {grown[0]['minute']} min | at the end ({samples[-1]['minute']} min) | most |",
        "|---|---|---|---|",
    ]
    for name, title in ROWS.items():
        first, last = (
            statistics.mean(it[name] for it in some) for some in (grown[:part], grown[-part:])
        )
        most = max(it[name] for it in grown)
        lines.append(f"| {title} | {first:,.1f} | {last:,.1f} | {most:,.1f} |")
    return "\n".join(lines)


async def soak(minutes: int, rate: float, out: Path) -> list[Json]:
    """Ctrl-C and SIGTERM end it early, and everything with it."""
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    kept = {"CHATBRIDGE_RETENTION": KEPT, "CHATBRIDGE_LATE_ANSWER_TTL": KEPT}
    async with TelegramChat.running() as chat:
        chat.settings |= kept
        async with hub_with(chat) as here:
            await here.begin()
            return await Soak(here, random.Random(minutes), rate).run(minutes, out)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.soak", description=__doc__)
    parser.add_argument("--minutes", type=int, default=180)
    parser.add_argument("--rate", type=float, default=1.0, help="questions in a second")
    parser.add_argument("--json", type=Path, default=Path("soak.json"), help="a sample a minute")
    options = parser.parse_args()
    try:
        samples = asyncio.run(soak(options.minutes, options.rate, options.json))
    except (KeyboardInterrupt, asyncio.CancelledError):
        say(f"Ended early. Its whole minutes are in {options.json}.")
        return 130
    print(table(samples))
    last = samples[-1]
    print(f"\n{last['asked']:,} asked, {last['heard']:,} heard, {last['links']:,} links")
    return 0


if __name__ == "__main__":
    sys.exit(main())
