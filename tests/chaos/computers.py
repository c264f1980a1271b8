"""One computer of the night: a hub with its state, its configuration and its clock, and the links
that start it. There is one with SQLite, and several with PostgreSQL.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from chatbridge import lock_file, runtime_paths
from tests.chaos.moved_clock import MovedClock
from tests.chaos.services import ROOT
from tests.fakes.program import shadowed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.fakes.cluster import Hole

PATIENCE = 60.0
LOOK_EVERY = 0.05

MOVED = """
import os, sys
if "hub" in sys.orig_argv and not {variables}.items() <= os.environ.items():
    os.execve(sys.executable, sys.orig_argv, {{**os.environ, **{variables}}})
"""


class Computer:
    def __init__(
        self, name: str, folder: Path, state: Path, *, home: Path, hole: Hole | None = None
    ) -> None:
        """`home`: what all share. `hole`: its way to the database, where it has one."""
        folder.mkdir(parents=True, exist_ok=True)
        self.name, self.state, self.hole = name, state, hole
        self.clock: MovedClock | None = None
        self.disturbed = 0
        """How many faults hold its hub up now, though it lives."""
        self.configuration = folder / "config.toml"
        self._folder, self._home = folder, home
        self._runtime = Path(tempfile.mkdtemp(prefix="cb-"))  # short: the socket is in it

    def configure(self, text: str) -> None:
        self.configuration.write_text(text)
        self.configuration.chmod(0o600)

    # ── what runs there ───────────────────────────────────────────────────────────────────────────

    def environment(self) -> dict[str, str]:
        """Of links, commands and the hub."""
        return {
            "HOME": str(self._home),
            "PYTHONPATH": self._package(),
            "CHATBRIDGE_STATE_DIR": str(self.state),
            "CHATBRIDGE_RUNTIME_DIR": str(self._runtime),
            "CHATBRIDGE_CONFIG": str(self.configuration),
            **(self.clock.environment() if self.clock else {}),
        }

    def _package(self) -> str:
        """chatbridge; with a moved clock one whose hubs go by it, too, whoever starts them."""
        if self.clock is None:
            return str(ROOT)
        folder = self._folder / "package"
        if not folder.exists():
            shadowed(folder, MOVED.format(variables=self.clock.environment()))
        return str(folder)

    @property
    def holder(self) -> lock_file.LockInfo | None:
        """Of the lock: the hub, perhaps only just started."""
        return lock_file.find_holder(str(self.state))

    def hub(self) -> int | None:
        holder = self.holder
        return holder.pid if holder else None

    def web_token(self) -> str | None:
        try:
            return Path(runtime_paths.token_path(str(self.state))).read_text().strip() or None
        except OSError:
            return None

    def processes(self) -> list[tuple[int, str]]:
        """Every process with this state directory: links, hub, runner; with its arguments."""
        needle = os.fsencode(f"CHATBRIDGE_STATE_DIR={self.state}")
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with suppress(OSError):
                    if needle in (entry / "environ").read_bytes().split(b"\0"):
                        words = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
                        found.append((int(entry.name), f"{entry.name} {os.fsdecode(words)}"))
        return found

    # ── faults ────────────────────────────────────────────────────────────────────────────────────

    @contextmanager
    def held_up(self) -> Iterator[None]:
        self.disturbed += 1
        try:
            yield
        finally:
            self.disturbed -= 1

    @asynccontextmanager
    async def frozen(self) -> AsyncIterator[str]:
        """Its hub; says which process that is."""
        pid = self.hub()
        with self.held_up():
            met = end(pid, signal.SIGSTOP)
            try:
                yield met
            finally:
                end(pid, signal.SIGCONT)

    # ── the end ───────────────────────────────────────────────────────────────────────────────────

    async def settle(self, errors: Path) -> None:
        """The hub runs, and the clock is right."""
        if self.clock is not None:
            self.clock.move(0)
        for pid, _ in self.processes():
            end(pid, signal.SIGCONT)
        # With no agent left that waits, nobody would start one, and cards would stay as they are.
        if not await until(lambda: self.hub() is not None, within=5.0):
            await asyncio.to_thread(self._start_hub, errors)

    def _start_hub(self, errors: Path) -> None:
        with errors.open("ab") as out:
            subprocess.Popen(
                [sys.executable, "-m", "chatbridge", "hub", "--started-by", "link"],
                env={"PATH": os.environ["PATH"], **self.environment()},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )

    def stop_hub(self) -> bytes:
        """As its owner would; what that said."""
        done = subprocess.run(
            [sys.executable, "-m", "chatbridge", "stop"],
            env={"PATH": os.environ["PATH"], **self.environment()},
            capture_output=True,
            timeout=PATIENCE,
        )
        return done.stdout + done.stderr

    def tidy(self, saved: Path) -> None:
        """Keep a copy of the state, and leave nothing else."""
        with suppress(OSError):
            shutil.copytree(self.state, saved, ignore=_sockets)
        shutil.rmtree(self._runtime, ignore_errors=True)


def end(pid: int | None, number: signal.Signals) -> str:
    """Send the signal; says to whom."""
    if not pid:
        return "nobody there"
    with suppress(ProcessLookupError):
        os.kill(pid, number)
    return f"pid {pid}"


async def until(so: Callable[[], bool], *, within: float) -> bool:
    """Whether it came to that."""
    limit = time.monotonic() + within
    while not (there := so()) and time.monotonic() < limit:  # noqa: ASYNC110 - not our event
        await asyncio.sleep(LOOK_EVERY)
    return there


def _sockets(folder: str, names: list[str]) -> list[str]:
    """What cannot be copied, or says nothing."""
    return [name for name in names if name == "ballast" or (Path(folder) / name).is_socket()]
