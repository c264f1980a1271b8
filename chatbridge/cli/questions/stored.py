"""`pending`, `history`, `summary` and `stats` from the database, while no hub runs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from chatbridge import runtime_paths
from chatbridge.cli.database import Database, asks, database_of, quiet_switch
from chatbridge.cli.ui.running import complain
from chatbridge.core.errors import SettingsError
from chatbridge.core.model import Ask
from chatbridge.core.nights.hours import Calendar
from chatbridge.core.nights.summary import Summary, Tally, by_urgency, period_until
from chatbridge.core.statistics import (
    AskTimes,
    local_offset,
    statistics_object,
    statistics_of,
)
from chatbridge.core.text import encodable
from chatbridge.hub.control.asks import in_list, short_ids, summary_object
from chatbridge.settings import Settings, load
from chatbridge.store.ask_times import times_of
from chatbridge.store.sql_store import HISTORY, OPEN_ASKS, TALLY

Json = dict[str, Any]
T = TypeVar("T")


def pending(*, brief: bool) -> list[Json] | None:
    return _listed(OPEN_ASKS, {}, brief=brief)


def history(*, limit: int, search: str | None, brief: bool) -> list[Json] | None:
    words = encodable(search).casefold() if search and search.strip() else None
    return _listed(HISTORY, {"limit": limit, "search": words, "least": -math.inf}, brief=brief)


def stats(*, seconds: float) -> Json | None:
    until, (database, calendar) = time.time(), _settled()
    since = until - seconds
    zone = next((hours.zone for hours in calendar.hours), None)

    def read() -> list[AskTimes]:
        given = {"since": since, "until": until}
        return times_of(database.rows(database.ask_times_sql, given))

    times = _read(database, read, nothing=list[AskTimes]())
    if times is None:
        return None
    offset_of = partial(local_offset, zone=zone)
    return statistics_object(statistics_of(times, since=since, until=until, offset_of=offset_of))


def summary(*, since: float | None, brief: bool) -> Json | None:
    """As a hub sums it up."""
    now, (database, calendar) = time.time(), _settled()
    period = period_until(now, calendar=calendar, since=since)
    made = Summary(period=period, at=now)

    def read() -> Summary:
        waiting = by_urgency(tuple(asks(database, OPEN_ASKS)))
        given = {"since": period.start, "until": period.end, "now": now}
        (row,) = database.rows(TALLY, given)
        return replace(made, waiting=waiting, tally=Tally(**dict(row)))

    found = _read(database, read, nothing=made)
    if found is None:
        return None
    return summary_object(found, _in_list(found.waiting, brief=brief))


def _listed(sql: str, given: Json, *, brief: bool) -> list[Json] | None:
    database, none = _settled()[0], list[Ask]()
    found = _read(database, lambda: asks(database, sql, given), nothing=none)
    return None if found is None else _in_list(found, brief=brief)


def _in_list(found: Sequence[Ask], *, brief: bool) -> list[Json]:
    short = short_ids(found)
    return [in_list(ask, short[ask.id], brief=brief) for ask in found]


def _read(database: Database, read: Callable[[], T], *, nothing: T) -> T | None:
    """What the database has, or `nothing` if there is none; None if only a hub can read it, because
    it is of an earlier version. :raises ChatbridgeError: it cannot be read."""
    readable = database.is_readable()
    if readable is None:
        return nothing
    return read() if readable else None


def _settled() -> tuple[Database, Calendar]:
    """Where the database is, and the quiet hours, as the settings say. Where they cannot be used,
    which is said: in its usual place, and none."""
    state = Path(runtime_paths.state_dir())
    try:
        settings = load()
        database, nights = database_of(settings, state), settings.policy().nights
        nights.switch = quiet_switch(database)
        return database, nights.calendar
    except SettingsError as error:
        complain(str(error))
        return database_of(Settings.model_construct(), state), Calendar()
