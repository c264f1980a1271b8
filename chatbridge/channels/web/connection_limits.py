"""Who is at a port, and who makes way when too many are.

Owns the order: whoever has shown a cookie or a token that counts stays, and of the others the
oldest goes for the newest. Addresses say nothing: behind a proxy everybody has the same.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable
from typing import Protocol

from starlette.types import Scope

log = logging.getLogger(__name__)

SHOWED = "chatbridge.showed"
"""Where a request's state says whom to tell what it came with."""
QUIET_SECONDS = 600.0
"""After so long without the same trouble it is said again."""

FULL = "%s: more than %d connections. Those that have not logged in make way, the oldest first"
MANY_KNOWN = "%s: more than %d connections that have logged in. The others may have to make way"


class Guest(Protocol):
    """A connection."""

    def evict(self) -> None: ...


class Crowd:
    def __init__(
        self, who: str, *, limit: int, known: int, now: Callable[[], float] = time.monotonic
    ) -> None:
        """`who` listens, for the log; `limit` connections in all, and of them `known` may be such
        as nobody can push out: fewer, so that there is always room for a log-in."""
        assert known < limit
        self._who = who
        self._limit = limit
        self._most_known = known
        self._now = now
        self._strangers: dict[Guest, None] = {}
        self._known: dict[Guest, str] = {}
        self._noted: dict[str, float] = {}

    def came(self, guest: Guest) -> None:
        self._strangers[guest] = None
        if len(self._strangers) + len(self._known) > self._limit:
            oldest = next(iter(self._strangers))
            del self._strangers[oldest]
            oldest.evict()
            self._note(FULL, self._limit)

    def left(self, guest: Guest) -> None:
        self._strangers.pop(guest, None)
        self._known.pop(guest, None)

    def showed(self, guest: Guest, credential: str | None) -> None:
        """Whose credential the guest's newest request came with. None: nobody's, which counts as
        well, since a proxy uses one connection for many people."""
        if guest in self._known:
            if self._known[guest] == credential:
                return
            del self._known[guest]
        elif guest in self._strangers:
            if credential is None:
                return
            del self._strangers[guest]
        else:
            return  # it has made way before its request was read
        if credential is None:
            self._strangers[guest] = None
            return
        self._known[guest] = credential
        if len(self._known) > self._most_known:
            newest = self._newest_of_the_most(credential)
            del self._known[newest]
            self._strangers[newest] = None
            self._note(MANY_KNOWN, self._most_known)

    def _newest_of_the_most(self, newcomer: str) -> Guest:
        """Of whoever has the most connections: one token cannot take the others' places."""
        counts = Counter(self._known.values())
        most = max(counts, key=lambda credential: (counts[credential], credential == newcomer))
        return next(guest for guest in reversed(self._known) if self._known[guest] == most)

    def _note(self, line: str, number: int) -> None:
        now = self._now()
        last = self._noted.get(line)
        self._noted[line] = now
        if last is None or now - last > QUIET_SECONDS:
            log.warning(line, self._who, number)


def note_credential(scope: Scope, credential: str | None) -> None:
    """Tell the crowd, where there is one, whose credential a request came with."""
    showed: Callable[[str | None], None] | None = scope.get("state", {}).get(SHOWED)
    if showed is not None:
        showed(credential)
