"""Limit the connections to a port, and decide which one is evicted when there are too many.

A connection that has shown a valid cookie or token stays; of the others the oldest goes for the
newest. Addresses do not count: behind a proxy everybody has the same.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable
from typing import Protocol

from starlette.types import Scope

log = logging.getLogger(__name__)

IDENTIFY = "chatbridge.identify"
"""Where a request's state has the function to tell whose credential it came with."""
QUIET_SECONDS = 600.0
"""Time without the same trouble after which it is logged again."""

FULL = "%s: more than %d connections. Those that have not logged in make way, the oldest first"
MANY_KNOWN = "%s: more than %d connections that have logged in. The others may have to make way"


class Connection(Protocol):
    def evict(self) -> None: ...


class ConnectionLimits:
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
        self._strangers: dict[Connection, None] = {}
        self._known: dict[Connection, str] = {}
        self._noted: dict[str, float] = {}

    def opened(self, connection: Connection) -> None:
        self._strangers[connection] = None
        if len(self._strangers) + len(self._known) > self._limit:
            oldest = next(iter(self._strangers))
            del self._strangers[oldest]
            oldest.evict()
            self._note(FULL, self._limit)

    def closed(self, connection: Connection) -> None:
        self._strangers.pop(connection, None)
        self._known.pop(connection, None)

    def identified(self, connection: Connection, credential: str | None) -> None:
        """Whose credential the connection's newest request came with. None: nobody's, which counts
        as well, since a proxy uses one connection for many people."""
        if connection not in self._strangers and connection not in self._known:
            return  # it was evicted before its request was read
        if self._known.get(connection) == credential:
            return
        self.closed(connection)
        if credential is None:
            self._strangers[connection] = None
            return
        self._known[connection] = credential
        if len(self._known) > self._most_known:
            newest = self._newest_of_the_most(credential)
            del self._known[newest]
            self._strangers[newest] = None
            self._note(MANY_KNOWN, self._most_known)

    def _newest_of_the_most(self, newcomer: str) -> Connection:
        """Of whoever has the most connections: one token cannot take the others' places."""
        counts = Counter(self._known.values())
        most = max(counts, key=lambda credential: (counts[credential], credential == newcomer))
        return next(
            connection for connection in reversed(self._known) if self._known[connection] == most
        )

    def _note(self, line: str, number: int) -> None:
        now = self._now()
        last = self._noted.get(line)
        self._noted[line] = now
        if last is None or now - last > QUIET_SECONDS:
            log.warning(line, self._who, number)


def note_credential(scope: Scope, credential: str | None) -> None:
    """Tell the limits, where there are some, whose credential a request came with."""
    identify: Callable[[str | None], None] | None = scope.get("state", {}).get(IDENTIFY)
    if identify is not None:
        identify(credential)
