"""A machine that doctor looks at: folders, settings, and a hub that says what it is told."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, repeat
from pathlib import Path

import pytest

from chatbridge import __version__, runtime_paths
from chatbridge.channels.checks import Finding, Json
from chatbridge.cli.doctor.context import DoctorContext
from chatbridge.cli.doctor.run import Check, run_checks
from chatbridge.cli.doctor.screen import drawn
from chatbridge.core.ports import Clock
from chatbridge.system import sockets
from tests.fakes.scripted_hub import ScriptedHub, scripted_hub

PATIENCE = 20.0


class Machine:
    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """`home` has a short name: a socket is below it."""
        self.home = home
        self.state = home / "s"
        self.config = home / "config.toml"
        self._monkeypatch = monkeypatch
        self.set(
            HOME=str(home),
            CHATBRIDGE_STATE_DIR=str(self.state),
            CHATBRIDGE_RUNTIME_DIR=str(self.state),
            CHATBRIDGE_CONFIG=str(self.config),
        )

    def set(self, **variables: str) -> None:
        for name, value in variables.items():
            self._monkeypatch.setenv(name, value)

    def configure(self, toml: str, *, mode: int = 0o600) -> None:
        self.config.write_text(toml)
        self.config.chmod(mode)

    def store_file(self, name: str, *, size: int) -> None:
        """In the state directory."""
        path = self.state / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.write_bytes(b"x" * size)

    def situation(
        self,
        clock: Clock | None = None,
        *,
        hub_within: float = 4.0,
        leader_within: float = PATIENCE,
    ) -> DoctorContext:
        found = DoctorContext.here(clock=clock)
        found.hub_within, found.leader_within = hub_within, leader_within
        return found

    async def look(
        self,
        *checks: Check,
        clock: Clock | None = None,
        hub_within: float = 4.0,
        leader_within: float = PATIENCE,
    ) -> list[Finding]:
        """What these checks find, with settings as they are now."""
        situation = self.situation(clock, hub_within=hub_within, leader_within=leader_within)
        return [finding async for finding in run_checks(situation, checks)]

    @contextmanager
    def hub(self, *first: Json, **status: object) -> Iterator[None]:
        """A hub that runs here and says this of itself, to as many as ask; `first` once each."""
        said = chain([a_status(**each) for each in first], repeat(a_status(**status)))
        with scripted_hub(str(self.state)) as hub:
            thread = threading.Thread(target=_answer, args=(hub, said), daemon=True)
            thread.start()
            yield
            # Whoever waits for a connection gets one that says nothing.
            sockets.connect(runtime_paths.socket_path(str(self.state))).close()
            thread.join(PATIENCE)

    def tree(self) -> dict[str, tuple[int, int, bytes]]:
        """All there is in its folders: modes, times of change and contents."""
        found = {}
        for path in sorted(self.home.rglob("*")):
            about = path.lstat()
            content = path.read_bytes() if path.is_file() else b""
            found[str(path)] = (about.st_mode, about.st_mtime_ns, content)
        return found


def a_status(**other: object) -> Json:
    """What a hub of this version says that started an hour ago and has nothing to complain of."""
    return {
        "version": __version__,
        "pid": 4711,
        "since": time.time() - 3600.0,
        "startedBy": "link",
        "state": "",
        "web": None,
        "open": 0,
        "links": [],
        "channels": [],
        "faults": [],
        "remarks": [],
        **other,
    }


def screen(findings: Sequence[Finding]) -> str:
    return "".join(drawn(finding, width=80) for finding in findings)


def _answer(hub: ScriptedHub, said: Iterator[Json]) -> None:
    for status in said:
        try:
            connection, preface = hub.accept()
            assert preface["chatbridge"] == "terminal"
            assert connection.receive() == {"do": "status"}
            connection.send({"result": status})
        except (OSError, EOFError):
            return  # it has served its time
