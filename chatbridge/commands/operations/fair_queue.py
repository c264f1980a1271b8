"""A fair queue with limits: decides which operation runs next.

Synchronous and asynchronous operations have separate places, so that a quick call does not wait
behind builds. A group's limit counts for both. Links take turns. Of the operations of one link that
can run, the oldest is first.
"""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass, field
from itertools import count
from typing import Self

from chatbridge.core.operation import Operation


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """An operation in the queue."""

    id: str
    link: str
    group: str
    limit: int | None
    """How many of the group may run at once. The newest word on that counts for the whole group:
    with several, those with the lowest could be kept waiting for ever."""
    synchronous: bool

    @classmethod
    def of(cls, operation: Operation) -> Self:
        return cls(
            id=operation.id,
            link=operation.call.link,
            group=operation.group,
            limit=operation.plan.concurrency,
            synchronous=operation.plan.synchronous,
        )


_Place = tuple[int, int, str]
"""Its round, its number of arrival, and its id."""


@dataclass(slots=True)
class _Lane:
    """The synchronous or the asynchronous ones. Each link's operations are spread over rounds, one
    in each: whoever comes later does not wait for all of another's, only for one a round."""

    running: int = 0
    round: int = 0
    groups: dict[str, list[_Place]] = field(default_factory=dict)
    """A heap for each group with waiting operations."""
    waiting: Counter[str] = field(default_factory=Counter)
    last: dict[str, int] = field(default_factory=dict)
    """The last round of each waiting link."""


class FairQueue:
    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lanes = {True: _Lane(), False: _Lane()}
        self._limits: dict[str, int] = {}
        self._in_group: Counter[str] = Counter()
        self._waiting: dict[str, Turn] = {}
        self._running: dict[str, Turn] = {}
        self._arrivals = count()

    def add(self, turn: Turn) -> None:
        """Add a waiting operation."""
        lane = self._lanes[turn.synchronous]
        self._heed(turn)
        self._waiting[turn.id] = turn
        lane.waiting[turn.link] += 1
        lane.last[turn.link] = its_round = max(lane.round, lane.last.get(turn.link, 0)) + 1
        heap = lane.groups.setdefault(turn.group, [])
        heapq.heappush(heap, (its_round, next(self._arrivals), turn.id))

    def runs(self, turn: Turn) -> None:
        """Count an operation that runs already, whatever the limits."""
        self._heed(turn)
        self._count(turn)

    def next(self) -> str | None:
        """Take the next operation that may run, and count it as running."""
        for synchronous in (True, False):
            if (place := self._first(synchronous)) is not None:
                its_round, _, operation_id = place
                turn = self._waiting[operation_id]
                self._count(turn)
                self._leave(turn)
                lane = self._lanes[synchronous]
                lane.round = max(lane.round, its_round)
                return operation_id
        return None

    def done(self, operation_id: str) -> None:
        """Remove an operation, waiting or running."""
        if (turn := self._waiting.get(operation_id)) is not None:
            self._leave(turn)
        elif (turn := self._running.pop(operation_id, None)) is not None:
            self._lanes[turn.synchronous].running -= 1
            self._in_group[turn.group] -= 1
            self._tidy(turn.group)

    def _first(self, synchronous: bool) -> _Place | None:
        lane = self._lanes[synchronous]
        if lane.running >= self._limit:
            return None
        other = self._lanes[not synchronous]
        found = None
        for group in list(lane.groups):
            head = self._head(lane, group)
            if head is None or not self._room(group):
                continue
            rival = self._head(other, group) if other.running < self._limit else None
            if rival is not None and rival[1] < head[1]:
                continue  # it came first: quick ones must not keep it from the group for ever
            if found is None or head < found:
                found = head
        return found

    def _head(self, lane: _Lane, group: str) -> _Place | None:
        """The first operation that still waits."""
        heap = lane.groups.get(group)
        while heap and heap[0][2] not in self._waiting:
            heapq.heappop(heap)
        if not heap:
            lane.groups.pop(group, None)
            return None
        return heap[0]

    def _room(self, group: str) -> bool:
        limit = self._limits.get(group)
        return limit is None or self._in_group[group] < limit

    def _count(self, turn: Turn) -> None:
        self._running[turn.id] = turn
        self._in_group[turn.group] += 1
        self._lanes[turn.synchronous].running += 1

    def _leave(self, turn: Turn) -> None:
        del self._waiting[turn.id]
        lane = self._lanes[turn.synchronous]
        lane.waiting[turn.link] -= 1
        if not lane.waiting[turn.link]:
            del lane.waiting[turn.link], lane.last[turn.link]
        self._head(lane, turn.group)
        self._tidy(turn.group)

    def _heed(self, turn: Turn) -> None:
        if turn.limit is None:
            self._limits.pop(turn.group, None)
        else:
            self._limits[turn.group] = turn.limit

    def _tidy(self, group: str) -> None:
        """Forget a group in which nothing waits or runs."""
        if not self._in_group[group]:
            del self._in_group[group]
            if not any(group in lane.groups for lane in self._lanes.values()):
                self._limits.pop(group, None)
