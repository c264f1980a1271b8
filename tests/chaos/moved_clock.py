"""The wall clock of the hub and its links, moved by a preloaded library; the machine's own stays.

Monotonic time is real: a clock that is set does not stop the one that only counts.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

FIND = Path(__file__).parents[2] / ".ci" / "chaos"
SOURCE = Path(__file__).with_suffix(".c")
TRIAL = 86_400.0


class NoClock(Exception):
    """It cannot be had here; the text says why."""


class MovedClock:
    """Compiled into the folder. :raises NoClock: there is no compiler, or it moves nothing."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "clock"
        self._library = folder / "moved_clock.so"
        self._file.write_bytes(bytes(8))
        self._compile()
        self._try()

    def environment(self) -> dict[str, str]:
        """For processes that go by this clock."""
        return {"LD_PRELOAD": str(self._library), "MOVED_CLOCK": str(self._file)}

    def move(self, offset: float) -> None:
        """So far from the real time, from now on."""
        with self._file.open("r+b") as file:  # in place: the library has it in its memory
            file.write(round(offset * 1e9).to_bytes(8, sys.byteorder, signed=True))

    def _compile(self) -> None:
        compiler = subprocess.run([FIND, "find"], capture_output=True, text=True).stdout.strip()
        if not compiler:
            raise NoClock("there is no C compiler (.ci/chaos set-up)")
        words = [compiler, "-shared", "-fPIC", "-o", str(self._library), str(SOURCE), "-ldl"]
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode:
            raise NoClock(f"the library for it cannot be compiled: {done.stderr.strip()[-200:]}")

    def _try(self) -> None:
        self.move(TRIAL)
        done = subprocess.run(
            [sys.executable, "-c", "import time; print(time.time())"],
            env=self.environment(),
            capture_output=True,
            text=True,
        )
        self.move(0)
        try:
            told = float(done.stdout)
        except ValueError:
            told = 0.0
        if abs(told - time.time() - TRIAL) > TRIAL / 2:
            raise NoClock("the library for it cannot be loaded")
