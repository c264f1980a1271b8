"""The files of an operation: its output, `.running` while it runs, and `.end` when it has ended.

From these a hub knows what became of a command whose runner is gone. The runner writes them. The
hub removes an `.end` after storing it, and writes those of lost commands.
"""

from __future__ import annotations

import errno
import json
import os
from contextlib import suppress

from chatbridge import bounded_read, safe_json
from chatbridge.commands.runner import processes

RUNNING = ".running"
END = ".end"
MAX_RECORD_BYTES = 1 << 16
TAIL_BYTES = 64 * 1024
"""Of an output that is cut: so much of its end is kept."""

Record = dict[str, object]


def begin(output: str, record: Record) -> None:
    """:raises OSError: it cannot be written, or such a command runs."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    _write(output + RUNNING, flags, record)


def started(output: str, pid: int) -> None:
    """Beside what `begin` wrote: who leads its session. Without room for it that is not known."""
    line = json.dumps({"pid": pid, "born": processes.born(pid)}).encode()
    flags = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    with suppress(OSError):
        file = os.open(output + RUNNING, flags)
        try:
            os.write(file, b"\n" + line)
        finally:
            os.close(file)


def end(output: str, record: Record) -> None:
    """Written in one step. :raises OSError: the command still counts as running."""
    half = f"{output}{END}.new"
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    _write(half, flags, record)
    os.replace(half, output + END)
    remove(output + RUNNING)


def remove(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)


def read(path: str) -> Record | None:
    """What a record says, or None if there is none, or none that can be used."""
    try:
        first, _, more = bounded_read.read(path, most=MAX_RECORD_BYTES).partition(b"\n")
        found = safe_json.loads(first)
    except (OSError, ValueError):
        return None
    if not isinstance(found, dict) or not isinstance(found.get("id"), str):
        return None
    try:
        return {**found, **safe_json.loads(more or b"{}")}
    except (ValueError, TypeError):  # half written
        return found


def running(folder: str) -> set[str]:
    """What is marked as running, whether it is or not."""
    with os.scandir(folder) as entries:
        paths = [entry.path for entry in entries if entry.name.endswith(RUNNING)]
    return {str(found["id"]) for found in map(read, paths) if found is not None}


def settle(folder: str, *, held: set[str], place: str, now: float) -> list[Record]:
    """The ends that are kept in this folder, those of lost commands included: they are marked as
    running, and the runner, if there is one, does not know of them. Nothing of them goes on. Only
    while no other runner can be there."""
    lost: dict[str, Record] = {}
    with os.scandir(folder) as entries:
        names = [entry.name for entry in entries if entry.name.endswith((RUNNING, END))]
    for name in names:
        if not name.endswith(RUNNING):
            continue
        output = os.path.join(folder, name.removesuffix(RUNNING))
        found = read(output + RUNNING) or {"id": None}
        if found["id"] in held:
            continue
        # One that is half written is of a command that was not started yet.
        if read(output + END) is not None or found["id"] is None:
            with suppress(OSError):  # what is no file is nobody's record, and stays
                remove(output + RUNNING)
        else:
            lost[output] = found
    leaders = {str(it["id"]): (it.get("pid"), it.get("born")) for it in lost.values()}
    processes.end_marked({processes.mark(it, place): known for it, known in leaders.items()})
    ends = [read(os.path.join(folder, name)) for name in names if name.endswith(END)]
    for output, found in lost.items():
        record = _lost(found, output=output, now=now)
        ends.append(record)
        with suppress(OSError):  # it is told all the same, and by the next hub again
            end(output, record)
    return [found for found in ends if found is not None]


def _lost(found: Record, *, output: str, now: float) -> Record:
    try:
        size = os.path.getsize(output)
    except OSError:
        size = 0
    return {
        "id": found["id"],
        "output": output,
        "how": "lost",
        "size": size,
        "started_at": found.get("started_at"),
        "ended_at": now,
        "error": "what runs commands was ended, and this command with it",
    }


def _write(path: str, flags: int, record: Record) -> None:
    file = os.open(path, flags, 0o600)
    line = json.dumps(record).encode()
    try:
        if os.write(file, line) < len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    finally:
        os.close(file)


class Output:
    """The file must not be there yet: two commands never share one."""

    __slots__ = ("_file", "_room", "_tail", "_tail_room", "error", "kept", "size")

    def __init__(self, path: str, *, limit: int) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        self._file = os.open(path, flags, 0o600)
        self._tail_room = min(TAIL_BYTES, limit // 2)
        self._room = limit - self._tail_room
        self._tail = bytearray()
        self.size = 0
        self.kept = 0
        self.error: str | None = None

    @property
    def left_out(self) -> int:
        return self.size - self.kept

    def write(self, data: bytes) -> None:
        self.size += len(data)
        if self._room:
            head = data[: self._room]
            self._room -= len(head)
            self._keep(head)
            data = data[len(head) :]
        if data:
            self._tail += data
            if len(self._tail) > 2 * self._tail_room:
                del self._tail[: len(self._tail) - self._tail_room]

    def close(self) -> None:
        """What is held goes into the file. No more can be written."""
        tail = bytes(self._tail[max(len(self._tail) - self._tail_room, 0) :])
        missing = self.left_out - len(tail)
        if missing and self.error is None:
            # The line itself is chatbridge's, and counts on neither side.
            self._put(f"\n[… {missing} bytes left out …]\n".encode())
        self._keep(tail)
        self._tail.clear()
        os.close(self._file)

    def _keep(self, data: bytes) -> None:
        if self.error is None:
            self.kept += self._put(data)

    def _put(self, data: bytes) -> int:
        """How many of them are in the file."""
        put = 0
        try:
            while put < len(data):
                put += os.write(self._file, data[put:])
        except OSError as error:  # the command goes on, and what it prints is read all the same
            self.error = f"not all of its output could be written ({error.strerror})"
        return put
