"""The search for a hub: connects to a running one, or starts one and waits for it.

Nothing here blocks: the link's loop calls `step` at `next_at`, and `report_ready` when the report
pipe is readable.
"""

from __future__ import annotations

import json
import os
import socket
import stat
from collections.abc import Callable, Iterator

from chatbridge import lock_file, runtime_paths
from chatbridge.core.errors import ChatbridgeError, SocketUnusable
from chatbridge.link import hub_start
from chatbridge.system import sockets

FIRST_LIMIT = 15.0
LOST_LIMIT_SECONDS = 600.0  # A lost hub usually comes back, but a call must not wait for it forever
GRACE_SECONDS = 1.0  # A restarting service takes the lock meanwhile, so no link starts a hub
_SHORT_PAUSE_SECONDS = 0.25
_MAX_FAILURES, _MAX_PATIENT_FAILURES = 3, 10
"""Hubs that end without a report before the search does. More are allowed after a hub was lost:
somebody waits."""
_MAX_REST_SECONDS = 5.0


class NoHub(Exception):
    """The search has failed. The text says why, and what to do."""


class HubFailed(NoHub):
    """A hub says why it cannot start: its settings, for instance, or a full disk. Another one can
    once that is repaired."""


class Search:
    """One search. `start_at` is when to start a hub; None: never."""

    def __init__(
        self,
        state: str,
        now: float,
        *,
        start_after: float | None,
        limit: float | None,
        pause: float = 0.02,
        longest_pause: float = 1.0,
        patient: bool = False,
        per_hub: bool = False,
    ) -> None:
        """`patient`: a hub was connected before. `per_hub`: the limit starts again with each hub
        that takes the lock."""
        self.state = state
        self.start_at = None if start_after is None else now + start_after
        self.next_at = now
        self.deadline = None if limit is None else now + limit
        self.report: int | None = None
        self._turn: int | None = None
        self._turn_deadline: float | None = None
        self._began, self._limit = now, limit
        self._pause, self._longest = pause, longest_pause
        self._report_data = b""
        self._patient, self._per_hub = patient, per_hub
        info = lock_file.read(state)
        self._holder = info.pid if info else None
        self._failed_pid = info.pid if info and info.error else None
        """The holder whose error is from before this search."""
        self._failures = 0
        self._held = False

    def step(self, now: float) -> socket.socket | None:
        """Try to connect, and start a hub if that is due. :raises NoHub: the search has failed."""
        info = lock_file.read(self.state)
        if info and info.pid not in (None, self._holder):
            self._holder = info.pid
            if self._per_hub and self._limit is not None:
                self.deadline = min(now + self._limit, self._began + LOST_LIMIT_SECONDS)
        for path in self._socket_paths(info):
            try:
                if path == MACHINE_SOCKET:
                    return connect_machine_hub(path)
                return sockets.connect(path)
            except (OSError, ChatbridgeError):
                continue  # the hub's own report says why a path cannot be used
        self.check_deadline(now)
        if self._held:
            self._check_failed_start()
        if self.start_at is not None and now >= self.start_at and self.report is None:
            self._start(now)
        self.delay(now)
        return None

    def delay(self, now: float) -> None:
        """Schedule the next attempt, after a longer pause each time."""
        self.next_at = now + self._pause
        early = now - self._began < FIRST_LIMIT
        longest = max(_SHORT_PAUSE_SECONDS, self._pause) if early else self._longest
        self._pause = min(self._pause * 2, longest)

    def start_now(self, now: float) -> None:
        """Do not wait any longer before a hub is started."""
        self.start_at = self.next_at = now

    def check_deadline(self, now: float) -> None:
        if self.deadline is None or now < self.deadline:
            return
        self._check_failed_start()  # a service reports its error only in the lock file
        holder = lock_file.find_holder(self.state)
        who = f"; pid {holder.pid} holds its lock but does not answer" if holder else ""
        raise NoHub(
            f"no chatbridge hub came up within {self._limit:.0f} s{who}. "
            f"See {runtime_paths.log_path(self.state)}, or run: chatbridge stop, then: "
            "chatbridge hub"
        )

    def _check_failed_start(self) -> None:
        """Raise the error in the lock file. Only the link that started the hub has its report."""
        info = lock_file.read(self.state)
        if info is not None and info.error is not None and info.pid != self._failed_pid:
            raise HubFailed(info.error)

    def report_ready(self, now: float) -> None:
        """Read the report of the hub that this search has started. :raises HubFailed: it cannot
        start. :raises NoHub: too many have ended without a report."""
        assert self.report is not None
        piece = os.read(self.report, 65536)
        self._report_data += piece
        if piece and b"\n" not in self._report_data:
            return
        report, self._report_data = self._report_data, b""
        self.close()
        self.next_at = now
        try:
            outcome = json.loads(report)
        except ValueError:
            self._handle_crash(now)
            return
        if "error" in outcome:
            raise HubFailed(str(outcome["error"]))
        self._held = "held" in outcome
        # The hub that holds the lock may be about to end. Then start one after all.
        self.start_at = now + 2 * GRACE_SECONDS

    def close(self) -> None:
        for descriptor in (self.report, self._turn):
            if descriptor is not None:
                os.close(descriptor)
        self.report = self._turn = None

    def _socket_paths(self, info: lock_file.LockInfo | None) -> Iterator[str]:
        if is_machine_hub_wanted():
            yield MACHINE_SOCKET
        if info is not None and info.socket is not None:
            if info.started_by == "link":
                # It may be in its client's sandbox. A service takes over from it.
                yield from _usable_paths(self.state, runtime_paths.service_socket_path)
            yield info.socket
        yield from _usable_paths(
            self.state, runtime_paths.socket_path, runtime_paths.service_socket_path
        )

    def _start(self, now: float) -> None:
        if self._held and lock_file.find_holder(self.state) is not None:
            # It is still starting: a rival would only slow it down.
            self.start_at = now + GRACE_SECONDS
            return
        if not self._take_turn(now):
            self._held = True
            self.start_at = now + _SHORT_PAUSE_SECONDS
            return
        try:
            self.report = hub_start.start_hub(self.state)
        except (OSError, ChatbridgeError) as error:
            raise NoHub(f"the chatbridge hub cannot be started: {error}") from error

    def _take_turn(self, now: float) -> bool:
        """Whether this link may start a hub. Only one link does at a time, because many starting
        hubs would slow each other down. A link that hangs loses its turn after a while."""
        try:
            self._turn = lock_file.try_start_turn(self.state)
        except OSError:
            return True
        if self._turn is None and self._turn_deadline is None:
            self._turn_deadline = now + _MAX_REST_SECONDS
        late = self._turn_deadline is not None and now >= self._turn_deadline
        return self._turn is not None or late

    def _retry(self, now: float) -> bool:
        """Schedule another start after a failed one. Return False if there were too many."""
        self._failures += 1
        if self._failures >= (_MAX_PATIENT_FAILURES if self._patient else _MAX_FAILURES):
            return False
        self.start_at = now + min(0.05 * 2**self._failures, _MAX_REST_SECONDS)
        return True

    def _handle_crash(self, now: float) -> None:
        """Handle a hub that ended without a report. It may have been killed, so try again."""
        if self._retry(now):
            return
        path = runtime_paths.log_path(self.state)
        last = hub_start.last_log_line(path)
        raise NoHub(f"the chatbridge hub ended before it was ready: {last}\nSee {path}")


def _usable_paths(state: str, *places: Callable[[str], str]) -> Iterator[str]:
    for place in places:
        try:
            yield place(state)
        except ChatbridgeError:
            continue


MACHINE_SOCKET = "/run/chatbridge/hub.sock"


def is_machine_hub_wanted() -> bool:
    """Whether to use the machine's hub: not if a state directory is given."""
    return not os.environ.get("CHATBRIDGE_STATE_DIR")


def connect_machine_hub(path: str = MACHINE_SOCKET) -> socket.socket:
    """Open a non-blocking connection to the machine's hub. It runs as another user. The path
    authenticates it: only root can create a socket there. :raises OSError: there is none, or this
    user may not connect. :raises SocketUnusable: others than root could have created it."""
    folder, place = os.lstat(os.path.dirname(path)), os.lstat(path)
    roots = folder.st_uid == 0 and place.st_uid == 0 and not folder.st_mode & 0o022
    if not (roots and stat.S_ISDIR(folder.st_mode) and stat.S_ISSOCK(place.st_mode)):
        raise SocketUnusable(f"{path} is not used: others than root could have put it there")
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        sock.connect(path)
    except BaseException:
        sock.close()
        raise
    return sock
