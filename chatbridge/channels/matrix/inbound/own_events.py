"""Which of the bot's own messages have come back in the room's timeline.

A server puts all events of a room into one order; clocks of several servers do not agree. What a
person wrote before our message was there, by that order, cannot have been meant for it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

REMEMBERED = 1_000


class Echoes:
    def __init__(self) -> None:
        self._ahead: set[str] = set()
        self._passed: OrderedDict[str, None] = OrderedDict()

    def sent(self, event: str) -> None:
        """A message of ours has been taken by the server. It may have come back already."""
        if event not in self._passed:
            self._ahead.add(event)

    def coming(self, events: Iterable[str]) -> None:
        """Events of ours that are about to be passed: also those of an earlier hub."""
        for event in events:
            self.sent(event)

    def passed(self, event: str) -> None:
        self._ahead.discard(event)
        self._passed[event] = None
        while len(self._passed) > REMEMBERED:
            self._passed.popitem(last=False)

    def is_ahead(self, event: str) -> bool:
        """Whether what is being read now was there before this message."""
        return event in self._ahead
