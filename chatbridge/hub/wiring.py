"""The hub: the only wiring. Settings → store → broker → tools → channels; start and stop order.

Everything that is opened enters one stack; closing is the reverse of opening.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import signal
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp.server.lowlevel import Server

from chatbridge import __version__, rendezvous
from chatbridge.clock import SystemClock
from chatbridge.core.broker import Broker
from chatbridge.core.callers import Callers
from chatbridge.core.delivery import Delivery
from chatbridge.core.health import Health
from chatbridge.core.intake import Intake
from chatbridge.core.model import Ask
from chatbridge.core.notices import Notices
from chatbridge.core.ports import Channel
from chatbridge.core.reach import Reach
from chatbridge.digests import sha256_hex
from chatbridge.hub.bot_lock import bot_held, matrix_bot, telegram_bot
from chatbridge.hub.line_up import LineUp
from chatbridge.hub.links import Links
from chatbridge.hub.lock import Lock
from chatbridge.hub.log import hide, set_level
from chatbridge.hub.terminal_status import TerminalStatus
from chatbridge.hub.terminals import Json, Terminals
from chatbridge.hub.toolbox import clients_of, tools_of
from chatbridge.link.preface import NAMED_SETTINGS
from chatbridge.settings import Matrix, Settings, Telegram, load
from chatbridge.store.sqlite import SqliteStore
from chatbridge.tools.journal import Journal
from chatbridge.tools.journal_keeper import JournalKeeper
from chatbridge.tools.server import build_server
from chatbridge.tools.waiting import Waiting

log = logging.getLogger(__name__)

SWEEP_EVERY = 600.0


class Background:
    """Work beside the sessions. A failure is logged and ends nothing else."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)

    async def close(self) -> None:
        ending = list(self._tasks)
        for task in ending:
            task.cancel()
        await asyncio.gather(*ending, return_exceptions=True)

    def _finished(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("background work failed", exc_info=error)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hub:
    """What sessions are attached to."""

    settings: Settings
    callers: Callers
    server: Server[Any]
    tell: Callable[[str], None]
    """Says something to the owner, once."""
    terminals: Terminals


async def run_hub(lock: Lock, *, config: Path | None, ready: Callable[[], None]) -> None:
    """Serve links until SIGTERM or SIGINT."""
    stop = stop_on_signals()
    path = rendezvous.socket_path(str(lock.state))
    async with AsyncExitStack() as stack:
        links: Links | None = None
        hub = await stack.enter_async_context(
            open_hub(
                lock,
                config=config,
                agents=lambda: links.projects() if links else [],
                remarks=lambda: links.remarks() if links else [],
                links=lambda: links.connected() if links else [],
            )
        )
        links = Links(
            hub.server,
            hub.callers,
            settings=digests(hub.settings),
            tell=hub.tell,
            terminals=hub.terminals,
        )
        stack.push_async_callback(links.close)
        rendezvous.make_private(os.path.dirname(path))
        await links.listen(rendezvous.bind_socket(path))
        lock.listening(path)
        ready()
        log.info("hub %s ready pid=%d state=%s", __version__, os.getpid(), lock.state)
        await stop.wait()
        log.info("hub stops; open questions stay open")


@asynccontextmanager
async def open_hub(
    lock: Lock,
    *,
    config: Path | None,
    agents: Callable[[], list[str]],
    remarks: Callable[[], list[str]] = list,
    links: Callable[[], list[Json]] = list,
) -> AsyncIterator[Hub]:
    """Everything but the way in: a socket, or standard input. Channels come up in the background,
    so that tools answer before any channel is imported."""
    clock = SystemClock()
    async with AsyncExitStack() as stack:
        settings = load(config)
        set_level(settings.log_level)
        for secret in settings.secrets():
            hide(secret)
        for remark in settings.remarks():
            log.warning("%s", remark)
        store = await SqliteStore.open(settings.database(lock.state))
        stack.push_async_callback(store.close)
        delivery = Delivery(store, clock=clock)
        line_up = LineUp(delivery, clock=clock)
        keeper = JournalKeeper(Journal(folder=settings.journal.folder, state=lock.state), store)
        stack.push_async_callback(keeper.close)

        def changed(ask: Ask) -> None:
            delivery.changed(ask)
            keeper.changed(ask)

        broker = Broker(
            store,
            clock=clock,
            policy=settings.policy(),
            changed=changed,
            drained=line_up.drained,
        )
        intake = Intake(broker, store=store, clock=clock)
        background = Background()
        stack.push_async_callback(background.close)

        async def reached(ask_id: str) -> Reach:
            ask = await store.ask(ask_id)
            surfaces = await store.surfaces_of(ask_id)
            return line_up.reach(surfaces, since=ask.created_at if ask else None)

        server = build_server(
            tools_of(
                settings,
                waiting=Waiting(broker, reached),
                intake=intake,
                store=store,
                notices=Notices(store, delivery, clock=clock),
                channels=line_up,
                keeper=keeper,
                state=lock.state,
                clock=clock,
            ),
            callers=broker.callers,
            clients=clients_of(settings),
            clock=clock,
            after_call=_sweeper(broker, background, clock),
            spawn=background.spawn,
        )
        health = Health(
            agents=agents,
            remarks=lambda: [*remarks(), *settings.remarks(), *line_up.remarks()],
            troubles=line_up.troubles,
        )
        status = TerminalStatus(health=health, store=store, clock=clock, lock=lock, links=links)
        if settings.web.enabled:
            line_up.add("web", lambda: _web(settings, lock, clock, health))
        if settings.telegram.token is not None:
            line_up.add("telegram", lambda: _telegram(settings.telegram, config, clock))
        if settings.matrix.on:
            line_up.add("matrix", lambda: _matrix(settings.matrix, config, lock, clock))
        background.spawn(broker.run())
        background.spawn(line_up.run(intake))
        background.spawn(keeper.catch_up())
        yield Hub(
            settings=settings,
            callers=broker.callers,
            server=server,
            tell=line_up.tell,
            terminals=Terminals({"status": status.status}),
        )


def stop_on_signals() -> asyncio.Event:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop


def _web(settings: Settings, lock: Lock, clock: SystemClock, health: Health) -> Channel:
    from chatbridge.channels.web.channel import WebChannel

    web = settings.web
    token = web.token.get_secret_value() if web.token else web_token(lock.state)
    hide(token)
    return WebChannel(
        host=web.host,
        port=web.port,
        url=web.url,
        token=token,
        clock=clock,
        announce=lock.inbox_at,
        health=health,
    )


def _telegram(telegram: Telegram, config: Path | None, clock: SystemClock) -> Channel:
    from chatbridge.channels.telegram.channel import TelegramChannel

    assert telegram.token is not None
    token = telegram.token.get_secret_value()
    return TelegramChannel(
        token=token,
        allowed=telegram.allowed_users,
        chats=telegram.chat_id,
        topics=telegram.topics,
        base=telegram.api_base,
        hint=f"telegram.token in {config or rendezvous.config_path()}, or its variable",
        clock=clock,
        hold=lambda: bot_held(telegram_bot(token.partition(":")[0])),
    )


def _matrix(matrix: Matrix, config: Path | None, lock: Lock, clock: SystemClock) -> Channel:
    from chatbridge.channels.matrix.channel import MatrixChannel
    from chatbridge.channels.matrix.log_in import Account

    assert matrix.homeserver is not None
    assert matrix.user_id is not None
    user_id, token, password = matrix.user_id, matrix.access_token, matrix.password
    named = "access_token" if token else "password"
    return MatrixChannel(
        account=Account(
            homeserver=matrix.homeserver,
            user_id=user_id,
            access_token=token.get_secret_value() if token else None,
            password=password.get_secret_value() if password else None,
            hint=f"matrix.{named} in {config or rendezvous.config_path()}, or its variable",
        ),
        folder=lock.state / "matrix",
        allowed=matrix.allowed_users,
        rooms=matrix.room_id,
        reactions=matrix.reactions,
        clock=clock,
        hold=lambda: bot_held(matrix_bot(user_id)),
        hide=hide,
    )


def web_token(state: Path) -> str:
    """The inbox's token, made on the first start."""
    path = Path(rendezvous.token_path(str(state)))
    try:
        found = path.read_text(encoding="ascii").strip()
        if found:
            return found
    except FileNotFoundError:
        pass
    token = secrets.token_urlsafe(32)
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with open(file, "w", encoding="ascii") as out:
        out.write(token + "\n")
    return token


def _sweeper(broker: Broker, background: Background, clock: SystemClock) -> Callable[[], None]:
    """Sweeps at the start, and after a tool ran if the last sweep is long ago."""
    last = clock.monotonic()
    background.spawn(broker.sweep())

    def after_call() -> None:
        nonlocal last
        if clock.monotonic() - last >= SWEEP_EVERY:
            last = clock.monotonic()
            background.spawn(broker.sweep())

    return after_call


def digests(settings: Settings) -> dict[str, str]:
    """What this hub uses, comparable with what a link's environment names, without the values."""
    values = {name: os.environ.get(name) for name in NAMED_SETTINGS}
    telegram, matrix = settings.telegram, settings.matrix
    from_file = {
        "CHATBRIDGE_STORE": settings.store,
        "CHATBRIDGE_TELEGRAM__TOKEN": telegram.token.get_secret_value() if telegram.token else None,
        "CHATBRIDGE_TELEGRAM__CHAT_ID": ",".join(map(str, telegram.chat_id)),
        "CHATBRIDGE_MATRIX__HOMESERVER": matrix.homeserver,
        "CHATBRIDGE_MATRIX__USER_ID": matrix.user_id,
        "CHATBRIDGE_MATRIX__ACCESS_TOKEN": (
            matrix.access_token.get_secret_value() if matrix.access_token else None
        ),
        "CHATBRIDGE_MATRIX__ROOM_ID": ",".join(matrix.room_id),
    }
    for name, value in from_file.items():
        values[name] = values[name] or value  # a variable as it is spelt: links spell it alike
    return {name: sha256_hex(os.fsencode(value))[:16] for name, value in values.items() if value}
