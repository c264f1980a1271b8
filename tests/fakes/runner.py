"""A stand-in of the runner: it runs nothing, and commands end when a test says so.

It outlives hubs as the real one does, starts an id once, tells ends to the hub that is there, and
knows them until they are forgotten. The output's file is there before anything runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from chatbridge.commands.operations.runner_client import End, How, Order, RunnerClient
from chatbridge.core.errors import RunnerUnavailable
from tests.fakes.clock import StillClock


class PretendRunner(RunnerClient):
    def __init__(self, clock: StillClock) -> None:
        self.ended: Callable[[End], None] = lambda _end: None
        self.clock = clock
        self.handed: list[Order] = []
        """Every order that came, whatever became of it."""
        self.running: dict[str, Order] = {}
        self.ends: dict[str, End] = {}
        self.unstoppable: set[str] = set()
        self.reachable = True
        self.loses_orders = False
        self.loses_confirmations = False
        self.most = 0
        """How many ran at the same time."""

    async def known(self) -> Mapping[str, End | None]:
        self._reach()
        return {**dict.fromkeys(self.running), **self.ends}

    async def start(self, order: Order) -> None:
        self._reach()
        if self.loses_orders:
            raise RunnerUnavailable
        if order.id not in self.running and order.id not in self.ends:
            self.handed.append(order)
            self.running[order.id] = order
            self.prints(order.id, b"")
            self.most = max(self.most, len(self.running))
        if self.loses_confirmations:
            raise RunnerUnavailable

    async def stop(self, operation_id: str) -> None:
        self._reach()
        if operation_id in self.running and operation_id not in self.unstoppable:
            self.end(operation_id, how="stopped")

    async def forget(self, operation_id: str) -> None:
        self._reach()
        self.ends.pop(operation_id, None)

    def end(
        self,
        operation_id: str,
        exit_code: int | None = None,
        *,
        how: How = "exited",
        output: bytes = b"",
        error: str | None = None,
    ) -> None:
        """A command ends. A test's doing, but for `stop`."""
        if output:
            self.prints(operation_id, output)
        del self.running[operation_id]
        code = 0 if how == "exited" and exit_code is None else exit_code
        now = self.clock.time()
        end = End(
            id=operation_id, how=how, exit_code=code, size=len(output), ended_at=now, error=error
        )
        self.ends[operation_id] = end
        if self.reachable:
            self.ended(end)

    def prints(self, operation_id: str, output: bytes) -> None:
        """All that it has printed up to now."""
        Path(self.running[operation_id].output).write_bytes(output)

    def die(self) -> None:
        """Nothing is left of it: the next runner knows nothing."""
        self.running.clear()
        self.ends.clear()

    def _reach(self) -> None:
        if not self.reachable:
            raise RunnerUnavailable
