"""Finds the processes of an operation and signals them. The hub uses this, too, for processes of a
runner that died.

A command is a session of its own, and its environment carries a mark, by which a process that has
left the session is found. A process that has left it and cleaned its environment is not found.
Where no environment can be read, the mark counts for nothing: one that has left the session is
found while a process is there that has started it.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Mapping

from chatbridge.system import processes
from chatbridge.system.platform import PROC

Process = tuple[int, int]
"""Its number, and when it was started: the two are one process's own."""
MARK = "CHATBRIDGE_OPERATION"
_MAX_PARENTS = 128
_MARKED = b"\0" + MARK.encode() + b"="


def mark(operation_id: str, place: str) -> str:
    """The value in the environment. `place` is the state directory's: ids of two hubs of a person
    may be alike."""
    return f"{operation_id}@{place}"


def living(sessions: Mapping[str, int], seen: Mapping[Process, str]) -> dict[str, set[Process]]:
    """The processes of each mark, zombies left out. `sessions` has the process that leads each
    mark's session, or 0 if that one may be gone and its number another's. `seen` has what earlier
    looks have found, with its mark: one that is dying has no environment any more, and may still
    hold its memory, files and ports."""
    found: dict[str, set[Process]] = {carried: set() for carried in sessions}
    led = {leader: carried for carried, leader in sessions.items() if leader}
    there, own = processes.all_processes(), os.getpid()
    for each in there.values():
        if each.over or each.pid == own:
            continue
        process = (each.pid, each.started)
        known = led.get(each.session) or seen.get(process)
        carried = known or (_mark(each.pid) if PROC else _of_parents(each, there, led))
        if carried in found:
            found[carried].add(process)
    return found


def _of_parents(
    process: processes.Process, there: Mapping[int, processes.Process], led: Mapping[int, str]
) -> str:
    """The mark of what has started it, where no environment can be read: one that has left the
    session is found as long as its parents are there."""
    for _ in range(_MAX_PARENTS):
        parent = there.get(process.parent)
        if parent is None:
            break
        if carried := led.get(parent.session):
            return carried
        process = parent
    return ""


def send(to: Iterable[Process], number: int) -> None:
    for pid, _ in to:
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):  # gone, or it became another user's
            pass


def send_group(leader: int, number: int) -> None:
    """Only while the leader is not reaped: until then its number is nobody else's."""
    try:
        os.killpg(leader, number)
    except (ProcessLookupError, PermissionError):
        pass


def born(pid: int) -> int | None:
    """When it was started, or None if there is no such process."""
    found = processes.find(pid)
    return found.started if found else None


def end_marked(marks: Mapping[str, tuple[object, object]]) -> None:
    """End what a dead runner has left behind, at once. With each mark comes the process that led
    its session, and when that was born, as far as they are known."""
    for _ in range(5 if marks else 0):  # one that forks meanwhile may be missed by a look
        sessions = {carried: _leader(*known) for carried, known in marks.items()}
        found = set().union(*living(sessions, {}).values())
        if not found:
            return
        send(found, signal.SIGKILL)


def _leader(pid: object, its_birth: object) -> int:
    """0: it has gone, and its number may be another's."""
    if isinstance(pid, int) and its_birth is not None and born(pid) == its_birth:
        return pid
    return 0


def _mark(pid: int) -> str:
    environment = b"\0" + processes.environment(pid)
    at = environment.find(_MARKED)
    if at < 0:
        return ""
    value = environment[at + len(_MARKED) :]
    return os.fsdecode(value[: value.find(b"\0")] if b"\0" in value else value)
