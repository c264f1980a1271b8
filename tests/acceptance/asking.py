"""A running `chatbridge ask` or `notify`, as a script starts it."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable
from typing import IO, Self

from tests.acceptance.bridge import Home
from tests.fakes.link_client import PATIENCE
from tests.fakes.machine import House
from tests.fakes.program import CHATBRIDGE, bare


class Asking:
    """Its output in pipes."""

    def __init__(
        self, home: Home | House, *words: str, command: str = "ask", **environment: str
    ) -> None:
        folder = home.project if isinstance(home, House) else home.folder
        self.process = subprocess.Popen(
            [*CHATBRIDGE, command, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
            env=bare(
                {
                    **home.environment,
                    **environment,
                }
            ),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def first_line(self) -> str:
        """What it says once the question is out."""
        return self._read(self._stderr.readline)

    def ends(self) -> tuple[int, str, str]:
        """Its code, and what it still had to say."""
        assert self.process.stdout is not None
        err = self._read(self._stderr.read)
        out = self._read(self.process.stdout.read)
        assert "Traceback" not in err, err
        return self.process.wait(PATIENCE), out, err

    def says_no_more(self) -> int:
        assert self._read(self._stderr.read) == ""
        return self.process.wait(PATIENCE)

    @property
    def _stderr(self) -> IO[str]:
        assert self.process.stderr is not None
        return self.process.stderr

    def _read(self, read: Callable[[], str]) -> str:
        """Not for ever. What was read too early by one call is there for the next."""
        late = threading.Timer(PATIENCE, self.process.kill)
        late.start()
        try:
            return read()
        finally:
            late.cancel()
