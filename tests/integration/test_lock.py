"""The hub's lock passes from one holder to the next."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from chatbridge import lock_file
from chatbridge.core.errors import StoreError
from chatbridge.hub.process.lock import Lock
from tests.fakes.program import bare

TWO_HUBS_OF_LINKS = """
import fcntl, os, signal, sys
from chatbridge import lock_file, runtime_paths

def say(lock):
    pid = os.getpid()
    info = lock_file.LockInfo(pid=pid, version="1", socket=None, started_by="link")
    lock_file.write(lock, info)

first = lock_file.acquire(sys.argv[1])
say(first)
if os.fork() == 0:
    os.close(first)
    second = os.open(runtime_paths.lock_path(sys.argv[1]), os.O_RDWR)
    print("ready", flush=True)
    fcntl.flock(second, fcntl.LOCK_EX)
    say(second)
signal.pause()
"""


def test_a_service_takes_over_though_a_link_starts_another_hub_meanwhile(tmp_path: Path) -> None:
    state = str(tmp_path / "s")
    with subprocess.Popen(
        [sys.executable, "-c", TWO_HUBS_OF_LINKS, state],
        stdout=subprocess.PIPE,
        env=bare({}),
        start_new_session=True,
    ) as hubs:
        try:
            assert hubs.stdout
            assert hubs.stdout.readline() == b"ready\n"
            with Lock(state, started_by="service"):
                holder = lock_file.find_holder(state)
                assert holder
                assert holder.pid == os.getpid()
        finally:
            with suppress(ProcessLookupError):
                os.killpg(hubs.pid, signal.SIGKILL)


def test_where_nothing_can_be_written_it_is_said_and_the_lock_is_free_again(tmp_path: Path) -> None:
    state = str(tmp_path / "s")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))  # as a disk that is full
    try:
        with pytest.raises(StoreError, match="Free some space"), Lock(state, started_by="person"):
            pass
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    with Lock(state, started_by="person"):
        pass
