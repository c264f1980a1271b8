"""The MCP server of a hub, with all its tools: chatbridge's own, and the owner's commands."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chatbridge.attachments.project_files import open_in_project, own_folders
from chatbridge.core.asks.reach import Reach
from chatbridge.core.delivery.notices import Notices
from chatbridge.core.errors import InstallationBroken
from chatbridge.core.tasks import end_tasks
from chatbridge.hub.process.imports import import_heavy
from chatbridge.hub.wiring.commands import Commands, open_commands
from chatbridge.hub.wiring.core import HubCore
from chatbridge.hub.wiring.own_tools import own_tools
from chatbridge.tools.attachments import ToolFiles
from chatbridge.tools.call import Caller
from chatbridge.tools.clients import Client, Clients, agent_of
from chatbridge.tools.late_server import LateServer
from chatbridge.tools.messages import ToolMessages
from chatbridge.tools.offer import Offer
from chatbridge.tools.waiting import Waiting

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

SWEEP_EVERY_SECONDS = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class HubServer:
    server: LateServer
    commands: Commands
    files: ToolFiles
    returned: Callable[[Caller, str], None]  # Told of a link that comes back, and of its client


@asynccontextmanager
async def open_server(core: HubCore, *, commands: bool) -> AsyncIterator[HubServer]:
    """`commands`: agents may have some here."""
    settings, broker = core.settings, core.broker
    files = ToolFiles(
        store=core.files,
        open=open_in_project,
        most_data=settings.attachments.outsider,
        own=own_folders(
            state=str(core.lock.state),
            config=str(core.config),
            database=str(settings.database(core.lock.state)),
        ),
    )

    async def reached(ask_id: str) -> Reach:
        ask = await core.store.ask(ask_id)
        surfaces = await core.store.surfaces_of(ask_id)
        places = core.policy.nights.team.places_for(ask) if ask else ()
        since = ask.created_at if ask else None
        return core.supervisor.reach(surfaces, since=since, places=places)

    notices = Notices(core.store, core.delivery, clock=core.clock)
    own = own_tools(core, waiting=Waiting(broker, reached, files), notices=notices, files=files)
    messages = ToolMessages(core.messages, files)
    async with AsyncExitStack() as stack:
        extra = Commands(tools=lambda: own)
        if commands and settings.enabled and settings.commands.enabled:
            extra = await stack.enter_async_context(open_commands(core, own, notices=notices))
        clients = {
            name: Client(limit=wanted.limit, idle=wanted.idle, cancels=wanted.cancels)
            for name, wanted in settings.clients.items()
        }
        offer = Offer(extra.tools, Clients(clients))

        async def make_server() -> Server[Any]:
            try:
                await asyncio.to_thread(import_heavy, "chatbridge.tools.server")
            except ImportError as error:
                raise InstallationBroken(str(error)) from error
            from chatbridge.tools.server import build_server

            return build_server(
                offer,
                waiting_calls=broker.waiting_calls,
                clock=core.clock,
                messages=messages,
                after_call=_sweeper(core),
                spawn=core.background.spawn,
                missing=extra.missing,
                changes=extra.changes(),
            )

        making = asyncio.ensure_future(make_server())
        stack.push_async_callback(end_tasks, [making])
        yield HubServer(
            server=LateServer(offer, making),
            commands=extra,
            files=files,
            returned=lambda caller, client: messages.seen(caller, agent_of(client)),
        )


def _sweeper(core: HubCore) -> Callable[[], None]:
    """Sweeps at the start, and after a tool ran if the last sweep is long ago."""
    last = core.clock.monotonic()
    core.background.spawn(core.sweep())

    def after_call() -> None:
        nonlocal last
        if core.clock.monotonic() - last >= SWEEP_EVERY_SECONDS:
            last = core.clock.monotonic()
            core.background.spawn(core.sweep())

    return after_call
