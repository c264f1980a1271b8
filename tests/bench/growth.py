"""What a database that has grown costs: round trips, the hub's start, its pages, its size."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack, closing
from functools import partial
from uuid import uuid4

from chatbridge.core.asks import transitions
from chatbridge.core.model import (
    Agent,
    Answer,
    AskRequest,
    Person,
    Project,
    Question,
    QuestionType,
)
from chatbridge.core.policy import Policy
from chatbridge.core.store_port import Transaction
from chatbridge.store.search import MOST_WAITING
from chatbridge.store.sqlite.store import SqliteStore
from tests.bench.latency import WARM, round_trips
from tests.bench.loop_turns import longest, pinging
from tests.bench.machine import PATIENCE, Json, Machine, machine, milliseconds, percentiles
from tests.bench.person import person

AT_ONCE = 1000
STARTS = 3
PAGES = 20
TURN = 10
"""Round trips after which it is the other one's turn."""
ONE = "99999"
"""Only in the text of the last of 100,000 asks."""
EVERY_SECONDS, TOOK_AT_MOST = 60, 3_600
ADA = Person(name="Ada", channel="web")
RULES = Policy()
RUNS = (
    (
        ("empty", 0, 0),
        ("ended_100000", 0, 100_000),
        ("open_10000_ended_100000", 10_000, 0),
    ),
    (("open_1000", 1_000, 0),),
)
"""Each step adds so many open asks, and so many that have ended, to those of the steps before."""


