"""What systemd gives a service: a listening socket, a place for news, a watchdog to be fed.

Everything here does nothing where systemd did not start this process. Standard library only.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Awaitable, Callable

from chatbridge.core.errors import SocketUnusable, StoreError

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
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
                sock.setblocking(False)
                sock.sendto(news.encode(errors="replace"), address)
        except OSError as error:  # no descriptor is left, for instance
            log.warning("systemd was not told %s: %s", lines[0], error)

    def passed_socket(self) -> socket.socket | None:
        """The socket that systemd listens at for this hub. It is systemd's: never unlink it.
        :raises SocketUnusable: it is none that links can connect to."""
        if self._passed == 0:
            return None
        if self._passed > 1:
            raise SocketUnusable(
                f"systemd passed {self._passed} sockets, and a hub has one. Check ListenStream in "
                "chatbridge.socket"
            )
        try:
            os.set_inheritable(FIRST_PASSED, False)
            passed = socket.socket(fileno=FIRST_PASSED)
        except OSError:  # there is none
            raise SocketUnusable(_NO_STREAM) from None
        listens = passed.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
        stream = passed.family == socket.AF_UNIX and passed.type == socket.SOCK_STREAM
        name = passed.getsockname()
        if not (stream and listens and isinstance(name, str) and name.startswith("/")):
            passed.close()
            raise SocketUnusable(_NO_STREAM)
        passed.setblocking(False)
        return passed

    async def feed_watchdog(
        self, responds: Callable[[], Awaitable[None]], sleep: Callable[[float], Awaitable[None]]
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
