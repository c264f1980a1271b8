"""Splits a byte stream into lines, for links and the hub.

A line over the limit is not held in memory. Only its two ends are kept, because one of them has the
request id, which the error response needs.
"""

from __future__ import annotations

import json
import re

MAX_LINE = 4 * 1024 * 1024
_KEPT_BYTES = 1024
_ID = rb'"id"\s*:\s*(-?\d{1,40}|"(?:[^"\\]|\\.){0,200}")\s*'


class Overlong:
    """The first and last bytes of a line that is too long or cannot be parsed."""

    __slots__ = ("head", "tail")

    def __init__(self, head: bytes, tail: bytes) -> None:
        self.head, self.tail = head[:_KEPT_BYTES], tail[-_KEPT_BYTES:]

    def request_id(self) -> str | int | None:
        """Return the id if it is among the first members of the object or is its last one."""
        first = rb'\s*\{\s*(?:"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*,\s*)*' + _ID + rb"[,}]"
        last = rb",\s*" + _ID + rb'(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*\Z'
        found = re.match(first, self.head) or re.search(last, self.tail)
        if found is None:
            return None
        try:
            value = json.loads(found[1])
        except ValueError:
            return None
        return value if isinstance(value, str | int) else None


class LineReader:
    """Collects data until a line is complete."""

    __slots__ = ("_buffer", "_head", "_limit", "_searched")

    def __init__(self, limit: int = MAX_LINE) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._searched = 0
        self._head: bytes | None = None
        """The beginning of a line whose middle is being discarded."""

    def feed(self, data: bytes) -> list[bytes | Overlong]:
        """Return the lines that are complete now, without line ends and empty lines."""
        buffer = self._buffer
        buffer += data
        lines: list[bytes | Overlong] = []
        while (end := buffer.find(b"\n", self._searched)) >= 0:
            line = bytes(buffer[:end])
            del buffer[: end + 1]
            self._searched = 0
            if self._head is not None:
                lines.append(Overlong(self._head, line))
                self._head = None
            elif len(line) > self._limit:
                lines.append(Overlong(line, line))
            elif stripped := line.strip():
                lines.append(stripped)
        if len(buffer) > self._limit or self._head is not None:
            if self._head is None:
                self._head = bytes(buffer[:_KEPT_BYTES])
            del buffer[:-_KEPT_BYTES]
        self._searched = len(buffer)
        return lines
