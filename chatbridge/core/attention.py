"""What a person in a chat may not have noticed yet.

They write for what their phone shows. An ask can end elsewhere while its card still asks, and who
is writing just then does not see at once that it no longer does. The times here are of whatever
clock a channel can compare messages by; the hub's wall clock is none.
"""

from __future__ import annotations

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
        self._ended: OrderedDict[str, float] = OrderedDict()
        """Until when somebody may not know that an ask has ended."""

    def lag(self, by: Person | None, *, viewer: str | None) -> float:
        """For how long the viewer may not notice what somebody did: their own deeds they know."""
        own = by is not None and by.channel == self._channel and by.place == viewer
        return 0.0 if own else UNNOTICED

    def ended(self, ask: Ask, *, at: float, viewer: str | None) -> None:
        """From then on its card says so for certain; infinite while nobody knows."""
        outcome = ask.late or ask.outcome
        lag = self.lag(outcome.by if outcome else None, viewer=viewer)
        self._ended[ask.id] = at + lag
        self._ended.move_to_end(ask.id)
        while len(self._ended) > REMEMBERED:
            self._ended.popitem(last=False)

    def knows_end_of(self, ask: Ask) -> bool:
        return ask.id in self._ended

    def may_miss_an_end(self, written: float, *, but: Container[str]) -> bool:
        """Whether who wrote then may have meant an ask that has ended, other than these."""
        return any(written < at for ask_id, at in self._ended.items() if ask_id not in but)
