"""What Claude Code's record of a session shows: whether a use of a tool was settled in its own
window, whether somebody has gone on there, and what the agent said last.

Claude Code asks in its window while a hook waits, and does not end the hook when somebody answers
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
TAIL_BYTES = 4 * 1024 * 1024
"""Bytes that are read at once, and before the hook began."""
TASK_TAG = "<task-notification>"
"""How a prompt begins that no person has typed: something in the background has ended."""


class _Record:
    """The entries of a record from its last part on, each once. `needles`: only lines with one of
    these are looked at."""

    def __init__(self, event: Json, *needles: bytes) -> None:
        self._path = event.get("transcript_path")
        self._needles = needles
        self._read_to: int | None = None

    def entries(self) -> Iterator[Json]:
        """The whole new ones."""
        with suppress(OSError, ValueError):
            for line in self._lines():
                with suppress(ValueError, RecursionError):
                    yield json.loads(line)

    def _lines(self) -> Iterator[bytes]:
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
            file.seek(max(0, status.st_size - TAIL_BYTES) if start is None else start)
            data = file.read(TAIL_BYTES)
            end = data.rfind(b"\n") + 1
            # A longer line is passed over.
            whole = data[: end or len(data) // TAIL_BYTES * TAIL_BYTES]
            self._read_to = file.tell() - len(data) + len(whole)
        for line in whole.split(b"\n"):
            if line[:1] == b"{" and any(needle in line for needle in self._needles):
                yield line


class Transcript:
    def __init__(self, event: Json) -> None:
        self._tool, self._given = (event.get(it) for it in ("tool_name", "tool_input"))
        self._record = _Record(event, b'"tool_')
        self._since = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())
        self._uses: set[str] = set()
        self._before: set[str] = set()
        self._after: set[str] = set()

    def settled(self) -> bool:
        """Whether each use of this tool with this input that had no result when we began has one
        now."""
        for entry in self._record.entries():
            # Others are, for example, what was sent to the model, with all that was said before.
            if entry.get("type") in ("assistant", "user"):
                self._take(entry)
        open_then = self._uses - self._before
        return bool(open_then) and open_then <= self._after

    def _take(self, entry: Json) -> None:
        for block in _blocks(entry):
            match block:
                case {"type": "tool_use", "id": str(use), "name": self._tool, "input": given}:
                    if given == self._given:
                        self._uses.add(use)
                case {"type": "tool_result", "tool_use_id": str(use)}:
                    newer = str(entry.get("timestamp", "")) >= self._since
                    (self._after if newer else self._before).add(use)


class Prompts:
    """What somebody types in the window from now on. Claude Code queues it until the hook ends."""

    def __init__(self, event: Json) -> None:
        self._record = _Record(event, b'"queue-operation"', b'"user"')
        now = time.time()
        whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now))
        self._since = f"{whole}.{int(now % 1 * 1000):03}Z"

    def any_new(self) -> bool:
        return any(map(self._is_new, self._record.entries()))

    def _is_new(self, entry: Json) -> bool:
        if str(entry.get("timestamp", "")) < self._since:
            return False
        match entry:
            case {"type": "queue-operation", "operation": "enqueue"}:
                return not str(entry.get("content", "")).startswith(TASK_TAG)
            case {"type": "user", "isMeta": True} | {"type": "user", "isSidechain": True}:
                return False
            case {"type": "user", "message": {"content": str(text)}}:
                return not text.startswith(TASK_TAG)
        return False


def last_words(event: Json) -> str:
    """The agent's last text; empty: none is found."""
    for entry in reversed([*_Record(event, b'"assistant"').entries()]):
        if entry.get("type") == "assistant" and entry.get("isSidechain") is not True:
            blocks = _blocks(entry)
            texts = [it["text"] for it in blocks if isinstance(it.get("text"), str)]
            if text := "\n\n".join(texts).strip():
                return text
    return ""


def _blocks(entry: Json) -> list[Json]:
    match entry:
        case {"message": {"content": list(content)}}:
            return [block for block in content if isinstance(block, dict)]
    return []
