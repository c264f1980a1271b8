"""`pending`, `history`, `summary` and `stats` from the database, while no hub runs."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from chatbridge import runtime_paths
from chatbridge.cli import database_file
from chatbridge.cli.ui.running import complain
from chatbridge.core.errors import SettingsError, StoreError
from chatbridge.core.model import Ask
from chatbridge.core.nights.hours import Calendar
from chatbridge.core.nights.summary import Summary, Tally, by_urgency, period_until
from chatbridge.core.statistics import (
    AskTimes,
    local_offset,
    statistics_object,
    statistics_of,
)
from chatbridge.hub.control.asks import in_list, short_ids, summary_object
from chatbridge.settings import Settings, load
from chatbridge.store.ask_times import times_of
from chatbridge.store.sql_store import HISTORY, OPEN_ASKS, TALLY
from chatbridge.store.sqlite import migrate
from chatbridge.store.sqlite.ask_times import ASK_TIMES
from chatbridge.store.sqlite.connection import text_or_bytes

Json = dict[str, Any]
T = TypeVar("T")


def pending(*, brief: bool) -> list[Json] | None:
    return _listed(OPEN_ASKS, {}, brief=brief)


def history(*, limit: int, search: str | None, brief: bool) -> list[Json] | None:
    words = search.casefold() if search and search.strip() else None
    return _listed(HISTORY, {"limit": limit, "search": words}, brief=brief)


def stats(*, seconds: float) -> Json | None:
    until, (path, calendar) = time.time(), _settled()
    since = until - seconds
    zone = next((hours.zone for hours in calendar.hours), None)

    def read() -> list[AskTimes]:
        with database_file.opened(path) as file:
            file.text_factory = text_or_bytes
            return times_of(file.execute(ASK_TIMES, {"since": since, "until": until}))

    times = _read(path, read, nothing=list[AskTimes]())
    if times is None:
        return None
    offset_of = partial(local_offset, zone=zone)
    return statistics_object(statistics_of(times, since=since, until=until, offset_of=offset_of))


def summary(*, since: float | None, brief: bool) -> Json | None:
    """As a hub sums it up."""
    now, (path, calendar) = time.time(), _settled()
    period = period_until(now, calendar=calendar, since=since)
    made = Summary(period=period, at=now)

    def read() -> Summary:
        waiting = by_urgency(tuple(database_file.asks(path, OPEN_ASKS)))
        given = {"since": period.start, "until": period.end, "now": now}
        return replace(made, waiting=waiting, tally=Tally(**database_file.row(path, TALLY, given)))

    found = _read(path, read, nothing=made)
    return None if found is None else summary_object(found, brief=brief)


def _listed(sql: str, given: Json, *, brief: bool) -> list[Json] | None:
    path, none = _settled()[0], list[Ask]()
    asks = _read(path, lambda: database_file.asks(path, sql, given), nothing=none)
    if asks is None:
        return None
    short = short_ids(asks)
    return [in_list(ask, short[ask.id], brief=brief) for ask in asks]


def _read(path: Path, read: Callable[[], T], *, nothing: T) -> T | None:
    """What the database has, or `nothing` if there is none; None if only a hub can read the file,
    because it is of an earlier version. :raises ChatbridgeError: it cannot be read."""
    if not path.exists():
        return nothing
    asyncio.run(migrate.check(path))
    try:
        return read() if database_file.schema_of(path) == migrate.newest() else None
    except sqlite3.Error as error:
        raise StoreError(f"the database {path} cannot be read: {error}") from error


def _settled() -> tuple[Path, Calendar]:
    """Where the database is, and the quiet hours, as the settings say. Where they cannot be used,
    which is said: in its usual place, and none."""
    state = Path(runtime_paths.state_dir())
    try:
        settings = load()
        path, nights = settings.database(state), settings.policy().nights
        nights.switch = database_file.quiet_switch(path)
        return path, nights.calendar
    except SettingsError as error:
        complain(str(error))
        return Settings.model_construct().database(state), Calendar()
