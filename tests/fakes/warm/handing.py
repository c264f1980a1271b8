"""Run when chatbridge is imported (see `warm_processes`): a hub that a link has just started goes
on in a process that has the imports behind it (see `server`).

Links pass by: nothing is imported for them.
"""

import os
import sys

PLAIN = {"PYTHONPATH", "PYTHONSAFEPATH", "PYTHONDONTWRITEBYTECODE"}
"""With any other of Python's own variables a process would behave differently; it starts alone."""


def plain() -> bool:
    return {name for name in os.environ if name.startswith("PYTHON")} <= PLAIN


def request(words: list[str], **about: object) -> bytes:
    """All that makes a process this one, but for its descriptors."""
    import json

    umask = os.umask(0o077)
    os.umask(umask)
    place = {"environment": dict(os.environ), "umask": umask}
    return json.dumps({"words": words, **place, **about}).encode()


def descriptors(*numbers: int) -> list[int]:
    """These, and the folder as one: it may be removed while the request is on its way."""
    return [*numbers, os.open(".", os.O_RDONLY | os.O_CLOEXEC)]


def _go_on_there(address: str) -> None:
    """Returns only where nobody listens: then this process is the hub."""
    import socket

    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as sock:
        try:
            sock.connect("\0" + address)
            about = request(sys.orig_argv[3:], kind="hub")
            socket.send_fds(sock, [about], descriptors(0, 1, 2, 3))
            taken = sock.recv(100)
        except ConnectionError:
            return
    if taken:
        os._exit(0)


def hand_over(address: str) -> None:
    if sys.orig_argv[1:6] == ["-m", "chatbridge", "hub", "--started-by", "link"] and plain():
        _go_on_there(address)
