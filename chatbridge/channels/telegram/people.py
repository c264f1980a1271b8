"""Who may answer. Everybody else is ignored, with a line in the log now and then."""

from __future__ import annotations

import logging
from collections.abc import Collection

from telegram import User

from chatbridge.core.model import Person
from chatbridge.core.ports import Clock
from chatbridge.core.text import one_line, shortened

log = logging.getLogger(__name__)

SAY_EVERY = 60.0
SAME_EVERY = 3600.0
REMEMBERED = 100
LONGEST_NAME = 40


class People:
    """The allowlist. An empty one means nobody."""

    def __init__(self, allowed: Collection[int], *, clock: Clock) -> None:
        self._allowed = frozenset(allowed)
        self._clock = clock
        self._said: dict[int, float] = {}

    def allows(self, user: User | None) -> bool:
        """Whether this person may do anything here. A stranger is noted, so that the owner can
        find the number to add."""
        if user is None:
            return False
        if user.id in self._allowed:
            return True
        self._note(user.id)
        return False

    def _note(self, stranger: int) -> None:
        """A stranger who writes a thousand times must not fill the disk."""
        now = self._clock.monotonic()
        last = max(self._said.values(), default=float("-inf"))
        if now - last < SAY_EVERY or now - self._said.get(stranger, float("-inf")) < SAME_EVERY:
            return
        if len(self._said) >= REMEMBERED:
            self._said.clear()
        self._said[stranger] = now
        log.warning(
            "telegram: the person %d is not in telegram.allowed_users and was ignored", stranger
        )


def person_of(user: User, *, chat: int) -> Person:
    name = shortened(one_line(user.full_name), LONGEST_NAME)
    return Person(name=name, channel="telegram", place=str(chat))
