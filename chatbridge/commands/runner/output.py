"""What a command prints, in a file with a bound: its beginning, and its end.

The beginning is written as it comes. What is beyond is held in memory, as much as the end takes,
and follows when the command has ended, after a line that says how much was left out.
"""

from __future__ import annotations

import os

TAIL = 64 * 1024


class Output:
    """The file must not be there yet: two commands never share one."""

    __slots__ = ("_file", "_room", "_tail", "_tail_room", "error", "kept", "size")

    def __init__(self, path: str, *, limit: int) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        self._file = os.open(path, flags, 0o600)
        self._tail_room = min(TAIL, limit // 2)
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
