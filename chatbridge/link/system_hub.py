"""The hub of a machine, at a path that only root can give away. Standard library only."""

from __future__ import annotations

import os
import socket
import stat

from chatbridge.core.errors import SocketUnusable

SOCKET = "/run/chatbridge/hub.sock"


def wanted() -> bool:
    """Who names a state directory means the hub of that one."""
    return not os.environ.get("CHATBRIDGE_STATE_DIR")


def connect(path: str = SOCKET) -> socket.socket:
    """A non-blocking connection to the machine's hub. The process that listens has a user of its
    own: that it is the right one is known from its place, where nobody but root can put a socket.

    :raises OSError: there is none, or this user may not connect.
    :raises SocketUnusable: others could have put it there.
    """
    folder, place = os.lstat(os.path.dirname(path)), os.lstat(path)
    roots = folder.st_uid == 0 and place.st_uid == 0 and not folder.st_mode & 0o022
    if not (roots and stat.S_ISDIR(folder.st_mode) and stat.S_ISSOCK(place.st_mode)):
        raise SocketUnusable(f"{path} is not used: others than root could have put it there")
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        sock.connect(path)
    except BaseException:
        sock.close()
        raise
    return sock
