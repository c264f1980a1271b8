"""Nights in force: the owner's policy, with quiet hours that were switched on or off by hand."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from chatbridge.core.model import Ask
from chatbridge.core.nights import policy as rules
from chatbridge.core.nights.hours import Calendar, QuietHours, Switch, parse_rule
from chatbridge.core.nights.policy import NightPolicy, Sound


@dataclass(slots=True)
class Nights:
    policy: NightPolicy = field(default_factory=NightPolicy)
    switch: Switch | None = None

    @property
    def calendar(self) -> Calendar:
        """The owner's own."""
        rule = self.policy.quiet
        return Calendar(() if rule is None else (parse_rule(rule),), self.switch)

    def calendar_of(self, ask: Ask) -> Calendar:
        """With the quiet hours of its project, which a switch does not end."""
        calendar, own = self.calendar, _own_hours(ask)
        return calendar if own is None else replace(calendar, project=own)

    def sound(self, ask: Ask, *, now: float) -> Sound:
        return rules.sound(ask, now=now, calendar=self.calendar_of(ask), policy=self.policy)

    def held_until(self, ask: Ask, *, now: float) -> float | None:
        return rules.held_until(ask, now=now, calendar=self.calendar_of(ask), policy=self.policy)

    def next_reminder(self, ask: Ask, *, now: float) -> tuple[float, bool] | None:
        calendar = self.calendar_of(ask)
        return rules.next_reminder(ask, now=now, calendar=calendar, policy=self.policy)

    def deadline_after_quiet(self, ask: Ask, *, latest: float) -> float | None:
        calendar = self.calendar_of(ask)
        return rules.deadline_after_quiet(ask, latest=latest, calendar=calendar, policy=self.policy)

    def is_quiet(self, now: float) -> bool:
        return self.calendar.period_at(now) is not None

    def is_kept_back(self, ask: Ask, *, surface: str) -> bool:
        """Whether this surface gets an ask only with its last reminder."""
        return not ask.attention.escalated and self.is_for_escalation(surface)

    def is_for_escalation(self, surface: str) -> bool:
        escalate = self.policy.escalate
        return escalate is not None and escalate in (surface, surface.partition(":")[0])


def _own_hours(ask: Ask) -> QuietHours | None:
    rule = ask.attention.quiet
    if rule is None:
        return None
    try:
        return parse_rule(rule)
    except ValueError:  # stored where another zone was known
        return None
