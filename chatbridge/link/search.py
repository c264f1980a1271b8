"""One search for a hub: connect to the one that runs, else start one and wait for it.

Owns the order of the places and the pauses between tries. It blocks nowhere: the link's loop calls
`step` when `next_at` has come and `report_ready` when the report pipe can be read.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Iterator

from chatbridge import rendezvous
from chatbridge.core.errors import ChatbridgeError
from chatbridge.link import hub_start, system_hub

FIRST_LIMIT = 15.0
LOST_LIMIT = 600.0
"""A hub that was there comes back; but a call may not hang for ever on a hub that never does."""
GRACE = 1.0
"""A restarting service takes the lock within this time, so that links do not start a rival."""
_SHORT = 0.25
_MAX_CRASHES = 3


class NoHub(Exception):
    """The search is over. The text says why and what to do."""


class Search:
    """`start_at` None: look, but start nothing."""

    def __init__(
        self,
        state: str,
        now: float,
        *,
        start_after: float | None,
        limit: float | None,
        pause: float = 0.02,
        longest_pause: float = 1.0,
    ) -> None:
        self.state = state
        self.start_at = None if start_after is None else now + start_after
        self.next_at = now
        self.deadline = None if limit is None else now + limit
        self.report: int | None = None
        self._began, self._limit = now, limit
        self._pause, self._longest = pause, longest_pause
        self._began_at = time.time()
        self._said = b""
        self._crashes = 0
        self._held = False

    def step(self, now: float) -> socket.socket | None:
        """Try everything that can be tried now.

        :raises NoHub: it is of no use to go on.
        """
        for path in self._places():
            try:
                if path == system_hub.SOCKET:
                    return system_hub.connect(path)
                return rendezvous.connect(path)
            except (OSError, ChatbridgeError):
                continue  # where a path cannot be used at all, the hub's own report says so
        self.check_deadline(now)
        if self._held:
            self._check_failed_start()
        if self.start_at is not None and now >= self.start_at and self.report is None:
            self._start(now)
        self.delay(now)
        return None

    def delay(self, now: float) -> None:
        """Pause before the next try, longer each time."""
        self.next_at = now + self._pause
        early = now - self._began < FIRST_LIMIT
        self._pause = min(self._pause * 2, max(_SHORT, self._pause) if early else self._longest)

    def check_deadline(self, now: float) -> None:
        if self.deadline is None or now < self.deadline:
            return
        self._check_failed_start()  # a service's, which reports to nobody else
        holder = rendezvous.lock_holder(self.state)
        who = f"; pid {holder.pid} holds its lock but does not answer" if holder else ""
        raise NoHub(
            f"no chatbridge hub came up within {self._limit:.0f} s{who}. "
            f"See {rendezvous.log_path(self.state)}, or run: chatbridge stop, then: chatbridge hub"
        )

    def _check_failed_start(self) -> None:
        """Of ten links that start a hub at once one hears why it fails: the others read it."""
        info = rendezvous.read_lock(self.state)
        if info is None or info.error is None:
            return
        try:
            written_at = os.stat(rendezvous.lock_path(self.state)).st_mtime
        except OSError:
            return
        if written_at >= self._began_at:
            raise NoHub(info.error)

    def report_ready(self, now: float) -> None:
        """Read what the hub that we started says about its start.

        :raises NoHub: it cannot start.
        """
        assert self.report is not None
        piece = os.read(self.report, 65536)
        self._said += piece
        if piece and b"\n" not in self._said:
            return
        said, self._said = self._said, b""
        self.close()
        self.next_at = now
        try:
            outcome = json.loads(said)
        except ValueError:
            self._crashed(now)
            return
        if "error" in outcome:
            raise NoHub(str(outcome["error"]))
        self._held = "held" in outcome
        # Another hub may hold the lock only because it is about to end: then start one after all.
        self.start_at = now + 2 * GRACE

    def close(self) -> None:
        if self.report is not None:
            os.close(self.report)
            self.report = None

    def _places(self) -> Iterator[str]:
        if system_hub.wanted():
            yield system_hub.SOCKET
        info = rendezvous.read_lock(self.state)
        if info is not None and info.socket is not None:
            yield info.socket
        for place in (rendezvous.socket_path, rendezvous.service_socket_path):
            try:
                yield place(self.state)
            except ChatbridgeError:
                continue

    def _start(self, now: float) -> None:
        if self._held and rendezvous.lock_holder(self.state) is not None:
            self.start_at = now + GRACE  # it is still starting: a rival would only slow it down
            return
        try:
            self.report = hub_start.start_hub(self.state)
        except (OSError, ChatbridgeError) as error:
            raise NoHub(f"the chatbridge hub cannot be started: {error}") from error

    def _crashed(self, now: float) -> None:
        """It ended without a word: killed, perhaps, so it gets another try."""
        self._crashes += 1
        if self._crashes < _MAX_CRASHES:
            self.start_at = now + 0.1 * self._crashes
            return
        path = rendezvous.log_path(self.state)
        try:
            with open(path, "rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - 4096))
                last = file.read().decode(errors="replace").strip().rpartition("\n")[2][:300]
        except OSError:
            last = ""
        raise NoHub(f"the chatbridge hub ended before it was ready: {last}\nSee {path}")
