"""A broker with everything real but time and channels: one hub's inside, on a real database.

Leaving a world is kill -9 for its broker: nothing is told, nothing is cleaned up; a new world on
the same database is the next hub.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.asks.broker import Broker
from chatbridge.core.audit import Auditor
from chatbridge.core.messages.agents import Agents
from chatbridge.core.messages.messages import OwnerMessages
from chatbridge.core.model import (
    Agent,
    Answer,
    Ask,
    AskRequest,
    Call,
    CallName,
    Option,
    Person,
    Priority,
    Project,
    Question,
    QuestionType,
)
from chatbridge.core.nights.nights import Nights
from chatbridge.core.nights.policy import NightPolicy
from chatbridge.core.policy import Policy
from chatbridge.store.audit import Trail
from chatbridge.store.sql_store import SqlStore
from tests.fakes.clock import StillClock
from tests.fakes.databases import Database, SqliteFile
from tests.fakes.inbox import ANYWHERE

PATIENCE = 20.0
OWNER = Person(name="Ada", channel="web")
BLUE = (Answer(values=("blue",)),)
COLOUR = Question(
    id="colour",
    text="Which colour?",
    type=QuestionType.SELECT,
    options=(Option(label="red"), Option(label="blue")),
)


def request(
    *questions: Question,
    project: str = "/src/shop",
    timeout: float | None = 300.0,
    priority: Priority = Priority.NORMAL,
) -> AskRequest:
    return AskRequest(
        project=Project(key=project, name=project.rsplit("/", 1)[-1]),
        agent=Agent(client="claude-code", name="Claude Code"),
        tool="ask_user",
        dialect="questions",
        questions=questions or (COLOUR,),
        timeout=timeout,
        priority=priority,
    )


def name(link: str = "link-1", number: int = 1) -> CallName:
    return CallName(link=link, request=str(number))


@dataclass(slots=True)
class World:
    store: SqlStore
    broker: Broker
    inbox: AskActions
    clock: StillClock
    changes: asyncio.Queue[Ask] = field(default_factory=asyncio.Queue)

    async def ask(
        self, *questions: Question, link: str = "link-1", number: int = 1, timeout: float = 300.0
    ) -> Ask:
        return (await self.call(*questions, link=link, number=number, timeout=timeout))[0]

    async def call(
        self, *questions: Question, link: str = "link-1", number: int = 1, timeout: float = 300.0
    ) -> tuple[Ask, Call]:
        self.broker.waiting_calls.link_opened(link)
        return await self.broker.ask(request(*questions, timeout=timeout), name(link, number))

    async def ended(self, ask: Ask) -> Ask:
        return await asyncio.wait_for(self.broker.ended(ask.id), PATIENCE)

    async def until(self, condition: Callable[[Ask], bool]) -> Ask:
        """The first announced change that fits."""
        async with asyncio.timeout(PATIENCE):
            while True:
                ask = await self.changes.get()
                if condition(ask):
                    return ask

    async def now(self, ask: Ask) -> Ask:
        return await self.inbox.ask(ask.id)


@asynccontextmanager
async def world(
    where: Path | Database,
    clock: StillClock | None = None,
    *,
    starting: bool = False,
    drained: Callable[[World], Awaitable[None]] | None = None,
    nights: NightPolicy | None = None,
    audited: bool = False,
    **policy: float | bool,
) -> AsyncIterator[World]:
    """In a folder the database is a file. `starting`: it may still read what was open before."""
    clock = clock or StillClock()
    database = SqliteFile(where / "chatbridge.db") if isinstance(where, Path) else where
    store = await database.open(trail=Trail(Auditor(), clock.time) if audited else None)
    changes: asyncio.Queue[Ask] = asyncio.Queue()
    here: list[World] = []
    loaded = asyncio.Event()

    async def drain() -> None:
        loaded.set()
        if drained is not None:
            await drained(here[0])

    broker = Broker(
        store,
        clock=clock,
        policy=Policy(
            nights=Nights(policy=nights or NightPolicy()),
            **{"approval_channels": ANYWHERE, **policy},  # type: ignore[arg-type]
        ),
        changed=changes.put_nowait,
        drained=drain,
    )
    await broker.recall_switch()
    messages = OwnerMessages(
        store, clock=clock, agents=Agents(clock), return_within=broker.policy.return_within
    )
    inbox = AskActions(broker, store=store, clock=clock, messages=messages)
    await inbox.messages.load()
    broker.waiting_calls.observer = inbox.messages
    here.append(World(store, broker, inbox, clock, changes))
    running = asyncio.ensure_future(broker.run())
    try:
        if not starting:
            await asyncio.wait_for(loaded.wait(), PATIENCE)
        yield here[0]
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await store.close()