async def growth(rounds: int, part: int) -> Json:
    """`part`: only that part of the asks."""
    found = {}
    async with machine() as empty:
        for steps in RUNS:
            async with machine() as here:
                there = 0
                for name, opened, ended in steps:
                    await fill(here, opened // part, ended=ended // part)
                    there += opened // part
                    found[name] = await _step(here, empty, rounds, open_asks=there)
                    await here.stop()
    return found


async def _step(here: Machine, empty: Machine, rounds: int, *, open_asks: int) -> Json:
    """In turns with a hub that has nothing: a machine is not as quick at all times."""
    beside = await _started([here, empty])
    both, alone = await _in_turns(here, empty, rounds, open_asks=open_asks)
    async with person(here) as somebody:
        await somebody.loads(f"/history?q={ONE}", 1)
        await _until_indexed(here)
        paths = {
            "history": "/history",
            "search": "/history?q=what+nobody+asked",
            "search_one": f"/history?q={ONE}",
            "search_all": "/history?q=number",
            "search_short": "/history?q=ri",
            "list": "/?all",
            "card": f"/asks/{_newest(here)}",
            "stats": "/stats?since=90d",
        }
        pages = {
            name: milliseconds(await somebody.loads(path, PAGES)) for name, path in paths.items()
        }
    turn = await _longest_turn(here, open_asks, paths.values())
    size = sum(file.stat().st_size for file in here.state.glob("chatbridge.db*"))
    return {
        **both,
        **beside[0],
        "beside": {**alone, **beside[1]},
        "pages_ms": pages,
        "longest_wait_ms": turn,
        "look_ms": milliseconds([_look_at_each(here) for _ in range(PAGES)]),
        "database_mb": round(size / 1e6, 1),
    }


async def _started(machines: Sequence[Machine]) -> list[Json]:
    """How long a start of each takes, and then a command."""
    starts: list[list[float]] = [[] for _ in machines]
    commands: list[list[float]] = [[] for _ in machines]
    for _ in range(STARTS):
        for number, here in enumerate(machines):
            async with here.link() as link:
                starts[number].append(await link.list_tools())
            await here.web()
            commands[number].append((await here.run("history"))[1])
            await here.stop()
    return [
        {"start_ms": milliseconds(start), "history_command_ms": milliseconds(command)}
        for start, command in zip(starts, commands, strict=True)
    ]


async def _in_turns(
    here: Machine, empty: Machine, rounds: int, *, open_asks: int
) -> tuple[Json, Json]:
    """Round trips of both; `here` has so many open asks already."""
    found: list[tuple[list[float], list[float]]] = [([], []), ([], [])]
    async with AsyncExitStack() as stack:
        sides = []
        for machine_, known in ((here, open_asks), (empty, 0)):
            link = await stack.enter_async_context(machine_.link())
            await link.list_tools()
            somebody = await stack.enter_async_context(person(machine_))
            for _ in range(known):
                await somebody.sees()
            await round_trips(link, somebody, WARM)
            sides.append((link, somebody))
        for _ in range(0, rounds, TURN):
            for (link, somebody), times in zip(sides, found, strict=True):
                visible, heard = await round_trips(link, somebody, TURN)
                times[0].extend(visible)
                times[1].extend(heard)
    filled, nothing = (
        {"out_ms": percentiles(visible), "back_ms": percentiles(heard)} for visible, heard in found
    )
    return filled, nothing


async def _until_indexed(here: Machine) -> None:
    """A search that finds much to do lets the index grow, which takes time from everything."""
    until = time.monotonic() + PATIENCE
    while _waiting(here) > MOST_WAITING and time.monotonic() < until:  # noqa: ASYNC110 - rows
        await asyncio.sleep(0.5)


def _waiting(here: Machine) -> int:
    with closing(sqlite3.connect(here.state / "chatbridge.db")) as database:
        return int(database.execute("SELECT count(*) FROM search_queue").fetchone()[0])


async def _longest_turn(here: Machine, open_asks: int, paths: Iterable[str]) -> float:
    """In milliseconds, from a hub's start on, while asks come and are answered and each page is
    loaded. After everything else: to look takes time."""
    await here.stop()
    async with here.link() as link:
        await link.list_tools()
        with pinging(await here.web()) as found:
            async with person(here) as somebody:
                for _ in range(open_asks):
                    await somebody.sees()
                await round_trips(link, somebody, WARM)
                for path in paths:
                    await somebody.loads(path, 1)
    return longest(found)


def _look_at_each(here: Machine) -> float:
    """The seconds that SQLite alone takes to add up the times of all asks."""
    with closing(sqlite3.connect(here.state / "chatbridge.db")) as database:
        began = time.perf_counter()
        database.execute("SELECT count(*), sum(settled_at - created_at) FROM asks").fetchone()
        return time.perf_counter() - began


def _newest(here: Machine) -> str:
    """The id of an ask that has ended: there is one in every database."""
    with closing(sqlite3.connect(here.state / "chatbridge.db")) as database:
        (found,) = database.execute("SELECT id FROM asks ORDER BY seq DESC LIMIT 1").fetchone()
    return str(found)


async def fill(here: Machine, count: int, *, ended: int) -> None:
    """Open asks of other agents, and answered ones, straight into the database."""
    here.state.mkdir(mode=0o700, parents=True, exist_ok=True)
    store = await SqliteStore.open(here.state / "chatbridge.db")
    now = time.time()

    async def work(tx: Transaction, *, start: int) -> None:
        for i in range(start, min(start + AT_ONCE, count + ended)):
            at = now - i
            if i >= count:
                # From many days, and not answered at once: statistics have something to count.
                at = now - EVERY_SECONDS * i - i % TOOK_AT_MOST
            ask = transitions.open_ask(_request(i), now=at, deadline=now + 86400 + i)
            if i >= count:
                yes, end = (Answer(values=("yes",)),), at + i % TOOK_AT_MOST
                ask = transitions.answer(ask, yes, by=ADA, now=end, policy=RULES)
                ask = transitions.mark_delivered(ask, now=end)
            await tx.add_ask(ask)

    for start in range(0, count + ended, AT_ONCE):
        await store.write(partial(work, start=start))
    await store.close()


def _request(number: int) -> AskRequest:
    text = f"Is number {number} right?"
    return AskRequest(
        project=Project(key=f"/src/{number % 100}", name=f"p{number % 100}"),
        agent=Agent(client=str(uuid4()), name="bench"),
        tool="ask_user",
        dialect="questions",
        questions=(Question(id="q", text=text, type=QuestionType.CONFIRM),),
    )
