"""Lines that wait to be written to the client, and the answers among them."""

from __future__ import annotations

from collections import deque

MAX_CHUNK_BYTES = 4096
"""A writable pipe takes at least this much, so that no write blocks."""


class _Line:
    __slots__ = ("data", "key", "request_id")

    def __init__(self, data: bytes, key: str | None, request_id: object) -> None:
        self.data, self.key, self.request_id = data, key, request_id


class Outbox:
    """A queue of lines. A line with a key is an answer whose delivery is confirmed."""

    __slots__ = ("_lines", "_sent", "size")

    def __init__(self) -> None:
        self._lines: deque[_Line] = deque()
        self._sent = 0
        self.size = 0

    def put(self, line: bytes, *, key: str | None = None, request_id: object = None) -> None:
        self._lines.append(_Line(line + b"\n", key, request_id))
        self.size += len(line) + 1

    def chunk(self) -> bytes:
        """The next bytes to write: at most MAX_CHUNK_BYTES, and of one line only."""
        return (
            self._lines[0].data[self._sent : self._sent + MAX_CHUNK_BYTES] if self._lines else b""
        )

    def written(self, count: int) -> tuple[str | None, object]:
        """Remove written bytes. Return key and id of the answer that this completed, if any."""
        self._sent += count
        self.size -= count
        line = self._lines[0]
        if self._sent < len(line.data):
            return None, None
        self._lines.popleft()
        self._sent = 0
        return line.key, line.request_id

    def answers(self) -> list[object]:
        """The ids of the answers that are not completely written."""
        return [line.request_id for line in self._lines if line.key is not None]

    def withdraw(self, key: str) -> None:
        """Remove an answer that nobody waits for. A half-written one is completed without
        confirmation."""
        for line in self._lines:
            if line.key == key:
                line.key = None
                if self._sent == 0 or line is not self._lines[0]:
                    self._lines.remove(line)
                    self.size -= len(line.data)
                return
