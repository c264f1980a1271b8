"""A command as a person runs it, on a terminal of 80 columns, with a keyboard; or as a script
does, in pipes."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from tests.fakes.program import bare
from tests.fakes.warm_processes import warm_chatbridge

PATIENCE = 30.0
TAKE_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""
"""Makes the terminal the process' own, so that Ctrl-C on it is a signal."""
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[=>78]")


def in_pipe(
    environment: dict[str, str], *words: str, said: str = ""
) -> subprocess.CompletedProcess[str]:
    """`said` is its standard input."""
    return subprocess.run(
        [*warm_chatbridge(), *words],
        input=said,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env=bare(environment),
    )


class OnTerminal:
    def __init__(
        self,
        environment: dict[str, str],
        *words: str,
        cwd: Path | None = None,
        columns: int = 80,
        rows: int = 24,
        command: Sequence[str] = (),
    ) -> None:
        self.raw = self._unread = ""
        self._screen, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, "-c", TAKE_TERMINAL, *(command or warm_chatbridge()), *words],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=cwd,
            env=bare(
                {
                    "TERM": "xterm-256color",
                    "LANG": "C.UTF-8",
                    **environment,
                }
            ),
            start_new_session=True,
        )
        os.close(theirs)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(PATIENCE)
        os.close(self._screen)

    def expect(self, text: str) -> str:
        """Wait until this is shown after what was expected before; what came in between, without
        what moves the cursor or colours."""
        until = time.monotonic() + PATIENCE
        while text not in self._shown():
            piece = self._read(until)
            assert piece is not None, f"{text!r} was not shown, but: {self._shown()}"
            assert piece, f"it ended, and {text!r} was not shown, but: {self._shown()}"
        before, _, self._unread = self._shown().partition(text)
        return before

    def type(self, line: str) -> None:
        os.write(self._screen, f"{line}\n".encode())

    def interrupt(self) -> None:
        """Ctrl-C, for all that runs in the foreground."""
        os.write(self._screen, b"\x03")

    def finish(self) -> tuple[int, str]:
        """How it ended, and what it had shown since it was last looked at."""
        while piece := self._read(time.monotonic() + PATIENCE):
            pass
        assert piece is not None, f"it did not end, and has shown: {self._shown()}"
        code = self.process.wait(PATIENCE)
        shown, self._unread = self._shown(), ""
        return code, shown

    def leave(self) -> None:
        """Ctrl-D: no more lines will come."""
        os.write(self._screen, b"\x04")

    def _shown(self) -> str:
        return CONTROL.sub("", self._unread).replace("\r\n", "\n")

    def _read(self, until: float) -> str | None:
        """Empty if there will be no more; None if nothing came."""
        if not select.select([self._screen], [], [], max(until - time.monotonic(), 0))[0]:
            return None
        try:
            data = os.read(self._screen, 65536)
        except OSError:  # the other side of a terminal has gone
            return ""
        piece = data.decode(errors="replace")
        self.raw += piece
        self._unread += piece
        return piece
