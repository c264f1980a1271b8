"""The life of an operation: recorded, approved, queued, run, its end stored, across restarts."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, Protocol

from chatbridge.commands.operations.execution import (
    ActiveOperation,
    Execution,
    Spawn,
    log_line,
)
from chatbridge.commands.operations.fair_queue import FairQueue
from chatbridge.commands.operations.gate import Verdict
from chatbridge.commands.operations.outputs import Outputs
from chatbridge.commands.operations.runner_client import Runner
from chatbridge.core.errors import ChatbridgeError, StoreError, UnknownOperation
from chatbridge.core.model import CallName
from chatbridge.core.operation import Operation, OperationStore, Result, Stage
from chatbridge.core.ports import Clock
from chatbridge.core.tasks import race

log = logging.getLogger(__name__)

SHORTEST_PREFIX = 8
LISTED = 10
BACK_WITHIN_SECONDS = 30.0
"""Links of an earlier hub connect within seconds."""
GONE = "its agent had gone before its turn came, so it was not run"
UNASKED = "its owner could not be asked; the hub's log says why"


class Approvals(Protocol):
    """`gate`, as it is needed here."""

    async def ask(self, operation: Operation) -> str: ...
    async def verdict(self, ask_id: str) -> Verdict: ...
    async def withdraw(self, ask_id: str) -> None: ...


class Operations:
    def __init__(
        self,
        store: OperationStore,
        runner: Runner,
        gate: Approvals,
        *,
        clock: Clock,
        outputs: Outputs,
        environment: Callable[[tuple[str, ...]], Mapping[str, str]],
        concurrency: int,
        spawn: Spawn,
        on_end: Callable[[Operation], None],
        announce: Callable[[Operation], Awaitable[None]],
        back: Callable[[str], Coroutine[Any, Any, None]],
    ) -> None:
        """`announce` is told how something that ran has ended, before that is stored, and again if
        the hub dies in between. `on_end` is told of every end when it is stored, once. `back`
        returns when this link is connected."""
        self._store, self._gate, self._clock = store, gate, clock
        self._spawn, self._on_end, self._back = spawn, on_end, back
        self._execution = Execution(
            store=store,
            runner=runner,
            clock=clock,
            outputs=outputs,
            environment=environment,
            turns=FairQueue(concurrency),
            spawn=spawn,
            announce=announce,
            over=self._over,
        )

    async def begin(self, operation: Operation) -> Operation:
        """Record it, then have it approved or queued. A repeated call's is the one of before.
        :raises TooManyOperations: nothing was recorded. :raises StoreError: nothing was
        recorded."""
        await self._execution.loaded.wait()
        self._execution.check_room(operation)
        entry = self._execution.put(operation)
        return await self._execution.by_itself(lambda: self._begin(entry))

    async def ended(self, operation_id: str) -> Operation:
        """Wait until it has ended, however long that takes. :raises UnknownOperation:"""
        await self._execution.loaded.wait()
        if (entry := self._execution.entries.get(operation_id)) is not None:
            await entry.over.wait()
        found = await self._store.get(operation_id)
        if found is None:
            raise UnknownOperation(operation_id)
        return found

    async def find(self, operation_id: str, *, project: str) -> Operation:
        """Find an operation by its id or the beginning of it. :raises UnknownOperation:"""
        if len(operation_id) >= SHORTEST_PREFIX:
            found = await self._store.by_prefix(project=project, prefix=operation_id)
            if len(found) == 1:
                return found[0]
        there = await self._store.of_project(project=project, limit=LISTED)
        raise UnknownOperation(operation_id, known=tuple(each.id for each in there))

    async def listed(self, *, project: str, limit: int) -> list[Operation]:
        """Active operations first, then the newest that have ended."""
        return list(await self._store.of_project(project=project, limit=limit))

    async def cancel(
        self, operation_id: str, *, project: str, reason: str | None = None
    ) -> tuple[Operation, bool]:
        """End it, with its whole process group; returns when it has ended. False: it had ended
        already. :raises UnknownOperation:"""
        found = await self.find(operation_id, project=project)
        await self._execution.loaded.wait()
        entry = self._execution.entries.get(found.id)
        if entry is None:
            return await self.ended(found.id), False
        cancelled = await self._execution.by_itself(lambda: self._cancel(entry, reason))
        ended = await self.ended(found.id)
        return ended, cancelled and ended.stage is Stage.CANCELLED

    async def delivered(self, call: CallName) -> None:
        """Note that the client has the response to this call. :raises StoreError:"""
        await self._store.delivered(call)

    def on_the_way(self, operation_id: str) -> bool:
        """Whether it is active. Until those of an earlier hub are loaded, any may be."""
        return not self._execution.loaded.is_set() or operation_id in self._execution.entries

    async def run(self) -> None:
        """Go on with what an earlier hub has begun, and with what cannot be known at once, until
        cancelled."""
        unended = await self._execution.until_stored(self._store.unended, "what is on the way")
        for operation in unended:
            if operation.id in self._execution.entries:
                continue  # this was begun before, and failed in the middle
            entry = self._execution.put(operation)
            match operation.stage:
                case Stage.AWAITING_APPROVAL:
                    self._spawn(self._follow(entry))
                case Stage.QUEUED if operation.approved:
                    self._spawn(self._follow(entry))  # the word may be too old by now
                case Stage.QUEUED:
                    self._spawn(self._queue_if_back(entry))
                case _:
                    self._execution.resume(entry)
        if unended:
            log.info("%d operations of an earlier hub go on", len(unended))
        self._execution.loaded.set()
        self._execution.go_on()
        await self._execution.run()

    async def _queue_if_back(self, entry: ActiveOperation) -> None:
        """Its turn had not come when the hub ended. That may be long ago, and what an agent that
        has gone wanted then nobody may want now."""

        async def back() -> bool:
            await self._back(entry.operation.call.link)
            return True

        if await race(back(), self._clock.sleep(BACK_WITHIN_SECONDS)):
            self._execution.queue(entry)
        else:
            await self._end(entry, Stage.INTERRUPTED, was=Stage.QUEUED, reason=GONE)

    async def close(self) -> None:
        """Start nothing more. Call it before spawned tasks are cancelled."""
        await self._execution.close()

    async def _begin(self, entry: ActiveOperation) -> Operation:
        try:
            kept = await self._store.add(entry.operation)
        except BaseException:
            self._execution.remove(entry)
            raise
        if kept.id != entry.id:
            self._execution.remove(entry)
            return kept
        if entry.operation.stage is Stage.QUEUED:
            self._execution.queue(entry)
            return entry.operation
        try:
            await self._ask(entry)
        except StoreError as error:
            log.warning("operation %s: its owner is asked later: %s", entry.id, error)
        self._spawn(self._follow(entry))
        return entry.operation

    async def _ask(self, entry: ActiveOperation) -> None:
        """Ask its owner. :raises StoreError: the owner was not asked yet."""
        was = Stage.AWAITING_APPROVAL
        try:
            ask_id = await self._gate.ask(entry.operation)
        except StoreError:
            raise
        except ChatbridgeError as error:
            await self._end(entry, Stage.FAILED, was=was, reason=str(error))
            return
        except Exception:
            log.exception("operation %s: its owner could not be asked", entry.id)
            await self._end(entry, Stage.FAILED, was=was, reason=UNASKED)
            return
        if not await self._execution.save(entry, was=was, ask_id=ask_id):
            await self._withdraw(ask_id)

    async def _follow(self, entry: ActiveOperation) -> None:
        if entry.operation.ask_id is None and not entry.over.is_set():
            await self._execution.until_stored(lambda: self._ask(entry), entry.id)
        ask_id, was = entry.operation.ask_id, entry.operation.stage
        if ask_id is None or entry.over.is_set():
            return
        try:
            said = await self._execution.until_stored(lambda: self._gate.verdict(ask_id), entry.id)
        except ChatbridgeError as error:
            await self._end(entry, Stage.DENIED, was=was, reason=str(error))
            return
        except Exception:
            log.exception("operation %s: its owner could not be asked", entry.id)
            await self._end(entry, Stage.DENIED, was=was, reason=UNASKED)
            return
        if not said.allowed:
            await self._end(entry, Stage.DENIED, was=was, reason=said.reason)
        elif was is Stage.QUEUED or await self._execution.save(
            entry, was=was, stage=Stage.QUEUED, approved=True
        ):
            self._execution.queue(entry)

    async def _cancel(self, entry: ActiveOperation, reason: str | None) -> bool:
        """End it. False: it has ended by itself."""
        while not entry.over.is_set():
            was = entry.operation.stage
            if was is Stage.RUNNING:
                return self._execution.stop(entry, reason)
            if await self._end(entry, Stage.CANCELLED, was=was, reason=reason):
                if was is Stage.AWAITING_APPROVAL and entry.operation.ask_id is not None:
                    await self._withdraw(entry.operation.ask_id)
                return True
        return False

    async def _end(
        self, entry: ActiveOperation, stage: Stage, *, was: Stage, reason: str | None
    ) -> bool:
        """End an operation that has not run."""
        now, result = self._clock.time(), Result(reason=reason)
        return await self._execution.save(entry, was=was, stage=stage, ended_at=now, result=result)

    async def _withdraw(self, ask_id: str) -> None:
        await self._execution.until_stored(lambda: self._gate.withdraw(ask_id), f"ask {ask_id}")

    def _over(self, operation: Operation) -> None:
        self._execution.leave(operation.id)
        if not operation.ended:
            return
        log.info("%s", log_line(operation))
        try:
            self._on_end(operation)
        except Exception:
            log.exception("operation %s: its end could not be passed on", operation.id)
