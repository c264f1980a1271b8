"""Tool calls of a command, through a link of its own. Standard library only, because somebody
waits.

The link runs in a child whose input ends with this process: a command that is killed leaves nothing
behind. Like an agent's link, it survives restarts of the hub.
"""

from __future__ import annotations

import json
import os
import select
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from chatbridge import __version__
from chatbridge.link.loop import Link, wake_on
from chatbridge.link.preface import build_preface
from chatbridge.link.relay import Relay, Request
from chatbridge.link.search import FIRST_LIMIT

Json = dict[str, Any]

GREETING_SECONDS = 2 * FIRST_LIMIT
"""A link looks for a hub for half of it; the rest is for a hub that is slow."""
CHECK_SECONDS = 2.0
ALONE = "chatbridge/alone"
"""Marks a result that the link gave by itself, as there is no hub."""


class NoAnswer(Exception):
    """The hub could not be asked, or has refused. The text says why."""

    def __init__(self, text: str, *, refused: bool = False) -> None:
        super().__init__(text)
        self.refused = refused


def content_of(result: Json) -> Json:
    """The JSON of a tool's result. :raises NoAnswer: the tool has refused."""
    content, meta = result.get("content"), result.get("_meta")
    blocks = content if isinstance(content, list) else []
    texts = [str(block["text"]) for block in blocks if "text" in block] or ["no answer"]
    for text in () if result.get("isError") else texts:
        if text.startswith("{"):
            return dict(json.loads(text))
    alone = isinstance(meta, dict) and meta.get(ALONE)
    raise NoAnswer(texts[0], refused=not alone)


class OwnRelay(Relay):
    def answer(self, request: Request, response: dict[str, object]) -> None:
        result = response.get("result")
        if isinstance(result, dict):
            response = {**response, "result": {**result, "_meta": {ALONE: True}}}
        super().answer(request, response)


class ToolClient:
    """The client's side of a link. `client` has the name and the title that it gives. `wake` can be
    read after a signal, so that one that comes just before a wait ends it."""

    def __init__(
        self, client: dict[str, str], reads: int, writes: int, *, wake: int | None = None
    ) -> None:
        self._client = client
        self._reads, self._writes = reads, writes
        self._wake = wake
        self._rest = b""
        self._responses: dict[str, Json] = {}
        self._greeted = False

    def call(
        self,
        name: str,
        arguments: Json,
        *,
        within: float | None = None,
        unless: Callable[[], bool] | None = None,
    ) -> Json:
        """The result of a tool. `within`: how long the hub may take for it. `unless`: called every
        few seconds; stops waiting if it is true. :raises NoAnswer:"""
        return self.result(self.begin(name, arguments), within=within, unless=unless)

    def begin(self, name: str, arguments: Json) -> str:
        """Call a tool, and return the call's id."""
        # Links may share a name, so each call needs one of its own.
        call = f"call-{os.getpid()}-{os.urandom(8).hex()}"
        hello = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {**self._client, "version": __version__},
        }
        greeting: list[Json] = [
            {"id": "hello", "method": "initialize", "params": hello},
            {"method": "notifications/initialized"},
        ]
        # All at once: a link that finds no hub then answers all at once, too.
        self._say(
            *([] if self._greeted else greeting),
            {"id": call, "method": "tools/call", "params": {"name": name, "arguments": arguments}},
        )
        return call

    def result(
        self,
        call: str,
        *,
        within: float | None = None,
        unless: Callable[[], bool] | None = None,
    ) -> Json:
        """:raises NoAnswer:"""
        try:
            if not self._greeted:
                self._response("hello", within=GREETING_SECONDS)
                self._greeted = True
            return self._response(call, within=within, unless=unless)
        except BaseException:
            # Also a signal. The end of this link alone may not tell the hub: another one may have
            # its name.
            with suppress(OSError):
                self._say({"method": "notifications/cancelled", "params": {"requestId": call}})
            raise

    def has_ended(self, call: str) -> bool:
        """Whether there is a response, without waiting for one. :raises NoAnswer:"""
        while select.select([self._reads], [], [], 0.0)[0]:
            self._read()
        return call in self._responses

    def fileno(self) -> int:
        return self._reads

    def content(self, name: str, arguments: Json, *, within: float | None = None) -> Json:
        """The JSON of the result: a text, since beside a picture there is no structured content.
        :raises NoAnswer: also if the tool refuses."""
        return content_of(self.call(name, arguments, within=within))

    def _say(self, *messages: Json) -> None:
        data = b"".join(json.dumps({"jsonrpc": "2.0", **it}).encode() + b"\n" for it in messages)
        left = memoryview(data)
        while left:
            left = left[os.write(self._writes, left) :]

    def _response(
        self, wanted: str, *, within: float | None, unless: Callable[[], bool] | None = None
    ) -> Json:
        until = None if within is None else time.monotonic() + within
        while wanted not in self._responses:
            pause = None if until is None else max(0.0, until - time.monotonic())
            if unless is not None:
                pause = CHECK_SECONDS if pause is None else min(pause, CHECK_SECONDS)
            watched = [self._reads] if self._wake is None else [self._reads, self._wake]
            ready = select.select(watched, [], [], pause)[0]
            if self._wake in ready:
                os.read(self._wake, 64)  # the signal's own function has been called
            elif ready:
                self._read()
            elif unless is not None and unless():
                raise NoAnswer("it was decided elsewhere")
            elif until is not None and time.monotonic() >= until:
                raise NoAnswer("the hub did not answer in time")
        response = self._responses.pop(wanted)
        result, error = response.get("result"), response.get("error")
        if isinstance(result, dict):
            return result
        said = error.get("message") if isinstance(error, dict) else error
        raise NoAnswer(f"the hub answered with an error: {said}")

    def _read(self) -> None:
        piece = os.read(self._reads, 65536)
        if not piece:
            raise NoAnswer("the link has ended")
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for message in map(json.loads, lines):
            if "method" not in message:
                self._responses[message.get("id")] = message


