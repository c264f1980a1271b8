"""What a database that has grown costs: round trips, the hub's start, its pages, its size."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable
from contextlib import closing
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
from chatbridge.store.sqlite.store import SqliteStore
from tests.bench.latency import WARM, measured, round_trips
from tests.bench.loop_turns import longest, pinging
from tests.bench.machine import Json, Machine, machine, milliseconds
from tests.bench.person import person

AT_ONCE = 1000
STARTS = 3
PAGES = 20
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
    for steps in RUNS:
        async with machine() as here:
            there = 0
            for name, opened, ended in steps:
                await fill(here, opened // part, ended=ended // part)
                there += opened // part
                found[name] = await _step(here, rounds, open_asks=there)
                await here.stop()
    return found


async def _step(here: Machine, rounds: int, *, open_asks: int) -> Json:
    starts, commands = [], []
    for _ in range(STARTS):
        async with here.link() as link:
            starts.append(await link.list_tools())
        await here.web()
        commands.append((await here.run("history"))[1])
        await here.stop()
    found = await measured(here, rounds, open_asks=open_asks)
    async with person(here) as somebody:
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
        **found,
        "start_ms": milliseconds(starts),
        "history_command_ms": milliseconds(commands),
        "pages_ms": pages,
        "longest_wait_ms": turn,
        "look_ms": milliseconds([_look_at_each(here) for _ in range(PAGES)]),
        "database_mb": round(size / 1e6, 1),
    }


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
