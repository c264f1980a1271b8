"""Whether a process holds the lock of a file (flock), found out without touching the lock."""

from __future__ import annotations

import os

from chatbridge.system.platform import PROC


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
    """Whether the process with that pid is older than what stands in the file. Then it is the one
    that wrote it: a holder writes its own pid, and keeps the lock until it ends."""
    from chatbridge.system import processes  # not for links on Linux

    try:
        written = os.stat(path).st_mtime
    except OSError:
        return False
    found = processes.find(pid)
    return found is not None and not found.over and found.started <= written
