"""One person's machine for a test: a state directory of its own, real processes, and the person.

Nothing of it outlives the test: the hub that a link started is ended by its pid.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from pydantic import ValidationError

from chatbridge import lock_file
from chatbridge.channels.registry import BUILT_IN
from chatbridge.hub.process.lock import account_lock_path
from tests.fakes.link_client import PATIENCE, LinkClient
from tests.fakes.program import CHATBRIDGE, bare
from tests.fakes.warm_processes import warm_chatbridge, warm_environment, warm_hubs

if TYPE_CHECKING:
    from tests.fakes.telegram.people import Card

Json = dict[str, Any]
COLOURS: Json = {
    "questions": [
        {"id": "c", "question": "Which colour?", "type": "select", "options": ["red", "blue"]}
    ]
}
INITIALIZE: Json = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "claude-code", "version": "2"},
}
STATELESS: Json = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "claude-code", "version": "2"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


class House:
    def __init__(self, folder: Path, settings: dict[str, str], *, cold: bool = False) -> None:
        self.state = folder / "s"
        self.project = folder / "shop"
        (self.project / ".git").mkdir(parents=True)
        self.environment = {
            "HOME": str(folder),
            "CHATBRIDGE_STATE_DIR": str(self.state),
            "CHATBRIDGE_RUNTIME_DIR": str(self.state),
            **({} if cold else warm_environment()),
            **settings,
        }
        self.chatbridge = CHATBRIDGE if cold else warm_chatbridge()
        """Before the words of a command."""
        self._cold = cold
        self._only: str | None = None

    def with_project(self, name: str) -> House:
        """The same machine for an agent in another project, whose asks are all that is seen."""
        here = copy(self)
        here.project = self.state.parent / name
        here._only = name
        (here.project / ".git").mkdir(parents=True)
        return here

    # ── processes ─────────────────────────────────────────────────────────────────────────────────

    def agent(self, *, within: Sequence[str] = ()) -> Agent:
        return Agent(self.environment, cwd=self.project, within=within)

    def warm_up(self) -> None:
        """What was `cold` is not any more: how its processes look has been seen."""
        self._cold = False
        self.chatbridge = warm_chatbridge()
        self.environment |= warm_environment()

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self.chatbridge, *words],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            env=bare(self.environment),
        )

    def hubs(self) -> list[int]:
        """The pids of all hubs with this state directory that run now."""
        found = [] if self._cold else warm_hubs(self.state)
        needle = os.fsencode(f"CHATBRIDGE_STATE_DIR={self.state}")
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    words = (entry / "cmdline").read_bytes().split(b"\0")
                    ours = needle in (entry / "environ").read_bytes().split(b"\0")
                except OSError:
                    continue
                if ours and b"hub" in words:
                    found.append(int(entry.name))
        return found

    def hub(self) -> int:
        info = lock_file.read(str(self.state))
        assert info
        return info.pid

    def kill_hub(self, how: signal.Signals = signal.SIGKILL) -> int:
        """End the hub, now or as soon as there is one, and wait until it has gone."""
        pid = self._living_hub()
        gone = os.pidfd_open(pid)
        os.kill(pid, how)
        _wait_readable(gone)
        os.close(gone)
        return pid

    def _living_hub(self) -> int:
        """The file of a dead one names it until the next one has the lock."""
        for _ in _until_patience():
            if info := lock_file.find_holder(str(self.state)):
                return info.pid
        raise AssertionError("there is no hub")

    @contextmanager
    def service(self) -> Iterator[int]:
        """A hub as a service manager runs it, once it is up; its pid."""
        process = subprocess.Popen(
            [*self.chatbridge, "hub", "--started-by", "service"],
            stderr=subprocess.DEVNULL,
            env=bare(self.environment),
        )
        try:
            yield self._up(lambda hub: hub.started_by == "service")
        finally:
            process.terminate()
            process.wait(PATIENCE)

    def until_gone(self, pid: int) -> None:
        """A hub that has handed over ends a moment later."""
        for _ in _until_patience():
            if pid not in self.hubs():
                return
        raise AssertionError("that hub did not end")

    def until_hub(self, pid: int) -> None:
        self._up(lambda hub: hub.pid == pid)

    def _up(self, fits: Callable[[lock_file.LockInfo], bool]) -> int:
        """The pid of a hub that fits, once its inbox is up."""
        for _ in _until_patience():
            info = lock_file.find_holder(str(self.state))
            if info is not None and fits(info) and info.web:
                return info.pid
        raise AssertionError("that hub did not come up")

    def close(self) -> None:
        for pid in self.hubs():
            with suppress(ProcessLookupError):  # one that could not start ends by itself
                os.kill(pid, signal.SIGKILL)
        for spec in BUILT_IN:
            given = variables_of(spec.name, self.environment)
            with suppress(ValidationError):  # no hub held the account of such a table
                if spec.lock is not None and spec.is_on(table := spec.settings(**given)):
                    Path(account_lock_path(spec.lock(table).id)).unlink(missing_ok=True)

    # ── the database ──────────────────────────────────────────────────────────────────────────────

    @property
    def database(self) -> Path:
        return self.state / "chatbridge.db"

    def until_noted(self, card: Card) -> None:
        until_noted(self.database, card)

    @contextmanager
    def no_commits(self) -> Iterator[None]:
        """Hold the database's write lock, so that no commit comes through."""
        with closing(sqlite3.connect(self.database, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            yield
            other.execute("ROLLBACK")

    # ── the person ────────────────────────────────────────────────────────────────────────────────

    def api(self, path: str, body: Json | None = None) -> Any:
        with self._open(path, body) as response:
            return json.load(response)

    def status(self, path: str, body: Json | None = None) -> int:
        try:
            with self._open(path, body) as response:
                return int(response.status)
        except urllib.error.HTTPError as error:
            with error:
                return error.code

    def asks(self) -> list[Json]:
        found: list[Json] = self.api("/api/asks?status=open")
        return [ask for ask in found if self._sees(ask)]

    def until(self, fits: Callable[[Json], bool] = lambda ask: True) -> Json:
        """The first open ask that fits, now or as soon as it comes."""
        return self._watch(
            lambda ask: ask["status"] == "open" and self._sees(ask) and fits(ask), known=self.asks
        )

    def until_it(self, ask: Json, fits: Callable[[Json], bool]) -> Json:
        """This ask once it fits."""

        def known() -> list[Json]:
            return [self.api(f"/api/asks/{ask['id']}")]

        return self._watch(lambda seen: seen["id"] == ask["id"] and fits(seen), known=known)

    def _sees(self, ask: Json) -> bool:
        return self._only is None or ask["agent"]["project"] == self._only

    def _watch(self, fits: Callable[[Json], bool], *, known: Callable[[], list[Json]]) -> Json:
        until = time.monotonic() + PATIENCE
        with self._open("/api/events") as events:
            for ask in known():
                if fits(ask):
                    return ask
            for line in events:
                if line.startswith(b"data:"):
                    seen: Json = json.loads(line[5:])
                    if fits(seen):
                        return seen
                assert time.monotonic() < until, "no such ask came"
        raise AssertionError("the event stream ended")

    def answer(self, ask: Json, value: str = "blue") -> Json:
        answers = [{"questionId": ask["questions"][0]["id"], "values": [value]}]
        done: Json = self.api(f"/api/asks/{ask['id']}/answer", {"answers": answers})
        return done

    def _open(self, path: str, body: Json | None = None) -> Any:
        request = urllib.request.Request(
            self._web() + path,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Authorization": f"Bearer {self._token()}",
                "Content-Type": "application/json",
            },
        )
        return urllib.request.urlopen(request, timeout=PATIENCE)

    def _web(self) -> str:
        """The living hub's inbox; its address is in the lock file once the channel is up."""
        for _ in _until_patience():
            info = lock_file.find_holder(str(self.state))
            if info is not None and info.web:
                return info.web
        raise AssertionError("no inbox came up")

    def _token(self) -> str:
        return (self.state / "web-token").read_text().strip()


class Agent(LinkClient):
    """An agent behind a real link, in the handshake era."""

    def __enter__(self) -> Agent:
        return self

    def initialize(self) -> Json:
        self.request("init", "initialize", INITIALIZE)
        reply = self.receive()
        self.notify("notifications/initialized")
        return reply

    def ask(self, id: str | int, arguments: Json = COLOURS, *, stateless: bool = False) -> None:
        meta = {"_meta": STATELESS} if stateless else {}
        self.request(id, "tools/call", {"name": "ask_user", "arguments": arguments, **meta})

    def result(self) -> Json:
        """The next response's structured content, with its id."""
        reply = self.receive()
        assert "result" in reply, reply
        return {"id": reply["id"], **reply["result"].get("structuredContent", reply["result"])}


@overload
def house(*, cold: Literal[True], **settings: str) -> AbstractContextManager[House]: ...
@overload
def house(**settings: str) -> AbstractContextManager[House]: ...
@contextmanager
def house(*, cold: Any = False, **settings: str) -> Iterator[House]:
    """Short paths: a socket's may have 107 bytes. What `cold` hubs do without: `warm_processes`."""
    folder = Path(tempfile.mkdtemp(prefix="cb-"))
    here = House(folder, settings, cold=cold)
    try:
        yield here
    finally:
        here.close()
        shutil.rmtree(folder, ignore_errors=True)


def until_noted(database: Path, card: Card) -> None:
    """Wait until the hub has noted that this message is there and what it shows now: from then on
    no crash makes it send another, and it knows what a reply to it is about."""
    found = (
        "SELECT 1 FROM handles JOIN posts USING (ask, surface) JOIN asks ON ask = seq "
        "WHERE handle = ? AND posts.revision >= asks.revision"
    )
    for _ in _until_patience():
        with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as read:
            if read.execute(found, (f"{card.chat_id}:{card.id}",)).fetchone():
                return
    raise AssertionError("the message was not noted")


def until_left(database: Path) -> None:
    """Wait until the hub has noted that no agent waits for an answer any more: it learns that from
    a connection that closes."""
    for _ in _until_patience():
        with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as read:
            if not read.execute("SELECT 1 FROM calls WHERE ended_at IS NULL").fetchone():
                return
    raise AssertionError("a call still waits")


@contextmanager
def frozen(pid: int) -> Iterator[None]:
    """A process that does nothing meanwhile. It may be killed while it is frozen."""
    os.kill(pid, signal.SIGSTOP)
    for _ in _until_patience():
        states = [
            stat.read_text().rpartition(")")[2].split()[0]
            for stat in Path(f"/proc/{pid}/task").glob("*/stat")
        ]
        if set(states) == {"T"}:
            break
    else:
        raise AssertionError("the process did not stop")
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def variables_of(channel: str, environment: dict[str, str]) -> dict[str, str]:
    """The settings of a channel's table that are not empty."""
    begin = f"CHATBRIDGE_{channel.upper()}__"
    found = {name: value for name, value in environment.items() if name.startswith(begin) and value}
    return {name.removeprefix(begin).lower(): value for name, value in found.items()}


def _wait_readable(fd: int) -> None:
    ready, _, _ = select.select([fd], [], [], PATIENCE)
    assert ready, "the process did not end"


def _until_patience() -> Iterator[None]:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        yield
        time.sleep(0.02)
