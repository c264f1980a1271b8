"""Which processes belong to an operation, and signals to them. Used by the hub as well, for those
of a runner that died.

A command is a session of its own, and its whole environment has a mark: a process that has left
the session is known by that. One that has left it and has cleaned its environment is on its own.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping

MARK = "CHATBRIDGE_OPERATION"
_MARKED = b"\0" + MARK.encode() + b"="


def mark(operation_id: str, place: str) -> str:
    """The value in the environment. `place` is the state directory's: ids of two hubs of a person
    may be alike."""
    return f"{operation_id}@{place}"


def living(sessions: dict[str, int]) -> dict[str, set[int]]:
    """The processes of each mark, by one look at all there are. Zombies are not among them.

    `sessions` has for each mark the process that leads its session, or 0 if that one may be gone
    and its number another's.
    """
    found: dict[str, set[int]] = {carried: set() for carried in sessions}
    led = {leader: carried for carried, leader in sessions.items() if leader}
    try:
        names = os.listdir("/proc")
    except OSError:  # no Linux: the process group is what can be had
        return found
    own = os.getpid()
    for name in names:
        if not name.isdigit() or int(name) == own:
            continue
        status = _read(f"/proc/{name}/stat")
        fields = status[status.rfind(b")") + 1 :].split()
        if len(fields) < 4 or fields[0] in (b"Z", b"X"):
            continue
        carried = led.get(int(fields[3])) or _mark(_read(f"/proc/{name}/environ"))
        if carried in found:
            found[carried].add(int(name))
    return found


def send(pids: set[int], number: int) -> None:
    for pid in pids:
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
    """When it was started, in the kernel's ticks: with that a number is one process's own."""
    status = _read(f"/proc/{pid}/stat")
    fields = status[status.rfind(b")") + 1 :].split()
    return int(fields[19]) if len(fields) > 19 else None


def end_marked(marks: Mapping[str, tuple[object, object]]) -> None:
    """End what a dead runner has left behind, at once. With each mark comes the process that led
    its session, and when that was born, as far as they are known."""
    for _ in range(5 if marks else 0):  # one that forks meanwhile may be missed by a look
        sessions = {carried: _leader(*known) for carried, known in marks.items()}
        found = set().union(*living(sessions).values())
        if not found:
            return
        send(found, signal.SIGKILL)


def _leader(pid: object, its_birth: object) -> int:
    """0: it has gone, and its number may be another's."""
    if isinstance(pid, int) and its_birth is not None and born(pid) == its_birth:
        return pid
    return 0


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
