"""Who may answer in a chat, and what they are called. Everybody else is ignored, with a line in the
log now and then."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection
from typing import Generic, TypeVar

from chatbridge.channels.spec import PersonName
from chatbridge.core.errors import ChatbridgeError
from chatbridge.core.ports import Clock
from chatbridge.core.text import one_line, shortened

log = logging.getLogger(__name__)

MAX_NAME_CHARACTERS = 40
LOG_EVERY_SECONDS = 60.0
LOG_SAME_EVERY_SECONDS = 3600.0
MAX_REMEMBERED = 100
MAX_ID_CHARACTERS = 255

Id = TypeVar("Id", int, str)


class Allowlist(Generic[Id]):
    """The people who may answer. An empty list means nobody; a bot never may."""

    def __init__(
        self, channel: str, allowed: Collection[Id], *, clock: Clock, bot: Id | None = None
    ) -> None:
        self._channel = channel
        self._allowed: frozenset[Id] = frozenset(each for each in allowed if each != bot)
        self._bot: Id | None = bot
        self._clock = clock
        self._logged: dict[Id, float] = {}
        self._told: dict[Id, float] = {}

    def allows(self, person: Id) -> bool:
        """Whether this person may do anything here. A stranger is logged, so that the owner finds
        the id to add."""
        if person in self._allowed:
            return True
        self._log(person)
        return False

    def may_be_told(self, stranger: Id) -> bool:
        """Whether to tell somebody that they are one. Each now and then: nobody shall keep the bot
        busy."""
        now = self._clock.monotonic()
        if now - self._told.get(stranger, float("-inf")) < LOG_EVERY_SECONDS:
            return False
        if len(self._told) >= MAX_REMEMBERED:
            self._told.clear()
        self._told[stranger] = now
        return True

    def among(self, members: Collection[Id]) -> list[Id]:
        """Those who may answer."""
        return sorted(self._allowed.intersection(members))

    def strangers_among(self, members: Collection[Id]) -> int:
        return sum(each != self._bot for each in set(members) - self._allowed)

    def _log(self, stranger: Id) -> None:
        """A stranger who writes a thousand times must not fill the disk."""
        now, never = self._clock.monotonic(), float("-inf")
        last = max(self._logged.values(), default=never)
        if (
            now - last < LOG_EVERY_SECONDS
            or now - self._logged.get(stranger, never) < LOG_SAME_EVERY_SECONDS
        ):
            return
        if len(self._logged) >= MAX_REMEMBERED:
            self._logged.clear()
        self._logged[stranger] = now
        log.warning(
            "%s: the person %s is not in %s.allowed_users and was ignored",
            self._channel,
            shortened(one_line(str(stranger)), MAX_ID_CHARACTERS),  # a foreign server may choose it
            self._channel,
        )


class Names(Generic[Id]):
    """What people are called, at a service whose events bring only their ids. Where it does not
    say, the id has to do: nobody's tap waits for another request."""

    def __init__(self, find: Callable[[Id], Awaitable[PersonName]]) -> None:
        self._find: Callable[[Id], Awaitable[PersonName]] = find
        self._known: dict[Id, str] = {}

    async def learn(self, people: Collection[Id]) -> None:
        for each in people:
            self._known[each] = await self.ask(each)

    async def ask(self, person: Id) -> str:
        try:
            return (await self._find(person)).name
        except ChatbridgeError:
            return str(person)

    def of(self, person: Id) -> str:
        return self._known.get(person, str(person))


def display_name(*names: str | None) -> str:
    """The first of these that says something, as one short line."""
    found = (shortened(one_line(name or ""), MAX_NAME_CHARACTERS) for name in names)
    return next(filter(None, found), "")
