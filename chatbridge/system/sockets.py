"""Unix sockets between processes of one user, and whose process is at the other end.

Linux says that with SO_PEERCRED and SO_PEERGROUPS, macOS with LOCAL_PEERCRED and LOCAL_PEERPID.
Where neither is there, nobody is let in.
"""

from __future__ import annotations

import errno
import os
import socket
import sys

from chatbridge.core.errors import SocketUnusable
from chatbridge.system.platform import MACOS

MAX_SOCKET_PATH = 103 if MACOS else 107
"""sun_path has 108 bytes on Linux and 104 on macOS, including the terminating zero."""
SOL_LOCAL, LOCAL_PEERCRED, LOCAL_PEERPID = 0, 1, 2
_CREDENTIALS: int | None = getattr(socket, "SO_PEERCRED", None)
_SO_PEERGROUPS = 59
_LONGEST_LIST = 1024  # All that Python's getsockopt takes: 256 groups
_XUCRED_BYTES = 76  # With room for 16 groups


def connect(path: str) -> socket.socket:
    """Open a non-blocking connection to a process of this user. A full queue is an OSError.
    :raises OSError: nobody listens there.
    :raises SocketUnusable: the path is too long, or another user listens there."""
    check_length(path)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        sock.connect(path)
        owner = peer(sock)[1]
        if owner != os.getuid():
            raise SocketUnusable(
                f"the process that listens at {path} belongs to another user (uid {owner}); "
                "nothing was sent to it. Set CHATBRIDGE_RUNTIME_DIR to a folder of yours"
            )
    except BaseException:
        sock.close()
        raise
    return sock


def peer(sock: socket.socket) -> tuple[int, int]:
    """pid and uid of the process that listens or has connected; pid 0 if it has gone.
    :raises OSError: the kernel does not say whose it is."""
    if _CREDENTIALS is not None:
        raw = sock.getsockopt(socket.SOL_SOCKET, _CREDENTIALS, 12)
        return _number(raw, 0), _number(raw, 4)
    uid, _ = parse_xucred(sock.getsockopt(SOL_LOCAL, LOCAL_PEERCRED, _XUCRED_BYTES))
    try:
        return _number(sock.getsockopt(SOL_LOCAL, LOCAL_PEERPID, 4), 0), uid
    except OSError:
        return 0, uid


def is_own(sock: socket.socket) -> bool:
    """Whether the process at the other end certainly is one of this user."""
    try:
        return peer(sock)[1] == os.getuid()
    except OSError:
        return False


def peer_groups(sock: socket.socket) -> set[int]:
    """The groups of the process at the other end when it connected, as the kernel knows them.
    :raises OSError: it does not say."""
    if _CREDENTIALS is None:
        return parse_xucred(sock.getsockopt(SOL_LOCAL, LOCAL_PEERCRED, _XUCRED_BYTES))[1]
    raw = sock.getsockopt(socket.SOL_SOCKET, _CREDENTIALS, 12)[8:]
    try:
        raw += sock.getsockopt(socket.SOL_SOCKET, _SO_PEERGROUPS, _LONGEST_LIST)
    except OSError:  # more than fit: the first one has to do
        pass
    return {_number(raw, at) for at in range(0, len(raw), 4)}


def parse_xucred(raw: bytes) -> tuple[int, set[int]]:
    """uid and groups of macOS' `struct xucred`: a version, the uid, how many groups there are as a
    short, two bytes of padding, and the groups. :raises OSError: it is none."""
    count = int.from_bytes(raw[8:10], sys.byteorder, signed=True)
    if len(raw) < 12 or _number(raw, 0) != 0 or not 0 <= count <= (len(raw) - 12) // 4:
        raise OSError(errno.EPROTO, "the credentials of a peer cannot be read")
    return _number(raw, 4), {_number(raw, 12 + 4 * each) for each in range(count)}


def _number(raw: bytes, at: int) -> int:
    return int.from_bytes(raw[at : at + 4], sys.byteorder)


def check_length(path: str) -> None:
    length = len(os.fsencode(path))
    if length > MAX_SOCKET_PATH:
        raise SocketUnusable(
            f"the socket path {path} has {length} bytes; a Unix socket takes at most "
            f"{MAX_SOCKET_PATH}. Set CHATBRIDGE_RUNTIME_DIR to a folder with a shorter name"
        )
