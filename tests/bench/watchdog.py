"""A part that hangs says where: the stacks of this process, of its tasks, and of its children."""

from __future__ import annotations

import asyncio
import faulthandler
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.bench.machine import MARK

RESCUE = 60.0
"""Seconds for what is ended to tidy up after itself."""


class Hung(Exception):
    """A part has taken longer than it may. Where it hung was printed."""


@contextmanager
def watchdog(part: str, seconds: float) -> Iterator[None]:
    """After so many seconds: print all stacks, and end the part with `Hung`. Whatever then does
    not end within a minute ends with this process."""
    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    assert task is not None
    fired = threading.Event()

    def bark() -> None:
        fired.set()
        say(f"{part} has taken more than {seconds:.0f} s. Where everything is:")
        tell_stacks(loop)
        loop.call_soon_threadsafe(task.cancel)
        last.start()

    def end() -> None:
        say(f"{part} does not end. The figures so far are kept.")
        os._exit(1)

    first, last = threading.Timer(seconds, bark), threading.Timer(RESCUE, end)
    first.daemon = last.daemon = True
    first.start()
    try:
        yield
    except asyncio.CancelledError:
        if not fired.is_set():
            raise
        task.uncancel()
        raise Hung(f"{part} took more than {seconds:.0f} s") from None
    finally:
        first.cancel()
        last.cancel()


def tell_stacks(loop: asyncio.AbstractEventLoop) -> None:
    faulthandler.dump_traceback(file=sys.stderr, all_threads=True)
    for task in asyncio.all_tasks(loop):
        task.print_stack(file=sys.stderr)
    for pid in processes():
        say(f"\nprocess {pid}: {_words(pid)}")
        if spy := shutil.which("py-spy"):
            subprocess.run([spy, "dump", "--pid", str(pid)], stdout=sys.stderr, timeout=RESCUE / 4)
        else:
            for thread in Path(f"/proc/{pid}/task").glob("*"):
                say(f"  thread {thread.name} waits in {_read(thread / 'wchan') or 'no call'}")


def processes() -> list[int]:
    """Of this run, hubs included that no longer belong to the link that started them."""
    mark = f"{MARK}={os.getpid()}"
    running = (entry for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return sorted(
        int(entry.name) for entry in running if mark in _read(entry / "environ").split("\0")
    )


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _words(pid: int) -> str:
    return " ".join(_read(Path(f"/proc/{pid}/cmdline")).split("\0"))[:200]


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
