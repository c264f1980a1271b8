"""What a person in a chat may not have noticed yet.

They write for what their phone shows. An ask can end elsewhere while its card still asks, and who
is writing just then does not see at once that it no longer does. The times here are of whatever
clock a channel can compare messages by; the hub's wall clock is none.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Container

from chatbridge.core.model import Ask, Person

UNNOTICED = 60.0
"""For so many seconds somebody may go on writing for a card that has changed without them."""
REMEMBERED = 500


class Attention:
    """Of whoever reads one chat. A viewer is the person whose chat it is."""

    def __init__(self, channel: str) -> None:
        self._channel = channel
        self._ended: OrderedDict[tuple[str, bool], float] = OrderedDict()
        """Until when somebody may not know that an ask has ended, or has its late answer."""

    def lag(self, by: Person | None, *, viewer: str | None) -> float:
        """For how long the viewer may not notice what somebody did: their own deeds they know."""
        own = by is not None and by.channel == self._channel and by.place == viewer
        return 0.0 if own else UNNOTICED

    def ended(self, ask: Ask, *, at: float, viewer: str | None) -> None:
        """From then on its card says so for certain; infinite while nobody knows."""
        outcome = ask.late or ask.outcome
        until = at + self.lag(outcome.by if outcome else None, viewer=viewer)
        # What a card says later of its answer is no other end.
        self._ended[_end_of(ask)] = min(until, self._ended.get(_end_of(ask), math.inf))
        while len(self._ended) > REMEMBERED:
            self._ended.popitem(last=False)

    def knows_end_of(self, ask: Ask) -> bool:
        return _end_of(ask) in self._ended

    def may_miss_an_end(self, written: float, *, but: Container[str]) -> bool:
        """Whether who wrote then may have meant an ask that has ended, other than these."""
        return any(written < until for (ask, _), until in self._ended.items() if ask not in but)


def _end_of(ask: Ask) -> tuple[str, bool]:
    return ask.id, ask.late is not None
