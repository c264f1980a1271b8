"""A hub's line to a real runner, with what it was told, for tests of commands that really run."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from chatbridge.clock import SystemClock
from chatbridge.commands.operations.runner_client import End, Order, RunnerClient
from chatbridge.commands.runner import start

PATIENCE = 20.0
BOUNDS: dict[str, Any] = {"limit": 1_000_000, "timeout": 60.0}


class Desk:
    """`told` has each end as often as it was told."""

    def __init__(self, line: RunnerClient, state: str, outputs: Path) -> None:
        self.line, self.state, self.outputs = line, state, outputs
        self.home = Path(state)
        self.socket = Path(start.socket_path(state))
        self.told: list[End] = []
        self._news = asyncio.Event()
        line.ended = self._ended

    def order(self, *argv: str, id: str = "one", **changed: Any) -> Order:
        """A program by its whole path, with its arguments."""
        given: dict[str, Any] = {
            "id": id,
            "executable": argv[0],
            "argv": argv,
            "folder": self.state,
            "environment": {"PATH": os.environ["PATH"]},
            "output": str(self.outputs / id),
            **BOUNDS,
        }
        return Order(**{**given, **changed})

    def shell(self, script: str, **changed: Any) -> Order:
        return self.order("/bin/sh", "-c", script, **changed)

    def python(self, script: str, **changed: Any) -> Order:
        return self.order(sys.executable, "-I", "-c", script, **changed)

    async def run(self, order: Order) -> End:
        await self.line.start(order)
        return await self.end(order.id)

    async def end(self, id: str) -> End:
        await self.until(lambda: any(end.id == id for end in self.told))
        return next(end for end in self.told if end.id == id)

    async def until(self, condition: Any) -> None:
        """Until something that was told makes it true."""
        async with asyncio.timeout(PATIENCE):
            while not condition():
                self._news.clear()
                await self._news.wait()

    def printed(self, id: str = "one") -> bytes:
        return (self.outputs / id).read_bytes()

    @property
    def pid(self) -> int:
        """The runner's."""
        pid = start.holder(self.state)[1]
        assert pid is not None
        return pid

    def _ended(self, end: End) -> None:
        self.told.append(end)
        self._news.set()


@asynccontextmanager
async def desk(state: str, *, grace: float = 0.3, linger: float = 10.0) -> AsyncIterator[Desk]:
    """One hub. What runs when it ends goes on, until `end_runner`."""
    outputs = Path(state) / "operations"
    bounds = (grace, linger)
    line = RunnerClient(state=state, clock=SystemClock(), outputs=outputs, bounds=bounds)
    async with line:
        yield Desk(line, state, outputs)


async def gone(pid: int) -> None:
    """Until a process that is no child of ours is no more, or only a zombie."""
    await eventually(lambda: not alive(pid))


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):  # before the file is opened, or after it
        return False


async def eventually(condition: Any) -> None:
    """For what nobody tells: other processes, files that they write."""
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110 - the kernel sets no event
            await asyncio.sleep(0.01)


def open_gate(state: str) -> None:
    """Let a command go on that reads from the pipe `gate` in the state directory."""
    Path(state, "gate").write_text("go\n")


async def end_runner(state: str) -> None:
    """For the end of a test: whatever runs ends with it."""
    pid = start.holder(state)[1]
    if pid is not None and alive(pid):
        try:
            os.kill(pid, signal.SIGTERM)
        except ProcessLookupError:
            return
        await gone(pid)
