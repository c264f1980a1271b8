"""The `chatbridge mcp` process: relays between a client's stdio and the hub's Unix socket.

Standard library only, without threads and asyncio, because a client waits for this process to
start. Standard output carries nothing but MCP.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import time

from chatbridge import runtime_paths
from chatbridge.core.errors import ChatbridgeError
from chatbridge.framing import LineReader
from chatbridge.link import unavailable
from chatbridge.link.preface import build_preface, parse_limit
from chatbridge.link.relay import Json, Relay, Request
from chatbridge.link.search import (
    FIRST_LIMIT,
    GRACE_SECONDS,
    LOST_LIMIT_SECONDS,
    HubFailed,
    NoHub,
    Search,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MAX_BUFFER_BYTES = 16 * 1024 * 1024  # If more than this waits for one side, the other is not read
_FALSE_WORDS = ("0", "false", "f", "no", "n", "off")  # The same words as in the hub's settings
_FLUSH_SECONDS = 1.0
_FIRST_REST_SECONDS, _MAX_REST_SECONDS = 0.1, 20.0  # Between hubs that cannot start
_REPAIR_WITHIN_SECONDS = 12 * 3600.0  # A night: then also calls that have waited end
_CLOSED_EVENTS = select.POLLERR | select.POLLHUP | select.POLLNVAL
HELP = """\
usage: chatbridge mcp [--label NAME]
           [--limit SECONDS] [--standalone]

Started by an MCP client: speaks MCP on standard
input and output, and passes everything on to the
hub, which it starts if none runs.

  --label NAME     shown on cards beside the
                   folder's name (also:
                   CHATBRIDGE_LABEL)
  --limit SECONDS  when the client gives up on a
                   call: end it with a ticket
                   before that
  --standalone     no hub: do everything in this
                   process (for containers)
