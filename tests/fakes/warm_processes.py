"""Hubs and commands without the second and a half that their imports take: forks of one process
that has done them, which this process of the tests starts when it first needs it.

Everything else is as ever. A link forks and executes a hub; that process hands its descriptors and
its environment on (see `warm/`), and the fork runs the hub's command from its first line. What is
run with `warm_chatbridge()` is a process that hands on in the same way, and waits for the end; a
`WarmProcess` is the fork itself. Tests whose subject is the start itself, or how a process looks
among others, have theirs cold.
"""

from __future__ import annotations

import atexit
import marshal
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from functools import cache
from pathlib import Path

from tests.fakes.program import ROOT, bare, shadowed

WARM = Path(__file__).parent / "warm"
PATIENCE = 20.0


def warm_environment(address: str | None = None) -> dict[str, str]:
    """With this, hubs that a link starts are forks of the process at `address`, or this one's."""
    # The second one, because Python would otherwise look into the folder that it runs in first.
    return {"PYTHONPATH": _package(address or _server()), "PYTHONSAFEPATH": "1"}


def warm_chatbridge() -> tuple[str, ...]:
    """Before the words of a command that takes long to import."""
    return (sys.executable, "-I", "-S", str(WARM / "command.py"), _server())


class WarmProcess:
    """What `subprocess.Popen` would start, as far as tests of service managers need it."""

    def __init__(
        self, words: list[str], *, out: int, err: int, cwd: str, env: dict[str, str], umask: int
    ) -> None:
        self.returncode: int | None = None
        self._reading = threading.Lock()
        about = {"words": words, "environment": env, "umask": umask}
        request = marshal.dumps({**about, "kind": "command", "terminal": False})
        self._sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._sock.connect("\0" + _server())
        nothing, folder = (os.open(it, os.O_RDONLY | os.O_CLOEXEC) for it in (os.devnull, cwd))
        try:
            socket.send_fds(self._sock, [request], [nothing, out, err, folder])
        finally:
            os.close(nothing)
            os.close(folder)
        self.pid = int(self._sock.recv(20))

    def poll(self) -> int | None:
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """:raises subprocess.TimeoutExpired:"""
        late = subprocess.TimeoutExpired("chatbridge", timeout or 0)
        if not self._reading.acquire(timeout=-1 if timeout is None else timeout):
            raise late
        try:
            if self.returncode is None:
                self._sock.settimeout(timeout)
                self.returncode = int(self._sock.recv(20))
                self._sock.close()
        except (TimeoutError, BlockingIOError):
            raise late from None
        finally:
            self._reading.release()
        return self.returncode

    def terminate(self) -> None:
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)


@cache
def _package(address: str) -> str:
    """chatbridge, whose hubs ask at the address."""
    folder = Path(tempfile.mkdtemp(prefix="cb-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    code = (WARM / "handing.py").read_text()
    return shadowed(folder, f"{code}\n\nhand_over({address!r})\n")


def warm_hubs(state: Path) -> list[int]:
    """The pids of all forks with this state directory that run now."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as sock:
        sock.settimeout(PATIENCE)
        sock.connect("\0" + _server())
        sock.send(marshal.dumps({"of": str(state)}))
        return [int(pid) for pid in sock.recv(4096).split()]


@cache
def _server() -> str:
    """The address of this process' own, once the imports are done."""
    address = f"chatbridge-tests-{secrets.token_hex(8)}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind("\0" + address)
        listener.listen(128)
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.fakes.warm.server", str(listener.fileno())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=[listener.fileno()],
            # What clients give their servers, so that Python comes up as it does there.
            env=bare({}),
            cwd=ROOT,
        )
    atexit.register(_end, process)
    assert process.stdout
    assert process.stdout.readline(), "no process with the imports came up"
    return address


def _end(process: subprocess.Popen[bytes]) -> None:
    process.communicate(timeout=PATIENCE)
