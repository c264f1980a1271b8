"""Keeps the programs off the network: a namespace with nothing but loopback, where that may be
made, else proxies at a port where nobody listens."""

from __future__ import annotations

import fcntl
import os
import socket
import struct
import subprocess
import sys

UNSHARE = ("unshare", "--net", "--map-root-user")
INSIDE = "CHATBRIDGE_CLIENTS_INSIDE"
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
NOWHERE = "http://127.0.0.1:9"


def enter() -> str:
    """Run this process again inside, if that is possible. How it is kept off, in words."""
    if os.environ.get(INSIDE):
        _loopback_up()
        return "isolated: a network namespace with loopback only"
    if _works():
        os.environ[INSIDE] = "1"
        words = [*UNSHARE, sys.executable, "-m", "tests.clients", *sys.argv[1:]]
        os.execvp(words[0], words)
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        os.environ[name] = os.environ[name.upper()] = NOWHERE
    os.environ["no_proxy"] = os.environ["NO_PROXY"] = "127.0.0.1,localhost"
    return "no namespace can be made here: only proxies keep the programs off the network"


def _works() -> bool:
    try:
        return subprocess.run([*UNSHARE, "true"], capture_output=True, timeout=10).returncode == 0
    except OSError:
        return False


def _loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        fcntl.ioctl(sock, SIOCSIFFLAGS, struct.pack("16sh", b"lo", IFF_UP))
