"""Run when chatbridge is imported (see `warm_processes`): a hub that a link has just started goes
on in a process that has the imports behind it (see `server`).

Links pass by: nothing is imported for them. Hubs and commands import what is built in, and not the
modules on top of it, which take longer than the rest together.
"""

import os
import sys

PLAIN = {"PYTHONPATH", "PYTHONSAFEPATH", "PYTHONDONTWRITEBYTECODE"}
"""With any other of Python's own variables a process would behave differently; it starts alone."""


class Handed:
    """A request that is on its way, with all that makes a process this one.
    :raises ConnectionError: nobody listens."""

    def __init__(self, address: str, words: list[str], *descriptors: int, **about: object) -> None:
        import _socket
        from marshal import dumps

        umask = os.umask(0o077)
        os.umask(umask)
        place = {"environment": dict(os.environ), "umask": umask}
        self._sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
        self._sock.connect("\0" + address)
        # The folder as a descriptor: it may be removed meanwhile.
        folder = os.open(".", os.O_RDONLY | os.O_CLOEXEC)
        rights = b"".join(it.to_bytes(4, sys.byteorder) for it in (*descriptors, folder))
        self._sock.sendmsg(
            [dumps({"words": words, **place, **about})],
            [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)],
        )
        os.close(folder)

    def said(self) -> bytes:
        return self._sock.recv(100)


def plain() -> bool:
    return {name for name in os.environ if name.startswith("PYTHON")} <= PLAIN


def hand_over(address: str) -> None:
    """Returns where nobody listens: then this process is the hub."""
    if sys.orig_argv[1:6] == ["-m", "chatbridge", "hub", "--started-by", "link"] and plain():
        try:
            taken = Handed(address, sys.orig_argv[3:], 0, 1, 2, 3, kind="hub").said()
        except ConnectionError:
            return
        if taken:
            os._exit(0)
