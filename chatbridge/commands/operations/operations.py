"""The life of an operation: recorded, approved, queued, run, its end stored, across restarts."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Protocol

from chatbridge.commands.operations.execution import ActiveOperation, Execution
from chatbridge.core.errors import ChatbridgeError, StoreError, UnknownOperation
from chatbridge.core.model import CallName
from chatbridge.core.operation import Operation, Result, Stage
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
    async def refusal(self, ask_id: str) -> str | None: ...
    async def withdraw(self, ask_id: str) -> None: ...


@dataclass(eq=False, kw_only=True)
class Operations(Execution):
    gate: Approvals
    back: Callable[[str], Coroutine[Any, Any, None]]
    """Returns when this link is connected."""

    async def begin(self, operation: Operation) -> Operation:
        """Record it, then have it approved or queued. A repeated call's is the one of before.
        :raises TooManyOperations: nothing was recorded. :raises StoreError: nothing was
        recorded."""
        await self._loaded.wait()
        self._check_room(operation)
        entry = self._put(operation)
        return await self._finish_uncancelled(lambda: self._begin(entry))

    async def ended(self, operation_id: str) -> Operation:
        """Wait until it has ended, however long that takes. :raises UnknownOperation:"""
        await self._loaded.wait()
        if (entry := self._entries.get(operation_id)) is not None:
            await entry.over.wait()
        found = await self.store.get(operation_id)
        if found is None:
            raise UnknownOperation(operation_id)
        return found

    async def find(self, operation_id: str, *, project: str) -> Operation:
        """Find an operation by its id or the beginning of it. :raises UnknownOperation:"""
        if len(operation_id) >= SHORTEST_PREFIX:
            found = await self.store.by_prefix(project=project, prefix=operation_id)
            if len(found) == 1:
                return found[0]
        there = await self.store.of_project(project=project, limit=LISTED)
        raise UnknownOperation(operation_id, known=tuple(each.id for each in there))

    async def listed(self, *, project: str, limit: int) -> list[Operation]:
        """Active operations first, then the newest that have ended."""
        return list(await self.store.of_project(project=project, limit=limit))

    async def cancel(
        self, operation_id: str, *, project: str, reason: str | None = None
    ) -> tuple[Operation, bool]:
        """End it, with its whole process group; returns when it has ended. False: it had ended
        already. :raises UnknownOperation:"""
        found = await self.find(operation_id, project=project)
        await self._loaded.wait()
        entry = self._entries.get(found.id)
        if entry is None:
            return await self.ended(found.id), False
        cancelled = await self._finish_uncancelled(lambda: self._cancel(entry, reason))
        ended = await self.ended(found.id)
        return ended, cancelled and ended.stage is Stage.CANCELLED

    async def delivered(self, call: CallName) -> None:
        """Note that the client has the response to this call. :raises StoreError:"""
        await self.store.delivered(call)

    def on_the_way(self, operation_id: str) -> bool:
        """Whether it is active. Until those of an earlier hub are loaded, any may be."""
        return not self._loaded.is_set() or operation_id in self._entries

    async def run(self) -> None:
        """Go on with what an earlier hub has begun, and with what cannot be known at once, until
        cancelled."""
        unended = await self._until_stored(self.store.unended, "what is on the way")
        for operation in unended:
            if operation.id in self._entries:
                continue  # this was begun before, and failed in the middle
            entry = self._put(operation)
            match operation.stage:
                case Stage.AWAITING_APPROVAL:
                    self.spawn(self._follow(entry))
                case Stage.QUEUED if operation.approved:
                    self.spawn(self._follow(entry))  # the word may be too old by now
                case Stage.QUEUED:
                    self.spawn(self._queue_if_back(entry))
                case _:
                    self._resume(entry)
        if unended:
            log.info("%d operations of an earlier hub go on", len(unended))
        self._loaded.set()
        self._start_next()
        await self._resolve_doubtful()

    async def _queue_if_back(self, entry: ActiveOperation) -> None:
        """Its turn had not come when the hub ended. That may be long ago, and what an agent that
        has gone wanted then nobody may want now."""

        async def back() -> bool:
            await self.back(entry.operation.call.link)
            return True

        if await race(back(), self.clock.sleep(BACK_WITHIN_SECONDS)):
            self._queue(entry)
        else:
            await self._end_unrun(entry, Stage.INTERRUPTED, was=Stage.QUEUED, reason=GONE)

    async def _begin(self, entry: ActiveOperation) -> Operation:
        try:
            kept = await self.store.add(entry.operation)
        except BaseException:
            self._remove(entry)
            raise
        if kept.id != entry.id:
            self._remove(entry)
            return kept
        if entry.operation.stage is Stage.QUEUED:
            self._queue(entry)
            return entry.operation
        try:
            await self._ask(entry)
        except StoreError as error:
            log.warning("operation %s: its owner is asked later: %s", entry.id, error)
        self.spawn(self._follow(entry))
        return entry.operation

    async def _ask(self, entry: ActiveOperation) -> None:
        """Ask its owner. :raises StoreError: the owner was not asked yet."""
        was = Stage.AWAITING_APPROVAL
        try:
            ask_id = await self.gate.ask(entry.operation)
        except StoreError:
            raise
        except ChatbridgeError as error:
            await self._end_unrun(entry, Stage.FAILED, was=was, reason=str(error))
            return
        except Exception:
            log.exception("operation %s: its owner could not be asked", entry.id)
            await self._end_unrun(entry, Stage.FAILED, was=was, reason=UNASKED)
            return
        if not await self._save(entry, was=was, ask_id=ask_id):
            await self._withdraw(ask_id)

    async def _follow(self, entry: ActiveOperation) -> None:
        if entry.operation.ask_id is None and not entry.over.is_set():
            await self._until_stored(lambda: self._ask(entry), entry.id)
        ask_id, was = entry.operation.ask_id, entry.operation.stage
        if ask_id is None or entry.over.is_set():
            return
        try:
            refusal = await self._until_stored(lambda: self.gate.refusal(ask_id), entry.id)
        except ChatbridgeError as error:
            await self._end_unrun(entry, Stage.DENIED, was=was, reason=str(error))
            return
        except Exception:
            log.exception("operation %s: its owner could not be asked", entry.id)
            await self._end_unrun(entry, Stage.DENIED, was=was, reason=UNASKED)
            return
        if refusal is not None:
            await self._end_unrun(entry, Stage.DENIED, was=was, reason=refusal)
        elif was is Stage.QUEUED or await self._save(
            entry, was=was, stage=Stage.QUEUED, approved=True
        ):
            self._queue(entry)

    async def _cancel(self, entry: ActiveOperation, reason: str | None) -> bool:
        """End it. False: it has ended by itself."""
        while not entry.over.is_set():
            was = entry.operation.stage
            if was is Stage.RUNNING:
                return self._stop(entry, reason)
            if await self._end_unrun(entry, Stage.CANCELLED, was=was, reason=reason):
                if was is Stage.AWAITING_APPROVAL and entry.operation.ask_id is not None:
                    await self._withdraw(entry.operation.ask_id)
                return True
        return False

    async def _end_unrun(
        self, entry: ActiveOperation, stage: Stage, *, was: Stage, reason: str | None
    ) -> bool:
        """End an operation that has not run."""
        now, result = self.clock.time(), Result(reason=reason)
        return await self._save(entry, was=was, stage=stage, ended_at=now, result=result)

    async def _withdraw(self, ask_id: str) -> None:
        await self._until_stored(lambda: self.gate.withdraw(ask_id), f"ask {ask_id}")
