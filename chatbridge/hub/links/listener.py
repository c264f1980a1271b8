"""The links of the hub that leads: each one's session, from its first line to its end.

Owns the sessions and their order of closing. `entrance` has accepted them, or another hub has
passed them on.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from chatbridge.commands.tools.notifications import Pushes
from chatbridge.core.asks.waiting_calls import WaitingCalls
from chatbridge.core.model import Project
from chatbridge.core.tasks import end_tasks
from chatbridge.core.text import encodable, isolated, one_line, shortened
from chatbridge.hub.control.server import Json, Terminals
from chatbridge.hub.links.entrance import Entrance, encoded, preface_problem, short
from chatbridge.hub.links.peers import Origin, Peers, identity
from chatbridge.hub.links.processes import AgentProcesses
from chatbridge.hub.links.session import Delivered, Session
from chatbridge.settings import compared_settings
from chatbridge.tools.late_server import LateServer

log = logging.getLogger(__name__)

LONGEST_PROJECT = 18
LARGEST_PID = 2**31 - 1


@dataclass(slots=True)
class Connection:
    session: Session
    remark: str | None
    version: str
    pid: int | None
    uid: int


@dataclass(slots=True)
class Links:
    server: LateServer
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
    _connections: dict[asyncio.StreamWriter, Connection] = field(default_factory=dict)
    _entrance: Entrance = field(init=False)

    def __post_init__(self) -> None:
        self._entrance = Entrance(self.peers, self.serve)

    async def listen(self, sock: socket.socket) -> None:
        await self._entrance.listen(sock)

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
        self.mute()
        await end_tasks(self._entrance.tasks.values())

    def mute(self) -> None:
        """From now on nothing is written, and nobody is accepted."""
        self._end_with({"chatbridge": "stopping"})

    def refuse(self, problem: str) -> None:
        """The same for a hub that cannot serve: calls end with the problem."""
        self._end_with({"chatbridge": "refused", "message": problem})

    def _end_with(self, line: Json) -> None:
        if self._entrance.closing:
            return
        self._entrance.stop()
        for writer, connection in self._connections.items():
            connection.session.mute()
            if not writer.is_closing():
                writer.write(encoded(line))
                if writer.can_write_eof():
                    writer.write_eof()
                else:  # what is encrypted ends as a whole
                    writer.close()

    async def take(
        self,
        preface: Json,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        origin: Origin,
    ) -> None:
        """Serve a connection that another hub has passed on, in this task."""
        if (problem := preface_problem(preface)) is not None:
            writer.write(encoded({"chatbridge": "refused", "message": problem}))
        elif not self._entrance.closing:
            serve = partial(self.serve, preface, reader, writer, origin)
            await self._entrance.attended(writer, serve)

    async def serve(
        self,
        preface: Json,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        origin: Origin,
    ) -> None:
        if preface["chatbridge"] == "terminal":
            serve = self.terminals.serve
            await serve(reader, writer, pid=origin.pid, uid=origin.uid, hub=origin.hub)
        else:
            await self._serve(preface, reader, writer, origin)

    async def _serve(
        self,
        preface: Json,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        origin: Origin,
    ) -> None:
        link, project = identity(preface, self.peers.owner(origin.uid), hub=origin.hub)
        self.opened(project)
        if origin.local:
            await self.processes.look()
            await self.processes.note(origin.pid)

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
            folder=preface.get("cwd") if origin.hub is None else None,
            pid=origin.pid or None,
            passed_on=not origin.local,
            pushes=self.pushes,
            delivered=self.delivered,
        )
        remark = self._remark(preface, session) if origin.local else None
        if remark is not None:
            log.warning("link %s: %s", link, remark)
            self.tell(remark)
        given = preface.get("pid")
        known = origin.local and type(given) is int and 0 < given <= LARGEST_PID
        pid = given if known else None
        version = short(preface.get("version"))
        self._connections[writer] = Connection(session, remark, version, pid, origin.uid)
        self.waiting_calls.link_opened(link)
        if isinstance(client := preface.get("client"), str):
            self.returned(session, encodable(client))
        log.info("link %s opened project=%s pid=%s", link, one_line(project.name), pid)
        try:
            await session.serve(self.server)
        except asyncio.CancelledError:
            if not self._entrance.closing:  # it is cut off, as its hub has another certificate
                self.waiting_calls.link_lost(link)
            raise
        except Exception:
            if not self._entrance.closing:  # the SDK may fail over being cancelled
                log.exception("link %s: its session failed", link)
        finally:
            del self._connections[writer]
            # What follows is not cut off by a hub that closes.
            self._entrance.tasks.pop(writer, None)
        if self._entrance.closing:
            return  # its calls go on with the next hub
        session.mute()
        log.info("link %s closed", link)
        writer.close()  # a link that was cut off comes back, whatever the store does
        if session.may_return:
            self.waiting_calls.link_lost(link)
        else:
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
