"""Whether the database that was opened is still the one under its name.

A file that was deleted or replaced can still be written, and is lost when the last one who has it
open closes it. Nothing is watched: whoever writes, or asks, looks.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path

from chatbridge.core.errors import StoreError

log = logging.getLogger(__name__)

Identity = tuple[int, int] | None


class OpenedFile:
    def __init__(self, path: Path) -> None:
        """After it was opened, and its log with it: what is not yet in the file is in there."""
        self._path = path
        self._names = (str(path), f"{path}-wal")
        self._opened = [_identity(name) for name in self._names]
        self._there = True
        self.told: Callable[[str], None] = lambda text: None
        """Told once when it is gone."""

    def is_there(self) -> bool:
        there = [_identity(name) for name in self._names] == self._opened
        if there != self._there:
            self._there = there
            if there:
                log.info("the database %s is back", self._path)
            else:
                log.error("%s", self.fault)
                self.told(self.fault)
        return there

    def check(self) -> None:
        """:raises StoreError: the next hub would not find what is written now."""
        if not self.is_there():
            raise StoreError(self.fault)

    @property
    def fault(self) -> str:
        return (
            f"the database {self._path} was deleted or replaced while the hub runs. Answers still "
            "reach agents that wait, but nothing new is asked or run, and what is not under that "
            "name is lost when the hub ends. Put the file back, or run: chatbridge stop"
        )


def _identity(name: str) -> Identity:
    try:
        found = os.stat(name)
    except OSError:
        return None
    return found.st_dev, found.st_ino
