"""Children of this process: how one has ended while nobody else gets its pid, and orphans.

`os.waitid` can look at an end and leave the process as it is, so that its pid stays its own. Python
has it on macOS from 3.13 on. Before, looking at an end is the end of the pid, too.
"""

from __future__ import annotations

import os
from collections.abc import Collection

HELD: bool = hasattr(os, "waitid")
"""Whether a process that has ended keeps its pid until `release`."""


def ended(pid: int) -> tuple[int | None, int | None] | None:
    """Exit code or signal of a child that has ended. Where it is not `HELD`, ask only once."""
    if HELD:
        found = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if found is None:
            return None
        by_itself = found.si_code == os.CLD_EXITED
        return (found.si_status, None) if by_itself else (None, found.si_status)
    ended, status = os.waitpid(pid, os.WNOHANG)
    if ended == 0:
        return None
    if os.WIFEXITED(status):
        return os.WEXITSTATUS(status), None
    return None, os.WTERMSIG(status)


def release(pid: int) -> None:
    """Let the pid of a child go that has ended. One that has not is an orphan from now on."""
    if HELD:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG)


def adopt_orphans() -> None:
    """Have orphans among the descendants come to this process instead of a machine's first one,
    which in a container may be one that never looks after them."""
    try:
        import ctypes

        set_child_subreaper = 36
        ctypes.CDLL(None).prctl(set_child_subreaper, 1, 0, 0, 0)
    except (AttributeError, ImportError, OSError):
        pass  # they go where orphans go


def reap_orphans(own: Collection[int]) -> None:
    """Reap children that have ended, up to the first of `own`. Where nothing is `HELD`, no orphan
    comes here either."""
    while HELD:
        try:
            found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        if found is None or found.si_pid in own:  # then again when that one is over
            return
        os.waitid(os.P_PID, found.si_pid, os.WEXITED)
