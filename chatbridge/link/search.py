"""One search for a hub: connect to the one that runs, else start one and wait for it.

Owns the order of the places and the pauses between tries. It blocks nowhere: the link's loop calls
`step` when `next_at` has come and `report_ready` when the report pipe can be read.
"""

from __future__ import annotations

import json
import os
import socket
import stat
from collections.abc import Callable, Iterator

from chatbridge import lock_file, runtime_paths, sockets
from chatbridge.core.errors import ChatbridgeError, SocketUnusable
from chatbridge.link import hub_start

FIRST_LIMIT = 15.0
LOST_LIMIT_SECONDS = 600.0
"""A hub that was there comes back; but a call may not hang for ever on a hub that never does."""
GRACE_SECONDS = 1.0
"""A restarting service takes the lock within this time, so that links do not start a rival."""
_SHORT_PAUSE_SECONDS = 0.25
_MAX_FAILURES, _MAX_PATIENT_FAILURES = 3, 10
"""After so many failed starts it is told. Somebody waits where a hub was before, and what ended
that one, a full disk or a kill, may meet the next one, too, and pass."""
_MAX_REST_SECONDS = 5.0


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
        patient: bool = False,
        per_hub: bool = False,
    ) -> None:
        """`patient`: a hub was there before. `per_hub`: the limit counts anew for each that takes
        the lock meanwhile."""
        self.state = state
        self.start_at = None if start_after is None else now + start_after
        self.next_at = now
        self.deadline = None if limit is None else now + limit
        self.report: int | None = None
        self._turn: int | None = None
        self._turn_by: float | None = None
        self._began, self._limit = now, limit
        self._pause, self._longest = pause, longest_pause
        self._said = b""
        self._patient, self._per_hub = patient, per_hub
        info = lock_file.read(state)
        self._holder = info.pid if info else None
        self._failed = info.pid if info and info.error else None
        """Whose error is an old one."""
        self._failures = 0
        self._held = False

    def step(self, now: float) -> socket.socket | None:
        """Try everything that can be tried now.

        :raises NoHub: it is of no use to go on.
        """
        info = lock_file.read(self.state)
        self._note_holder(info.pid if info else None, now)
        for path in self._places(info):
            try:
                if path == MACHINE_SOCKET:
                    return connect_machine_hub(path)
                return sockets.connect(path)
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
        self._pause = min(
            self._pause * 2, max(_SHORT_PAUSE_SECONDS, self._pause) if early else self._longest
        )

    def check_deadline(self, now: float) -> None:
        if self.deadline is None or now < self.deadline:
            return
        self._check_failed_start()  # a service's, which reports to nobody else
        holder = lock_file.find_holder(self.state)
        who = f"; pid {holder.pid} holds its lock but does not answer" if holder else ""
        raise NoHub(
            f"no chatbridge hub came up within {self._limit:.0f} s{who}. "
            f"See {runtime_paths.log_path(self.state)}, or run: chatbridge stop, then: "
            "chatbridge hub"
        )

    def _check_failed_start(self) -> None:
        """Of ten links that start a hub at once one hears why it fails: the others read it."""
        info = lock_file.read(self.state)
        if info is not None and info.error is not None and info.pid != self._failed:
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
            passing = self._patient and outcome.get("passing")
            if not passing or not self._tries_again(now):
                raise NoHub(str(outcome["error"]))
            return
        self._held = "held" in outcome
        # Another hub may hold the lock only because it is about to end: then start one after all.
        self.start_at = now + 2 * GRACE_SECONDS

    def close(self) -> None:
        for descriptor in (self.report, self._turn):
            if descriptor is not None:
                os.close(descriptor)
        self.report = self._turn = None

    def _note_holder(self, pid: int | None, now: float) -> None:
        if pid is None or pid == self._holder:
            return
        self._holder = pid
        if self._per_hub and self._limit is not None:
            self.deadline = min(now + self._limit, self._began + LOST_LIMIT_SECONDS)

    def _places(self, info: lock_file.LockInfo | None) -> Iterator[str]:
        if is_machine_hub_wanted():
            yield MACHINE_SOCKET
        if info is not None and info.socket is not None:
            if info.started_by == "link":
                # It may be confined with its client; a service, once started, takes over from it.
                yield from _usable_paths(self.state, runtime_paths.service_socket_path)
            yield info.socket
        yield from _usable_paths(
            self.state, runtime_paths.socket_path, runtime_paths.service_socket_path
        )

    def _start(self, now: float) -> None:
        if self._held and lock_file.find_holder(self.state) is not None:
            self.start_at = (
                now + GRACE_SECONDS
            )  # it is still starting: a rival would only slow it down
            return
        if not self._has_turn(now):
            self._held = True
            self.start_at = now + _SHORT_PAUSE_SECONDS
            return
        try:
            self.report = hub_start.start_hub(self.state)
        except (OSError, ChatbridgeError) as error:
            raise NoHub(f"the chatbridge hub cannot be started: {error}") from error

    def _has_turn(self, now: float) -> bool:
        """Of all links that miss a hub one starts it: twenty at once would take from that one the
        time that it needs. One that stands still has its turn for so long."""
        try:
            self._turn = lock_file.try_start_turn(self.state)
        except OSError:
            return True
        if self._turn is None and self._turn_by is None:
            self._turn_by = now + _MAX_REST_SECONDS
        return self._turn is not None or (self._turn_by is not None and now >= self._turn_by)

    def _tries_again(self, now: float) -> bool:
        """Whether a hub is worth another start after this one failed; if so, after a rest."""
        self._failures += 1
        if self._failures >= (_MAX_PATIENT_FAILURES if self._patient else _MAX_FAILURES):
            return False
        self.start_at = now + min(0.05 * 2**self._failures, _MAX_REST_SECONDS)
        return True

    def _crashed(self, now: float) -> None:
        """It ended without a word: killed, perhaps, so it gets another try."""
        if self._tries_again(now):
            return
        path = runtime_paths.log_path(self.state)
        try:
            with open(path, "rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - 4096))
                last = file.read().decode(errors="replace").strip().rpartition("\n")[2][:300]
        except OSError:
            last = ""
        raise NoHub(f"the chatbridge hub ended before it was ready: {last}\nSee {path}")


def _usable_paths(state: str, *places: Callable[[str], str]) -> Iterator[str]:
    for place in places:
        try:
            yield place(state)
        except ChatbridgeError:
            continue


MACHINE_SOCKET = "/run/chatbridge/hub.sock"


def is_machine_hub_wanted() -> bool:
    """Who names a state directory means the hub of that one."""
    return not os.environ.get("CHATBRIDGE_STATE_DIR")


def connect_machine_hub(path: str = MACHINE_SOCKET) -> socket.socket:
    """A non-blocking connection to the machine's hub. The process that listens has a user of its
    own: that it is the right one is known from its place, where nobody but root can put a socket.

    :raises OSError: there is none, or this user may not connect.
    :raises SocketUnusable: others could have put it there.
    """
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
