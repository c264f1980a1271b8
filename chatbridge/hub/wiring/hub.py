"""The hub: the only wiring. Settings → store → broker → tools → channels; start and stop order.

Everything that is opened enters one stack; closing is the reverse of opening.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from socket import socket
from typing import Any

from mcp.server.lowlevel import Server

from chatbridge import __version__, runtime_paths
from chatbridge.clock import SystemClock
from chatbridge.commands.operations.outputs import Outputs
from chatbridge.core.asks.broker import Broker
from chatbridge.core.asks.reach import Reach
from chatbridge.core.asks.waiting_calls import WaitingCalls
from chatbridge.core.delivery.delivery import Delivery
from chatbridge.core.delivery.notices import Notices
from chatbridge.core.login_codes import LoginCodes
from chatbridge.core.model import Ask
from chatbridge.core.pairing import Pairing
from chatbridge.core.ports import AskActions, Health
from chatbridge.digests import sha256_hex
from chatbridge.hub.control.asks import TerminalAsks, Watchers
from chatbridge.hub.control.pairing import TerminalPairing
from chatbridge.hub.control.server import Json, Request, Terminals, TerminalStatus
from chatbridge.hub.http.serving import HttpServing
from chatbridge.hub.links.listener import Links
from chatbridge.hub.links.peers import Peers
from chatbridge.hub.process.background import Background, Faults
from chatbridge.hub.process.confinement import confinement
from chatbridge.hub.process.lock import Lock
from chatbridge.hub.process.log import set_level
from chatbridge.hub.process.readiness import served, store_responds
from chatbridge.hub.process.systemd import Systemd
from chatbridge.hub.wiring.change_alerts import tell_of_newcomers, tell_of_other_settings
from chatbridge.hub.wiring.channel_supervisor import ChannelSupervisor
from chatbridge.hub.wiring.channels import builder_of
from chatbridge.hub.wiring.commands import Commands, open_commands
from chatbridge.hub.wiring.tool_registry import clients_of, tools_of
from chatbridge.redaction import hide
from chatbridge.settings import Settings, load
from chatbridge.store.sqlite import SqliteStore
from chatbridge.tools.journal.journal import Journal, JournalKeeper
from chatbridge.tools.server import build_server
from chatbridge.tools.waiting import Waiting

log = logging.getLogger(__name__)

SWEEP_EVERY_SECONDS = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Hub:
    """What sessions are attached to."""

    settings: Settings
    waiting_calls: WaitingCalls
    server: Server[Any]
    tell: Callable[[str], None]
    """Says something to the owner, once."""
    terminals: Terminals
    modules: tuple[str, ...]
    """What its channels have to import."""
    commands: Commands | None
    """None: agents have no commands here."""
    responds: Callable[[], Awaitable[None]]
    """Returns when the store does."""


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
    async with AsyncExitStack() as stack:
        links: Links | None = None
        remote: HttpServing | None = None

        def ways_in() -> list[Links | HttpServing]:
            return [way for way in (links, remote) if way is not None]

        hub = await stack.enter_async_context(
            open_hub(
                lock,
                config=config,
                agents=lambda: [name for way in ways_in() for name in way.projects()],
                remarks=lambda: [remark for way in ways_in() for remark in way.remarks()],
                links=lambda of: links.connected(of) if links else [],
                commands=not system,
            )
        )
        links = Links(
            hub.server,
            hub.waiting_calls,
            settings=digests(hub.settings),
            tell=hub.tell,
            terminals=hub.terminals,
            peers=Peers.of_group_of(path) if system else None,
            pushes=hub.commands.pushes if hub.commands else None,
            delivered=hub.commands.operations.delivered if hub.commands else None,
            opened=hub.commands.opened if hub.commands else lambda project: None,
        )
        stack.push_async_callback(links.close)
        remote = HttpServing(
            hub.server, hub.waiting_calls, hub.settings.http, state=lock.state, clock=SystemClock()
        )
        await stack.enter_async_context(remote.listening(http))
        await links.listen(listener or runtime_paths.bind_socket(path))
        lock.listening(path)
        ready()
        log.info("hub %s ready pid=%d state=%s", __version__, os.getpid(), lock.state)
        async with served(systemd, modules=hub.modules, responds=hub.responds, clock=SystemClock()):
            await stop.wait()
        log.info("hub stops; open questions stay open")


@asynccontextmanager
async def open_hub(
    lock: Lock,
    *,
    config: Path | None,
    agents: Callable[[], list[str]],
    remarks: Callable[[], list[str]] = list,
    links: Callable[[int | None], list[Json]] = lambda of: [],
    commands: bool = True,
) -> AsyncIterator[Hub]:
    """Everything but the way in: a socket, or standard input. Channels come up in the background,
    so that tools answer before any channel is imported. `commands`: agents may have some here."""
    clock = SystemClock()
    async with AsyncExitStack() as stack:
        path = config or Path(runtime_paths.config_path())
        settings = load(path)
        set_level(settings.log_level)
        for secret in settings.secrets():
            hide(secret)
        for remark in settings.remarks():
            log.warning("%s", remark)
        store = await SqliteStore.open(settings.database(lock.state))
        stack.push_async_callback(store.close)
        delivery = Delivery(store, clock=clock)
        faults = Faults(clock=clock)
        supervisor = ChannelSupervisor(
            delivery, clock=clock, faults=faults, confinement=confinement
        )
        store.file.on_lost = supervisor.tell_again
        keeper = JournalKeeper(Journal(folder=settings.journal.folder, state=lock.state), store)
        stack.push_async_callback(keeper.close)

        watchers = Watchers()

        def changed(ask: Ask) -> None:
            delivery.changed(ask)
            keeper.changed(ask)
            watchers.changed(ask)

        broker = Broker(
            store,
            clock=clock,
            policy=settings.policy(),
            changed=changed,
            drained=supervisor.drained,
        )
        outputs = Outputs(lock.state / "operations")
        intake = AskActions(broker, store=store, clock=clock, outputs=outputs.whole)
        background = Background(clock=clock, faults=faults)
        stack.push_async_callback(background.close)

        async def reached(ask_id: str) -> Reach:
            ask = await store.ask(ask_id)
            surfaces = await store.surfaces_of(ask_id)
            return supervisor.reach(surfaces, since=ask.created_at if ask else None)

        notices = Notices(store, delivery, clock=clock)
        own = tools_of(
            settings,
            waiting=Waiting(broker, reached),
            intake=intake,
            store=store,
            notices=notices,
            channels=supervisor,
            keeper=keeper,
            state=lock.state,
            clock=clock,
        )
        extra: Commands | None = None
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
                    tell=supervisor.tell_again,
                    faults=faults,
                )
            )
        server = build_server(
            extra.offer.tools if extra else lambda: own,
            waiting_calls=broker.waiting_calls,
            clients=clients_of(settings),
            clock=clock,
            after_call=_sweeper(broker, background, clock),
            spawn=background.spawn,
            missing=extra.offer.missing if extra else lambda name: None,
            changes=extra.offer.changes if extra else None,
        )
        health = Health(
            agents=agents,
            remarks=lambda: [*remarks(), *settings.remarks(), *supervisor.remarks()],
            troubles=supervisor.troubles,
            faults=lambda: [*store.faults(), *faults.listed()],
        )
        pairing = Pairing(clock=clock)
        # Pages first: they are up before any chat.
        specs = sorted(settings.active_channels(), key=lambda spec: spec.is_chat)
        pairs = TerminalPairing(
            pairing,
            channel=settings.pairing_channel().name,
            clock=clock,
            troubles=supervisor.troubles,
        )
        status = TerminalStatus(
            health=health, store=store, lock=lock, since=clock.time(), links=links
        )
        asks = TerminalAsks(
            intake, policy=broker.policy, health=health, clock=clock, watchers=watchers
        )
        codes = LoginCodes(clock=clock)

        async def login_code(_request: Request) -> Json:
            return {"code": codes.new(by_token=False)}

        for spec in specs:
            build = builder_of(
                spec,
                settings,
                config=config,
                lock=lock,
                clock=clock,
                health=health,
                pairing=pairing,
                codes=codes,
            )
            supervisor.add(spec.name, build, unwatched=spec.unwatched)
        background.keep("deadlines", broker.run)
        background.keep("channels", lambda: supervisor.run(intake))
        background.spawn(keeper.catch_up())
        tell = supervisor.tell_again
        background.spawn(tell_of_newcomers(settings, store, clock=clock, tell=tell))
        background.spawn(tell_of_other_settings(settings, path, store, clock=clock, tell=tell))
        yield Hub(
            settings=settings,
            waiting_calls=broker.waiting_calls,
            server=server,
            tell=supervisor.tell,
            modules=tuple(spec.module for spec in specs),
            responds=lambda: store_responds(store),
            commands=extra,
            terminals=Terminals(
                {
                    "status": status.status,
                    "greet": pairs.greet,
                    "login-code": login_code,
                    **asks.answers,
                },
                {"pair": pairs.pair, **asks.streams},
            ),
        )


def stop_on_signals() -> asyncio.Event:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop


def _sweeper(broker: Broker, background: Background, clock: SystemClock) -> Callable[[], None]:
    """Sweeps at the start, and after a tool ran if the last sweep is long ago."""
    last = clock.monotonic()
    background.spawn(broker.sweep())

    def after_call() -> None:
        nonlocal last
        if clock.monotonic() - last >= SWEEP_EVERY_SECONDS:
            last = clock.monotonic()
            background.spawn(broker.sweep())

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
