"""Operations of one hub with the real store; the runner, the gate and time are a test's.

Leaving is kill -9 for that hub: nothing is told, nothing is cleaned up; operating again with the
same folder, runner and gate is the next hub.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from chatbridge.commands.operations.fair_queue import FairQueue
from chatbridge.commands.operations.operations import Approvals, Operations
from chatbridge.commands.operations.outputs import Outputs
from chatbridge.commands.operations.runner_client import RunnerClient
from chatbridge.commands.tools.notifications import Pushes
from chatbridge.core.model import Agent, CallName, Project
from chatbridge.core.operation import Operation, Plan, Stage
from chatbridge.hub.process.background import Background, Faults
from chatbridge.store.sql_store import SqlStore
from tests.fakes.clock import StillClock
from tests.fakes.databases import Database, SqliteFile

PATIENCE = 20.0
BROKEN = "BROKEN"
"""Nothing that needs this variable can be prepared."""
SHOP = Project(key="/src/shop", name="shop")
CLAUDE = Agent(client="claude-code", name="Claude Code")

_numbers = itertools.count(1)


def operation(
    *argv: str,
    link: str = "link-1",
    request: str | None = None,
    stage: Stage = Stage.QUEUED,
    group: str = "cargo",
    executable: str = "/usr/bin/cargo",
    folder: str = "/src/shop",
    timeout: float = 600.0,
    concurrency: int | None = None,
    synchronous: bool = False,
    environment: tuple[str, ...] = (),
) -> Operation:
    number = next(_numbers)
    return Operation(
        id=f"{number:08x}-0000-4000-8000-000000000000",
        call=CallName(link=link, request=request or str(number)),
        project=SHOP,
        agent=CLAUDE,
        tool="cargo_build",
        title="cargo build",
        group=group,
        plan=Plan(
            argv=argv or ("cargo", "build"),
            executable=executable,
            folder=folder,
            environment=environment,
            timeout=timeout,
            output_limit=1_000_000,
            concurrency=concurrency,
            synchronous=synchronous,
        ),
        created_at=0.0,
        stage=stage,
    )


@dataclass(slots=True)
class PretendGate:
    """A stand-in of the gate: a question per call, answered when a test says so. It outlives hubs
    as asks do."""

    asks: dict[str, CallName] = field(default_factory=dict)
    words: dict[str, str | None] = field(default_factory=dict)
    withdrawn: set[str] = field(default_factory=set)
    error: Exception | None = None
    _news: dict[str, asyncio.Event] = field(default_factory=dict)

    async def ask(self, operation: Operation) -> str:
        if self.error is not None:
            raise self.error
        for known, call in self.asks.items():
            if call == operation.call:
                return known
        ask_id = f"ask-{len(self.asks)}"
        self.asks[ask_id] = operation.call
        return ask_id

    async def refusal(self, ask_id: str) -> str | None:
        while ask_id not in self.words:
            await self._news.setdefault(ask_id, asyncio.Event()).wait()
        return self.words[ask_id]

    async def withdraw(self, ask_id: str) -> None:
        self.withdrawn.add(ask_id)
        self.say(ask_id, "Withdrawn")

    def say(self, ask_id: str, word: str | None) -> None:
        """Its owner does: why not, or None. The first word counts."""
        self.words.setdefault(ask_id, word)
        self._news.setdefault(ask_id, asyncio.Event()).set()


@dataclass(slots=True)
class Operating:
    operations: Operations
    store: SqlStore
    outputs: Outputs
    clock: StillClock
    ended: list[Operation]
    """As `on_end` was told."""

    async def begin(self, *argv: str, **details: object) -> Operation:
        return await self.operations.begin(operation(*argv, **details))  # type: ignore[arg-type]

    async def end_of(self, begun: Operation) -> Operation:
        return await asyncio.wait_for(self.operations.ended(begun.id), PATIENCE)

    async def now(self, begun: Operation) -> Operation:
        found = await self.store.operations.get(begun.id)
        assert found is not None
        return found

    async def at(self, begun: Operation, stage: Stage) -> Operation:
        """It, as soon as it is there."""
        async with asyncio.timeout(PATIENCE):
            while (found := await self.now(begun)).stage is not stage:  # noqa: ASYNC110 - a row
                await asyncio.sleep(0.001)
        return found


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110 - it is about what others do in between
            await asyncio.sleep(0.001)


async def _nobody(operation: Operation) -> None:
    """Is told."""


async def _at_once(link: str) -> None:
    """Every link is there."""


def _environment(names: tuple[str, ...]) -> dict[str, str]:
    if BROKEN in names:
        raise RuntimeError("the environment cannot be read")
    return {"PATH": "/usr/bin:/bin", **dict.fromkeys(names, "set")}


@asynccontextmanager
async def operating(
    folder: Path,
    runner: RunnerClient,
    gate: Approvals | None = None,
    *,
    clock: StillClock,
    concurrency: int = 8,
    announce: Callable[[Operation], Awaitable[None]] = _nobody,
    links: Pushes | None = None,
    database: Database | None = None,
) -> AsyncIterator[Operating]:
    """`links`: who is connected; None: everybody. `database`: None: a file in the folder."""
    store = await (database or SqliteFile(folder / "chatbridge.db")).open()
    outputs = Outputs(folder / "operations")
    background = Background(clock=clock, faults=Faults(clock=clock))
    ended: list[Operation] = []
    operations = Operations(
        store=store.operations,
        runner=runner,
        gate=gate or PretendGate(),
        clock=clock,
        outputs=outputs,
        environment=_environment,
        turns=FairQueue(concurrency),
        spawn=background.spawn,
        on_end=ended.append,
        announce=announce,
        back=links.connected if links else _at_once,
    )
    background.spawn(operations.run())
    try:
        yield Operating(operations, store, outputs, clock, ended)
    finally:
        await background.close()
        runner.ended = lambda _end: None
        await store.close()
