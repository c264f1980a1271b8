"""Processes as the kernel knows them: who has started one, where it runs, when it began.

Linux shows that under /proc. Elsewhere `ps` is asked, a process that takes some ten milliseconds:
call it where nothing waits, or in a thread.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import NamedTuple

from chatbridge.system.platform import PROC

UNKNOWN = -1
_PS_SECONDS = 5.0
_POLL_SECONDS = 0.05
_COLUMNS = ("pid", "ppid", "pgid", "tpgid", "uid", "tty", "stat", "lstart", "ucomm")
"""As both procps and macOS spell them. `lstart` has five words, the name any number."""
_MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec"


class Process(NamedTuple):
    pid: int
    name: str
    parent: int
    group: int
    session: int
    terminal: bool
    foreground: int  # The group that a person works with there; -1: it has no terminal
    started: int  # Tells it from another process that has its pid later
    over: bool  # A zombie
    user: int = UNKNOWN  # `all_processes` does not look for it under /proc

    @property
    def leads_terminal(self) -> bool:
        """Whether its terminal was opened for it."""
        return self.terminal and self.session == self.pid


Find = Callable[[int], Process | None]


def find(pid: int) -> Process | None:
    if not PROC:
        return _ask_ps("-p", str(pid)).get(pid)
    found = _from_proc(pid)
    return found._replace(user=_user(pid)) if found else None


def all_processes() -> dict[int, Process]:
    """All processes that are there."""
    if not PROC:
        return _ask_ps("-A")
    with suppress(OSError):
        found = (_from_proc(int(name)) for name in os.listdir("/proc") if name.isdigit())
        return {each.pid: each for each in found if each}
    return {}


def environment(pid: int) -> bytes:
    """What a process was started with; empty where only the process itself may know."""
    return _read(f"/proc/{pid}/environ") if PROC else b""


def same_network(pid: int) -> bool | None:
    """Whether a process has this one's network. None: that cannot be seen."""
    try:
        return os.readlink(f"/proc/{pid}/ns/net") == os.readlink("/proc/self/ns/net")
    except OSError:
        return None


class Handle:
    """A process that is signalled and waited for as the very one that had this pid when the handle
    was made."""

    def __init__(self, pid: int) -> None:
        """:raises ProcessLookupError: there is none."""
        self._pid, self._descriptor, self._started = pid, UNKNOWN, UNKNOWN
        try:
            self._descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            raise
        except (AttributeError, OSError):  # macOS has none, and a sandbox may forbid it
            if (found := find(pid)) is not None:
                self._started = found.started
            if not self._runs():
                raise ProcessLookupError(pid) from None

    def __enter__(self) -> Handle:
        return self

    def __exit__(self, *_: object) -> None:
        if self._descriptor != UNKNOWN:
            os.close(self._descriptor)

    def terminate(self) -> None:
        """:raises ProcessLookupError: it has gone."""
        if self._descriptor != UNKNOWN:
            signal.pidfd_send_signal(self._descriptor, signal.SIGTERM)
        elif self._runs():
            os.kill(self._pid, signal.SIGTERM)
        else:
            raise ProcessLookupError(self._pid)

    def wait(self, seconds: float) -> bool:
        """Whether it has ended."""
        if self._descriptor != UNKNOWN:
            import select

            poller = select.poll()
            poller.register(self._descriptor, select.POLLIN)
            return bool(poller.poll(seconds * 1000))
        until = time.monotonic() + seconds
        while self._runs():
            if time.monotonic() > until:
                return False
            time.sleep(_POLL_SECONDS)
        return True

    def _runs(self) -> bool:
        found = find(self._pid)
        if found is None:
            return not PROC and _exists(self._pid)  # `ps` may not have answered
        if found.over or self._started == UNKNOWN:
            return not found.over
        # Where `ps` counts from the time of the boot, it moves with a clock that is being set.
        return abs(found.started - self._started) <= 1


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _from_proc(pid: int) -> Process | None:
    """From its file under /proc."""
    # The name may hold anything, also a closing bracket.
    begin, _, rest = _read(f"/proc/{pid}/stat").rpartition(b")")
    if not begin:
        return None
    fields = rest.split()
    parent, group, session, terminal, foreground = map(int, fields[1:6])
    return Process(
        pid=pid,
        name=begin.partition(b"(")[2].decode(errors="replace"),
        parent=parent,
        group=group,
        session=session,
        terminal=terminal != 0,
        foreground=foreground,
        started=int(fields[19]),
        # While other threads are there, it is one only in name.
        over=fields[0] in (b"Z", b"X") and int(fields[17]) <= 1,
    )


def _user(pid: int) -> int:
    """Not the owner of its files in /proc, which is root if the process protects itself."""
    for line in _read(f"/proc/{pid}/status").splitlines():
        if line.startswith(b"Uid:"):
            return int(line.split()[1])
    return UNKNOWN


def _read(path: str) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read()
    except OSError:
        return b""


def _ask_ps(*which: str) -> dict[int, Process]:
    import subprocess

    words = ["ps", *which]
    for column in _COLUMNS:
        words += ["-o", f"{column}="]
    try:
        said = subprocess.run(
            words,
            env={"PATH": "/bin:/usr/bin", "LC_ALL": "C", "TZ": "UTC0"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_PS_SECONDS,
            check=False,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return {}
    return parse_ps(said.decode(errors="replace").splitlines(), session=_session)


def parse_ps(lines: Iterable[str], *, session: Callable[[int], int]) -> dict[int, Process]:
    """What `ps` says with `_COLUMNS`. macOS prints no session there that means anything."""
    found: dict[int, Process] = {}
    for line in lines:
        words = line.split(maxsplit=12)
        with suppress(ValueError, IndexError):
            pid, parent, group, foreground, user = map(int, words[:5])
            terminal = words[5].strip("?-") != ""
            found[pid] = Process(
                pid=pid,
                name=words[12].strip() if len(words) > 12 else "",
                parent=parent,
                group=group,
                session=session(pid),
                terminal=terminal,
                foreground=foreground if terminal else UNKNOWN,
                started=_second(*words[8:12]),
                over=words[6].startswith("Z"),
                user=user,
            )
    return found


def _second(month: str, day: str, clock: str, year: str) -> int:
    """Seconds since 1970. :raises ValueError:"""
    from calendar import timegm

    hour, minute, second = map(int, clock.split(":"))
    number = _MONTHS.index(month) // 3 + 1
    return timegm((int(year), number, int(day), hour, minute, second))


def _session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except OSError:
        return 0
