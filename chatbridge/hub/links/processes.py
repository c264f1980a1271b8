"""Which processes a process descends from, as the kernel knows it. Linux only; elsewhere nothing is
known."""

from __future__ import annotations

MAX_ANCESTORS = 64


def ancestors(pid: int) -> list[int]:
    """The parents of a process, nearest first, without the first process of all."""
    found: list[int] = []
    while len(found) < MAX_ANCESTORS and (pid := _parent(pid)) > 1:
        found.append(pid)
    return found


def has_terminal(pid: int) -> bool:
    """Whether a process is in the foreground of a terminal."""
    fields = _stat(pid)
    return len(fields) > 5 and fields[4] != b"0" and fields[2] == fields[5]


def _parent(pid: int) -> int:
    """0: it has none, or is not known."""
    fields = _stat(pid)
    return int(fields[1]) if len(fields) > 1 else 0


def _stat(pid: int) -> list[bytes]:
    """State, parent, process group, session, terminal, the terminal's foreground group …"""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The name before them may hold anything, also a closing bracket.
            return file.read().rpartition(b")")[2].split()
    except OSError:
        return []
