"""The hub: its core, its tools, its channels and what commands may ask it, started in this order
and stopped in the reverse.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from chatbridge import runtime_paths
from chatbridge.clock import SystemClock
from chatbridge.core.asks.waiting_calls import WaitingCalls
from chatbridge.core.cards.phrases import use_zone
from chatbridge.core.login_codes import LoginCodes
from chatbridge.core.messages.agents import Agents
from chatbridge.core.nights.hours import find_zone
from chatbridge.core.nights.summaries import Summaries
from chatbridge.core.pairing import Pairing
from chatbridge.core.ports import Health
from chatbridge.core.store_port import Store
from chatbridge.hub.control.asks import TerminalAsks, Watchers
from chatbridge.hub.control.messages import TerminalMessages
from chatbridge.hub.control.server import Json, TerminalLogIn, TerminalPairing, Terminals, status
from chatbridge.hub.links.processes import AgentProcesses
from chatbridge.hub.process.background import Background
from chatbridge.hub.process.lock import Lock
from chatbridge.hub.process.log import set_level
from chatbridge.hub.wiring import database
from chatbridge.hub.wiring.change_alerts import tell_of_newcomers, tell_of_other_settings
from chatbridge.hub.wiring.channels import Channels
from chatbridge.hub.wiring.commands import Commands
from chatbridge.hub.wiring.core import open_core
from chatbridge.hub.wiring.server import open_server
from chatbridge.redaction import hide
from chatbridge.settings import Settings, load
from chatbridge.store.rows import prepare
from chatbridge.tools.call import Caller
from chatbridge.tools.late_server import LateServer

log = logging.getLogger(__name__)

BRING_SECONDS = 1.0
"""For files that another hub has stored: the rest comes with the first sweep."""
PREPARE_AFTER_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Hub:
    """What sessions are attached to."""

    settings: Settings
    waiting_calls: WaitingCalls
    server: LateServer
    tell: Callable[[str], None]  # Says something to the owner, once
    terminals: Terminals
    modules: tuple[str, ...]  # What its channels have to import
    commands: Commands
    store: Store
    returned: Callable[[Caller, str], None]  # Told of a link that comes back, and of its client
    processes: AgentProcesses
    background: Background  # Its tasks, those of the bots among them


def settings_in_force(config: Path | None) -> Settings:
    """Also applies what counts for the process as a whole."""
    settings = load(config or Path(runtime_paths.config_path()))
    set_level(settings.log_level)
    use_zone(find_zone(settings.quiet.zone))
    for secret in settings.secrets():
        hide(secret)
    return settings


@asynccontextmanager
async def open_hub(
    lock: Lock,
    settings: Settings,
    *,
    config: Path | None,
    agents: Callable[[], list[str]],
    remarks: Callable[[], list[str]] = list,
    links: Callable[[int | None], list[Json]] = lambda of: [],
    commands: bool = True,
    term: database.Term | None = None,
) -> AsyncIterator[Hub]:
    """Everything but the way in: a socket, or standard input. Channels come up in the background,
    so that tools answer before any channel is imported. `settings` are those in force, which were
    read from `config` when the process started. `commands`: agents may have some here."""
    system, shared = not commands, term is not None and term.shared
    commands = commands and not shared
    clock, processes = SystemClock(), AgentProcesses()
    path = config or Path(runtime_paths.config_path())
    for remark in settings.remarks():
        log.warning("%s", remark)
    there = Agents(clock, processes.ancestors, processes.client)
    async with (
        open_core(lock, settings, config=path, clock=clock, agents=there, term=term) as core,
        open_server(core, commands=commands) as tools,
    ):
        store, broker, supervisor = core.store, core.broker, core.supervisor
        background, tell, actions = core.background, core.supervisor.tell_again, core.actions
        health = Health(
            agents=agents,
            remarks=lambda: [*remarks(), *settings.remarks(), *supervisor.remarks()],
            troubles=supervisor.troubles,
            faults=lambda: [*store.faults(), *core.faults.listed()],
        )
        pairing, codes = Pairing(clock=clock), LoginCodes(clock=clock)
        channels = Channels(
            settings=settings,
            config=path,
            lock=lock,
            clock=clock,
            health=health,
            pairing=pairing,
            codes=codes,
            supervisor=supervisor,
            shared=shared,
        )
        summaries = Summaries(
            store,
            core.delivery,
            nights=core.policy.nights,
            clock=clock,
            inbox=lambda: channels.inbox,
            drained=supervisor.drained,
        )
        broker.switched = summaries.look
        await codes.load(actions)
        modules = channels.add_all()
        bot, troubles = settings.pairing_channel().name, supervisor.troubles
        pairs = TerminalPairing(pairing, channel=bot, clock=clock, troubles=troubles)
        said = partial(
            status,
            health=health,
            store=store,
            lock=lock,
            since=clock.time(),
            links=links,
            cluster=term.about if term is not None else None,
            pages_open=supervisor.pages_open,
        )
        watchers = Watchers()
        core.hears_changes.append(watchers.changed)
        asks = TerminalAsks(actions, core.policy, health, clock, watchers, reads_paths=commands)
        told = TerminalMessages(
            actions,
            clock,
            background.spawn,
            processes,
            tools.files,
            writes=settings.messages.terminal,
            system=system,
            reads_paths=commands,
        )

        async def run_channels() -> None:
            """What open cards show comes first, but holds up nobody for long. Channels import much,
            and links wait for the SDK."""
            await tools.server.get()
            with suppress(TimeoutError):
                async with asyncio.timeout(BRING_SECONDS):
                    await core.files.bring(of_open=True)
            await supervisor.run(actions)

        background.keep("deadlines", broker.run)
        background.keep("messages", core.messages.run)
        background.keep("summaries", summaries.run)
        background.keep("channels", run_channels)
        background.spawn(core.keeper.catch_up())
        background.spawn(_prepare_first_ask(clock))
        background.spawn(tell_of_newcomers(settings, store, clock=clock, tell=tell))
        at = term.hub if term is not None else None
        background.spawn(
            tell_of_other_settings(settings, path, store, clock=clock, tell=tell, hub=at)
        )
        yield Hub(
            settings=settings,
            waiting_calls=broker.waiting_calls,
            server=tools.server,
            tell=supervisor.tell,
            modules=modules,
            store=store,
            processes=processes,
            commands=tools.commands,
            background=background,
            returned=tools.returned,
            terminals=Terminals(
                {
                    "status": said,
                    "greet": pairs.greet,
                    **TerminalLogIn(codes).answers,
                    **asks.answers,
                    **told.answers,
                },
                {"pair": pairs.pair, **asks.streams},
            ),
        )


async def _prepare_first_ask(clock: SystemClock) -> None:
    """Beside the loop, once the start is over."""
    await clock.sleep(PREPARE_AFTER_SECONDS)
    await asyncio.to_thread(prepare)
