"""Starts a runner, or finds the one that runs. The hub and the runner use it.

The started process takes the lock and the socket, continues in a child, and exits. Whoever waits
for it then knows that the runner listens, and has no child to reap.
"""

from __future__ import annotations

import os
import sys

import chatbridge
from chatbridge import bounded_read, runtime_paths
from chatbridge.digests import sha256_hex
from chatbridge.system import descriptors

INHERITED = ("CHATBRIDGE_RUNTIME_DIR", "HOME", "LD_LIBRARY_PATH", "PYTHONPATH", "TZ")
"""What Python or the socket's place may depend on. None of the hub's settings is among them."""
START_SECONDS = 20.0
DESCRIPTORS = "descriptors="
"""Begins the word that says which limit on descriptors the runner and its commands get."""


def place(state: str) -> str:
    return sha256_hex(os.fsencode(state))[:8]


def lock_path(state: str) -> str:
    return os.path.join(state, "runner.lock")


def socket_path(state: str) -> str:
    """No longer than the hub's, so that it fits wherever that one does."""
    return os.path.join(runtime_paths.runtime_dir(state), f"run-{place(state)}.sock")


def holder(state: str) -> tuple[str, int | None]:
    """Where the runner listens, or would, and its process as far as the lock file says so."""
    found = bounded_read.read_json(lock_path(state))
    path, pid = found.get("socket"), found.get("pid")
    return (
        path if isinstance(path, str) else socket_path(state),
        pid if isinstance(pid, int) else None,
    )


def start_runner(state: str, *bounds: float) -> str | None:
    """Start one, unless there is one; returns when it listens, or why it could not be started.
    `bounds` are the words that follow the state directory."""
    import subprocess  # slow to import, and the runner itself needs only the rest

    words = [sys.executable, "-P", "-m", "chatbridge.commands.runner", state, *map(str, bounds)]
    before = descriptors.limit_before()
    if before is not None:
        words.append(f"{DESCRIPTORS}{before}")
    try:
        done = subprocess.run(
            words,
            env=_environment(),
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
            timeout=START_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)
    if done.returncode == 0:
        return None
    said = done.stderr.decode(errors="replace").strip().splitlines()
    return said[-1] if said else f"it ended with {done.returncode}"


def _environment() -> dict[str, str]:
    found = {name: os.environ[name] for name in INHERITED if name in os.environ}
    if "CHATBRIDGE_RUNTIME_DIR" in found:
        found["CHATBRIDGE_RUNTIME_DIR"] = runtime_paths.absolute(found["CHATBRIDGE_RUNTIME_DIR"])
    # A checkout that is run in place is importable only from its own directory.
    checkout = os.path.dirname(os.path.dirname(os.path.abspath(chatbridge.__file__)))
    if checkout in sys.path[:1]:
        rest = found.get("PYTHONPATH")
        found["PYTHONPATH"] = f"{checkout}{os.pathsep}{rest}" if rest else checkout
    # Texts of an order are the same bytes whatever the machine's locale is.
    return {**found, "PYTHONUTF8": "1"}
