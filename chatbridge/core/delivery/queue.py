"""The order in which a surface shows asks, and its rate limit.

Urgent asks come first, and parties take turns. Delivery decides when something is shown.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import IntEnum

from chatbridge.core.model import Ask

MAX_PASSED_OVER = 5  # How often more urgent asks may go before a less urgent one


class Urgency(IntEnum):
    """Lower values come first."""

    ANSWERING = 0  # A person is filling it in, or it has ended and its card still asks
    APPROVAL = 1  # A new approval: its agent cannot continue without it
    ANYTHING = 2


class AskQueue:
    """Asks by urgency. Parties (`Project.party`) take turns, one ask each; the asks of one party
    keep their order."""

    def __init__(self) -> None:
        self._asks: dict[str, tuple[Ask, Urgency]] = {}
        self._ids_by_party: dict[Urgency, OrderedDict[str, OrderedDict[str, None]]] = {
            urgency: OrderedDict() for urgency in Urgency
        }
        """For each urgency: the parties in the order of their turns, with the ids of their asks."""
        self._passed_over = dict.fromkeys(Urgency, 0)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the ids of the waiting asks."""
        return iter(self._asks)

    def get(self, ask_id: str) -> Ask | None:
        found = self._asks.get(ask_id)
        return found and found[0]

    def put(self, ask: Ask, urgency: Urgency, *, first: bool | None = None) -> None:
        """Add or replace an ask. `first`: put it before or after its party's other asks; None: keep
        its position, or append it. The turn of its party does not change."""
        if ask.id in self._asks and self._asks[ask.id][1] is not urgency:
            self._remove(ask.id)
        self._asks[ask.id] = ask, urgency
        ids = self._ids_by_party[urgency].setdefault(ask.project.party, OrderedDict())
        ids[ask.id] = None
        if first is not None:
            ids.move_to_end(ask.id, last=not first)

    def take(self, ready: Callable[[str], bool]) -> Ask | None:
        """Remove and return the next ask whose id is `ready`."""
        waiting = {
            urgency: ask_id
            for urgency in Urgency
            if (ask_id := self._first(urgency, ready)) is not None
        }
        if not waiting:
            return None
        overdue = [each for each in waiting if self._passed_over[each] >= MAX_PASSED_OVER]
        chosen = (overdue or [*waiting])[0]
        for urgency in waiting:
            self._passed_over[urgency] = 0 if urgency is chosen else self._passed_over[urgency] + 1
        ask = self._remove(waiting[chosen])
        if ask.project.party in self._ids_by_party[chosen]:
            self._ids_by_party[chosen].move_to_end(ask.project.party)
        return ask

    def _first(self, urgency: Urgency, ready: Callable[[str], bool]) -> str | None:
        waiting = (ask_id for ids in self._ids_by_party[urgency].values() for ask_id in ids)
        return next(filter(ready, waiting), None)

    def _remove(self, ask_id: str) -> Ask:
        ask, urgency = self._asks.pop(ask_id)
        ids = self._ids_by_party[urgency][ask.project.party]
        del ids[ask_id]
        if not ids:
            del self._ids_by_party[urgency][ask.project.party]
        return ask


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimit:
    """Seconds that one new message and one edit cost, and the seconds that may be spent ahead."""

    message: float = 0.0
    edit: float = 0.0
    burst: float = 0.0


class RateLimiter:
    def __init__(self, pace: RateLimit) -> None:
        self._pace = pace
        self._paid_until = float("-inf")

    def pause(self, now: float) -> float:
        """Seconds to wait before the next message or edit."""
        return max(0.0, self._paid_until - now)

    def spend(self, now: float, *, edit: bool) -> None:
        cost = self._pace.edit if edit else self._pace.message
        self._paid_until = max(self._paid_until, now - self._pace.burst) + cost
