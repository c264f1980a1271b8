"""Hands operations to the runner in their turn, and takes their ends.

An order is handed over once, after the stage `running` is stored. If it may have been lost, or
comes from an earlier hub, the runner is asked: an operation that it does not have is over, and is
never started again.
"""

from __future__ import annotations

import asyncio
import logging
import shlex
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from chatbridge.commands.operations.fair_queue import FairQueue
from chatbridge.commands.operations.outputs import Outputs
from chatbridge.commands.operations.runner_client import End, NotHandedOver, Order, RunnerClient
from chatbridge.core.errors import RunnerUnavailable, StoreError, TooManyOperations
from chatbridge.core.operation import Operation, OperationStore, Result, Stage
from chatbridge.core.ports import Clock
from chatbridge.core.tasks import race
from chatbridge.core.text import one_line

log = logging.getLogger(__name__)

ASK_AGAIN_SECONDS, ASK_AGAIN_AT_MOST_SECONDS = 1.0, 30.0
"""The first and the longest pause before an unreachable runner is asked again."""
OVERDUE_AFTER_SECONDS = 60.0
"""How long after its time-out an operation without news is looked for."""
CLOSE_WITHIN_SECONDS = 3.0
"""How long a closing hub waits for orders that it is handing over."""
UNPREPARED = "it could not be prepared; the hub's log says why"
UNKNOWN = "chatbridge or the machine was stopped, and nobody knows how it ended"
MAX_LOGGED, MAX_LOGGED_ARGUMENT = 500, 200
"""Characters of a command in the log."""


MAX_OPERATIONS, MAX_OF_A_LINK = 2_000, 1_100
RETRY_AFTER_SECONDS = 1.0

T = TypeVar("T")


@dataclass(eq=False, slots=True)
class ActiveOperation:
    operation: Operation
    over: asyncio.Event = field(default_factory=asyncio.Event)
    handed_over: bool = False
    """The runner may have it."""
    ending: bool = False
    """Its end is known, and about to be stored."""
    cancelled: bool = False
    """Somebody wants to end it while it runs."""
    reason: str | None = None
    changing: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def id(self) -> str:
        return self.operation.id


