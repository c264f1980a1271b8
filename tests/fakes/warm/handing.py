"""Run when chatbridge is imported (see `warm_hubs`): a hub that a link has just started goes on in
a process that has the imports behind it (see `server`).

Links pass by: nothing is imported for them.
"""

import os
import sys

PLAIN = {"PYTHONPATH", "PYTHONDONTWRITEBYTECODE"}
"""With any other of Python's own variables a hub would behave differently; it then starts alone."""


def _hub_of_a_link() -> bool:
    words = sys.orig_argv[1:]
    return (
        words[:5] == ["-m", "chatbridge", "hub", "--started-by", "link"]
        and {name for name in os.environ if name.startswith("PYTHON")} <= PLAIN
    )


def _go_on_there(address: str) -> None:
    """Returns only where nobody listens: then this process is the hub."""
    import json
    import socket

    umask = os.umask(0o077)
    os.umask(umask)
    request = {
        "words": sys.orig_argv[3:],
        "environment": dict(os.environ),
        "folder": os.getcwd(),
        "umask": umask,
    }
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as sock:
        try:
            sock.connect("\0" + address)
            socket.send_fds(sock, [json.dumps(request).encode()], [0, 1, 2, 3])
            taken = sock.recv(100)
        except ConnectionError:
            return
    if taken:
        os._exit(0)


def hand_over(address: str) -> None:
    if _hub_of_a_link():
        _go_on_there(address)
