"""Who may answer."""

from __future__ import annotations

from collections.abc import Collection

from chatbridge.channels.chat.unknown_senders import Strangers
from chatbridge.core.model import Person
from chatbridge.core.ports import Clock
from chatbridge.core.text import one_line, shortened

LONGEST_NAME = 40


class People:
    """The allowlist. An empty one means nobody."""

    def __init__(self, allowed: Collection[str], *, bot: str, clock: Clock) -> None:
        self._allowed = frozenset(allowed) - {bot}
        self._bot = bot
        self._strangers = Strangers("matrix", clock=clock)

    def allows(self, user: str) -> bool:
        """Whether this person may do anything here. A stranger is noted."""
        if user in self._allowed:
            return True
        self._strangers.note(user)
        return False

    def among(self, members: Collection[str]) -> list[str]:
        """Those who may answer."""
        return sorted(self._allowed.intersection(members))

    def strangers_among(self, members: Collection[str]) -> int:
        return len(set(members) - self._allowed - {self._bot})


def person_of(user: str, *, name: str) -> Person:
    called = shortened(one_line(name), LONGEST_NAME) or shortened(user, LONGEST_NAME)
    return Person(name=called, channel="matrix", place=user)
