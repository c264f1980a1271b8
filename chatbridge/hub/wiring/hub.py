"""The hub: the only wiring. Settings → store → broker → tools → channels; start and stop order.

Everything that is opened enters one stack; closing is the reverse of opening.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chatbridge import runtime_paths
from chatbridge.attachments.files import AttachmentFiles
from chatbridge.attachments.project_files import open_in_project, own_folders
from chatbridge.clock import SystemClock
from chatbridge.commands.operations.outputs import Outputs
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.asks.broker import Broker
from chatbridge.core.asks.dictation import Dictation
from chatbridge.core.asks.reach import Reach
from chatbridge.core.asks.waiting_calls import WaitingCalls
from chatbridge.core.cards.phrases import use_zone
from chatbridge.core.delivery.delivery import Delivery
from chatbridge.core.delivery.notices import Notices
from chatbridge.core.errors import InstallationBroken
from chatbridge.core.login_codes import LoginCodes
from chatbridge.core.messages.agents import Agents
from chatbridge.core.messages.messages import OwnerMessages
from chatbridge.core.model import Ask
from chatbridge.core.nights.hours import find_zone
from chatbridge.core.nights.summaries import Summaries
from chatbridge.core.pairing import Pairing
from chatbridge.core.ports import Health
from chatbridge.core.store_port import Store
from chatbridge.core.tasks import end_tasks
from chatbridge.hub.control.asks import TerminalAsks, Watchers
from chatbridge.hub.control.messages import TerminalMessages
from chatbridge.hub.control.server import Json, TerminalLogIn, TerminalPairing, Terminals, status
from chatbridge.hub.links.processes import AgentProcesses
from chatbridge.hub.process.background import Background, Faults
from chatbridge.hub.process.confinement import confinement
from chatbridge.hub.process.imports import import_heavy
from chatbridge.hub.process.lock import Lock
from chatbridge.hub.process.log import rotate_log, set_level
from chatbridge.hub.wiring import database
from chatbridge.hub.wiring.change_alerts import tell_of_newcomers, tell_of_other_settings
from chatbridge.hub.wiring.channel_supervisor import ChannelSupervisor
from chatbridge.hub.wiring.channels import Channels
from chatbridge.hub.wiring.commands import Commands, open_commands
from chatbridge.hub.wiring.own_tools import own_tools
from chatbridge.redaction import hide
from chatbridge.settings import Settings, load
from chatbridge.store.rows import prepare
from chatbridge.tools.attachments import ToolFiles
from chatbridge.tools.call import Caller
from chatbridge.tools.clients import Client, Clients, agent_of
from chatbridge.tools.journal.journal import Journal, JournalKeeper
from chatbridge.tools.late_server import LateServer
from chatbridge.tools.messages import ToolMessages
from chatbridge.tools.offer import Offer
from chatbridge.tools.waiting import Waiting
from chatbridge.voice.transcriber import transcriber_of

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

log = logging.getLogger(__name__)

SWEEP_EVERY_SECONDS = 600.0
BRING_SECONDS = 1.0
PREPARE_AFTER_SECONDS = 1.0
"""For files that another hub has stored: the rest comes with the first sweep."""
LATE_ANSWERS = 50
"""Ended asks in which an answer may have been begun."""


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
    clock = SystemClock()
    async with AsyncExitStack() as stack:
        path = config or Path(runtime_paths.config_path())
        for remark in settings.remarks():
            log.warning("%s", remark)
        trail = database.audit_trail(settings, clock)
        store = await database.open_store(settings, lock.state, term, trail)
        stack.push_async_callback(store.close)
        policy = settings.policy()
        delivery = Delivery(store, clock=clock, nights=policy.nights)
        faults = Faults(clock=clock)
        supervisor = ChannelSupervisor(
            delivery, clock=clock, faults=faults, confinement=confinement
        )
        store.on_lost = tell = supervisor.tell_again
        keeper = JournalKeeper(Journal(folder=settings.journal.folder, state=lock.state), store)
        stack.push_async_callback(keeper.close)
        watchers = Watchers()
        hears_changes = [delivery.changed, keeper.changed, watchers.changed]

        def changed(ask: Ask) -> None:
            for hear in hears_changes:
                hear(ask)

        health = Health(
            agents=agents,
            remarks=lambda: [*remarks(), *settings.remarks(), *supervisor.remarks()],
            troubles=supervisor.troubles,
            faults=lambda: [*store.faults(), *faults.listed()],
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
        drained = supervisor.drained
        summaries = Summaries(
            store,
            delivery,
            nights=policy.nights,
            clock=clock,
            inbox=lambda: channels.inbox,
            drained=drained,
        )
        broker = Broker(
            store,
            clock=clock,
            policy=policy,
            changed=changed,
            drained=drained,
            switched=summaries.look,
        )
        await broker.recall_switch()
        outputs = Outputs(lock.state / "operations")
        files = AttachmentFiles(lock.state, settings.attachments, clock, store.file_copies)
        stack.push_async_callback(files.close)
        transcriber = transcriber_of(settings.voice)
        processes = AgentProcesses()
        agents_there = Agents(clock, processes.ancestors, processes.client)
        messages = OwnerMessages(
            store,
            clock=clock,
            agents=agents_there,
            team=lambda: policy.nights.team,
            expire_after=settings.messages.expire_after,
            return_within=policy.return_within,
            changed=delivery.report,
        )
        await messages.load()
        broker.waiting_calls.observer = messages
        intake = AskActions(
            broker,
            store=store,
            clock=clock,
            outputs=outputs.whole,
            attachments=files,
            transcribes=transcriber is not None,
            messages=messages,
        )
        background = Background(clock=clock, faults=faults)
        stack.push_async_callback(background.close)
        if transcriber is not None:
            dictation = Dictation(transcriber, files, background.spawn, intake, clock)
            hears_changes.append(dictation.changed)
            dictation.resume([*await store.open_asks(), *await store.history(limit=LATE_ANSWERS)])

        async def reached(ask_id: str) -> Reach:
            ask = await store.ask(ask_id)
            surfaces = await store.surfaces_of(ask_id)
            places = policy.nights.team.places_for(ask) if ask else ()
            since = ask.created_at if ask else None
            return supervisor.reach(surfaces, since=since, places=places)

        async def sweep() -> None:
            await broker.sweep()
            await files.sweep(store)
            rotate_log(runtime_paths.log_path(str(lock.state)))

        tool_files = ToolFiles(
            store=files,
            open=open_in_project,
            most_data=settings.attachments.outsider,
            own=own_folders(
                state=str(lock.state),
                config=str(path),
                database=str(settings.database(lock.state)),
            ),
        )
        waiting = Waiting(broker, reached, tool_files)
        notices = Notices(store, delivery, clock=clock)
        own = own_tools(
            settings,
            policy,
            state=lock.state,
            waiting=waiting,
            store=store,
            actions=intake,
            keeper=keeper,
            notices=notices,
            channels=supervisor,
            files=tool_files,
            messages=messages,
            clock=clock,
        )
        extra = Commands(tools=lambda: own)
        if commands and settings.enabled and settings.commands.enabled:
            extra = await stack.enter_async_context(
                open_commands(
                    own,
                    settings,
                    state=lock.state,
                    outputs=outputs,
                    store=store,
                    broker=broker,
                    notices=notices,
                    clock=clock,
                    tell=tell,
                    faults=faults,
                )
            )
        clients = {
            name: Client(limit=own.limit, idle=own.idle, cancels=own.cancels)
            for name, own in settings.clients.items()
        }
        with_results = ToolMessages(messages, tool_files)
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
                clock=clock,
                messages=with_results,
                after_call=_sweeper(sweep, background, clock),
                spawn=background.spawn,
                missing=extra.missing,
                changes=extra.changes(),
            )

        making = asyncio.ensure_future(make_server())
        stack.push_async_callback(end_tasks, [making])
        server = LateServer(offer, making)
        await codes.load(intake)
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
        asks = TerminalAsks(intake, policy, health, clock, watchers, reads_paths=commands)
        told = TerminalMessages(
            intake,
            clock,
            background.spawn,
            processes,
            tool_files,
            writes=settings.messages.terminal,
            system=system,
            reads_paths=commands,
        )

        async def run_channels() -> None:
            """What open cards show comes first, but holds up nobody for long. Channels import much,
            and links wait for the SDK."""
            await server.get()
            with suppress(TimeoutError):
                async with asyncio.timeout(BRING_SECONDS):
                    await files.bring(of_open=True)
            await supervisor.run(intake)

        background.keep("deadlines", broker.run)
        background.keep("messages", messages.run)
        background.keep("summaries", summaries.run)
        background.keep("channels", run_channels)
        background.spawn(keeper.catch_up())
        background.spawn(_prepare_first_ask(clock))
        background.spawn(tell_of_newcomers(settings, store, clock=clock, tell=tell))
        at = term.hub if term is not None else None
        background.spawn(
            tell_of_other_settings(settings, path, store, clock=clock, tell=tell, hub=at)
        )
        yield Hub(
            settings=settings,
            waiting_calls=broker.waiting_calls,
            server=server,
            tell=supervisor.tell,
            modules=modules,
            store=store,
            processes=processes,
            commands=extra,
            background=background,
            returned=lambda caller, client: with_results.seen(caller, agent_of(client)),
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


def _sweeper(
    sweep: Callable[[], Coroutine[Any, Any, None]], background: Background, clock: SystemClock
) -> Callable[[], None]:
    """Sweeps at the start, and after a tool ran if the last sweep is long ago."""
    last = clock.monotonic()
    background.spawn(sweep())

    def after_call() -> None:
        nonlocal last
        if clock.monotonic() - last >= SWEEP_EVERY_SECONDS:
            last = clock.monotonic()
            background.spawn(sweep())

    return after_call
