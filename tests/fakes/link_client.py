"""An MCP client's end of a real `chatbridge mcp` process: sends and receives lines."""

from __future__ import annotations

import fcntl
import json
import os
import select
import subprocess
import termios
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from tests.fakes.program import CHATBRIDGE, bare

PATIENCE = 60.0
Message = dict[str, Any]


class LinkClient:
    """`environment` is all that the link gets, as real clients do it, beside PATH."""

    def __init__(
        self,
        environment: dict[str, str],
        *arguments: str,
        cwd: str | Path | None = None,
        within: Sequence[str] = (),
        program: Sequence[str] = CHATBRIDGE,
    ) -> None:
        """`within`: a program that runs it, such as a sandbox."""
        self.process = subprocess.Popen(
            [*within, *program, "mcp", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            cwd=cwd,
            env=bare(environment),
        )
        self._rest = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        left = memoryview(data)
        while left:
            left = left[self.process.stdin.write(left) :]

    def send(self, *messages: Message) -> None:
        self.write(b"".join(json.dumps(it).encode() + b"\n" for it in messages))

    def request(self, id: str | int, method: str, params: Message | None = None) -> Message:
        message: Message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}}
        self.send(message)
        return message

    def call(self, id: str | int, *, token: str | int | None = None) -> Message:
        """A tool call."""
        meta = {} if token is None else {"_meta": {"progressToken": token}}
        return self.request(id, "tools/call", {"name": "ask_user", "arguments": {}, **meta})

    def notify(self, method: str, params: Message | None = None) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params or {}})

    def cancel(self, id: str | int) -> None:
        self.notify("notifications/cancelled", {"requestId": id, "reason": "test"})

    def receive(self, timeout: float = PATIENCE) -> Message:
        assert self.process.stdout is not None
        until = time.monotonic() + timeout
        while b"\n" not in self._rest:
            ready, _, _ = select.select([self.process.stdout], [], [], until - time.monotonic())
            if not ready:
                raise TimeoutError("the link said nothing")
            piece = os.read(self.process.stdout.fileno(), 65536)
            if not piece:
                raise EOFError("the link has ended")
            self._rest += piece
        line, _, self._rest = self._rest.partition(b"\n")
        message = json.loads(line)
        assert isinstance(message, dict)
        assert "chatbridge" not in message, "a private line reached the client"
        return message

    def until_read(self) -> None:
        """Return once the link has read all that was sent to it."""
        assert self.process.stdin is not None
        until = time.monotonic() + PATIENCE
        while any(fcntl.ioctl(self.process.stdin, termios.FIONREAD, bytes(4))):
            assert time.monotonic() < until, "the link does not read"
            assert self.hears_nothing(0.01)

    def hears_nothing(self, seconds: float = 0.3) -> bool:
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], seconds)
        return not self._rest and not ready

    def close_input(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def exit_code(self) -> int:
        return self.process.wait(PATIENCE)
