"""`pending`, `history` and `stats` from the database, while no hub runs."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from chatbridge import runtime_paths
from chatbridge.cli import database_file
from chatbridge.cli.ui.running import complain
from chatbridge.core.errors import SettingsError, StoreError
from chatbridge.core.model import Ask
from chatbridge.core.statistics import AskTimes, statistics_object, statistics_of
from chatbridge.hub.control.asks import in_list, short_ids
from chatbridge.settings import Settings, load
from chatbridge.store import migrate
from chatbridge.store.ask_times import ASK_TIMES, times_of
from chatbridge.store.connection import text_or_bytes
from chatbridge.store.sqlite import HISTORY, OPEN_ASKS

Json = dict[str, Any]
T = TypeVar("T")


def pending(*, brief: bool) -> list[Json] | None:
    return _listed(OPEN_ASKS, {}, brief=brief)


def history(*, limit: int, search: str | None, brief: bool) -> list[Json] | None:
    words = search.casefold() if search and search.strip() else None
    return _listed(HISTORY, {"limit": limit, "search": words}, brief=brief)


def stats(*, seconds: float) -> Json | None:
    until = time.time()
    since = until - seconds

    def read(path: Path) -> list[AskTimes]:
        with database_file.opened(path) as file:
            file.text_factory = text_or_bytes
            return times_of(file.execute(ASK_TIMES, {"since": since, "until": until}))

    times = _read(read)
    if times is None:
        return None
    return statistics_object(statistics_of(times, since=since, until=until))


def _listed(sql: str, given: Json, *, brief: bool) -> list[Json] | None:
    """As a hub lists them."""

    def read(path: Path) -> list[Ask]:
        return database_file.asks(path, sql, given)

    asks = _read(read)
    if asks is None:
        return None
    short = short_ids(asks)
    return [in_list(ask, short[ask.id], brief=brief) for ask in asks]


def _read(read: Callable[[Path], list[T]]) -> list[T] | None:
    """None if only a hub can read the file, because it is of an earlier version.
    :raises ChatbridgeError: it cannot be read."""
    path = _database()
    if not path.exists():
        return []
    asyncio.run(migrate.check(path))
    try:
        return read(path) if database_file.schema_of(path) == migrate.newest() else None
    except sqlite3.Error as error:
        raise StoreError(f"the database {path} cannot be read: {error}") from error


def _database() -> Path:
    """Where the settings say; where they cannot be used, which is said, in its usual place."""
    state = Path(runtime_paths.state_dir())
    try:
        return load().database(state)
    except SettingsError as error:
        complain(str(error))
        return Settings.model_construct().database(state)
