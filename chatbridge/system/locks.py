"""Locks of files (flock): taking one, and whether a process holds it.

Linux lists all locks. Elsewhere a look needs the lock itself for a moment, so that taking it is
tried more than once there.
"""

from __future__ import annotations

import fcntl
import os
import time

from chatbridge.system.platform import PROC

_TRIES, _PAUSE = (1, 0.0) if PROC else (5, 0.01)


def take(opened: int) -> bool:
    """Lock a file that is open, until it is closed. False: another process holds the lock.
    :raises OSError: it cannot be locked."""
    for left in reversed(range(_TRIES)):
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_PAUSE if left else 0)
        else:
            return True
    return False


def holds(pid: int, path: str) -> bool:
    """`pid` is what the file names as its holder. False: it does not, or nobody can say."""
    if not PROC:
        return _has_written(pid, path)
    try:
        inode = os.stat(path).st_ino
        with open("/proc/locks", encoding="ascii") as file:
            rows = [line.split() for line in file]
    except OSError:
        return False
    # Do not compare the device: btrfs and overlayfs show another one than stat. A row with an arrow
    # is a waiting process.
    return any(
        row[1] == "FLOCK" and row[4] == str(pid) and row[5].endswith(f":{inode}") for row in rows
    )


def _has_written(pid: int, path: str) -> bool:
    """Whether the lock is held, and the process with that pid is older than what stands in the
    file. Then it is the one that wrote it: a holder writes its own pid."""
    from chatbridge.system import processes  # not for links on Linux

    try:
        written = os.stat(path).st_mtime
        probe = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(probe, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        found = processes.find(pid)
        return found is not None and not found.over and found.started <= written
    except OSError:
        return False
    finally:
        os.close(probe)
    return False
