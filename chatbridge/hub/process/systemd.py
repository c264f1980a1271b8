"""systemd's side of a service: a listening socket, notifications, a watchdog.

Does nothing where systemd did not start this process.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import stat
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from importlib import import_module

from chatbridge import __version__
from chatbridge.core.errors import SocketUnusable, StoreError
from chatbridge.core.ports import Clock
from chatbridge.core.store_port import Store, Transaction

log = logging.getLogger(__name__)

FIRST_PASSED = 3
_VARIABLES = (
    "LISTEN_PID",
    "LISTEN_FDS",
    "LISTEN_FDNAMES",
    "NOTIFY_SOCKET",
    "WATCHDOG_PID",
    "WATCHDOG_USEC",
)


class Systemd:
    """Reads the environment, and takes its variables away: they are not for children."""

    def __init__(self) -> None:
        given = {name: os.environ.pop(name, "") for name in _VARIABLES}
        mine = str(os.getpid())
        self._news = given["NOTIFY_SOCKET"]
        self._passed = _number(given["LISTEN_FDS"]) if given["LISTEN_PID"] == mine else 0
        fed_here = given["WATCHDOG_PID"] in ("", mine)
        microseconds = _number(given["WATCHDOG_USEC"]) if fed_here else 0
        self.watchdog: float | None = microseconds / 1_000_000 or None
        """Within how many seconds it has to be fed."""

    def notify(self, *lines: str) -> None:
        """`READY=1` and the like. Nobody to tell, or nobody who listens, is no trouble."""
        if not self._news:
            return
        address = f"\0{self._news[1:]}" if self._news.startswith("@") else self._news
        news = "\n".join(line.replace("\n", " ") for line in lines)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
            sock.setblocking(False)
            try:
                sock.sendto(news.encode(), address)
            except OSError as error:
                log.warning("systemd was not told %s: %s", lines[0], error)

    def passed_socket(self) -> socket.socket | None:
        """The socket that systemd listens at for this hub. It is systemd's: never unlink it.

        :raises SocketUnusable: it is none that links can connect to.
        """
        if self._passed == 0:
            return None
        if self._passed > 1:
            raise SocketUnusable(
                f"systemd passed {self._passed} sockets, and a hub has one. Check ListenStream in "
                "chatbridge.socket"
            )
        try:
            os.set_inheritable(FIRST_PASSED, False)
            if not stat.S_ISSOCK(os.fstat(FIRST_PASSED).st_mode):
                raise SocketUnusable(_NO_STREAM)
        except OSError:  # there is none
            raise SocketUnusable(_NO_STREAM) from None
        passed = socket.socket(fileno=FIRST_PASSED)
        listens = passed.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
        stream = passed.family == socket.AF_UNIX and passed.type == socket.SOCK_STREAM
        name = passed.getsockname()
        if not (stream and listens and isinstance(name, str) and name.startswith("/")):
            passed.close()
            raise SocketUnusable(_NO_STREAM)
        passed.setblocking(False)
        return passed

    async def feed_watchdog(
        self,
        responds: Callable[[], Awaitable[None]],
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        """While the event loop runs and `responds` returns. One that fails has answered, too: a
        full disk is not mended by a restart."""
        if self.watchdog is None:
            return
        while True:
            try:
                await responds()
            except StoreError as error:
                log.warning("the store responds with an error: %s", error)
            self.notify("WATCHDOG=1")
            await sleep(self.watchdog / 2)


def _number(given: str) -> int:
    """What is none was not said by systemd."""
    return int(given) if given.isascii() and given.isdecimal() and len(given) < 19 else 0


_NO_STREAM = (
    "systemd passed something that is no listening Unix stream socket with a path. Check "
    "ListenStream in chatbridge.socket"
)


LATE = ("chatbridge.tools.journal.yaml_text",)
"""Imported where they are first used: most hubs of links never do."""


@asynccontextmanager
async def served(
    systemd: Systemd,
    *,
    modules: Iterable[str],
    responds: Callable[[], Awaitable[None]],
    clock: Clock,
) -> AsyncIterator[None]:
    """Ready on entering, once the channels' `modules` are imported, and stopping on leaving. The
    watchdog is fed in between, also while a channel cannot be reached."""
    await asyncio.to_thread(import_everything, modules)
    systemd.notify("READY=1", f"STATUS=version {__version__}, ready")
    feeding = asyncio.ensure_future(systemd.feed_watchdog(responds, clock.sleep))
    try:
        yield
    finally:
        systemd.notify("STOPPING=1", "STATUS=stops; open questions stay open")
        feeding.cancel()
        await asyncio.gather(feeding, return_exceptions=True)


def import_everything(modules: Iterable[str]) -> None:
    """What this hub may come to use. What cannot be imported is reported by who needs it."""
    for name in (*modules, *LATE):
        try:
            import_module(name)
        except ImportError as error:
            log.warning("%s cannot be imported: %s", name, error)


async def store_responds(store: Store) -> None:
    """Both its ways, the one for reading and the one for writing."""

    async def nothing(_: Transaction) -> None:
        pass

    await store.note(channel="systemd", key="watchdog")
    await store.write(nothing)
