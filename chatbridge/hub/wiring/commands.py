"""The commands of a hub: definitions, operations and their tools, built from the settings; and the
order in which they begin and end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from chatbridge.commands.arguments.environment import environment_of
from chatbridge.commands.arguments.executable import Programs
from chatbridge.commands.definitions.library import Library
from chatbridge.commands.definitions.watch import watch
from chatbridge.commands.operations.fair_queue import FairQueue
from chatbridge.commands.operations.gate import Gate
from chatbridge.commands.operations.operations import Operations
from chatbridge.commands.operations.outputs import OutputSweeper
from chatbridge.commands.operations.runner_client import RunnerClient
from chatbridge.commands.tools.notifications import Pushes, announce
from chatbridge.commands.tools.tool import CommandServices
from chatbridge.commands.tools.tool_list import ToolList
from chatbridge.core.delivery.notices import Notices
from chatbridge.core.model import CallName, Project
from chatbridge.hub.process.background import Background
from chatbridge.hub.wiring.change_alerts import tell_of_new_commands
from chatbridge.hub.wiring.core import HubCore
from chatbridge.hub.wiring.known_projects import KnownProjects
from chatbridge.tools.call import ToolHandler

if TYPE_CHECKING:
    from chatbridge.commands.tools.changes import Changes

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Commands:
    """What a hub has of them; by default nothing but its own tools."""

    tools: Callable[[], Sequence[ToolHandler]]
    missing: Callable[[str], str | None] = lambda name: None
    changes: Callable[[], Changes | None] = lambda: None
    pushes: Pushes = field(default_factory=Pushes)
    delivered: Callable[[CallName], Awaitable[None]] | None = None
    opened: Callable[[Project], None] = lambda project: None
    """To be told of every project that an agent works in, before its first call."""


@asynccontextmanager
async def open_commands(
    core: HubCore, own: Sequence[ToolHandler], *, notices: Notices
) -> AsyncIterator[Commands]:
    """`own` are chatbridge's own tools, which come first."""
    settings, wanted = core.settings, core.settings.commands
    store, outputs, clock = core.store, core.outputs, core.clock
    background = Background(clock=clock, faults=core.faults)
    projects = KnownProjects(store, clock, background.spawn)
    await projects.load()
    programs = Programs(wanted.path, projects=lambda: projects.folders)

    def environment(names: tuple[str, ...]) -> Mapping[str, str]:
        return environment_of(
            names, secrets=settings.secrets(), path=programs.path(), own=wanted.environment
        )

    for folder, refusal in programs.refused().items():
        log.warning("%s in commands.path is not used: %s", folder, refusal.why)
    library = Library(
        wanted.dirs,
        may_be_missing="dirs" not in wanted.model_fields_set,
    )
    await asyncio.to_thread(library.load)
    pushes = Pushes()
    timeout = settings.approvals.timeout
    gate = Gate(core.broker, store=store.operations, clock=clock, timeout=timeout)
    async with AsyncExitStack() as stack:
        runner = await stack.enter_async_context(
            RunnerClient(state=str(core.lock.state), clock=clock, outputs=outputs.folder)
        )
        stack.push_async_callback(background.close)
        operations = Operations(
            store=store.operations,
            runner=runner,
            gate=gate,
            clock=clock,
            outputs=outputs,
            environment=environment,
            turns=FairQueue(wanted.concurrency),
            spawn=background.spawn,
            on_end=pushes.ended,
            announce=partial(announce, notices, after=wanted.announce_after),
            back=pushes.connected,
        )
        stack.push_async_callback(operations.close)
        services = CommandServices(
            library=library,
            operations=operations,
            gate=gate,
            pushes=pushes,
            outputs=outputs,
            programs=programs,
            max_block=settings.max_block,
        )
        offer = ToolList(own, services, store=store, clock=clock)
        await offer.compare()
        sweeper = OutputSweeper(
            store.operations,
            outputs,
            clock=clock,
            retention=wanted.retention,
            max_disk=wanted.max_disk,
            on_the_way=operations.on_the_way,
        )

        async def changed() -> None:
            await offer.reload()
            found, tell = library.commands.values(), core.supervisor.tell_again
            await tell_of_new_commands(found, store, clock=clock, tell=tell)

        background.keep("commands", operations.run)
        background.keep("sweeping commands", sweeper.run)
        background.keep("new commands", lambda: watch(wanted.dirs, changed, clock=clock))
        yield Commands(
            tools=offer.tools,
            missing=offer.missing,
            changes=lambda: offer.changes,
            pushes=pushes,
            delivered=operations.delivered,
            opened=projects.add,
        )
