"""The hub's lock while it is held, and what its file says about the holder."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from chatbridge import __version__, runtime_paths
from chatbridge.core.errors import ChatbridgeError, HubAlreadyRunning
from chatbridge.hub.process.log import redacted

HANDOVER_WITHIN = 10.0
LOOK_EVERY = 0.05


class Lock:
    """A context that holds the lock of a state directory. Who `takes_over`, as a service does, gets
    it from a hub that a link started; everybody else is refused.

    :raises HubAlreadyRunning: on entering.
    """

    def __init__(self, state: str, *, started_by: str, takes_over: bool = False) -> None:
        self.state = Path(state)
        self.started_by = started_by
        self._takes_over = takes_over or started_by == "service"
        self._info = runtime_paths.LockInfo(
            pid=os.getpid(), version=__version__, socket=None, started_by=started_by
        )

    def __enter__(self) -> Lock:
        try:
            self._file = runtime_paths.acquire_lock(str(self.state))
        except HubAlreadyRunning:
            if not self._takes_over:
                raise
            self._file = self._take_over()
        self._write()
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, ChatbridgeError) and not error.passing:
            self._info.error = redacted(str(error))
            self._write()
        os.close(self._file)

    def listening(self, socket: str) -> None:
        """From now on links can connect there."""
        self._info.socket = socket
        self._write()

    @property
    def web(self) -> str | None:
        """Where the inbox is."""
        return self._info.web

    def inbox_at(self, address: str) -> None:
        self._info.web = address
        self._write()

    def _write(self) -> None:
        runtime_paths.write_lock(self._file, self._info)

    def _take_over(self) -> int:
        until = time.monotonic() + HANDOVER_WITHIN
        told: set[int] = set()
        while True:
            # Each time: when the first lets go, a waiting link may have started another.
            holder = runtime_paths.lock_holder(str(self.state))
            if holder is not None and holder.started_by == "link" and holder.pid not in told:
                told.add(holder.pid)
                with suppress(ProcessLookupError):
                    os.kill(holder.pid, signal.SIGTERM)
            try:
                return runtime_paths.acquire_lock(str(self.state))
            except HubAlreadyRunning:
                if time.monotonic() > until:
                    raise
                time.sleep(LOOK_EVERY)
