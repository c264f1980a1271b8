"""Free ports, and processes with a network of their own, as in an agent's sandbox."""

from __future__ import annotations

import random
import shutil
import socket
import subprocess
from functools import cache

# Below the ports that the kernel gives to outgoing connections: while a server is down, nobody
# takes its port by accident, and no client that tries it again and again connects to itself.
PORTS = range(10_000, 32_000)


def free_port() -> int:
    for port in random.SystemRandom().sample(PORTS, 100):
        with socket.socket() as sock:
            try:
                sock.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("no free port")


@cache
def no_namespaces() -> str | None:
    """Why there can be none here; None if there can."""
    if shutil.which("unshare") is None:
        return "there is no program unshare"
    done = subprocess.run(["unshare", "--net", "true"], capture_output=True, text=True)
    return None if done.returncode == 0 else "network namespaces cannot be made here (needs root)"
