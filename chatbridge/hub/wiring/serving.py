"""A hub with its ways in: from its start to the signal that stops it."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from socket import socket

from chatbridge import __version__, runtime_paths
from chatbridge.clock import SystemClock
from chatbridge.core.errors import InstallationBroken
from chatbridge.core.tasks import end_tasks
from chatbridge.digests import sha256_hex
from chatbridge.hub.http.serving import HttpServing
from chatbridge.hub.links.listener import Links
from chatbridge.hub.links.peers import Peers
from chatbridge.hub.process.lock import Lock
from chatbridge.hub.process.systemd import Systemd
from chatbridge.hub.wiring import database
from chatbridge.hub.wiring.hub import Hub, open_hub, settings_in_force
from chatbridge.settings import Settings

log = logging.getLogger(__name__)

LATE = (
    *("chatbridge.tools.server", "chatbridge.hub.links.streams"),
    *("chatbridge.commands.tools.changes", "chatbridge.tools.journal.yaml_text"),
)
"""Imported where they are first used: most hubs of links never do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingHub:
    """A hub with its ways in."""

    hub: Hub
    links: Links
    http: HttpServing

    def halt(self) -> None:
        """Do and say nothing more, at once: another one leads. Everything is closed afterwards."""
        self.links.mute()
        self.hub.background.halt()


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
    stop = stop_on_signals(systemd)
    path = listener.getsockname() if listener else runtime_paths.socket_path(str(lock.state))
    settings = settings_in_force(config)
    if settings.server() is not None:
        await database.run_member(
            lock,
            settings,
            config=config,
            ready=ready,
            systemd=systemd,
            bind=lambda: listener or runtime_paths.bind_socket(path),
            path=path,
            system=system,
            http=http,
            stop=stop,
        )
        return
    async with serving(
        lock,
        settings,
        config=config,
        bind=lambda: listener or runtime_paths.bind_socket(path),
        path=path,
        system=system,
        http=http,
    ) as served:
        lock.note(socket=path)
        ready()
        async with attended(systemd, served):
            await stop.wait()
        log.info("hub stops; open questions stay open")


@asynccontextmanager
async def serving(
    lock: Lock,
    settings: Settings,
    *,
    config: Path | None,
    bind: Callable[[], socket],
    path: str,
    system: bool = False,
    http: str | None = None,
    term: database.Term | None = None,
) -> AsyncIterator[ServingHub]:
    """A hub that serves links at the socket that is bound once everything else is there."""
    links: Links | None = None
    ways_in: list[Links | HttpServing] = []
    async with (
        open_hub(
            lock,
            settings,
            config=config,
            agents=lambda: [name for way in ways_in for name in way.projects()],
            remarks=lambda: [remark for way in ways_in for remark in way.remarks()],
            links=lambda of: links.connected(of) if links else [],
            commands=not system,
            term=term,
        ) as hub,
        AsyncExitStack() as stack,
    ):
        links = Links(
            hub.server,
            hub.waiting_calls,
            settings=digests(hub.settings),
            tell=hub.tell,
            terminals=hub.terminals,
            peers=Peers(os.stat(path).st_gid if system else None, term.hub if term else None),
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
        if term is not None:
            remote.passed_on, remote.listener = term.knows, term.http
            remote.tokens = await database.shared_tokens(term, hub.background)
        ways_in += [links, remote]
        await stack.enter_async_context(remote.listening(http))
        await links.listen(bind())
        log.info("hub %s ready pid=%d state=%s", __version__, os.getpid(), lock.state)
        yield ServingHub(hub=hub, links=links, http=remote)


@asynccontextmanager
async def attended(systemd: Systemd, served: ServingHub) -> AsyncIterator[None]:
    """Ready on entering, once the channels' modules are imported. The watchdog is fed meanwhile,
    also while a channel cannot be reached.

    :raises InstallationBroken: the links have been told, and start no other hub.
    """
    hub = served.hub

    async def responds() -> None:
        await hub.store.note("systemd", "watchdog")
        await hub.store.write(lambda _: asyncio.sleep(0))

    try:
        await hub.server.get()
    except InstallationBroken as error:
        served.links.refuse(str(error))
        raise
    await asyncio.to_thread(import_everything, hub.modules)
    systemd.notify("READY=1", f"STATUS=version {__version__}, ready")
    async with fed(systemd, responds):
        yield


@asynccontextmanager
async def fed(systemd: Systemd, responds: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    """The watchdog, until the block ends."""
    feeding = asyncio.ensure_future(systemd.feed_watchdog(responds, SystemClock().sleep))
    try:
        yield
    finally:
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


def stop_on_signals(systemd: Systemd | None = None) -> asyncio.Event:
    stop = asyncio.Event()

    def stops() -> None:
        stop.set()
        if systemd is not None:  # before everything is closed, which may take its time
            systemd.notify("STOPPING=1", "STATUS=stops; open questions stay open")

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stops)
    return stop


def digests(settings: Settings) -> dict[str, str]:
    """What this hub uses, comparable with what a link's environment names, without the values."""
    found = {}
    for variable, value in settings.compared().items():
        # As the variable is spelt, if it counts: links spell it alike.
        given = None if variable in settings.ignored else os.environ.get(variable)
        if given or value:
            found[variable] = sha256_hex(os.fsencode(given or value))[:16]
    return found
