"""People who may not answer: ignored, with a line in the log now and then."""

from __future__ import annotations

import logging

from chatbridge.core.ports import Clock
from chatbridge.core.text import one_line, shortened

log = logging.getLogger(__name__)

SAY_EVERY = 60.0
SAME_EVERY = 3600.0
REMEMBERED = 100
LONGEST = 255


class Strangers:
    def __init__(self, channel: str, *, clock: Clock) -> None:
        self._channel = channel
        self._clock = clock
        self._said: dict[str, float] = {}

    def note(self, stranger: str) -> None:
        """So that the owner can find the id to add. A stranger who writes a thousand times must
        not fill the disk."""
        now = self._clock.monotonic()
        last = max(self._said.values(), default=float("-inf"))
        if now - last < SAY_EVERY or now - self._said.get(stranger, float("-inf")) < SAME_EVERY:
            return
        if len(self._said) >= REMEMBERED:
            self._said.clear()
        self._said[stranger] = now
        log.warning(
            "%s: the person %s is not in %s.allowed_users and was ignored",
            self._channel,
            shortened(one_line(stranger), LONGEST),  # whatever a foreign server calls its people
            self._channel,
        )
