"""A person at a terminal: a command on a pseudo-terminal, what its screen shows, and typing.

    with at_terminal([sys.executable, "-m", "chatbridge", "setup"], env=…) as person:
        person.expect("Where do you want to answer?")
        person.press(DOWN, ENTER)
        person.ends(0)

The screen is that of a real emulator, of 80 × 24 unless told otherwise; it answers the questions
that programs ask a terminal. Every wait is bounded.
"""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyte

PATIENCE = 30.0
UP, DOWN, ENTER, ESCAPE, SPACE = "\x1b[A", "\x1b[B", "\r", "\x1b", " "
CTRL_C = "\x03"
BEGIN_PASTE, END_PASTE = "\x1b[200~", "\x1b[201~"


class PtyPerson:
    def __init__(self, pid: int, terminal: int, *, columns: int, rows: int) -> None:
        self.pid = pid
        self._terminal = terminal
        self._screen = pyte.HistoryScreen(columns, rows, history=2000, ratio=1.0)
        setattr(self._screen, "write_process_input", self._answer)  # noqa: B010 - its own hook
        self._stream = pyte.ByteStream(self._screen)
        self._status: int | None = None
        self.written = b""
        """All that the program has written, escapes included."""

    # ── reading ───────────────────────────────────────────────────────────────────────────────────

    @property
    def screen(self) -> str:
        """What is on the screen now."""
        return "\n".join(line.rstrip() for line in self._screen.display).rstrip()

    @property
    def scrolled(self) -> str:
        """What was shown and has left the screen at its top, and then the screen."""
        above = [
            "".join(row[column].data for column in range(self._screen.columns)).rstrip()
            for row in self._screen.history.top
        ]
        return "\n".join([*above, self.screen])

    def expect(self, *texts: str, within: float = PATIENCE) -> str:
        """Wait until the screen shows all of these; the screen then."""
        deadline = time.monotonic() + within
        while not all(text in self.screen for text in texts):
            assert self._read(deadline), f"{texts} never came. The screen:\n{self.screen}"
        return self.screen

    def asks(self, question: str) -> str:
        """Wait until this stands at the end of the last line, with nothing typed yet."""
        deadline = time.monotonic() + PATIENCE
        while not self.screen.endswith(question):
            assert self._read(deadline), f"{question!r} is not asked. The screen:\n{self.screen}"
        return self.screen

    def expect_gone(self, text: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while text in self.screen:
            assert self._read(deadline), f"{text!r} stayed. The screen:\n{self.screen}"

    def ends(self, code: int) -> str:
        """Wait until the command has ended with this code; the last screen."""
        deadline = time.monotonic() + PATIENCE
        while self._read(deadline):
            pass
        assert self._ended(deadline) == code, f"ended with {self._status}:\n{self.screen}"
        return self.screen

    # ── typing ────────────────────────────────────────────────────────────────────────────────────

    def type(self, text: str) -> None:
        """Without Enter."""
        data = text.encode()
        while data:
            data = data[os.write(self._terminal, data) :]

    def press(self, *keys: str) -> None:
        for key in keys:
            self.type(key)

    def paste(self, text: str) -> None:
        """As terminals do it for programs that want to know."""
        self.type(BEGIN_PASTE + text.replace("\n", "\r") + END_PASTE)

    def enter(self, text: str) -> None:
        self.type(text)
        self.press(ENTER)

    # ── the terminal ──────────────────────────────────────────────────────────────────────────────

    def _answer(self, data: str) -> None:
        """What an emulator says by itself, such as where the cursor is."""
        os.write(self._terminal, data.encode())

    def _read(self, deadline: float) -> bool:
        """Take in what comes next; False: nothing more comes, or it takes too long."""
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([self._terminal], [], [], left)[0]:
            return False
        try:
            data = os.read(self._terminal, 65536)
        except OSError:
            return False  # the program has closed its side
        self.written += data
        self._stream.feed(data)
        return bool(data)

    def _ended(self, deadline: float) -> int | None:
        while self._status is None and time.monotonic() < deadline:
            done, status = os.waitpid(self.pid, os.WNOHANG)
            if done:
                self._status = os.waitstatus_to_exitcode(status)
            else:
                time.sleep(0.01)
        return self._status

    def close(self) -> None:
        if self._status is None and self._ended(time.monotonic() + 0.01) is None:
            os.kill(self.pid, signal.SIGKILL)
            self._ended(time.monotonic() + PATIENCE)
        os.close(self._terminal)


@contextmanager
def at_terminal(
    command: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path | None = None,
    columns: int = 80,
    rows: int = 24,
) -> Iterator[PtyPerson]:
    """The command with a terminal of its own, which is its controlling one."""
    pid, terminal = pty.fork()
    if pid == 0:
        try:
            if cwd is not None:
                os.chdir(cwd)
            os.execvpe(command[0], list(command), {"TERM": "xterm-256color", **env})
        finally:
            os._exit(127)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    person = PtyPerson(pid, terminal, columns=columns, rows=rows)
    try:
        yield person
    finally:
        person.close()
