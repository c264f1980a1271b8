"""Operations that have not ended: each as it was last stored, and changes of its stage.

A change is committed only if the stage is still the expected one, and before anything follows from
it. So nothing runs twice, and nothing ends twice.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from chatbridge.core.errors import StoreError, TooManyOperations
from chatbridge.core.operation import Operation, OperationStore, Stage
from chatbridge.core.ports import Clock

log = logging.getLogger(__name__)

T = TypeVar("T")
Spawn = Callable[[Coroutine[Any, Any, None]], None]

MOST, MOST_OF_A_LINK = 2_000, 1_100
RETRY_AFTER_SECONDS = 1.0
"""After an error of the store."""


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
    """Why it is cancelled."""
    changing: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def id(self) -> str:
        return self.operation.id


class ActiveOperations:
    def __init__(
        self,
        store: OperationStore,
        *,
        clock: Clock,
        spawn: Spawn,
        over: Callable[[Operation], None],
    ) -> None:
        """`over` is told of everything that is on its way no longer."""
        self._store = store
        self._clock = clock
        self._spawn = spawn
        self._over = over
        self._entries: dict[str, ActiveOperation] = {}
        self.loaded = asyncio.Event()
        """Set when the operations of an earlier hub are loaded."""

    def __contains__(self, operation_id: object) -> bool:
        return operation_id in self._entries

    def __iter__(self) -> Iterator[ActiveOperation]:
        return iter(self._entries.values())

    def get(self, operation_id: str) -> ActiveOperation | None:
        return self._entries.get(operation_id)

    def put(self, operation: Operation) -> ActiveOperation:
        """Add an operation that is stored, or about to be."""
        entry = self._entries[operation.id] = ActiveOperation(operation)
        return entry

    def remove(self, entry: ActiveOperation) -> None:
        """Remove an operation that has ended, or was not stored after all."""
        del self._entries[entry.id]
        entry.over.set()

    def check_room(self, operation: Operation) -> None:
        """Check for room, unless the call is a repeated one. :raises TooManyOperations:"""
        link = operation.call.link
        of_link = [each.operation for each in self if each.operation.call.link == link]
        for number, limit in ((len(of_link), MOST_OF_A_LINK), (len(self._entries), MOST)):
            if number >= limit and not any(_same(each, operation) for each in of_link):
                raise TooManyOperations(limit=limit, of_agent=limit == MOST_OF_A_LINK)

    async def save(self, entry: ActiveOperation, *, was: Stage, **changes: Any) -> bool:
        """Store the changes, however long it takes. False: the stage is no longer `was`."""
        async with entry.changing:
            if entry.over.is_set() or entry.operation.stage is not was:
                return False
            fresh = replace(entry.operation, **changes)
            saved = await self.until_stored(lambda: self._store.save(fresh, was=was), fresh.id)
            if saved:
                entry.operation = fresh
            else:
                log.error("operation %s: somebody else has changed its row", fresh.id)
            if fresh.ended or not saved:
                self.remove(entry)
                self._over(entry.operation)
            return saved

    async def until_stored(self, work: Callable[[], Awaitable[T]], what: str) -> T:
        told = False
        while True:
            try:
                return await work()
            except StoreError as error:
                if not told:
                    log.warning("%s: tried again until it works: %s", what, error)
                told = True
                await self._clock.sleep(RETRY_AFTER_SECONDS)

    async def by_itself(self, work: Callable[[], Awaitable[T]]) -> T:
        """Return what `work` returns. It is finished even if its caller is cancelled, because half
        of it may be stored."""
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()

        async def go() -> None:
            try:
                result = await work()
            except asyncio.CancelledError:
                done.cancel()  # the hub ends
                raise
            except Exception as error:
                if done.done():
                    raise
                done.set_exception(error)
            else:
                if not done.done():
                    done.set_result(result)

        self._spawn(go())
        return await done


def _same(one: Operation, other: Operation) -> bool:
    """Whether the store takes them for the same call."""
    return (one.call, one.tool, one.plan) == (other.call, other.tool, other.plan)
