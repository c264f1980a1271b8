"""One hub's inside with command tools, without processes: the real library, tools, operations,
gate, server, sessions and database. Commands are run by hand: a test says how each one ends.

Leaving one is kill -9 for it; a new one on the same folder is the next hub.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chatbridge.commands.arguments.executable import Programs
from chatbridge.commands.definitions.library import Library
from chatbridge.commands.operations.fair_queue import FairQueue
from chatbridge.commands.operations.gate import Gate
from chatbridge.commands.operations.operations import Operations
from chatbridge.commands.operations.outputs import Outputs
from chatbridge.commands.operations.runner_client import End, How, Order, RunnerClient
from chatbridge.commands.tools.notifications import Pushes
from chatbridge.commands.tools.tool import CommandServices
from chatbridge.commands.tools.tool_list import ToolList
from chatbridge.core.asks.reach import Reach
from chatbridge.core.operation import Operation
from chatbridge.tools.ask_user import AskUser
from chatbridge.tools.clients import Clients
from chatbridge.tools.late_server import LateServer
from chatbridge.tools.messages import ToolMessages
from chatbridge.tools.offer import Offer
from chatbridge.tools.waiting import Waiting
from tests.fakes.clock import StillClock
from tests.fakes.core_env import World, world
from tests.fakes.late_server import at_once

Json = dict[str, Any]
PATIENCE = 20.0


class HandRunner(RunnerClient):
    """A stand-in for the runner: what it is given runs until a test ends it."""

    def __init__(self, clock: StillClock) -> None:
        self.ended: Callable[[End], None] = lambda end: None
        self.orders: dict[str, Order] = {}
        self._known: dict[str, End | None] = {}
        self._clock = clock
        self._news = asyncio.Condition()

    async def known(self) -> Mapping[str, End | None]:
        return dict(self._known)

    async def start(self, order: Order) -> None:
        assert order.id not in self.orders, "a command was to be run twice"
        self.orders[order.id] = order
        self._known[order.id] = None
        async with self._news:
            self._news.notify_all()

    async def stop(self, operation_id: str) -> None:
        self.end(self.orders[operation_id], how="stopped", code=None)

    async def forget(self, operation_id: str) -> None:
        self._known.pop(operation_id, None)

    async def order(self, *, number: int = 1) -> Order:
        """The one that was handed over as this one, counted from one."""
        async with asyncio.timeout(PATIENCE), self._news:
            await self._news.wait_for(lambda: len(self.orders) >= number)
        return list(self.orders.values())[number - 1]

    def prints(self, order: Order, output: str) -> None:
        """All that the command has printed up to now."""
        Path(order.output).write_text(output, encoding="utf-8")

    def end(
        self, order: Order, code: int | None = 0, *, output: str = "", how: How = "exited"
    ) -> None:
        """The command has printed this, and ended."""
        self.prints(order, output)
        end = End(
            id=order.id,
            how=how,
            exit_code=code,
            size=len(output.encode()),
            ended_at=self._clock.time(),
        )
        self._known[order.id] = end
        self.ended(end)


@dataclass(slots=True)
class CommandHub:
    world: World
    folder: Path
    runner: HandRunner
    operations: Operations
    offer: ToolList
    pushes: Pushes
    server: LateServer
    ends: asyncio.Queue[Operation] = field(default_factory=asyncio.Queue)

    @property
    def project(self) -> Path:
        return self.folder / "shop"

    def define(self, name: str, definition: Json | str | None) -> None:
        """Write a definition file, or remove it."""
        define(self.folder, name, definition)

    async def next_end(self) -> Operation:
        """The next operation that has ended, once whoever is told of it was."""
        return await asyncio.wait_for(self.ends.get(), PATIENCE)


def define(folder: Path, name: str, definition: Json | str | None) -> None:
    tools = folder / "tools"
    tools.mkdir(mode=0o700, exist_ok=True)
    file = tools / f"{name}.json"
    if definition is None:
        file.unlink()
        return
    text = definition if isinstance(definition, str) else json.dumps(definition)
    file.write_text(text, encoding="utf-8")
    file.chmod(0o600)


async def _nobody(ask_id: str) -> Reach:
    return Reach()


@asynccontextmanager
async def command_hub(
    folder: Path,
    definitions: Mapping[str, Json | str] | None = None,
    *,
    runner: HandRunner | None = None,
    clock: StillClock | None = None,
    max_block: float | None = None,
) -> AsyncIterator[CommandHub]:
    """`runner`: that of the hub before, which has gone on."""
    clock = clock or StillClock()
    for name, definition in (definitions or {}).items():
        define(folder, name, definition)
    (folder / "shop" / ".git").mkdir(parents=True, exist_ok=True)
    beside: set[asyncio.Task[None]] = set()
    ends: asyncio.Queue[Operation] = asyncio.Queue()
    pushes = Pushes()

    def spawn(work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        beside.add(task)
        task.add_done_callback(beside.discard)

    def ended(operation: Operation) -> None:
        pushes.ended(operation)
        ends.put_nowait(operation)

    async with world(folder, clock) as here:
        runner = runner or HandRunner(clock)
        outputs = Outputs(folder / "operations")
        gate = Gate(here.broker, store=here.store.operations, clock=clock, timeout=None)
        operations = Operations(
            store=here.store.operations,
            runner=runner,
            gate=gate,
            clock=clock,
            outputs=outputs,
            environment=lambda names: {},
            turns=FairQueue(8),
            spawn=spawn,
            on_end=ended,
            announce=_unannounced,
            back=_at_once,
        )
        own = (AskUser(Waiting(here.broker, _nobody)),)
        library = Library((folder / "tools",), may_be_missing=True)
        library.load()
        services = CommandServices(
            library=library,
            operations=operations,
            gate=gate,
            pushes=pushes,
            outputs=outputs,
            programs=Programs(),
            max_block=max_block,
        )
        offer = ToolList(own, services, store=here.store, clock=clock)
        await offer.compare()
        server = at_once(
            Offer(offer.tools, Clients()),
            waiting_calls=here.broker.waiting_calls,
            clock=clock,
            messages=ToolMessages(here.inbox.messages),
            after_call=lambda: None,
            spawn=spawn,
            missing=offer.missing,
            changes=offer.changes,
        )
        running = asyncio.ensure_future(operations.run())
        hub = CommandHub(here, folder, runner, operations, offer, pushes, server, ends)
        try:
            yield hub
        finally:
            work = [running, *beside]
            for task in work:
                task.cancel()
            await asyncio.gather(*work, return_exceptions=True)


async def _unannounced(operation: Operation) -> None:
    """No chat is told."""


async def _at_once(link: str) -> None:
    """Every link is there."""
