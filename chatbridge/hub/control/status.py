"""How the hub is, for `chatbridge status` and `chatbridge doctor`."""

from __future__ import annotations

import os
from collections.abc import Callable

from chatbridge import __version__
from chatbridge.core.health import Health
from chatbridge.core.ports import Clock
from chatbridge.core.store_port import Store
from chatbridge.hub.control.server import Json, Request
from chatbridge.hub.links.peers import may_see, owns
from chatbridge.hub.process.lock import Lock


class TerminalStatus:
    def __init__(
        self,
        *,
        health: Health,
        store: Store,
        clock: Clock,
        lock: Lock,
        links: Callable[[int | None], list[Json]],
    ) -> None:
        """`links` are those that are connected now, of one user or of all."""
        self._health = health
        self._store = store
        self._clock = clock
        self._lock = lock
        self._links = links
        self._since = clock.time()

    async def status(self, request: Request) -> Json:
        asks = [it for it in await self._store.open_asks() if may_see(it, request.uid)]
        return {
            "version": __version__,
            "pid": os.getpid(),
            "since": self._since,
            "startedBy": self._lock.started_by,
            "state": str(self._lock.state),
            "web": self._lock.web,
            "open": len(asks),
            "links": self._links(None if owns(request.uid) else request.uid),
            "channels": [
                {"name": name, "trouble": trouble}
                for name, trouble in self._health.troubles().items()
            ],
            "faults": list(self._health.faults()) if owns(request.uid) else [],
            "remarks": list(self._health.remarks()) if owns(request.uid) else [],
        }