"""


def main(argv: list[str]) -> int:
    given: dict[str, str | None] = {"--label": os.environ.get("CHATBRIDGE_LABEL"), "--limit": None}
    words = iter(argv)
    for word in words:
        name, equals, text = word.partition("=")
        if word in ("-h", "--help"):
            sys.stderr.write(HELP)
            return 0
        if name not in given:
            sys.stderr.write(f"chatbridge mcp does not know {word!r}.\n\n{HELP}")
            return 2
        value = text if equals else next(words, None)
        if value is None or (not equals and value.startswith("--")):
            sys.stderr.write(f"{name} needs a value.\n\n{HELP}")
            return 2
        given[name] = value
    try:
        limit = None if given["--limit"] is None else parse_limit(given["--limit"])
    except ValueError as error:
        sys.stderr.write(f"--limit: {error}.\n\n{HELP}")
        return 2
    wake = wake_on(signal.SIGTERM, signal.SIGINT)
    return Link(Relay(build_preface(given["--label"] or None, limit=limit)), wake).run()


def wake_on(*signals: int) -> int:
    """A descriptor that can be read once one of these signals has come."""
    wake, written = os.pipe()
    os.set_blocking(written, False)
    signal.set_wakeup_fd(written)
    for number in signals:
        signal.signal(number, lambda *_: None)
    return wake


class Link:
    """Connected if there is a `_socket` and no `_search`. `_problem` is why there is no hub."""

    def __init__(self, relay: Relay, wake: int) -> None:
        self._relay = relay
        self._wake = wake
        self._client_lines, self._hub_lines = LineReader(), LineReader()
        self._socket: socket.socket | None = None
        self._search: Search | None = None
        self._problem: str | None = None
        self._state = ""
        self._tools = True
        self._listed_without_hub = False
        self._hub_is_stopping = False
        self._idle = False
        self._greeted_at = self._lost_at = 0.0
        self._last_problem: str | None = None
        self._watch_pause_seconds = 5.0
        self._rest_seconds = _FIRST_REST_SECONDS
        self._resting = False

    def run(self) -> int:
        """Run until the client closes its side or a signal arrives."""
        self._start()
        while True:
            try:
                if not self._step():
                    return self._end()
            except HubFailed as reason:
                self._wait_for_repair(str(reason))
            except NoHub as reason:
                self._give_up(str(reason))

    def _step(self) -> bool:
        """Wait for one event or the next attempt to find a hub. Return False at the end.
        :raises NoHub: the search has failed. Other events are reported again."""
        self._continue_search(time.monotonic())
        self._answer_without_hub()
        poller, until = self._build_poller()
        timeout = None if until is None else max(0.0, until - time.monotonic()) * 1000
        for descriptor, events in poller.poll(timeout):
            if (
                descriptor == self._wake
                or (descriptor == 1 and not self._write_client(events))
                or (descriptor == 0 and not self._read_client())
            ):
                return False
            if self._search is not None and descriptor == self._search.report:
                self._search.report_ready(time.monotonic())
            elif self._socket is not None and descriptor == self._socket.fileno():
                if events & select.POLLOUT:
                    self._send(self._socket)
                if events & (select.POLLIN | _CLOSED_EVENTS):
                    self._receive(self._socket)
        return True

    def _start(self) -> None:
        if os.environ.get("CHATBRIDGE_ENABLED", "").lower() in _FALSE_WORDS:
            self._problem, self._tools = unavailable.SWITCHED_OFF, False
            return
        try:
            self._state = runtime_paths.state_dir()
        except ChatbridgeError as error:
            self._give_up(str(error))
            return
        self._start_search(start_after=0.0, limit=FIRST_LIMIT)

    def _build_poller(self) -> tuple[select.poll, float | None]:
        """Return a poller for the current state, and the time at which to stop waiting."""
        relay, poller = self._relay, select.poll()
        poller.register(self._wake, select.POLLIN)
        # Always registered, so that a closed client is noticed at once.
        poller.register(1, select.POLLOUT if relay.to_client.size else 0)
        if len(relay.to_hub) < _MAX_BUFFER_BYTES:
            poller.register(0, select.POLLIN)
        if self._socket is not None:
            wanted = select.POLLIN if relay.to_client.size < _MAX_BUFFER_BYTES else 0
            poller.register(self._socket, wanted | (select.POLLOUT if relay.to_hub else 0))
        search = self._search
        if search is None:
            return poller, None
        if search.report is not None:
            poller.register(search.report, select.POLLIN)
        return poller, search.next_at if self._socket is None else search.deadline

    def _read_client(self) -> bool:
        try:
            data = os.read(0, 65536)
        except BlockingIOError:
            return True
        except OSError:
            return False
        for line in self._client_lines.feed(data):
            self._relay.from_client(line)
        return bool(data)

    def _write_client(self, events: int) -> bool:
        if events & _CLOSED_EVENTS:
            return False
        try:
            self._relay.written(os.write(1, self._relay.to_client.chunk()))
        except BlockingIOError:
            pass
        except OSError:
            return False
        return True

    def _answer_without_hub(self) -> None:
        """Answer requests while there is no hub. A tool call starts a new search instead."""
        relay = self._relay
        if self._problem is None or not relay.requests:
            return
        calls = any(request.method == "tools/call" for request in relay.requests.values())
        if calls and self._state:
            self._problem = None
            self._start_search(start_after=0.0, limit=FIRST_LIMIT, per_hub=True)
            return
        self._answer(list(relay.requests.values()), self._problem)

    def _answer(self, requests: list[Request], problem: str) -> None:
        for request in requests:
            self._listed_without_hub = self._listed_without_hub or request.method == "tools/list"
            response = unavailable.answer(
                request.message, problem, tools=self._tools, client=self._relay.client
            )
            self._relay.answer(request, response)

    def _start_search(self, **how: Any) -> Search:
        self._drop_search()
        self._search = search = Search(self._state, time.monotonic(), **how)
        return search

    def _drop_search(self) -> None:
        if self._search is not None:
            self._search.close()
            self._search = None

    def _continue_search(self, now: float) -> None:
        if self._idle and self._relay.has_waiting_requests:
            self._idle = False
            after = max(0.0, self._lost_at + GRACE_SECONDS - now)
            self._start_search(start_after=after, limit=FIRST_LIMIT, per_hub=True)
        search = self._search
        if search is None:
            return
        if self._resting and self._new_requests():
            self._resting = False
            search.start_now(now)  # it may be repaired, and nobody has been asked yet
        if self._socket is not None:
            search.check_deadline(now)
        elif now >= search.next_at:
            self._socket = search.step(now)
            if self._socket is not None:
                self._relay.hub_found()

    def _new_requests(self) -> list[Request]:
        """Those that no hub has seen."""
        return [it for it in self._relay.requests.values() if it.received_at >= self._lost_at]

    def _wait_for_repair(self, problem: str) -> None:
        """A hub cannot start. Calls that waited at one before go on waiting, until somebody has
        repaired what is wrong; the others are answered with it."""
        new, all_of_them = self._new_requests(), self._relay.requests.values()
        nobody_waits = all(it in new for it in all_of_them if it.method == "tools/call")
        if nobody_waits or time.monotonic() - self._lost_at > _REPAIR_WITHIN_SECONDS:
            self._give_up(problem)
            return
        self._disconnect()
        self._tell(problem)
        self._answer(new, problem)
        self._start_search(start_after=self._rest_seconds, limit=LOST_LIMIT_SECONDS, patient=True)
        self._rest_seconds = min(self._rest_seconds * 2, _MAX_REST_SECONDS)
        self._resting = True

    def _tell(self, problem: str) -> None:
        if problem != self._last_problem:
            _write_stderr(problem)
        self._last_problem = problem

    def _give_up(self, problem: str) -> None:
        self._disconnect()
        self._drop_search()
        self._tell(problem)
        self._problem = problem
        self._answer(list(self._relay.requests.values()), problem)
        if self._state:
            # Keep looking: a person may start a hub, and then the client gets the tools.
            pause = self._watch_pause_seconds
            search = self._start_search(start_after=None, limit=None, pause=pause, longest_pause=60)
            search.delay(time.monotonic())
            self._watch_pause_seconds = min(self._watch_pause_seconds * 2, 60.0)

    def _send(self, sock: socket.socket) -> None:
        buffer = self._relay.to_hub
        try:
            del buffer[: sock.send(buffer[:65536])]
        except BlockingIOError:
            pass
        except OSError:
            buffer.clear()  # read what the hub has sent; its end of file ends the connection

    def _receive(self, sock: socket.socket) -> None:
        try:
            data = sock.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        for line in self._hub_lines.feed(data):
            message = self._relay.from_hub(line)
            if message is not None:
                self._handle_hub_message(message)
        if not data and self._socket is not None:
            self._lose_hub()

    def _handle_hub_message(self, message: Json) -> None:
        if message["chatbridge"] == "hub":
            self._drop_search()
            self._problem = self._last_problem = None
            self._idle = self._hub_is_stopping = False
            self._greeted_at, self._watch_pause_seconds = time.monotonic(), 5.0
            self._rest_seconds, self._resting = _FIRST_REST_SECONDS, False
            if self._listed_without_hub:
                self._listed_without_hub = False
                self._relay.tools_changed()
        elif message["chatbridge"] == "refused":
            self._give_up(str(message.get("message", "the hub refused this link")))
        elif message["chatbridge"] == "stopping":
            self._hub_is_stopping = True

    def _lose_hub(self) -> None:
        self._disconnect()
        now = time.monotonic()
        if self._search is not None:  # it never greeted us, so continue the search
            self._search.delay(now)
            return
        self._lost_at = now
        # Do not restart a hub that was stopped on purpose until a request needs it.
        self._idle = self._hub_is_stopping and not self._relay.has_waiting_requests
        short_lived = now - self._greeted_at <= GRACE_SECONDS
        pause = 0.25 if short_lived else 0.02
        if self._idle:
            search = self._start_search(start_after=None, limit=None, pause=pause, longest_pause=5)
        else:
            search = self._start_search(
                start_after=GRACE_SECONDS, limit=LOST_LIMIT_SECONDS, pause=pause, patient=True
            )
        if short_lived:
            search.delay(now)  # avoid a busy loop with a hub that disconnects at once

    def _disconnect(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
            self._relay.hub_lost()
            self._hub_lines = LineReader()

    def _end(self) -> int:
        """Send the rest to the hub, mostly confirmations of delivery."""
        deadline = time.monotonic() + _FLUSH_SECONDS
        while self._socket is not None and self._relay.to_hub:
            poller = select.poll()
            poller.register(self._socket, select.POLLOUT)
            left = deadline - time.monotonic()
            if left <= 0 or not poller.poll(left * 1000):
                break
            self._send(self._socket)
        return 0


def _write_stderr(text: str) -> None:
    """Write to standard error unless that would block: a client may not read it, or have closed
    it."""
    poller = select.poll()
    poller.register(2, select.POLLOUT)
    if any(events & select.POLLOUT for _, events in poller.poll(0)):
        try:
            os.write(2, f"chatbridge: {text}\n".encode(errors="replace")[:4096])
        except OSError:
            pass
