"""Group commit: works that wait at the same time share one transaction, and so one sync to disk.

Owns the writing connection's begin, commit and roll-back, and the order of works. Knows no table.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar

from chatbridge.core.errors import StoreError
from chatbridge.store.database import Connection, ConnectionLost
from chatbridge.store.rows import UnreadableRows
from chatbridge.store.transaction import Cache, SqlTransaction

T = TypeVar("T")
Work = Callable[[SqlTransaction], Awaitable[T]]

LOST_AT_MOST = 5  # A statement that ends the server's side each time is not tried for ever
SHARED_BY_AT_MOST = 100  # More would save little and keep the first of them waiting

log = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class _Job(Generic[T]):
    work: Work[T]
    then: Callable[[T], None] | None
    done: asyncio.Future[T]

    def succeed(self, result: T) -> None:
        if not self.done.done():
            self.done.set_result(result)
        elif self.then is not None:  # its caller went while it was being committed
            asyncio.get_running_loop().call_soon(self.then, result)

    @property
    def succeeded(self) -> bool:
        done = self.done
        return done.done() and not done.cancelled() and done.exception() is None

    def fail(self, error: BaseException) -> None:
        if not self.done.done():
            self.done.set_exception(error)


class _Spoiled(Exception):
    """A work failed and the transaction holds something of it, or is gone."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


@dataclass(eq=False)
class Writer:
    _connection: Connection
    _cache: Cache
    _unreadable: UnreadableRows
    _queue: list[_Job[Any]] = field(default_factory=list)
    _wake: asyncio.Event = field(default_factory=asyncio.Event)
    _closing: bool = False

    def __post_init__(self) -> None:
        self._task = asyncio.create_task(self._serve(), name="store writer")

    async def run(self, work: Work[T], then: Callable[[T], None] | None = None) -> T:
        """:raises StoreError: nothing of it was committed."""
        if asyncio.current_task() is self._task:
            raise RuntimeError("a work called write: it would wait for itself")
        if self._closing:
            raise self._closed()
        job: _Job[T] = _Job(work, then, asyncio.get_running_loop().create_future())
        self._queue.append(job)
        self._wake.set()
        try:
            return await job.done
        finally:
            if then is not None and job.succeeded:  # also for a caller that has just been cancelled
                then(job.done.result())

    async def close(self) -> None:
        """Finishes what is queued."""
        self._closing = True
        self._wake.set()
        await asyncio.wait({self._task})

    def abandon(self) -> None:
        """What is queued, or under way, fails."""
        self._task.cancel()

    async def _serve(self) -> None:
        jobs: list[_Job[Any]] = []
        try:
            while self._queue or not self._closing:
                await self._wake.wait()
                jobs = self._queue[:SHARED_BY_AT_MOST]
                del self._queue[:SHARED_BY_AT_MOST]
                if not self._queue:
                    self._wake.clear()
                if jobs:
                    await self._commit_whatever_happens(jobs)
        finally:
            self._closing = True
            for job in (*jobs, *self._queue):
                job.fail(self._closed())

    async def _commit_whatever_happens(self, jobs: list[_Job[Any]]) -> None:
        """Commit; an error of ours fails these works and none after them."""
        try:
            await self._commit(jobs)
        except Exception as error:
            log.exception("a transaction failed")
            failed = StoreError(
                f"{self._connection.called}: nothing was written, because of an error "
                f"in chatbridge ({type(error).__name__}). The hub's log says more"
            )
            for job in jobs:
                job.fail(failed)
            await self._roll_back()

    async def _commit(self, jobs: list[_Job[Any]], *, again: int = LOST_AT_MOST) -> None:
        """All in one transaction; if that fails, each in its own, so that only the guilty fail.
        `again`: how often they are tried once more after a lost connection."""
        try:
            await self._connection.begin()
        except StoreError as error:
            for job in jobs:
                job.fail(error)
            return
        changes = Cache()
        try:
            # Also the failures wait for the commit: what they saw may yet be undone.
            endings = [await self._run(job, changes) for job in jobs]
            await self._connection.commit()
        except (_Spoiled, StoreError) as failure:
            await self._roll_back()
            cause = failure.error if isinstance(failure, _Spoiled) else failure
            if isinstance(cause, ConnectionLost) and again:  # none of them is at fault
                await self._commit(jobs, again=again - 1)
                return
            if len(jobs) == 1:
                jobs[0].fail(cause)
                return
            for job in jobs:
                await self._commit([job])
            return
        self._cache.update(changes)
        for end in endings:
            end()

    async def _run(self, job: _Job[Any], changes: Cache) -> Callable[[], None]:
        """What tells the caller, to be called after the commit. :raises _Spoiled:"""
        if job.done.done():
            return lambda: None  # nobody waits for it any more
        transaction = SqlTransaction(self._connection, self._cache, changes, self._unreadable)
        try:
            result = await job.work(transaction)
        except (Exception, asyncio.CancelledError) as error:
            if self._task.cancelling():
                raise
            if transaction.wrote or transaction.failed:
                lost = isinstance(transaction.failed, ConnectionLost)
                raise _Spoiled((lost and transaction.failed) or error) from error
            return partial(job.fail, error)
        finally:
            transaction.over = True
        if transaction.failed:
            raise _Spoiled(transaction.failed)
        return partial(job.succeed, result)

    async def _roll_back(self) -> None:
        try:
            await self._connection.roll_back()
        except StoreError as error:
            log.error("the transaction could not be rolled back: %s", error)

    def _closed(self) -> StoreError:
        return StoreError(f"{self._connection.called} has been closed: nothing written")
