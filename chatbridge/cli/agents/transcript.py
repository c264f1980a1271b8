"""Whether a use of a tool was settled in Claude Code's own window, as its record of the session
shows.

Claude Code asks in its window while the hook waits, and does not end the hook when somebody answers
there. The form of the record is not documented: what cannot be read settles nothing, and the hook
goes on waiting.
"""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

Json = dict[str, Any]
TAIL = 4 * 1024 * 1024
"""Bytes that are read at once, and before the hook began."""


class Transcript:
    def __init__(self, event: Json) -> None:
        self._path, self._tool, self._given = (
            event.get(it) for it in ("transcript_path", "tool_name", "tool_input")
        )
        self._since = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())
        self._read_to: int | None = None
        self._uses: set[str] = set()
        self._before: set[str] = set()
        self._after: set[str] = set()

    def settled(self) -> bool:
        """Whether each use of this tool with this input that had no result when we began has one
        now."""
        with suppress(OSError, ValueError):
            for line in self._lines():
                with suppress(ValueError, TypeError, AttributeError, RecursionError):
                    self._take(json.loads(line))
        open_then = self._uses - self._before
        return bool(open_then) and open_then <= self._after

    def _lines(self) -> Iterator[bytes]:
        """Whole new lines that are about tools."""
        if not isinstance(self._path, str):
            return
        # Without O_NONBLOCK a named pipe would never open.
        with open(
            self._path, "rb", opener=lambda it, how: os.open(it, how | os.O_NONBLOCK)
        ) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                return
            start = self._read_to
            file.seek(max(0, status.st_size - TAIL) if start is None else start)
            data = file.read(TAIL)
            end = data.rfind(b"\n") + 1
            whole = data[: end or len(data) // TAIL * TAIL]  # a longer line is passed over
            self._read_to = file.tell() - len(data) + len(whole)
        yield from (line for line in whole.split(b"\n") if b'"tool_' in line and line[:1] == b"{")

    def _take(self, entry: Json) -> None:
        if entry.get("type") not in ("assistant", "user"):
            return  # such as what was sent to the model, with all that was said before
        content = entry["message"]["content"]
        for block in content if isinstance(content, list) else []:
            match block:
                case {"type": "tool_use", "id": str(use), "name": self._tool, "input": given}:
                    if given == self._given:
                        self._uses.add(use)
                case {"type": "tool_result", "tool_use_id": str(use)}:
                    newer = str(entry.get("timestamp", "")) >= self._since
                    (self._after if newer else self._before).add(use)
