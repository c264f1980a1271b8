"""The process that has imported and compiled what a hub needs, and forks one whenever it is asked.

A hub has a session, descriptors, an environment and a working directory of its own, belongs to init
as one that a link executes does, and runs the same code from `chatbridge.__main__.main` on. Before
the fork there is no thread and no loop. This process ends with its standard input, which the tests
hold; hubs are the tests' to end.
"""

from __future__ import annotations

import fcntl
import gc
import json
import os
import select
import socket
import sys
import time
from importlib import import_module
from typing import Any

HEAVY = (
    "uvloop",
    "chatbridge.__main__",
    "chatbridge.hub.process.start",
    "chatbridge.hub.wiring.hub",
    "chatbridge.channels.web.channel",
    "chatbridge.channels.telegram.channel",
    "chatbridge.channels.matrix.channel",
)
LARGEST = 128 * 1024
ABOVE = 10
"""Where descriptors are out of the way of those that a hub is given."""


def main() -> int:
    given = int(sys.argv[1])
    listener = socket.socket(fileno=fcntl.fcntl(given, fcntl.F_DUPFD_CLOEXEC, ABOVE))
    os.close(given)
    gc.disable()
    for name in HEAVY:
        import_module(name)
    _, templates = import_module("chatbridge.channels.web.channel").look()
    templates.compile()
    gc.freeze()
    gc.enable()
    assert len(os.listdir("/proc/self/task")) == 1, "no fork would have the other thread"
    with listener:
        words = _serve(listener)
    if words is None:
        return 0
    from chatbridge.__main__ import main as chatbridge

    return chatbridge(words)


def _serve(listener: socket.socket) -> list[str] | None:
    """Returns in each hub, with its words; at the end of the tests with None."""
    hubs: dict[int, tuple[int, str]] = {}  # by a descriptor of the process
    while True:
        ready, _, _ = select.select([0, listener.fileno()], [], [])
        if 0 in ready:
            return None
        connection, _ = listener.accept()
        with connection:
            data, descriptors, _, _ = socket.recv_fds(connection, LARGEST, 8)
            request = json.loads(data)
            _forget_the_dead(hubs)
            if "of" in request:
                living = [pid for pid, state in hubs.values() if state == request["of"]]
                connection.send(json.dumps(living).encode())
                continue
            hub = _fork()
            if hub:
                try:
                    found = os.pidfd_open(hub)
                    hubs[found] = (hub, request["environment"]["CHATBRIDGE_STATE_DIR"])
                except ProcessLookupError:
                    pass  # it has ended already
                connection.send(b"taken")
        if not hub:
            for other in hubs:
                os.close(other)
            _become(request, descriptors)
            words: list[str] = request["words"]
            return words
        for descriptor in descriptors:
            os.close(descriptor)


def _fork() -> int:
    """The pid of a process that is nobody's child; there, 0."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        os.close(reading)
        if pid := os.fork():
            os.write(writing, str(pid).encode())
            os._exit(0)
        os.close(writing)
        return 0
    os.close(writing)
    os.waitpid(child, 0)
    pid = int(os.read(reading, 20))
    os.close(reading)
    return pid


def _forget_the_dead(hubs: dict[int, tuple[int, str]]) -> None:
    dead, _, _ = select.select(list(hubs), [], [], 0)
    for descriptor in dead:
        os.close(descriptor)
        del hubs[descriptor]


def _become(request: dict[str, Any], descriptors: list[int]) -> None:
    waiting = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, ABOVE) for descriptor in descriptors]
    for descriptor in descriptors:
        os.close(descriptor)
    for place, descriptor in enumerate(waiting):
        os.dup2(descriptor, place)
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()
    os.umask(request["umask"])
    os.chdir(request["folder"])
    sys.argv[1:] = request["words"]


if __name__ == "__main__":
    sys.exit(main())
