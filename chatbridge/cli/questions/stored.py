"""`pending` and `history` from the database, while no hub runs."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

from chatbridge import runtime_paths
from chatbridge.cli import database_file
from chatbridge.cli.ui.running import complain
from chatbridge.core.errors import SettingsError, StoreError
from chatbridge.hub.control.asks import in_list, short_ids
from chatbridge.settings import Settings, load
from chatbridge.store import migrate
from chatbridge.store.sqlite import HISTORY, OPEN_ASKS

Json = dict[str, Any]


def pending(*, brief: bool) -> list[Json] | None:
    return _listed(OPEN_ASKS, {}, brief=brief)


def history(*, limit: int, search: str | None, brief: bool) -> list[Json] | None:
    words = search.casefold() if search and search.strip() else None
    return _listed(HISTORY, {"limit": limit, "search": words}, brief=brief)


def _listed(sql: str, given: Json, *, brief: bool) -> list[Json] | None:
    """As a hub lists them; None if only a hub can read the file, because it is of an earlier
    version. :raises ChatbridgeError: it cannot be read."""
    path = _database()
    if not path.exists():
        return []
    asyncio.run(migrate.check(path))
    try:
        if database_file.schema_of(path) != migrate.newest():
            return None
        asks = database_file.asks(path, sql, given)
    except sqlite3.Error as error:
        raise StoreError(f"the database {path} cannot be read: {error}") from error
    short = short_ids(asks)
    return [in_list(ask, short[ask.id], brief=brief) for ask in asks]


def _database() -> Path:
    """Where the settings say; where they cannot be used, which is said, in its usual place."""
    state = Path(runtime_paths.state_dir())
    try:
        return load().database(state)
    except SettingsError as error:
        complain(str(error))
        return Settings.model_construct().database(state)
