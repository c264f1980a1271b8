"""Hubs and commands without the second and a half that their imports take: forks of one process
that has done them, which this process of the tests starts when it first needs it.

Everything else is as ever. A link forks and executes a hub; that process hands its descriptors and
its environment on (see `warm/`), and the fork runs the hub's command from its first line. What is
run with `warm_chatbridge()` is a process that hands on in the same way, and waits for the end.
Tests whose subject is the start itself, or how a process looks among others, have theirs cold.
"""

from __future__ import annotations

import atexit
import json
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
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
        sock.send(json.dumps({"of": str(state)}).encode())
        found: list[int] = json.loads(sock.recv(4096))
    return found


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
