"""A command's connection to the hub: a request and its reply, or a stream of events.

Standard library only, so that commands start as fast as links. docs/link-protocol.md describes the
lines.
"""

from __future__ import annotations

import json
import os
import select
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager

from chatbridge import __version__, runtime_paths
from chatbridge.core.errors import HubRefused, HubUnreachable
from chatbridge.framing import MAX_LINE
from chatbridge.link.preface import PROTOCOL
from chatbridge.link.search import FIRST_LIMIT, NoHub, Search

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Json = dict[str, Any]

REPLY_SECONDS = 15.0
RETRY_SECONDS = 0.1
"""A hub that is going leaves its socket within this time, or is asked again."""
UNREADABLE = "what the hub says cannot be read. Look for the cause with: chatbridge doctor"


class HubGone(HubUnreachable):
    """It went away, or is about to."""


class NotRunning(HubUnreachable):
    """There is none."""

    def __str__(self) -> str:
        return why_not_running()


def why_not_running() -> str:
    """Why there is no hub, and what to do next."""
    if not is_set_up():
        return "Nothing is set up yet. Next: chatbridge setup"
    from chatbridge.cli.service.manager import KEEP_RUNNING, this_manager

    without = str(HubUnreachable())
    return without if this_manager().available() else f"{without} {KEEP_RUNNING}"


def is_set_up() -> bool:
    """Whether there are settings, or a hub has run here before."""
    files = (runtime_paths.config_path(), runtime_paths.lock_path(runtime_paths.state_dir()))
    return any(map(os.path.exists, files))


def ask_hub(do: str, *, start: bool = False, **given: Any) -> Json:
    """The hub's reply. `start`: start a hub if none runs.
    :raises HubUnreachable: :raises HubRefused:"""
    with connected(start=start) as line:
        return line.ask(do, **given)


@contextmanager
def connected(*, start: bool = False, within: float = REPLY_SECONDS) -> Iterator[HubClient]:
    """`within`: how many seconds the hub may take for its greeting. :raises HubUnreachable:"""
    until = time.monotonic() + FIRST_LIMIT
    while True:
        with connection(start=start) as sock:
            line = HubClient(sock)
            try:
                line.greet(within=within)
            except HubGone:  # it was asked for nothing yet: the next one will do
                if not start or time.monotonic() > until:
                    raise
            else:
                yield line
                return
        time.sleep(RETRY_SECONDS)


def connection(*, start: bool) -> socket.socket:
    """:raises HubUnreachable:"""
    state, now = runtime_paths.state_dir(), time.monotonic()
    search = Search(
        state, now, start_after=0.0 if start else None, limit=FIRST_LIMIT if start else 0.0
    )
    try:
        while (sock := search.step(time.monotonic())) is None:
            pause = max(0.0, search.next_at - time.monotonic())
            if search.report is None:
                time.sleep(pause)
            elif select.select([search.report], [], [], pause)[0]:
                search.report_ready(time.monotonic())
    except NoHub as error:
        raise (HubUnreachable(str(error)) if start else NotRunning()) from None
    finally:
        search.close()
    return sock


class HubClient:
    """Lines to and from a hub that has been found."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(True)
        self._sock = sock
        self._rest = b""

    def greet(self, *, within: float = REPLY_SECONDS) -> None:
        preface = {"chatbridge": "terminal", "protocol": PROTOCOL, "version": __version__}
        self._say({**preface, "pid": os.getpid()})
        greeting = self._hear(within=within)
        if greeting.get("chatbridge") != "hub":
            raise HubUnreachable(str(greeting.get("message") or UNREADABLE))

    def ask(self, do: str, *, within: float | None = REPLY_SECONDS, **given: Any) -> Json:
        """:raises HubRefused: :raises HubUnreachable: it went away, or takes too long."""
        self._say({"do": do, **given})
        return _content(self._hear(within=within), "result")

    def begin(self, do: str, **given: Any) -> None:
        """A stream for somebody who has other things to do meanwhile; its events are fetched one by
        one. :raises HubUnreachable:"""
        self._say({"do": do, **given})

    def event(self, *, within: float | None) -> Json | None:
        """The stream's next event; None if none comes within this many seconds.
        :raises HubRefused: :raises HubUnreachable: it went away."""
        if b"\n" not in self._rest and not select.select([self._sock], [], [], within)[0]:
            return None
        return _content(self._hear(within=REPLY_SECONDS), "event")

    def fileno(self) -> int:
        """For `select`, which does not see what was read already: fetch all events first."""
        return self._sock.fileno()

    def _say(self, line: Json) -> None:
        data = json.dumps(line).encode() + b"\n"
        if len(data) > MAX_LINE:
            raise HubRefused(
                f"this is too long for one request ({len(data):,} bytes, at most {MAX_LINE:,}). "
                "Send less at once",
                kind="ChatbridgeError",
            )
        try:
            self._sock.sendall(data)
        except OSError as error:
            raise HubGone(f"the hub has gone ({error.strerror}). Try again in a moment") from None

    def _hear(self, *, within: float | None) -> Json:
        self._sock.settimeout(within)
        try:
            while b"\n" not in self._rest:
                piece = self._sock.recv(65536)
                if not piece:
                    raise HubGone("the hub has gone. Try again in a moment")
                self._rest += piece
        except TimeoutError:
            raise HubUnreachable(
                f"the hub did not answer within {within:.0f} s. Look for the cause with: "
                "chatbridge doctor"
            ) from None
        except OSError as error:
            raise HubGone(f"the hub has gone ({error.strerror}). Try again in a moment") from None
        line, _, self._rest = self._rest.partition(b"\n")
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise HubUnreachable(UNREADABLE)
        if found.get("chatbridge") == "stopping":
            raise HubGone("the hub is being stopped. Try again in a moment")
        return found


def _content(line: Json, name: str) -> Json:
    if "error" in line:
        said = str(line["error"])
        if "this hub does not know" in said:  # a hub of 0.1.0 would have its service stopped
            said = said.replace("chatbridge stop", "chatbridge restart")
        raise HubRefused(said, kind=str(line.get("kind", "")))
    if not isinstance(content := line.get(name), dict):
        raise HubUnreachable(UNREADABLE)
    return content
