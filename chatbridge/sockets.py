"""Unix sockets between processes of one user, and the limit of open files.

Standard library only, because links use it.
"""

from __future__ import annotations

import os
import resource
import socket
import sys

from chatbridge.core.errors import SocketUnusable

MAX_SOCKET_PATH = 107
"""sun_path has 108 bytes on Linux, including the terminating zero."""


def connect(path: str) -> socket.socket:
    """Open a non-blocking connection to a process of this user. A full queue is an OSError.
    :raises OSError: nobody listens there.
    :raises SocketUnusable: the path is too long, or another user listens there."""
    check_length(path)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        sock.connect(path)
        owner = peer_uid(sock)
        if owner != os.getuid():
            raise SocketUnusable(
                f"the process that listens at {path} belongs to another user (uid {owner}); "
                "nothing was sent to it. Set CHATBRIDGE_RUNTIME_DIR to a folder of yours"
            )
    except BaseException:
        sock.close()
        raise
    return sock


def peer_uid(sock: socket.socket) -> int:
    return peer(sock)[1]


def peer(sock: socket.socket) -> tuple[int, int]:
    """pid and uid of the process that listens or has connected."""
    raw = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    pid, uid = (int.from_bytes(raw[at : at + 4], sys.byteorder) for at in (0, 4))
    return pid, uid


def check_length(path: str) -> None:
    length = len(os.fsencode(path))
    if length > MAX_SOCKET_PATH:
        raise SocketUnusable(
            f"the socket path {path} has {length} bytes; a Unix socket takes at most "
            f"{MAX_SOCKET_PATH}. Set CHATBRIDGE_RUNTIME_DIR to a folder with a shorter name"
        )


WANTED_FILE_LIMIT = 65_536

_original_limits: list[int] = []
"""The soft limit before `raise_limit`, if that changed it."""


def raise_limit() -> None:
    """Raise the soft limit of open files to `WANTED_FILE_LIMIT` or the hard limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = WANTED_FILE_LIMIT if hard == resource.RLIM_INFINITY else min(hard, WANTED_FILE_LIMIT)
    if soft != resource.RLIM_INFINITY and soft < most and _set_file_limit(most, hard):
        _original_limits.append(soft)


def limit_before() -> int | None:
    """The soft limit before `raise_limit`; None if that did not change it."""
    return _original_limits[0] if _original_limits else None


def put_back(soft: int) -> None:
    """Restore the soft limit."""
    _set_file_limit(soft, resource.getrlimit(resource.RLIMIT_NOFILE)[1])


def _set_file_limit(soft: int, hard: int) -> bool:
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    except (OSError, ValueError):  # macOS has another limit below the hard one
        return False
    return True
