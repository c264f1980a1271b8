"""The hub's socket: accepts links, checks who they are, and serves each one's session.

Owns the connections and their order of closing. The socket itself is made by `runtime_paths`.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mcp.server.lowlevel import Server

from chatbridge import __version__, safe_json
from chatbridge.commands.tools.notifications import Pushes
from chatbridge.core.asks.waiting_calls import WaitingCalls
from chatbridge.core.errors import ChatbridgeError
from chatbridge.core.model import Project
from chatbridge.core.tasks import end_tasks
from chatbridge.core.text import encodable, isolated, one_line, shortened
from chatbridge.framing import MAX_LINE
from chatbridge.hub.control.server import Json, Terminals
from chatbridge.hub.links.peers import Peers, identity, identity_problem, owns
from chatbridge.hub.links.processes import AgentProcesses
from chatbridge.hub.links.session import Delivered, Session
from chatbridge.link.preface import MAX_LIMIT_SECONDS, PROTOCOL
from chatbridge.settings import compared_settings
from chatbridge.system import sockets

log = logging.getLogger(__name__)

PREFACE_WITHIN = 10.0
LONGEST_PROJECT = 18
LARGEST_PID = 2**31 - 1
MOST_OF_ONE_USER = 256
"""Connections, where several users are served: none of them can keep the others out."""


@dataclass(slots=True)
class Connection:
    session: Session
    remark: str | None
    version: str
    pid: int | None
    uid: int


@dataclass(slots=True)
class Links:
    server: Server[Any]
    waiting_calls: WaitingCalls
    settings: dict[str, str] = field(kw_only=True)
    """Digests of what this hub uses; the owner is told of links that name others."""
    tell: Callable[[str], None] = field(kw_only=True)
    terminals: Terminals = field(default_factory=Terminals)  # Serve what connects as one
    peers: Peers = field(default_factory=Peers)  # Those who may connect
    processes: AgentProcesses = field(default_factory=AgentProcesses)
    pushes: Pushes = field(default_factory=Pushes)
    delivered: Delivered | None = None
    opened: Callable[[Project], None] = lambda project: None  # Told of the links' projects
    returned: Callable[[Session, str], None] = lambda session, client: None
    """Told of a link whose client has said its name to an earlier hub."""
    _tasks: dict[asyncio.StreamWriter, asyncio.Task[Any]] = field(default_factory=dict)
    _of_user: Counter[int] = field(default_factory=Counter)
    _connections: dict[asyncio.StreamWriter, Connection] = field(default_factory=dict)
    _listener: asyncio.Server | None = None
    _closing: bool = False

    async def listen(self, sock: socket.socket) -> None:
        options: dict[str, Any] = {"sock": sock, "limit": MAX_LINE}
        if sys.version_info >= (3, 13):
            options["cleanup_socket"] = False  # the next hub unlinks it, under the lock
        self._listener = await asyncio.start_unix_server(self._accept, **options)

    def projects(self) -> list[str]:
        return sorted({c.session.project.name for c in self._connections.values()})

    def connected(self, of: int | None = None) -> list[Json]:
        """The links that are connected now, for the commands that tell of them; `of` one user."""
        return [
            {"project": c.session.project.name, "version": c.version, "pid": c.pid}
            for c in self._connections.values()
            if of in (None, c.uid)
        ]

    def remarks(self) -> list[str]:
        return sorted({c.remark for c in self._connections.values() if c.remark})

    async def close(self) -> None:
        """Orderly: no answer is written for an open call, so that its link waits for the next hub.
        The write sides are shut before any server is cancelled, since the SDK answers every open
        call when it is. Nothing waits for a link to read: a suspended agent's never does."""
        self._closing = True
        if self._listener is not None:
            self._listener.close()
        for writer, connection in self._connections.items():
            connection.session.mute()
            if not writer.is_closing():
                writer.write(_line({"chatbridge": "stopping"}))
                writer.write_eof()
        await end_tasks(self._tasks.values())

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        sock = writer.get_extra_info("socket")
        try:
            pid, uid = sockets.peer(sock)
            admitted = self.peers.admits(sock)
        except OSError as error:
            log.warning("a connection was refused: whose it is cannot be seen (%s)", error.strerror)
            writer.close()
            return
        self._of_user[uid] += 1
        if (task := asyncio.current_task()) is not None:
            self._tasks[writer] = task
        try:
            if not admitted:
                log.warning("a process of uid %d tried to connect", uid)
                return
            if not owns(uid) and self._of_user[uid] > MOST_OF_ONE_USER:
                log.warning("uid %d has more than %d connections", uid, MOST_OF_ONE_USER)
                return
            preface = await self._preface(reader, writer)
            if preface is None or self._closing:
                return
            if preface["chatbridge"] == "terminal":
                await self.terminals.serve(reader, writer, pid=pid, uid=uid)
            else:
                await self._serve(preface, reader, writer, pid, uid)
        except (ConnectionError, ChatbridgeError) as error:
            log.warning("a link's connection ended: %s", error)
        except asyncio.CancelledError:
            return  # by `close`; the streams of Python 3.11 report one that gets out as an error
        finally:
            self._tasks.pop(writer, None)
            self._of_user -= Counter((uid,))
            writer.close()

    async def _preface(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> Json | None:
        try:
            line = await asyncio.wait_for(reader.readline(), PREFACE_WITHIN)
            if not line:
                return None  # somebody looked whether a hub is there
            preface: Json | None = safe_json.loads(line)
        except (ValueError, TimeoutError):
            preface = None
        problem = _problem(preface)
        if problem is not None:
            log.warning("a connection was refused: %s", problem)
            reply: Json = {"chatbridge": "refused", "message": problem}
        else:
            reply = {"chatbridge": "hub", "protocol": PROTOCOL, "version": __version__}
            reply["pid"] = os.getpid()
        writer.write(_line(reply))
        await writer.drain()
        return preface if problem is None else None

    async def _serve(
        self,
        preface: Json,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        peer: int,
        uid: int,
    ) -> None:
        link, project = identity(preface, self.peers.owner(uid))
        self.opened(project)
        await self.processes.look()
        self.processes.note(peer)

        async def send(line: bytes) -> None:
            if writer.is_closing():
                raise ConnectionResetError("the link has gone")
            writer.write(line)
            await writer.drain()

        session = Session(
            link=link,
            project=project,
            reader=reader,
            send=send,
            waiting_calls=self.waiting_calls,
            confirms=True,
            limit=preface.get("limit"),
            folder=preface.get("cwd"),
            pid=peer,
            pushes=self.pushes,
            delivered=self.delivered,
        )
        if remark := self._remark(preface, session):
            log.warning("link %s: %s", link, remark)
            self.tell(remark)
        given = preface.get("pid")
        pid = given if type(given) is int and 0 < given <= LARGEST_PID else None
        version = _short(preface.get("version"))
        self._connections[writer] = Connection(session, remark, version, pid, uid)
        self.waiting_calls.link_opened(link)
        if isinstance(client := preface.get("client"), str):
            self.returned(session, encodable(client))
        log.info("link %s opened project=%s pid=%s", link, one_line(project.name), pid)
        try:
            await session.serve(self.server)
        except Exception:
            if not self._closing:  # the SDK may fail over being cancelled
                log.exception("link %s: its session failed", link)
        finally:
            del self._connections[writer]
            self._tasks.pop(writer, None)  # what follows is not cut off by a hub that closes
        if self._closing:
            return  # its calls go on with the next hub
        log.info("link %s closed", link)
        writer.close()  # a link that was cut off comes back, whatever the store does
        await self.waiting_calls.link_closed(link)

    def _remark(self, preface: Json, session: Session) -> str | None:
        """Settings in a client's `env` block reach the link and not the hub: say so."""
        theirs = preface.get("settings")
        if not isinstance(theirs, dict):
            return None
        # Only names of ours: this is said in chatbridge's own voice.
        given = [name for name in compared_settings() if name in theirs]
        names = [name for name in given if self.settings.get(name) != theirs[name]]
        if not names:
            return None
        project = isolated(shortened(one_line(session.project.name), LONGEST_PROJECT))
        return (
            f"The agent in {project} was started with settings that this hub does not "
            f"use: {', '.join(names)}. Put them into config.toml, then run: chatbridge restart"
        )


def _problem(preface: object) -> str | None:
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
            f"this link (version {_short(preface.get('version'))}) speaks protocol "
            f"{_short(protocol)}, the running hub (version {__version__}) speaks {PROTOCOL}. Run: "
            "chatbridge restart, then restart the agent"
        )
    return None


def _short(given: object) -> str:
    """For the log, where a line break could forge a line."""
    return shortened(one_line(str(given)), 40)


def _line(line: Json) -> bytes:
    return json.dumps(line).encode() + b"\n"
