"""Whether this hub has less of a network than its computer.

A hub that a link started is confined like the link's client: a sandbox without a network, or a
network namespace. No agent's questions reach a chat then. The result is a hint, which is shown only
where a chat cannot be reached.
"""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterable, Iterator

from chatbridge.core.errors import ChatbridgeError
from chatbridge.system import sockets
from chatbridge.system.platform import login_dir
from chatbridge.system.processes import same_network

SANDBOXED = "This hub runs inside a sandbox"  # How what is told begins
OUTSIDE = (
    "Start it outside of the sandbox, in a terminal of the user's: chatbridge service install; "
    "or: chatbridge stop, then chatbridge hub"
)
LOOPBACK, FORBIDDEN, ANOTHER = (
    "it has no network but loopback",
    "it may not use the network",
    "its network is not that of this computer",
)


def confinement(outside: Iterable[int] | None = None) -> str | None:
    """Why chats cannot be reached from here, and what to do; None: nothing speaks for a sandbox.
    `outside` are processes that are in none."""
    why = _why(outside)
    return f"{SANDBOXED}: {why}. {OUTSIDE}." if why else None


def _why(outside: Iterable[int] | None) -> str | None:
    try:
        socket.socket(socket.AF_INET, socket.SOCK_STREAM).close()
        names = {name for _, name in socket.if_nameindex()}
    except OSError as error:
        return FORBIDDEN if error.errno in (errno.EPERM, errno.EACCES) else None
    if names <= {"lo", "lo0"}:
        return LOOPBACK
    others = map(same_network, _outside() if outside is None else outside)
    return ANOTHER if any(same is False for same in others) else None


def _outside() -> Iterator[int]:
    """The computer's first process, and this user's systemd."""
    yield 1
    try:
        with sockets.connect(os.path.join(login_dir() or "/", "systemd/private")) as manager:
            yield sockets.peer(manager)[0]
    except (OSError, ChatbridgeError):
        pass
