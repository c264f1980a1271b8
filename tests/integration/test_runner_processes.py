"""Which processes count as an operation's: all that still hold or do something, no others."""

from __future__ import annotations

import platform
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from chatbridge.commands.runner import processes
from tests.fakes.runner_desk import alive, eventually

THREAD_EXIT = {"x86_64": 60, "aarch64": 93}.get(platform.machine(), 1)
HEADLESS = f"""
import ctypes, threading, time
threading.Thread(target=time.sleep, args=(300,)).start()
ctypes.CDLL(None).syscall({THREAD_EXIT}, 0)
"""
"""Its first thread ends, and the other goes on."""


@contextmanager
def running(script: str) -> Iterator[int]:
    """As the leader of a session."""
    started = subprocess.Popen([sys.executable, "-I", "-c", script], start_new_session=True)
    try:
        yield started.pid
    finally:
        started.kill()
        started.wait()


async def test_a_process_whose_first_thread_has_ended_lives_on_by_the_others() -> None:
    with running(HEADLESS) as pid:
        await eventually(lambda: not alive(pid))
        assert {it for it, _ in processes.living({"one": pid}, {})["one"]} == {pid}


async def test_a_zombie_does_not_live() -> None:
    with running("pass") as pid:
        await eventually(lambda: not alive(pid))
        assert processes.living({"one": pid}, {}) == {"one": set()}


async def test_one_that_was_seen_is_known_without_session_and_mark() -> None:
    with running("import time; time.sleep(300)") as pid:
        seen = processes.living({"one": pid}, {})["one"]
        assert processes.living({"one": 0}, {})["one"] == set()
        assert processes.living({"one": 0}, dict.fromkeys(seen, "one"))["one"] == seen


async def test_another_with_the_number_of_one_that_was_seen_is_none_of_it() -> None:
    with running("import time; time.sleep(300)") as pid:
        born = processes.born(pid)
        assert born is not None
        assert processes.living({"one": 0}, {(pid, born - 1): "one"})["one"] == set()
