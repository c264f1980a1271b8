"""Events that come late by chance: of sockets, pipes and other threads, in every event loop.

What a busy machine does once in a hundred runs happens here all the time, so that a race shows
while somebody is looking for it. `make races` puts this folder on the path of all Python
processes of a test run, chatbridge's own among them; Python imports the module by its name.
"""

from __future__ import annotations

import random
import selectors
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import FileDescriptorLike

SHORTEST, LONGEST = -3.3, -1.5
"""Powers of ten: each loop's events are late by at most half a millisecond to 30."""
SHARES = (0.05, 0.2, 0.4)


class LateSelector(selectors.EpollSelector):
    def __init__(self) -> None:
        super().__init__()
        self._chance = random.Random()  # of its own: Hypothesis watches over everybody's
        self._share = self._chance.choice(SHARES)
        self._longest = 10 ** self._chance.uniform(SHORTEST, LONGEST)
        self._held: dict[int, float] = {}
        """Until when the events of a descriptor are not told."""

    def unregister(self, fileobj: FileDescriptorLike) -> selectors.SelectorKey:
        key = super().unregister(fileobj)
        self._held.pop(key.fd, None)
        return key

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        end = float("inf") if timeout is None else time.monotonic() + max(timeout, 0)
        while True:
            now = time.monotonic()
            events = super().select(None if timeout is None else max(end - now, 0))
            now = time.monotonic()
            told = [event for event in events if self._is_told(event[0].fd, now)]
            if told or not events or now >= end:
                return told
            time.sleep(min(end, *(self._held[key.fd] for key, _ in events)) - now)

    def _is_told(self, fd: int, now: float) -> bool:
        if fd not in self._held:
            if self._chance.random() >= self._share:
                return True
            self._held[fd] = now + self._chance.uniform(0, self._longest)
        if self._held[fd] > now:
            return False
        del self._held[fd]
        return True


selectors.DefaultSelector = LateSelector  # type: ignore[assignment,misc]
