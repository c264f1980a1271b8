"""The hub's socket: accepts, checks who comes and what the first line says, and hands over.

Owns the connections as tasks. What becomes of each is for whoever serves it: `listener` in a hub
that leads, `cluster.passing` in one that follows. The socket itself is made by `runtime_paths`.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from chatbridge import __version__, safe_json
from chatbridge.core.errors import ChatbridgeError
from chatbridge.core.text import one_line, shortened
from chatbridge.framing import MAX_LINE
from chatbridge.hub.links.peers import Origin, Peers, identity_problem, owns
from chatbridge.link.preface import MAX_LIMIT_SECONDS, PROTOCOL
from chatbridge.system import sockets

log = logging.getLogger(__name__)

Json = dict[str, Any]
Reader: TypeAlias = asyncio.StreamReader
Writer: TypeAlias = asyncio.StreamWriter
Serving = Callable[[Json, Reader, Writer, Origin], Awaitable[None]]

PREFACE_WITHIN = 10.0
MOST_OF_ONE_USER = 256
"""Connections, where several users are served: none of them can keep the others out."""


@dataclass(slots=True)
class Entrance:
    peers: Peers  # Those who may connect
    serve: Serving
    tasks: dict[Writer, asyncio.Task[Any]] = field(default_factory=dict)
    closing: bool = False
    _of_user: Counter[int] = field(default_factory=Counter)
    _listener: asyncio.Server | None = None

    async def listen(self, sock: socket.socket) -> None:
        options: dict[str, Any] = {"sock": sock, "limit": MAX_LINE}
        if sys.version_info >= (3, 13):
            options["cleanup_socket"] = False  # the next hub unlinks it, under the lock
        self._listener = await asyncio.start_unix_server(self._accept, **options)

    def stop(self) -> None:
        """Accept nobody any more. Who has come is ended with the `tasks`."""
        self.closing = True
        if self._listener is not None:
            self._listener.close()

    async def _accept(self, reader: Reader, writer: Writer) -> None:
        sock = writer.get_extra_info("socket")
        try:
            pid, uid = sockets.peer(sock)
            admitted = self.peers.admits(sock)
        except OSError as error:
            log.warning("a connection was refused: whose it is cannot be seen (%s)", error.strerror)
            writer.close()
            return
        self._of_user[uid] += 1
        try:
            if not admitted:
                log.warning("a process of uid %d tried to connect", uid)
                return
            if not owns(uid) and self._of_user[uid] > MOST_OF_ONE_USER:
                log.warning("uid %d has more than %d connections", uid, MOST_OF_ONE_USER)
                return
            await self._served(reader, writer, Origin(pid=pid, uid=uid, hub=self.peers.hub))
        finally:
            self._of_user -= Counter((uid,))
            writer.close()

    async def _served(self, reader: Reader, writer: Writer, origin: Origin) -> None:
        async def greeted() -> None:
            preface = await read_preface(reader, writer)
            if preface is not None and not self.closing:
                greeting: Json = {"chatbridge": "hub", "protocol": PROTOCOL}
                greeting |= {"version": __version__, "pid": os.getpid()}
                writer.write(encoded(greeting))
                await writer.drain()
                await self.serve(preface, reader, writer, origin)

        await self.attended(writer, greeted)

    async def attended(self, writer: Writer, serve: Callable[[], Awaitable[None]]) -> None:
        """Serve a connection in this task, which `closing` cancels."""
        if (task := asyncio.current_task()) is not None:
            self.tasks[writer] = task
        try:
            await serve()
        except (ConnectionError, ChatbridgeError) as error:
            log.warning("a link's connection ended: %s", error)
        except asyncio.CancelledError:
            return  # at the end; the streams of Python 3.11 report one that gets out as an error
        finally:
            self.tasks.pop(writer, None)


async def read_preface(reader: Reader, writer: Writer) -> Json | None:
    """The first line, if it is one of ours; who sends another one is told so."""
    try:
        async with asyncio.timeout(PREFACE_WITHIN):
            line = await reader.readline()
        if not line:
            return None  # somebody looked whether a hub is there
        preface: Json | None = safe_json.loads(line)
    except (ValueError, TimeoutError):
        preface = None
    problem = preface_problem(preface)
    if problem is None:
        return preface
    log.warning("a connection was refused: %s", problem)
    writer.write(encoded({"chatbridge": "refused", "message": problem}))
    await writer.drain()
    return None


def preface_problem(preface: object) -> str | None:
    """Why this is no link of ours, in words for the person who has to do something."""
    if not isinstance(preface, dict) or preface.get("chatbridge") not in ("link", "terminal"):
        return "this is chatbridge's socket, and the first line was not that of a link"
    problem = identity_problem(preface) if preface["chatbridge"] == "link" else None
    if problem is not None:
        return f"the link's first line {problem}"
    limit = preface.get("limit")
    if limit is not None and not (type(limit) is int and 0 < limit <= MAX_LIMIT_SECONDS):
        return "the link's first line has a limit that is not a number of seconds, or too long"
    protocol = preface.get("protocol")
    if protocol != PROTOCOL:
        return (
            f"this link (version {short(preface.get('version'))}) speaks protocol "
            f"{short(protocol)}, the running hub (version {__version__}) speaks {PROTOCOL}. Run: "
            "chatbridge restart, then restart the agent"
        )
    return None


def short(given: object) -> str:
    """For the log, where a line break could forge a line."""
    return shortened(one_line(str(given)), 40)


def encoded(line: Json) -> bytes:
    return json.dumps(line).encode() + b"\n"
