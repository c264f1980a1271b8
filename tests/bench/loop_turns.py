"""How long the hub's event loop is busy with one thing at most, as somebody sees who asks it for
the least that there is, over and over."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

PAUSE = 0.002


def longest(found: Sequence[float]) -> float:
    """In milliseconds."""
    return round(max(found) * 1000, 2)


@contextmanager
def pinging(address: tuple[str, int]) -> Iterator[list[float]]:
    """The seconds that the smallest request took each time, meanwhile: no turn of the hub's loop
    was longer than the longest of them. A thread of its own, so that nothing else here counts."""
    found: list[float] = []
    over = threading.Event()

    def ping() -> None:
        request = f"GET /healthz HTTP/1.1\r\nHost: {address[0]}:{address[1]}\r\n\r\n".encode()
        with socket.create_connection(address) as line:
            while not over.wait(PAUSE):
                began = time.perf_counter()
                line.sendall(request)
                assert line.recv(65536)
                found.append(time.perf_counter() - began)

    thread = threading.Thread(target=ping)
    thread.start()
    try:
        yield found
    finally:
        over.set()
        thread.join()
