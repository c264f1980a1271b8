"""Rows that this version cannot read: a newer one wrote them, or something damaged them.

Such a row stays as it is and is left out of what is read, so that everything else goes on. Each is
logged once, and all of them are listed for whoever asks how the store is.
"""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

log = logging.getLogger(__name__)

T = TypeVar("T")

LISTED = 1_000
NAMES = {
    "question": ("id",),
    "call": ("link", "request"),
    "post": ("ask_id", "surface"),
    "notice": ("id",),
    "command": ("id",),
}
"""What each kind of row is known by."""
UNREADABLE = (ValueError, TypeError, LookupError, RecursionError)
"""What making a value from a row may raise."""


def name_of(kind: str, row: sqlite3.Row) -> str:
    parts = [row[part] for part in NAMES[kind]]
    return " ".join(part if isinstance(part, str) else "?" for part in parts)


class SetAside:
    def __init__(self) -> None:
        self._known: dict[tuple[str, str], None] = {}
        self._open_asks: set[int] = set()

    @property
    def listed(self) -> Sequence[tuple[str, str]]:
        """The kind and the name of each."""
        return list(self._known)

    @property
    def open_asks(self) -> str:
        """The `seq` of each open ask among them, as JSON."""
        return json.dumps(list(self._open_asks))

    def read(
        self, kind: str, rows: Iterable[sqlite3.Row], make: Callable[[sqlite3.Row], T]
    ) -> list[T]:
        """Those that can be read."""
        found = []
        for row in rows:
            try:
                found.append(make(row))
            except UNREADABLE as error:
                self._add(kind, row, error)
        return found

    def first(
        self, kind: str, rows: Iterable[sqlite3.Row], make: Callable[[sqlite3.Row], T]
    ) -> T | None:
        """The first that can be read; the rest is not looked at."""
        return next((each for row in rows for each in self.read(kind, (row,), make)), None)

    def _add(self, kind: str, row: sqlite3.Row, error: Exception) -> None:
        if kind == "question" and row["status"] == "open":
            self._open_asks.add(row["seq"])
        name = name_of(kind, row)
        if (kind, name) in self._known or len(self._known) >= LISTED:
            return
        self._known[kind, name] = None
        # Only the error's kind: its text would quote what the row holds.
        why = type(error).__name__
        log.error("%s %s cannot be read by this version and is set aside (%s)", kind, name, why)
