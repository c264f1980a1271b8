"""The hub: the only wiring. Settings → store → broker → tools → channels; start and stop order.

Everything that is opened enters one stack; closing is the reverse of opening.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from socket import socket
from typing import Any

from mcp.server.lowlevel import Server

from chatbridge import __version__, runtime_paths
from chatbridge.attachments.files import AttachmentFiles
from chatbridge.attachments.project_files import open_in_project, own_folders
from chatbridge.channels.spec import ChannelContext, ChannelSpec
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
from chatbridge.core.login_codes import LoginCodes
from chatbridge.core.messages.agents import Agents
from chatbridge.core.messages.messages import OwnerMessages
from chatbridge.core.model import Ask
from chatbridge.core.nights.hours import find_zone
from chatbridge.core.nights.summaries import Summaries
from chatbridge.core.pairing import Pairing
from chatbridge.core.ports import Channel, Health
from chatbridge.core.store_port import Store
from chatbridge.core.tasks import end_tasks
from chatbridge.digests import sha256_hex
from chatbridge.extras import need
from chatbridge.hub.control.asks import TerminalAsks, Watchers
from chatbridge.hub.control.messages import TerminalMessages
from chatbridge.hub.control.server import Json, Request, TerminalPairing, Terminals, status
from chatbridge.hub.http.serving import HttpServing
from chatbridge.hub.links.listener import Links
from chatbridge.hub.links.peers import Peers
from chatbridge.hub.links.processes import AgentProcesses
from chatbridge.hub.process.background import Background, Faults
from chatbridge.hub.process.confinement import confinement
from chatbridge.hub.process.lock import Lock, account_held
from chatbridge.hub.process.log import set_level
from chatbridge.hub.process.systemd import Systemd
from chatbridge.hub.wiring.change_alerts import tell_of_newcomers, tell_of_other_settings
from chatbridge.hub.wiring.channel_supervisor import ChannelSupervisor
from chatbridge.hub.wiring.commands import Commands, open_commands
from chatbridge.redaction import hide
from chatbridge.settings import Settings, load
from chatbridge.settings.secrets import place_of
from chatbridge.store.fence import POSTGRES, Fence
from chatbridge.store.sql_store import SqlStore
from chatbridge.store.sqlite.store import SqliteStore
from chatbridge.tools import ask_user, auq
from chatbridge.tools.approvals.tool import ApproveToolUse
from chatbridge.tools.ask_user import AskUser
from chatbridge.tools.attachments import ToolFiles
from chatbridge.tools.auq import AskUserQuestions, GetAnsweredQuestions
from chatbridge.tools.auq import Limits as AuqLimits
from chatbridge.tools.call import Caller, ToolHandler
from chatbridge.tools.clients import Client, Clients, agent_of
from chatbridge.tools.elicitation import Elicitation, States, key_in
from chatbridge.tools.journal.journal import Journal, JournalKeeper
from chatbridge.tools.messages import CheckMessages, ToolMessages
from chatbridge.tools.notify_user import NotifyUser
from chatbridge.tools.question_ask import QuestionAsk, QuestionSummary
from chatbridge.tools.server import build_server
from chatbridge.tools.waiting import WaitForAnswer, Waiting
from chatbridge.tools.what_next import WhatNext
from chatbridge.voice.transcriber import transcriber_of

log = logging.getLogger(__name__)

SWEEP_EVERY_SECONDS = 600.0
BRING_SECONDS = 1.0
"""For files that another hub has stored: the rest comes with the first sweep."""
LATE_ANSWERS = 50
"""Ended asks in which an answer may have been begun."""
LATE = ("chatbridge.tools.journal.yaml_text",)
"""Imported where they are first used: most hubs of links never do."""
RENDERERS = {AskUser.name: ask_user.render_result, AskUserQuestions.name: auq.render_result}


@dataclass(frozen=True, slots=True, kw_only=True)
class Hub:
    """What sessions are attached to."""

    settings: Settings
    waiting_calls: WaitingCalls
    server: Server[Any]
    tell: Callable[[str], None]  # Says something to the owner, once
    terminals: Terminals
    modules: tuple[str, ...]  # What its channels have to import
    commands: Commands
    store: Store
    returned: Callable[[Caller, str], None]  # Told of a link that comes back, and of its client
    processes: AgentProcesses


async def run_hub(
    lock: Lock,
    *,
    config: Path | None,
    ready: Callable[[], None],
    systemd: Systemd,
    listener: socket | None = None,
    system: bool = False,
    http: str | None = None,
) -> None:
    """Serve links until SIGTERM or SIGINT, at the `listener` that systemd passed, if there is one.
    `system`: links of several users. `http`: where agents over HTTP must be able to connect."""
    stop = stop_on_signals()
    path = listener.getsockname() if listener else runtime_paths.socket_path(str(lock.state))
    links: Links | None = None
    ways_in: list[Links | HttpServing] = []
    async with (
        open_hub(
            lock,
            config=config,
            agents=lambda: [name for way in ways_in for name in way.projects()],
            remarks=lambda: [remark for way in ways_in for remark in way.remarks()],
            links=lambda of: links.connected(of) if links else [],
            commands=not system,
        ) as hub,
        AsyncExitStack() as stack,
    ):
        links = Links(
            hub.server,
            hub.waiting_calls,
            settings=digests(hub.settings),
            tell=hub.tell,
            terminals=hub.terminals,
            peers=Peers(os.stat(path).st_gid if system else None),
            processes=hub.processes,
            pushes=hub.commands.pushes,
            delivered=hub.commands.delivered,
            opened=hub.commands.opened,
            returned=hub.returned,
        )
        stack.push_async_callback(links.close)
        remote = HttpServing(
            hub.server, hub.waiting_calls, hub.settings.http, state=lock.state, clock=SystemClock()
        )
        ways_in += [links, remote]
        await stack.enter_async_context(remote.listening(http))
        await links.listen(listener or runtime_paths.bind_socket(path))
        lock.note(socket=path)
        ready()
        log.info("hub %s ready pid=%d state=%s", __version__, os.getpid(), lock.state)
        async with _served(systemd, hub):
            await stop.wait()
        log.info("hub stops; open questions stay open")


@asynccontextmanager
async def _served(systemd: Systemd, hub: Hub) -> AsyncIterator[None]:
    """Ready on entering, once the channels' modules are imported, and stopping on leaving. The
    watchdog is fed in between, also while a channel cannot be reached."""

    async def responds() -> None:
        await hub.store.note("systemd", "watchdog")
        await hub.store.write(lambda _: asyncio.sleep(0))

    await asyncio.to_thread(import_everything, hub.modules)
    systemd.notify("READY=1", f"STATUS=version {__version__}, ready")
    feeding = asyncio.ensure_future(systemd.feed_watchdog(responds, SystemClock().sleep))
    try:
        yield
    finally:
        systemd.notify("STOPPING=1", "STATUS=stops; open questions stay open")
        await end_tasks([feeding])


def import_everything(modules: Iterable[str]) -> None:
    """What this hub may come to use: after an upgrade of the files under it, a module that is
    imported late would be of another version. One that cannot be imported is reported by who needs
    it."""
    for name in (*modules, *LATE):
        try:
            import_module(name)
        except ImportError as error:
            log.warning("%s cannot be imported: %s", name, error)


@asynccontextmanager
async def open_hub(
    lock: Lock,
    *,
    config: Path | None,
    agents: Callable[[], list[str]],
    remarks: Callable[[], list[str]] = list,
    links: Callable[[int | None], list[Json]] = lambda of: [],
    commands: bool = True,
    fence: Fence | None = None,
    deposed: Callable[[], None] = lambda: None,
) -> AsyncIterator[Hub]:
    """Everything but the way in: a socket, or standard input. Channels come up in the background,
    so that tools answer before any channel is imported. `commands`: agents may have some here.
    `fence`: what is written to a database of several hubs needs it, and `deposed` is called once it
    does not hold any more."""
    clock = SystemClock()
    async with AsyncExitStack() as stack:
        path = config or Path(runtime_paths.config_path())
        settings = load(path)
        set_level(settings.log_level)
        use_zone(find_zone(settings.quiet.zone))
        for secret in settings.secrets():
            hide(secret)
        for remark in settings.remarks():
            log.warning("%s", remark)
        store = await open_store(settings, lock.state, fence=fence, deposed=deposed)
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

        drained = supervisor.drained
        inbox: str | None = None
        summaries = Summaries(
            store, delivery, nights=policy.nights, clock=clock, inbox=lambda: inbox, drained=drained
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
            dictation = Dictation(transcriber, files, background.spawn, intake)
            hears_changes.append(dictation.changed)
            dictation.resume([*await store.open_asks(), *await store.history(limit=LATE_ANSWERS)])

        async def reached(ask_id: str) -> Reach:
            ask = await store.ask(ask_id)
            surfaces = await store.surfaces_of(ask_id)
            return supervisor.reach(surfaces, since=ask.created_at if ask else None)

        async def sweep() -> None:
            await broker.sweep()
            await files.sweep(store)

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
        elicitation = Elicitation(intake)
        states = States(lambda: key_in(lock.state / "form-key"))
        # In the order of the settings' names, which is the order in which clients see them.
        known: list[ToolHandler] = [
            AskUser(waiting, None if settings.elicit == "chats" else elicitation),
            WaitForAnswer(waiting, RENDERERS),
            AskUserQuestions(
                waiting,
                limits=AuqLimits(
                    questions=settings.auq_max_questions, options=settings.auq_max_options
                ),
                timeout=settings.auq_timeout,
            ),
            GetAnsweredQuestions(waiting, store),
            QuestionAsk(waiting, elicitation, keeper, states, elicit=settings.elicit),
            QuestionSummary(
                keeper.journal, store, clock=clock, other_tools=settings.journal.other_tools
            ),
            NotifyUser(notices, supervisor, tool_files),
            ApproveToolUse(
                waiting, timeout=settings.approvals.timeout, rules=settings.approvals.rules()
            ),
            CheckMessages(messages, policy.max_block),
        ]
        own = [tool for tool in known if settings.enabled and tool.name in settings.tools]
        if own:
            own.append(
                WhatNext(
                    waiting,
                    messages,
                    notices if NotifyUser.name in settings.tools else None,
                    asks=settings.claude.when_done == "ask",
                    wait=settings.claude.wait,
                )
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
        server = build_server(
            extra.tools,
            waiting_calls=broker.waiting_calls,
            clients=Clients(clients),
            clock=clock,
            messages=with_results,
            after_call=_sweeper(sweep, background, clock),
            spawn=background.spawn,
            missing=extra.missing,
            changes=extra.changes,
        )
        health = Health(
            agents=agents,
            remarks=lambda: [*remarks(), *settings.remarks(), *supervisor.remarks()],
            troubles=supervisor.troubles,
            faults=lambda: [*store.faults(), *faults.listed()],
        )
        pairing, codes = Pairing(clock=clock), LoginCodes(clock=clock)

        def build(spec: ChannelSpec[Any]) -> Channel:
            """Imports the channel's module."""
            made = spec.load(spec.build)
            table = settings.table(spec)

            def announce(address: str) -> None:
                nonlocal inbox
                inbox = spec.page(table, address)
                lock.note(web=address)

            context = ChannelContext(
                clock=clock,
                state=lock.state,
                health=health,
                pairing=pairing,
                codes=codes,
                announce=announce,
                hold=partial(account_held, spec.lock(table)) if spec.lock else nullcontext,
                place_of=partial(place_of, path, spec.name),
                inbox=lambda: inbox,
                push=settings.push,
                tell=tell,
            )
            channel: Channel = made(table, context)
            return channel

        # Pages first: they are up before any chat.
        specs = sorted(settings.active_channels(), key=lambda spec: spec.is_chat)
        for spec in specs:
            supervisor.add(spec.name, partial(build, spec), unwatched=spec.unwatched)
        bot, troubles = settings.pairing_channel().name, supervisor.troubles
        pairs = TerminalPairing(pairing, channel=bot, clock=clock, troubles=troubles)
        said = partial(
            status, health=health, store=store, lock=lock, since=clock.time(), links=links
        )
        asks = TerminalAsks(intake, policy, health, clock, watchers, reads_paths=commands)
        told = TerminalMessages(
            intake,
            clock,
            background.spawn,
            processes,
            tool_files,
            writes=settings.messages.terminal,
            system=not commands,
        )

        async def channels() -> None:
            """What open cards show comes first, but holds up nobody for long."""
            with suppress(TimeoutError):
                await asyncio.wait_for(files.bring(of_open=True), BRING_SECONDS)
            await supervisor.run(intake)

        async def login_code(_request: Request) -> Json:
            return {"code": codes.new(by_token=False)}

        async def inbox_proof(_request: Request) -> Json:
            question, answer = codes.new_proof()
            return {"question": question, "answer": answer}

        background.keep("deadlines", broker.run)
        background.keep("messages", messages.run)
        background.keep("summaries", summaries.run)
        background.keep("channels", channels)
        background.spawn(keeper.catch_up())
        background.spawn(tell_of_newcomers(settings, store, clock=clock, tell=tell))
        background.spawn(tell_of_other_settings(settings, path, store, clock=clock, tell=tell))
        yield Hub(
            settings=settings,
            waiting_calls=broker.waiting_calls,
            server=server,
            tell=supervisor.tell,
            modules=tuple(spec.module for spec in specs),
            store=store,
            processes=processes,
            commands=extra,
            returned=lambda caller, client: with_results.seen(caller, agent_of(client)),
            terminals=Terminals(
                {
                    "status": said,
                    "greet": pairs.greet,
                    "login-code": login_code,
                    "inbox-proof": inbox_proof,
                    **asks.answers,
                    **told.answers,
                },
                {"pair": pairs.pair, **asks.streams},
            ),
        )


async def open_store(
    settings: Settings,
    state: Path,
    *,
    fence: Fence | None = None,
    deposed: Callable[[], None] = lambda: None,
) -> SqlStore:
    """:raises StoreError: :raises ExtraMissing:"""
    server = settings.server()
    if server is None:
        return await SqliteStore.open(settings.database(state))
    need(POSTGRES)
    from chatbridge.store.postgres.connection import Address
    from chatbridge.store.postgres.store import PostgresStore

    return await PostgresStore.open(Address(*server), fence=fence, deposed=deposed)


def stop_on_signals() -> asyncio.Event:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop


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


def digests(settings: Settings) -> dict[str, str]:
    """What this hub uses, comparable with what a link's environment names, without the values."""
    found = {}
    for variable, value in settings.compared().items():
        # As the variable is spelt, if it counts: links spell it alike.
        given = None if variable in settings.ignored else os.environ.get(variable)
        if given or value:
            found[variable] = sha256_hex(os.fsencode(given or value))[:16]
    return found