@dataclass(eq=False, kw_only=True)
class Execution:
    """Operations that have not ended, each as it was last stored. A change is committed only if the
    stage is still the expected one, and before anything follows from it. So nothing runs twice, and
    nothing ends twice. `Operations` adds what comes before a run and after it."""

    store: OperationStore
    runner: RunnerClient
    clock: Clock
    outputs: Outputs
    environment: Callable[[tuple[str, ...]], Mapping[str, str]]
    turns: FairQueue
    spawn: Callable[[Coroutine[Any, Any, None]], None]
    announce: Callable[[Operation], Awaitable[None]]
    """Told how something that ran has ended, before that is stored, and again if the hub dies in
    between."""
    on_end: Callable[[Operation], None]
    """Told of every end when it is stored, once."""
    _loaded: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the operations of an earlier hub are loaded."""
    _entries: dict[str, ActiveOperation] = field(default_factory=dict)
    _starting: set[asyncio.Task[None]] = field(default_factory=set)
    _closing: bool = False
    _doubtful: dict[str, str | None] = field(default_factory=dict)
    """Operations that the runner may have or not, with what went wrong."""
    _wanted: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.runner.ended = self._on_end

    def _put(self, operation: Operation) -> ActiveOperation:
        entry = self._entries[operation.id] = ActiveOperation(operation)
        return entry

    def _remove(self, entry: ActiveOperation) -> None:
        del self._entries[entry.id]
        entry.over.set()

    def _check_room(self, operation: Operation) -> None:
        """Check for room, unless the call is a repeated one. :raises TooManyOperations:"""
        link = operation.call.link
        entries = [each.operation for each in self._entries.values()]
        of_link = [each for each in entries if each.call.link == link]
        repeated = (operation.call, operation.tool, operation.plan)  # as the store tells them apart
        if any((each.call, each.tool, each.plan) == repeated for each in of_link):
            return
        for number, limit in ((len(of_link), MAX_OF_A_LINK), (len(entries), MAX_OPERATIONS)):
            if number >= limit:
                raise TooManyOperations(limit=limit, of_agent=limit == MAX_OF_A_LINK)

    async def _save(self, entry: ActiveOperation, *, was: Stage, **changes: Any) -> bool:
        """Store the changes, however long it takes. False: the stage is no longer `was`."""
        async with entry.changing:
            if entry.over.is_set() or entry.operation.stage is not was:
                return False
            fresh = replace(entry.operation, **changes)
            saved = await self._until_stored(lambda: self.store.save(fresh, was=was), fresh.id)
            if saved:
                entry.operation = fresh
            else:
                log.error("operation %s: somebody else has changed its row", fresh.id)
            if fresh.ended or not saved:
                self._remove(entry)
                self._free_turn(entry.id)
            if entry.operation.ended:
                log.info("%s", log_line(entry.operation))
                try:
                    self.on_end(entry.operation)
                except Exception:
                    log.exception("operation %s: its end could not be passed on", entry.id)
            return saved

    async def _until_stored(self, work: Callable[[], Awaitable[T]], what: str) -> T:
        told = False
        while True:
            try:
                return await work()
            except StoreError as error:
                if not told:
                    log.warning("%s: tried again until it works: %s", what, error)
                told = True
                await self.clock.sleep(RETRY_AFTER_SECONDS)

    async def _finish_uncancelled(self, work: Callable[[], Awaitable[T]]) -> T:
        """Return what `work` returns. It is finished even if its caller is cancelled, because half
        of it may be stored."""
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()

        async def go() -> None:
            try:
                result = await work()
                if not done.done():
                    done.set_result(result)
            except asyncio.CancelledError:
                done.cancel()  # the hub ends
                raise
            except Exception as error:
                if done.done():
                    raise
                done.set_exception(error)

        self.spawn(go())
        return await done

    def _queue(self, entry: ActiveOperation) -> None:
        if not entry.over.is_set():
            self.turns.add(entry.operation)
            self._start_next()

    def _resume(self, entry: ActiveOperation) -> None:
        """Go on with an operation that an earlier hub has handed over, or was about to."""
        self.turns.runs(entry.operation)
        self._doubt(entry.id)
        self._handed_over(entry)

    def _start_next(self) -> None:
        if not self._loaded.is_set():
            return  # it is not known yet who runs
        while (operation_id := self.turns.next()) is not None:
            if entry := self._entries.get(operation_id):
                self.spawn(self._hand_over(entry))

    def _free_turn(self, operation_id: str) -> None:
        self.turns.done(operation_id)
        self._start_next()

    def _stop(self, entry: ActiveOperation, reason: str | None) -> bool:
        """End a running operation. False: it has ended already."""
        if entry.ending:
            return False
        entry.cancelled, entry.reason = True, reason
        if entry.handed_over:
            self.spawn(self._send_stop(entry))
        return True

    async def close(self) -> None:
        """Start nothing more. Orders that are stored as running are handed over, or the next hub
        would take them for interrupted."""
        self._closing = True
        if self._starting:
            await race(asyncio.wait(set(self._starting)), self.clock.sleep(CLOSE_WITHIN_SECONDS))

    async def _hand_over(self, entry: ActiveOperation) -> None:
        if self._closing:
            return
        this = asyncio.current_task()
        assert this is not None
        self._starting.add(this)
        this.add_done_callback(self._starting.discard)
        now = self.clock.time()
        if not await self._save(entry, was=Stage.QUEUED, stage=Stage.RUNNING, started_at=now):
            return
        end: End | None = None
        try:
            order = await asyncio.to_thread(self._order, entry.operation)  # looks at the disk
        except Exception:
            log.exception("operation %s cannot be prepared", entry.id)
            end = End(id=entry.id, how="not_started", ended_at=now, error=UNPREPARED)
        else:
            if entry.cancelled:
                end = End(id=entry.id, how="stopped", ended_at=now)
        try:
            if end is None:
                await self.runner.start(order)
        except NotHandedOver as error:
            end = End(id=entry.id, how="not_started", ended_at=now, error=str(error))
        except RunnerUnavailable as error:
            log.warning("operation %s may run or not: %s", entry.id, error)
            self._doubt(entry.id, str(error))
        except Exception:
            log.exception("operation %s may run or not", entry.id)
            self._doubt(entry.id, UNPREPARED)
        if end is None:
            self._handed_over(entry)
        else:
            await self._end(entry, end)

    def _handed_over(self, entry: ActiveOperation) -> None:
        entry.handed_over = True
        self.spawn(self._look_when_overdue(entry))
        if entry.cancelled:
            self.spawn(self._send_stop(entry))

    def _order(self, operation: Operation) -> Order:
        plan = operation.plan
        return Order(
            id=operation.id,
            executable=plan.executable,
            argv=plan.argv,
            folder=plan.folder,
            environment=self.environment(plan.environment),
            output=str(self.outputs.path(operation.id)),
            limit=plan.output_limit,
            timeout=plan.timeout,
        )

    async def _send_stop(self, entry: ActiveOperation) -> None:
        while not (entry.ending or entry.over.is_set()):
            try:
                await self.runner.stop(entry.id)
                return
            except RunnerUnavailable:
                self._doubt(entry.id)
                await self.clock.sleep(RETRY_AFTER_SECONDS)

    async def _look_when_overdue(self, entry: ActiveOperation) -> None:
        """Ask the runner if its time-out has not been reported long after it was due."""
        operation = entry.operation
        due = (operation.started_at or 0.0) + operation.plan.timeout + OVERDUE_AFTER_SECONDS
        pause = max(due - self.clock.time(), OVERDUE_AFTER_SECONDS)
        while await race(entry.over.wait(), self.clock.sleep(pause)) is None:
            log.warning("operation %s should have ended long ago: looking for it", entry.id)
            self._doubt(entry.id)
            pause = OVERDUE_AFTER_SECONDS

    def _doubt(self, operation_id: str, why: str | None = None) -> None:
        """Note that the runner may have it or not, after the last attempt to hand it over. `why`:
        what went wrong."""
        self._doubtful[operation_id] = why or self._doubtful.get(operation_id)
        self._wanted.set()

    async def _resolve_doubtful(self) -> None:
        """Ask the runner about doubtful operations, until cancelled."""
        pause = ASK_AGAIN_SECONDS
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            try:
                await self._ask_runner()
                pause = ASK_AGAIN_SECONDS
            except RunnerUnavailable as error:
                log.warning("%d operations may run or not: %s", len(self._doubtful), error)
                self._wanted.set()
                await self.clock.sleep(pause)
                pause = min(2 * pause, ASK_AGAIN_AT_MOST_SECONDS)

    async def _ask_runner(self) -> None:
        """:raises RunnerUnavailable: what was not found out is still doubtful."""
        asked = dict(self._doubtful)
        known = await self.runner.known()
        for operation_id, why in asked.items():
            if operation_id not in known:
                await self.runner.stop(operation_id)  # in case the order comes after all
                # An output is made before its process.
                begun = why is None or await self.outputs.begun(operation_id)
                unknown = End(id=operation_id, how="lost", ended_at=self.clock.time(), error=why)
                self._on_end(unknown if begun else replace(unknown, how="not_started"))
            self._doubtful.pop(operation_id, None)
        for operation_id, end in known.items():
            if end is not None:
                self._on_end(end)
            elif operation_id not in self._entries:
                log.warning("operation %s runs, and nobody waits for it: ended", operation_id)
                await self.runner.stop(operation_id)

    def _on_end(self, end: End) -> None:
        self.spawn(self._store_end(end))

    async def _store_end(self, end: End) -> None:
        """Store an end that the runner reports, perhaps not for the first time."""
        await self._loaded.wait()
        entry = self._entries.get(end.id)
        if entry is None:
            await self._forget(end.id)  # it was stored by a hub that died before it said so
        elif entry.operation.stage is Stage.RUNNING:
            await self._end(entry, end)

    async def _end(self, entry: ActiveOperation, end: End) -> None:
        if entry.ending:
            return
        entry.ending = True
        self._free_turn(entry.id)
        unstarted = end.how == "not_started"
        changes: dict[str, Any] = {
            "stage": stage_of(end),
            "started_at": None if unstarted else end.started_at or entry.operation.started_at,
            "ended_at": end.ended_at,
            "result": result_of(end, await self.outputs.printed(entry.id), reason=entry.reason),
        }
        # Announced before the end is stored: afterwards a crash would lose the announcement.
        ended = replace(entry.operation, **changes)
        try:
            await self._until_stored(lambda: self.announce(ended), ended.id)
        except Exception:
            log.exception("operation %s: nobody could be told of its end", ended.id)
        await self._save(entry, was=Stage.RUNNING, **changes)
        await self._forget(entry.id)

    async def _forget(self, operation_id: str) -> None:
        try:
            await self.runner.forget(operation_id)
        except RunnerUnavailable:
            log.info("operation %s: the runner keeps its end until it is told again", operation_id)


def stage_of(end: End) -> Stage:
    if end.how == "exited":
        return Stage.SUCCEEDED if end.exit_code == 0 else Stage.FAILED
    if end.how == "stopped" and end.error is None:
        return Stage.CANCELLED  # where nobody asked for it the runner says why
    stages = {"not_started": Stage.FAILED, "timed_out": Stage.TIMED_OUT}
    return stages.get(end.how, Stage.INTERRUPTED)


def result_of(end: End, printed: Result, *, reason: str | None = None) -> Result:
    """`reason`: why it was cancelled, if it was."""
    stage = stage_of(end)
    why = end.error or (UNKNOWN if stage is Stage.INTERRUPTED else None)
    return replace(
        printed,
        exit_code=end.exit_code,
        signal=end.signal,
        size=end.size or printed.size,
        left_out=end.left_out,
        reason=reason if stage is Stage.CANCELLED else why,
    )


def log_line(operation: Operation) -> str:
    result = operation.result
    code = "none" if result.exit_code is None else result.exit_code
    ended = f"exit={code}" if result.signal is None else f"signal={result.signal}"
    took = operation.took(operation.ended_at or 0.0)
    return (
        f"operation {operation.id} {operation.stage} {ended} "
        f"seconds={took:.1f} argv={_command(operation.plan.argv)}"
    )


def _command(argv: tuple[str, ...]) -> str:
    """Leave out whole arguments only: a part of a secret would not be recognised and redacted."""
    shown: list[str] = []
    for at, argument in enumerate(argv):
        said = one_line(shlex.quote(argument))
        if len(said) > MAX_LOGGED_ARGUMENT:
            said = f"[{len(argument)} characters]"
        if sum(map(len, shown)) + len(said) > MAX_LOGGED:
            return " ".join([*shown, f"[{len(argv) - at} more]"])
        shown.append(said)
    return " ".join(shown)
