"""Finds the processes of an operation and signals them. The hub uses this, too, for processes of a
runner that died.

A command is a session of its own, and its environment carries a mark, by which a process that has
left the session is found. A process that has left it and cleaned its environment is not found.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Mapping

Process = tuple[int, int]
"""Its number, and when it was started, in the kernel's ticks: the two are one process's own."""
MARK = "CHATBRIDGE_OPERATION"
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
    try:
        names = os.listdir("/proc")
    except OSError:  # no Linux: the process group is what can be had
        return found
    own = os.getpid()
    for name in names:
        if not name.isdigit() or int(name) == own:
            continue
        fields = _status(name)
        # A zombie is over. While other threads are there, it is one only in name.
        if not fields or (fields[0] in (b"Z", b"X") and int(fields[17]) <= 1):
            continue
        process = (int(name), _born(fields))
        known = led.get(int(fields[3])) or seen.get(process)
        carried = known or _mark(_read(f"/proc/{name}/environ"))
        if carried in found:
            found[carried].add(process)
    return found


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
    fields = _status(str(pid))
    return _born(fields) if fields else None


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


def _status(name: str) -> list[bytes]:
    """What the kernel says of a process, from its state on; empty if it has gone."""
    status = _read(f"/proc/{name}/stat")
    return status[status.rfind(b")") + 1 :].split()


def _born(fields: list[bytes]) -> int:
    return int(fields[19])


def _mark(environment: bytes) -> str:
    environment = b"\0" + environment
    at = environment.find(_MARKED)
    if at < 0:
        return ""
    value = environment[at + len(_MARKED) :]
    return os.fsdecode(value[: value.find(b"\0")] if b"\0" in value else value)


def _read(path: str) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read()
    except OSError:
        return b""
