"""The way between a hub and its PostgreSQL server, which can be cut, silent, lose the end of a
transaction, or spoil a row."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Self

from chatbridge.core.tasks import end_tasks
from chatbridge.store.postgres.connection import Address

COMMIT = b"COMMIT\0"
ROWS_FOLLOW = b"2\0\0\0\4"
ROW_OF_99_COLUMNS = b"D\0\0\0\6\0\x63"
AT_ONCE = 65536


class Wire:
    """What is to happen to the next COMMIT: `loses_answer`, the server carries it out and the hub
    does not hear of it. `loses_commit`: the server does not hear of it either. `holds_commit`: the
    hub's side is cut, and the server gets it with `go`. `spoils`: the next answer to a statement
    with this in it begins with a row that no library understands."""

    def __init__(self, port: int) -> None:
        self.port = 0
        self.loses_answer = self.loses_commit = self.holds_commit = False
        self.spoils = b""
        self._spoils_rows = False
        self.go, self.met = asyncio.Event(), asyncio.Event()
        self._to = port
        self._open = asyncio.Event()
        self._open.set()
        self._connections: set[asyncio.Task[None]] = set()

    @classmethod
    @asynccontextmanager
    async def running(cls, port: int) -> AsyncIterator[Self]:
        self = cls(port)
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            self._open.set()
            self.go.set()
            await self.cut()

    async def cut(self) -> None:
        """End every connection."""
        ending = [each for each in self._connections if each is not asyncio.current_task()]
        for each in ending:
            each.cancel()
        await asyncio.gather(*ending, return_exceptions=True)

    def silence(self) -> None:
        """Nothing passes any more, and nobody is told."""
        self._open.clear()

    def forget(self) -> None:
        """As a firewall does: what is connected falls silent for good, and new connections pass."""
        self.silence()
        self._open = asyncio.Event()
        self.speak()

    def speak(self) -> None:
        self._open.set()

    def over(self, address: Address) -> Address:
        return Address(address.dsn.replace(f":{self._to}/", f":{self.port}/"))

    def _meets(self) -> bool:
        """Whether something happens to this COMMIT, the first one."""
        if self.met.is_set() or not (self.loses_answer or self.loses_commit or self.holds_commit):
            return False
        self.met.set()
        return True

    async def _accept(self, hub: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._serve(hub, back))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)
        await asyncio.wait({task})

    async def _serve(self, hub: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        try:
            server, on = await asyncio.open_connection("127.0.0.1", self._to)
        except OSError:
            back.close()
            return
        passes = self._open
        answers = asyncio.ensure_future(self._pass_on(server, back, passes))
        try:
            while piece := await hub.read(AT_ONCE):
                await passes.wait()
                if self.spoils and self.spoils in piece:
                    self.spoils, self._spoils_rows = b"", True
                if COMMIT in piece and self._meets():
                    await end_tasks([answers])
                    if self.holds_commit:
                        back.close()
                        await self.go.wait()
                    if not self.loses_commit:
                        on.write(piece)
                        await server.read(AT_ONCE)
                    return
                on.write(piece)
        except OSError:
            pass
        finally:
            answers.cancel()
            on.close()
            back.close()

    async def _pass_on(
        self, server: asyncio.StreamReader, back: asyncio.StreamWriter, passes: asyncio.Event
    ) -> None:
        try:
            while piece := await server.read(AT_ONCE):
                await passes.wait()
                if self._spoils_rows and piece.startswith(ROWS_FOLLOW):
                    self._spoils_rows = False
                    back.write(ROWS_FOLLOW + ROW_OF_99_COLUMNS)
                    piece = piece.removeprefix(ROWS_FOLLOW)
                back.write(piece)
        except OSError:
            pass
        back.close()
