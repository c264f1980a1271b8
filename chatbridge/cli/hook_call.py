"""One tool call of a hook, through a link of its own. Standard library only: an agent waits for it.

The link runs in a child, whose input ends with this process: a hook that its client kills leaves
nobody who waits, and its approval is withdrawn.
"""

from __future__ import annotations

import json
import os
import select
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from chatbridge import __version__
from chatbridge.digests import sha256_hex
from chatbridge.link.loop import Link
from chatbridge.link.preface import preface
from chatbridge.link.relay import Relay
from chatbridge.link.search import FIRST_LIMIT

Json = dict[str, Any]

CLIENT = "chatbridge-hook"
HUB_WITHIN = 2 * FIRST_LIMIT
"""A link gives up looking for a hub after half of it; the rest is for a hub that is slow."""


class NoAnswer(Exception):
    """The hub could not be asked. The text says why."""


def call_tool(
    name: str, arguments: Json, *, folder: str, session: str, within: float | None
) -> Json:
    """The result of the call. `folder` is where the agent works. What a person has allowed for
    `session` counts for all hooks of it. `within`: how long the hub may take for it.

    :raises NoAnswer:
    """
    # The hooks of a session share the link's name, so each call needs a name of its own.
    call = f"call-{os.getpid()}-{os.urandom(8).hex()}"
    hello = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": CLIENT, "version": __version__},
    }
    with _link(folder, session) as client:
        # All at once: a link that finds no hub then answers all at once, too.
        client.say(
            {"id": "hello", "method": "initialize", "params": hello},
            {"method": "notifications/initialized"},
            {"id": call, "method": "tools/call", "params": {"name": name, "arguments": arguments}},
        )
        try:
            client.response("hello", within=HUB_WITHIN)
            return client.response(call, within=within)
        except BaseException:
            # Also a signal. The end of this link alone may not tell the hub: another hook of the
            # session may have a link of the same name.
            with suppress(OSError):
                client.say({"method": "notifications/cancelled", "params": {"requestId": call}})
            raise


class _Client:
    """The client's side of a link."""

    def __init__(self, reads: int, writes: int) -> None:
        self._reads, self._writes = reads, writes
        self._rest = b""

    def say(self, *messages: Json) -> None:
        data = b"".join(json.dumps({"jsonrpc": "2.0", **it}).encode() + b"\n" for it in messages)
        left = memoryview(data)
        while left:
            left = left[os.write(self._writes, left) :]

    def response(self, wanted: str, *, within: float | None) -> Json:
        until = None if within is None else time.monotonic() + within
        while True:
            message = json.loads(self._line(until))
            if message.get("id") == wanted:
                result = message.get("result")
                if isinstance(result, dict):
                    return result
                raise NoAnswer(f"the hub answered with an error: {message.get('error')}")

    def _line(self, until: float | None) -> bytes:
        while b"\n" not in self._rest:
            left = None if until is None else max(0.0, until - time.monotonic())
            if not select.select([self._reads], [], [], left)[0]:
                raise NoAnswer("the hub did not answer in time")
            piece = os.read(self._reads, 65536)
            if not piece:
                raise NoAnswer("the link has ended")
            self._rest += piece
        line, _, self._rest = self._rest.partition(b"\n")
        return line


class _OneCall(Relay):
    """A link that comes back does not say that all its other calls have gone: other hooks of the
    session have made some under the same name."""

    def _send(self, message: dict[str, object]) -> None:
        if message.get("chatbridge") != "resumed":
            super()._send(message)


@contextmanager
def _link(folder: str, session: str) -> Iterator[_Client]:
    """A link that runs until the end of the block. It may then take a moment to tell the hub that
    the response has arrived."""
    link_reads, we_write = os.pipe()
    we_read, link_writes = os.pipe()
    child = os.fork()
    if child == 0:
        _become_link(folder, session, link_reads, link_writes, others=(we_write, we_read))
    for descriptor in (link_reads, link_writes):
        os.close(descriptor)
    try:
        yield _Client(we_read, we_write)
    finally:
        os.close(we_write)
        os.waitpid(child, 0)
        os.close(we_read)


def _become_link(
    folder: str, session: str, reads: int, writes: int, *, others: tuple[int, int]
) -> None:
    """Never returns: the forked child must not unwind into the caller's stack."""
    try:
        os.dup2(reads, 0)
        os.dup2(writes, 1)
        for descriptor in (reads, writes, *others):
            os.close(descriptor)
        with suppress(OSError):
            os.chdir(folder)
        wake, wake_end = os.pipe()
        os.set_blocking(wake_end, False)
        signal.set_wakeup_fd(wake_end)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: None)
        # The session's and not this process': what was allowed for the session is found again.
        named = {"link": sha256_hex(f"hook {session}".encode())[:32]} if session else {}
        label = os.environ.get("CHATBRIDGE_LABEL") or None
        Link(_OneCall({**preface(label), **named}), wake).run()
    except BaseException as error:  # noqa: BLE001 - whatever it was, this child ends here
        os.write(2, f"chatbridge hook: the link failed: {error}\n".encode(errors="replace"))
    finally:
        os._exit(0)
