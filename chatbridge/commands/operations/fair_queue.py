"""A fair queue with limits: decides which operation runs next.

Synchronous and asynchronous operations have separate places, so that a quick call does not wait
behind builds. A group's limit counts for both. Links take turns. Of the operations of one link that
can run, the oldest is first.
"""

from __future__ import annotations

from collections import Counter
from itertools import count
from typing import NamedTuple

from chatbridge.core.operation import Operation


class _Place(NamedTuple):
    """Each link's operations are spread over rounds, one in each: whoever comes later does not
    wait for all of another's, only for one a round."""

    round: int
    arrival: int
    operation: Operation

    @property
    def lane(self) -> tuple[bool, str]:
        return self.operation.plan.synchronous, self.operation.call.link


class FairQueue:
    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._limits: dict[str, int | None] = {}
        """How many of a group may run at once. The newest word on that counts for the whole group:
        with several, those with the lowest could be kept waiting for ever."""
        self._round = Counter[bool]()
        """The round of the synchronous and of the asynchronous operations."""
        self._last: dict[tuple[bool, str], int] = {}
        """The last round of each waiting link."""
        self._waiting: dict[str, _Place] = {}
        self._running: dict[str, Operation] = {}
        self._arrivals = count()

    def add(self, operation: Operation) -> None:
        lane = operation.plan.synchronous, operation.call.link
        self._last[lane] = max(self._round[lane[0]], self._last.get(lane, 0)) + 1
        self._limits[operation.group] = operation.plan.concurrency
        self._waiting[operation.id] = _Place(self._last[lane], next(self._arrivals), operation)

    def runs(self, operation: Operation) -> None:
        """Count an operation that runs already, whatever the limits."""
        self._limits[operation.group] = operation.plan.concurrency
        self._running[operation.id] = operation

    def next(self) -> str | None:
        """Take the next operation that may run, and count it as running."""
        running = Counter(it.plan.synchronous for it in self._running.values())
        kinds = [kind for kind in (True, False) if running[kind] < self._limit]
        heads = self._heads(kinds)
        for kind in kinds:
            fits = []
            for (its_kind, group), head in heads.items():
                # One that came first: quick ones must not keep it from the group for ever.
                rival = heads.get((not kind, group), head)
                if its_kind is kind and rival.arrival >= head.arrival and self._has_room(group):
                    fits.append(head)
            if fits:
                place = min(fits)
                self._running[place.operation.id] = place.operation
                self._leave(place)
                self._round[kind] = max(self._round[kind], place.round)
                return place.operation.id
        return None

    def done(self, operation_id: str) -> None:
        if (place := self._waiting.get(operation_id)) is not None:
            self._leave(place)
        else:
            self._running.pop(operation_id, None)

    def _heads(self, kinds: list[bool]) -> dict[tuple[bool, str], _Place]:
        """The first waiting operation of each group."""
        heads: dict[tuple[bool, str], _Place] = {}
        for place in self._waiting.values() if kinds else ():
            key = place.operation.plan.synchronous, place.operation.group
            if key[0] in kinds and (key not in heads or place < heads[key]):
                heads[key] = place
        return heads

    def _has_room(self, group: str) -> bool:
        limit = self._limits[group]
        return limit is None or sum(it.group == group for it in self._running.values()) < limit

    def _leave(self, place: _Place) -> None:
        del self._waiting[place.operation.id]
        if not any(other.lane == place.lane for other in self._waiting.values()):
            del self._last[place.lane]
