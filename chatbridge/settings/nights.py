"""The tables of nights: quiet hours, reminders and the summary.

`chatbridge.core.nights.policy` says what they mean for an ask.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from pydantic_settings import NoDecode

from chatbridge.core.model import QuietRule
from chatbridge.core.nights.hours import NO_HOURS, find_zone, parse_minute, read_hours
from chatbridge.core.nights.policy import MINUTE, NightPolicy
from chatbridge.setting_rules import listed
from chatbridge.settings.tools import Seconds, SettingsTable

MAX_REMINDERS = 5


def _decoded(value: object) -> object:
    """A table by weekday, also as JSON in a variable."""
    if not isinstance(value, str) or not value.lstrip().startswith("{"):
        return value
    import json

    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        raise ValueError('write a table by weekday as JSON: {"mon-fri": "22:30-07:00"}') from None


def _known_zone(name: str | None) -> str | None:
    if not name:
        return None
    find_zone(name)
    return name


def _rising(times: tuple[float, ...]) -> tuple[float, ...]:
    if len(times) > MAX_REMINDERS:
        raise ValueError(f"accepted: at most {MAX_REMINDERS} times")
    if any(later <= earlier for earlier, later in pairwise(times)):
        raise ValueError('they must rise, such as ["15min", "3h"]')
    return times


def _minute_of_the_day(value: object) -> object:
    """Of a text such as 08:00, or of TOML's own time."""
    if value is None or value == "":
        return None
    found = re.fullmatch(r"\s*(\d{1,2}):(\d{2})(?::00)?\s*", str(value), re.ASCII)
    if found is None or int(found[1]) > 23:
        raise ValueError('write a time such as "08:00"')
    return parse_minute(found[1], found[2])


Hours = Annotated[
    tuple[str, ...] | None, NoDecode, BeforeValidator(lambda value: read_hours(_decoded(value)))
]
Through = Literal["approval", "urgent"]


class Quiet(SettingsTable):
    hours: Hours = None
    """For each weekday from Monday on, as `QuietRule` has them. None: no quiet hours but those that
    are switched on."""
    zone: Annotated[str | None, AfterValidator(_known_zone)] = None
    mode: Literal["silent", "hold"] = "silent"
    let_through: Annotated[tuple[Through, ...], NoDecode, BeforeValidator(listed)] = (
        "approval",
        "urgent",
    )
    deadlines: Literal["extend", "run"] = "extend"
    grace: Seconds = 30 * MINUTE
    max_urgent: int = Field(default=3, ge=0, le=1000)

    @property
    def rule(self) -> QuietRule | None:
        """None: nothing is set. Without hours it still counts for those that are switched on."""
        hold = self.mode == "hold"
        if self.hours is None and self.zone is None and not hold:
            return None
        return QuietRule(hours=self.hours or NO_HOURS, zone=self.zone, hold=hold)


class Reminders(SettingsTable):
    after: Annotated[
        tuple[Seconds, ...], NoDecode, BeforeValidator(listed), AfterValidator(_rising)
    ] = (15 * MINUTE, 180 * MINUTE)
    """After the question came; empty: nobody is reminded."""
    escalate: str | None = None
    """The channel, or one chat of it, that gets only the last reminder."""

    @model_validator(mode="after")
    def _has_a_last_one(self) -> Reminders:
        if self.escalate and not self.after:
            raise ValueError("escalate needs a reminder: give after at least one time")
        return self


class Summary(SettingsTable):
    enabled: bool = True
    at: Annotated[int | None, BeforeValidator(_minute_of_the_day)] = None
    """The minute of the day. None: when quiet hours end."""


def night_policy(quiet: Quiet, reminders: Reminders, summary: Summary) -> NightPolicy:
    return NightPolicy(
        quiet=quiet.rule,
        let_through=frozenset(quiet.let_through),
        extend_deadlines=quiet.deadlines == "extend",
        grace=quiet.grace,
        max_urgent=quiet.max_urgent,
        reminders=reminders.after,
        escalate=reminders.escalate or None,
        summary=summary.enabled,
        summary_at=summary.at,
    )
