"""Waiting for a tool's result, and signals that come meanwhile."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from chatbridge.cli.hub.tool_client import ToolClient
from chatbridge.link.loop import wake_on

PATIENCE = 10.0


class Told(BaseException):
    pass


def tell(*_: object) -> None:
    raise Told


@pytest.fixture
def wake() -> Iterator[int]:
    before = signal.signal(signal.SIGUSR1, tell)
    reading = wake_on()
    yield reading
    os.close(signal.set_wakeup_fd(-1))
    os.close(reading)
    signal.signal(signal.SIGUSR1, before)


def test_a_signal_that_does_not_interrupt_the_wait_ends_it_all_the_same(wake: int) -> None:
    """One that comes just before the wait does not. Neither does one that another thread gets,
    which can be had at will."""
    theirs, we_write = os.pipe()
    we_read, answers = os.pipe()
    calls = ToolClient({"name": "test"}, we_read, we_write, wake=wake)
    ended = threading.Event()
    in_time: list[bool] = []

    def send() -> None:
        os.read(theirs, 65536)  # the call has been made
        signal.raise_signal(signal.SIGUSR1)
        in_time.append(ended.wait(PATIENCE))
        os.write(answers, b"{}\n")  # so that it ends in any case

    thread = threading.Thread(target=send)
    thread.start()
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
        with pytest.raises(Told):
            calls.call("ask_user", {})
        ended.set()
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR1])
        thread.join()
        for descriptor in (theirs, we_write, we_read, answers):
            os.close(descriptor)
    assert in_time == [True]
