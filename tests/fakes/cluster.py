"""Several hubs with one PostgreSQL database, as real processes, each with a state directory and a
way to the database of its own, which can be closed."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from chatbridge import lock_file
from tests.fakes.link_client import PATIENCE
from tests.fakes.machine import House, house
from tests.fakes.program import bare

Json = dict[str, Any]
T = TypeVar("T")


class Hole:
    """A way to a server on this machine. While `closed` nothing passes, and nobody is told."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._refuses = False
        self._open = threading.Event()
        self._open.set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._sockets: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    @contextmanager
    def closed(self) -> Iterator[None]:
        self._open.clear()
        try:
            yield
        finally:
            self._open.set()

    @contextmanager
    def refusing(self) -> Iterator[None]:
        """Whoever connects is sent away at once, until this is over or `back` was called."""
        self._refuses = True
        try:
            yield
        finally:
            self.back()

    def back(self) -> None:
        self._refuses = False

    def close(self) -> None:
        self._open.set()
        for each in (self._listener, *self._sockets):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self._open.wait()
                if self._refuses:
                    client.close()
                    continue
                try:
                    server = socket.create_connection(("127.0.0.1", self._to))
                except OSError:
                    client.close()
                    continue
                self._sockets += [client, server]
                for way in ((client, server), (server, client)):
                    threading.Thread(target=self._copy, args=way, daemon=True).start()

    def _copy(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                self._open.wait()
                target.sendall(data)
        self._open.wait()
        for each in (source, target):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


@dataclass
class Member:
    """One hub of several, and the machine it runs on."""

    name: str
    house: House
    hole: Hole
    port: int  # Where other hubs connect
    serves_http: str = ""  # Where agents over HTTP do
    process: subprocess.Popen[bytes] | None = field(default=None)

    def start(self) -> Member:
        log = (self.house.state.parent / "log").open("ab")
        with log:
            self.process = subprocess.Popen(
                [*self.house.chatbridge, "hub", "--started-by", "service"],
                stderr=log,
                env=bare(self.house.environment),
            )

        def up() -> bool:
            assert self.process is not None
            assert self.process.poll() is None, self.log
            holder = self._holder()
            # A link may have started one meanwhile, which hands over to this one.
            if holder is None or holder.started_by != "service":
                return False
            return holder.socket is not None

        until(up, f"{self.name} did not come up")
        return self

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.wait(PATIENCE)
            self.process = None

    @property
    def pid(self) -> int:
        holder = self._holder()
        assert holder is not None
        return holder.pid

    def _holder(self) -> lock_file.LockInfo | None:
        return lock_file.find_holder(str(self.house.state))

    def status(self) -> Json:
        done = self.house.run("status", "--json")
        assert done.returncode == 0, done.stderr
        found: Json = json.loads(done.stdout)
        return found

    @property
    def log(self) -> str:
        path = self.house.state.parent / "log"
        return path.read_text(errors="replace") if path.exists() else ""


@dataclass
class Cluster:
    members: list[Member]

    def leader(self, *, among: list[Member] | None = None) -> Member:
        """The hub whose inbox is up, once one has."""
        there = self.members if among is None else among

        def found() -> Member | None:
            for each in there:
                holder = each._holder()
                if holder is not None and holder.web:
                    return each
            return None

        return until(found, "no hub leads")

    def others(self, member: Member) -> list[Member]:
        return [each for each in self.members if each is not member]


def until(found: Callable[[], T | None], problem: str) -> T:
    deadline = time.monotonic() + PATIENCE
    while not (value := found()):
        assert time.monotonic() < deadline, problem
        time.sleep(0.02)
    return value


@contextmanager
def cluster(
    port: int, database: str, user: str, *, hubs: int = 3, **settings: str
) -> Iterator[Cluster]:
    """Hubs that do not run yet. `port` is the server's."""
    with ExitStack() as stack:
        members = []
        for number in range(hubs):
            hole = Hole(port)
            stack.callback(hole.close)
            name, listen = f"hub-{number}", free_port()
            here = stack.enter_context(
                house(
                    CHATBRIDGE_STORE=f"postgresql://{user}@127.0.0.1:{hole.port}/{database}",
                    CHATBRIDGE_CLUSTER__LISTEN=f"127.0.0.1:{listen}",
                    CHATBRIDGE_CLUSTER__NAME=name,
                    **settings,
                )
            )
            member = Member(name, here, hole, listen)
            stack.callback(member.stop)
            members.append(member)
        try:
            yield Cluster(members)
        finally:
            for member in members:
                # Shown if a test fails.
                sys.stdout.write(f"── the log of {member.name}\n{member.log}\n")


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])
