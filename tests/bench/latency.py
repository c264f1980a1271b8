"""How long an ask takes to be seen and an answer to be heard, alone and among many open asks."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack
from uuid import uuid4

from chatbridge.core import asks
from chatbridge.core.model import Agent, AskRequest, Project, Question, QuestionType
from chatbridge.core.ports import Transaction
from chatbridge.store.sqlite import SqliteStore
from tests.bench.machine import Client, Json, Machine, machine, percentiles, pss
from tests.bench.person import Person, person

CONNECTIONS = 8


def question(number: int, *, token: str | None = None) -> Json:
    """`token`: the client wants to see progress, as most real ones do."""
    one = {"id": "q", "question": f"Is number {number} right?", "type": "confirm"}
    meta = {"_meta": {"progressToken": token}} if token else {}
    return {"name": "ask_user", "arguments": {"questions": [one]}, **meta}


async def round_trips(
    link: Client, somebody: Person, count: int
) -> tuple[list[float], list[float]]:
    """Seconds from the call to the card, and from the answer to the result."""
    visible, heard = [], []
    for number in range(count):
        began = time.perf_counter()
        link.request(number + 10, "tools/call", question(number))
        ask_id, seen = await somebody.sees()
        visible.append(seen - began)
        answered = time.perf_counter()
        answering = asyncio.ensure_future(somebody.answer_all([ask_id]))
        result = await link.receive()
        heard.append(time.perf_counter() - answered)
        assert result["result"]["structuredContent"]["answered"]
        await answering
    return visible, heard


async def latency(count: int, *, open_asks: int = 0, ended: int = 0) -> Json:
    async with machine() as here:
        if open_asks:
            await fill(here, open_asks, ended=ended)
        async with here.link() as link:
            await link.list_tools()
            async with person(here) as somebody:
                for _ in range(open_asks):
                    await somebody.sees()
                await round_trips(link, somebody, 20)  # warm
                visible, heard = await round_trips(link, somebody, count)
    return {"ask_to_visible_ms": percentiles(visible), "answer_to_result_ms": percentiles(heard)}


async def reference_call(count: int) -> Json:
    """A tool call of the minimal SDK server that returns at once: the SDK's own share."""
    async with machine() as here, here.reference() as reference:
        await reference.list_tools()
        times = []
        for number in range(count):
            began = time.perf_counter()
            reference.request(number + 10, "tools/call", {"name": "echo", "arguments": {}})
            await reference.receive()
            times.append(time.perf_counter() - began)
    return percentiles(times)


async def burst(count: int, links: int) -> Json:
    """Many open asks, all answered at once."""
    async with machine() as here, AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(here.link()) for _ in range(links)]
        for link in clients:
            await link.list_tools()
        somebody = await stack.enter_async_context(person(here))
        before = pss(here.hub())
        each = count // links
        for number in range(each):
            for link in clients:
                link.request(number + 10, "tools/call", question(number))
        ids = [(await somebody.sees())[0] for _ in range(each * links)]
        weight = pss(here.hub()) - before
        began = time.perf_counter()
        answering = [
            asyncio.ensure_future(somebody.answer_all(ids[i::CONNECTIONS]))
            for i in range(CONNECTIONS)
        ]
        hearing = [asyncio.ensure_future(_receive(link, each)) for link in clients]
        await asyncio.gather(*answering, *hearing)  # together: a failed one must not be waited for
        took = max(await asyncio.gather(*hearing)) - began
    return {
        "asks": count,
        "seconds_until_all_heard": round(took, 2),
        "kb_per_open_ask": round(weight * 1024 / count, 1),
    }


async def _receive(link: Client, count: int) -> float:
    """Until all are heard; the time of the last one."""
    for _ in range(count):
        result = await link.receive()
        assert result["result"]["structuredContent"]["answered"]
    return time.perf_counter()


async def fill(here: Machine, count: int, *, ended: int) -> None:
    """Open asks of other agents, and ended ones, straight into the database."""
    here.state.mkdir(mode=0o700, parents=True, exist_ok=True)
    store = await SqliteStore.open(here.state / "chatbridge.db")
    now = time.time()
    asked = Question(id="q", text="Is it right?", type=QuestionType.CONFIRM)

    def one(i: int) -> AskRequest:
        project = Project(key=f"/src/{i % 100}", name=f"p{i % 100}")
        agent = Agent(client=str(uuid4()), name="bench")
        return AskRequest(
            project=project, agent=agent, tool="ask_user", dialect="questions", questions=(asked,)
        )

    for start in range(0, count + ended, 1000):

        async def work(tx: Transaction, start: int = start) -> None:
            for i in range(start, min(start + 1000, count + ended)):
                ask = asks.opened(one(i), now=now, deadline=now + 86400 + i)
                await tx.add_ask(ask if i < count else asks.withdrawn(ask, now=now))

        await store.write(work)
    await store.close()


def ratio(grown: Json, empty: Json, what: str) -> float:
    return round(float(grown[what]["p50"] / empty[what]["p50"]), 2)
