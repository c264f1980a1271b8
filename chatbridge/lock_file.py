"""The hub's lock file: taking the lock, describing its holder, and finding out who holds it.

Standard library only and cheap to import, because every link imports it.
"""

from __future__ import annotations

import json
import os

from chatbridge import bounded_read
from chatbridge.core.errors import HubAlreadyRunning, SettingsError, SocketUnusable
from chatbridge.runtime_paths import lock_path, make_private
from chatbridge.system import locks, sockets

_MIN_SIZE_BYTES = 1024


class LockInfo:
    """The holder's description of itself. `error` says why it could not start."""

    __slots__ = ("error", "pid", "socket", "started_by", "version", "web")

    def __init__(
        self,
        *,
        pid: int,
        version: str,
        socket: str | None,
        started_by: str,
        web: str | None = None,
        error: str | None = None,
    ) -> None:
        self.pid, self.version, self.socket = pid, version, socket
        self.started_by, self.web, self.error = started_by, web, error


def read(state: str) -> LockInfo | None:
    """Return the content of the lock file, or None. Its writer may have ended."""
    found = bounded_read.read_json(lock_path(state))
    pid, path = found.get("pid"), _text(found.get("socket")) or ""
    if type(pid) is not int:
        return None
    try:
        usable = path.startswith("/") and b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        usable = False
    return LockInfo(
        pid=pid,
        version=str(found.get("version", "")),
        socket=path if usable else None,
        started_by=str(found.get("started_by", "")),
        web=_text(found.get("web")),
        error=_text(found.get("error")),
    )


def acquire(state: str) -> int:
    """Take the hub's lock. It is held until the returned descriptor is closed.
    :raises HubAlreadyRunning: another process holds it.
    :raises SettingsError: the directory is not private, or cannot be locked."""
    make_private(state)
    lock = try_lock(lock_path(state))
    if lock is None:
        holder = read(state)
        raise HubAlreadyRunning(pid=holder.pid if holder else None, state_dir=state)
    return lock


def try_lock(path: str) -> int | None:
    """Lock the file and return its descriptor, or None if another process holds the lock."""
    try:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise SettingsError(f"the lock file {path} cannot be opened ({error.strerror})") from error
    try:
        return _flock(lock)
    except OSError as error:
        raise SettingsError(
            f"the file {path} cannot be locked ({error.strerror}). Set CHATBRIDGE_STATE_DIR to a "
            "folder on a local disk"
        ) from error


def try_start_turn(state: str) -> int | None:
    """Take the turn to start a hub, until the returned descriptor is closed; None if another
    process has it. Locks the directory, which works even on a full disk.
    :raises OSError: the directory cannot be locked."""
    return _flock(os.open(state, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))


def _flock(opened: int) -> int | None:
    """Lock the descriptor and return it, or close it and return None. :raises OSError:"""
    taken = False
    try:
        taken = locks.take(opened)
    finally:
        if not taken:
            os.close(opened)
    return opened if taken else None


def write(lock: int, info: LockInfo) -> None:
    """Write in place, because the lock belongs to this very file. One write of at least the old
    size: nobody reads half of it, and it works on a full disk."""
    line = json.dumps({name: getattr(info, name) for name in LockInfo.__slots__}).encode()
    size = max(len(line) + 1, _MIN_SIZE_BYTES)
    os.pwrite(lock, line.ljust(size - 1) + b"\n", 0)
    os.ftruncate(lock, size)


def find_holder(state: str) -> LockInfo | None:
    """Return the actual holder of the lock. Trying to lock could make a starting hub fail."""
    info = read(state)
    if info is None:
        return None
    if locks.holds(info.pid, lock_path(state)):
        return info
    # The kernel's list may be hidden; the process that listens for links has the lock.
    try:
        with sockets.connect(info.socket or "") as sock:
            return info if sockets.peer(sock)[0] == info.pid else None
    except (OSError, SocketUnusable):
        return None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
