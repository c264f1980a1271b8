"""The tables of nights: quiet hours, reminders and the summary.

`chatbridge.core.nights.policy` says what they mean for an ask.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from pydantic_settings import NoDecode

from chatbridge.core.nights.hours import MINUTE, parse_clock, read_hours
from chatbridge.core.nights.policy import NightPolicy
from chatbridge.projects import QuietTable
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
    return parse_clock(str(value))


Hours = Annotated[
    tuple[str, ...] | None, NoDecode, BeforeValidator(lambda value: read_hours(_decoded(value)))
]
Through = Literal["approval", "urgent"]


class Quiet(QuietTable, SettingsTable):
    hours: Hours = None
    """None: no quiet hours but those that are switched on."""
    let_through: Annotated[tuple[Through, ...], NoDecode, BeforeValidator(listed)] = (
        "approval",
        "urgent",
    )
    deadlines: Literal["extend", "run"] = "extend"
    grace: Seconds = 30 * MINUTE
    max_urgent: int = Field(default=3, ge=0, le=1000)


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
            raise ValueError(
                "escalate needs a reminder; add a time to after, or take escalate away"
            )
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
