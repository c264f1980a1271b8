"""Limits of a port that strangers can reach, and who makes way when it is full."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

log = logging.getLogger(__name__)

MAX_CONNECTIONS = 256
"""More would use up the descriptors that the hub's other channels need."""
MAX_KNOWN = 192
"""Connections of them that are logged in; the rest is for those who have yet to log in."""
REQUEST_SECONDS = 10.0
"""How long a request's head may take to arrive."""
QUIET_SECONDS = 600.0
"""Time without the same trouble after which it is logged again."""

FULL = "%s: more than %d connections. Those that have not logged in make way, the oldest first"
MANY_KNOWN = "%s: more than %d connections that have logged in. The others may have to make way"


class Evictable(Protocol):
    def evict(self) -> None: ...


@dataclass(slots=True, eq=False)
class ConnectionLimits:
    """Decides which connection is evicted when there are too many: one that has shown a valid
    cookie or token stays, of the others the oldest goes for the newest. Addresses do not count:
    behind a proxy everybody has the same."""

    who: str
    """Listens, for the log."""
    limit: int
    known: int
    """Those that nobody can push out: fewer, so that there is always room for a log-in."""
    now: Callable[[], float] = time.monotonic
    _credentials: dict[Evictable, str | None] = field(default_factory=dict)
    """Of each connection; None: a stranger's. The newest of its kind is the last."""
    _noted: dict[str, float] = field(default_factory=dict)

    def opened(self, connection: Evictable) -> None:
        self._credentials[connection] = None
        if len(self._credentials) > self.limit:
            oldest = next(it for it, credential in self._credentials.items() if credential is None)
            del self._credentials[oldest]
            oldest.evict()
            self._note(FULL, self.limit)

    def closed(self, connection: Evictable) -> None:
        self._credentials.pop(connection, None)

    def identified(self, connection: Evictable, credential: str | None) -> None:
        """Whose credential the connection's newest request came with. None: nobody's, which counts
        as well, since a proxy uses one connection for many people."""
        # One that is not there was evicted before its request was read.
        if self._credentials.get(connection, credential) == credential:
            return
        self._move(connection, credential)
        counts = Counter(known for known in self._credentials.values() if known is not None)
        if credential is not None and counts.total() > self.known:
            # Of whoever has the most connections: one token cannot take the others' places.
            most = max(counts, key=lambda known: (counts[known], known == credential))
            newest = next(it for it in reversed(self._credentials) if self._credentials[it] == most)
            self._move(newest, None)
            self._note(MANY_KNOWN, self.known)

    def _move(self, connection: Evictable, credential: str | None) -> None:
        del self._credentials[connection]
        self._credentials[connection] = credential

    def _note(self, line: str, number: int) -> None:
        now = self.now()
        last = self._noted.get(line)
        self._noted[line] = now
        if last is None or now - last > QUIET_SECONDS:
            log.warning(line, self.who, number)
