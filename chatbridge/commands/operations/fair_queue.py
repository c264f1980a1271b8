"""A fair queue with limits: decides which operation runs next.

Synchronous and asynchronous operations have separate places, so that a quick call does not wait
behind builds. A group's limit counts for both. Links take turns. Of the operations of one link that
can run, the oldest is first.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple, Self

from chatbridge.core.operation import Operation


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
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


class _Place(NamedTuple):
    """Each link's operations are spread over rounds, one in each: whoever comes later does not
    wait for all of another's, only for one a round."""

    round: int
    arrival: int
    turn: Turn


class FairQueue:
    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._limits: dict[str, int | None] = {}
        self._round = Counter[bool]()
        """The round of the synchronous and of the asynchronous operations."""
        self._last: dict[tuple[bool, str], int] = {}
        """The last round of each waiting link."""
        self._waiting: dict[str, _Place] = {}
        self._running: dict[str, Turn] = {}
        self._arrivals = count()

    def add(self, turn: Turn) -> None:
        lane = turn.synchronous, turn.link
        self._last[lane] = max(self._round[turn.synchronous], self._last.get(lane, 0)) + 1
        self._limits[turn.group] = turn.limit
        self._waiting[turn.id] = _Place(self._last[lane], next(self._arrivals), turn)

    def runs(self, turn: Turn) -> None:
        """Count an operation that runs already, whatever the limits."""
        self._limits[turn.group] = turn.limit
        self._running[turn.id] = turn

    def next(self) -> str | None:
        """Take the next operation that may run, and count it as running."""
        running = Counter(turn.synchronous for turn in self._running.values())
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
                its_round, _, turn = min(fits)
                self._running[turn.id] = turn
                self._leave(turn)
                self._round[kind] = max(self._round[kind], its_round)
                return turn.id
        return None

    def done(self, operation_id: str) -> None:
        if (place := self._waiting.get(operation_id)) is not None:
            self._leave(place.turn)
        else:
            self._running.pop(operation_id, None)

    def _heads(self, kinds: list[bool]) -> dict[tuple[bool, str], _Place]:
        """The first waiting operation of each group."""
        heads: dict[tuple[bool, str], _Place] = {}
        for place in self._waiting.values() if kinds else ():
            key = place.turn.synchronous, place.turn.group
            if key[0] in kinds and (key not in heads or place < heads[key]):
                heads[key] = place
        return heads

    def _has_room(self, group: str) -> bool:
        limit = self._limits[group]
        return limit is None or sum(it.group == group for it in self._running.values()) < limit

    def _leave(self, turn: Turn) -> None:
        del self._waiting[turn.id]
        lane = turn.synchronous, turn.link
        others = (it.turn for it in self._waiting.values())
        if not any((other.synchronous, other.link) == lane for other in others):
            del self._last[lane]