@contextmanager
def own_link(
    client: str,
    *,
    title: str | None = None,
    folder: str = ".",
    name: str | None = None,
    relay: Callable[[dict[str, object]], Relay] = OwnRelay,
    limit: int | None = None,
    quiet: bool = False,
    wake: int | None = None,
) -> Iterator[ToolClient]:
    """A link that runs until the end of the block. It may then take a moment to tell the hub that
    the last response has arrived.

    :param client: the client's name, and `title` how people call it
    :param folder: where the link works
    :param name: the link's name, to go on as one that was there before; None: a new one
    :param limit: after how many seconds nobody waits for a call any more
    :param quiet: the link writes nothing to standard error
    :param wake: as for `ToolClient`
    """
    link_reads, we_write = os.pipe()
    we_read, link_writes = os.pipe()
    child = os.fork()
    if child == 0:
        try:  # and never return: the child must not unwind into the caller's stack
            if quiet:
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            os.dup2(link_reads, 0)
            os.dup2(link_writes, 1)
            for descriptor in (link_reads, link_writes, we_write, we_read):
                os.close(descriptor)
            with suppress(OSError):
                os.chdir(folder)
            # It ends with its input. A signal to the whole group must not cut off what we say last.
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            wake = wake_on()
            label = os.environ.get("CHATBRIDGE_LABEL") or None
            preface = build_preface(label, limit=limit) | ({"link": name} if name else {})
            Link(relay(preface), wake).run()
        except BaseException as error:  # noqa: BLE001 - whatever it was, this child ends here
            os.write(2, f"chatbridge: the link failed: {error}\n".encode(errors="replace"))
        finally:
            os._exit(0)
    for descriptor in (link_reads, link_writes):
        os.close(descriptor)
    try:
        named = {"name": client} | ({"title": title} if title else {})
        yield ToolClient(named, we_read, we_write, wake=wake)
    finally:
        os.close(we_write)
        os.waitpid(child, 0)
        os.close(we_read)
