"""Reads the database without a hub. Starts nothing, and creates no file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chatbridge.core.model import Ask

if TYPE_CHECKING:
    from chatbridge.core.nights.hours import Switch

TIMED_GRANTS = """
    SELECT asks.project_name, grants.folder, grants.until FROM grants JOIN asks ON seq = ask
    WHERE grants.taken_back_at IS NULL AND grants.until > ? ORDER BY grants.until, ask
"""


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """As `migrate.check` does it: reads the log beside the file, too, and creates none."""
    log = path.with_name(path.name + "-wal")
    mode = "mode=ro" if log.exists() else "immutable=1"
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True)) as file:
        yield file


def schema_of(path: Path) -> int:
    """:raises sqlite3.Error:"""
    with opened(path) as file:
        return int(file.execute("PRAGMA user_version").fetchone()[0])


def asks(path: Path, sql: str, given: Sequence[Any] | Mapping[str, Any] = ()) -> list[Ask]:
    """Those that this version can read. :raises sqlite3.Error:"""
    from chatbridge.store.rows import QUESTION, UnreadableRows
    from chatbridge.store.sqlite.connection import text_or_bytes

    with opened(path) as file:
        file.row_factory, file.text_factory = sqlite3.Row, text_or_bytes
        return UnreadableRows().read(QUESTION, file.execute(sql, given))


def row(path: Path, sql: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The only row of a result. :raises sqlite3.Error:"""
    with opened(path) as file:
        file.row_factory = sqlite3.Row
        return dict(file.execute(sql, given).fetchone())


def notes(path: Path, channel: str) -> dict[str, str]:
    """What a channel remembers, such as where a chat has moved to, if that can be read."""
    try:
        with opened(path) as file:
            file.text_factory = lambda stored: stored.decode(errors="replace")
            rows = file.execute("SELECT key, value FROM notes WHERE channel = ?", (channel,))
            return {str(key): str(value) for key, value in rows}
    except sqlite3.Error:
        return {}


def quiet_switch(path: Path) -> Switch | None:
    """Quiet hours by hand, if that can be read."""
    from chatbridge.core.nights import switching

    noted = notes(path, switching.CHANNEL).get(switching.KEY)
    return switching.from_text(noted) if noted else None


def timed_grants(path: Path, now: float) -> list[tuple[str, str | None, float]]:
    """What was allowed for a time that is not over: the project's name, the folder in which edits
    are allowed, and until when."""
    try:
        with opened(path) as file:
            return file.execute(TIMED_GRANTS, (now,)).fetchall()
    except sqlite3.Error:
        return []  # the check of the database says why, or an earlier version wrote it
