"""Nights in force: the owner's policy, with quiet hours that were switched on or off by hand, and
what the team adds: people's own quiet hours, and where their cards go."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from chatbridge.core.model import Ask, Attention, Notice, QuietRule
from chatbridge.core.nights import policy as rules
from chatbridge.core.nights.hours import DAY, NO_HOURS, Calendar, QuietHours, Switch, parse_rule
from chatbridge.core.nights.policy import Asked, NightPolicy, Sound
from chatbridge.core.people.routes import UNSHOWN_SECONDS, second_line_at
from chatbridge.core.people.team import Team

USUAL_MORNING = 8 * 60
"""The minute of the day, if the owner has set none."""


@dataclass(slots=True)
class Nights:
    policy: NightPolicy = field(default_factory=NightPolicy)
    switch: Switch | None = None
    team: Team = field(default_factory=Team)

    @property
    def hours(self) -> QuietHours:
        """The owner's own, in the owner's zone, as they are without a switch."""
        return parse_rule(self.policy.quiet or QuietRule(hours=NO_HOURS))

    @property
    def regular(self) -> Calendar:
        """The same as a calendar."""
        return Calendar(() if self.policy.quiet is None else (self.hours,))

    @property
    def calendar(self) -> Calendar:
        """The owner's, with what was switched by hand."""
        return replace(self.regular, switch=self.switch)

    def calendar_of(self, ask: Asked) -> Calendar:
        """With the quiet hours of its project, which a switch does not end."""
        calendar, own = self.calendar, self._hours_of(ask.attention.quiet)
        return calendar if own is None else replace(calendar, project=own)

    def calendar_on(self, surface: str, ask: Asked) -> Calendar:
        """The same on a surface: also with the quiet hours of the person whose chat it is."""
        own = self._hours_of(self.team.quiet_on(surface))
        return replace(self.calendar_of(ask), person=own)

    def _hours_of(self, rule: QuietRule | None) -> QuietHours | None:
        """Of a project or a person: in the owner's zone, if it names none."""
        if rule is None:
            return None
        owners = self.policy.quiet.zone if self.policy.quiet is not None else None
        try:
            return parse_rule(replace(rule, zone=rule.zone or owners))
        except ValueError:  # stored where another zone was known
            return None

    def sound(self, ask: Ask, *, now: float, surface: str = "") -> Sound:
        """How its card would come now: anywhere, or on a surface."""
        calendar = self.calendar_on(surface, ask)
        return rules.sound(ask, now=now, calendar=calendar, policy=self.policy)

    def held_until(self, ask: Asked, *, now: float) -> float | None:
        return rules.held_until(ask, now=now, calendar=self.calendar_of(ask), policy=self.policy)

    def next_shown(self, ask: Asked, *, now: float) -> float | None:
        """When its card may be shown next on some surface that it is held back from."""
        calendar = self.calendar_of(ask)
        hours = {None, *map(self._hours_of, self.team.quiet_rules())}
        held = (
            rules.held_until(
                ask, now=now, calendar=replace(calendar, person=each), policy=self.policy
            )
            for each in hours
        )
        return min(filter(None, held), default=None)

    def second_line_at(self, ask: Ask) -> float | None:
        return second_line_at(self.team.route_of(ask, ask.attention.priority), ask)

    def route_checked_at(self, ask: Ask, *, now: float) -> float | None:
        """When it should be where its route leads; None: that is everywhere."""
        if not self.team.places_for(ask):
            return None
        since = max(ask.created_at, self.next_shown(ask, now=now) or 0.0)
        return max(since, ask.attention.snoozed_until or 0.0) + UNSHOWN_SECONDS

    def raised_on(self, surface: str, attention: Attention) -> int:
        """How often a new card of it had to come here."""
        return attention.raised + self.team.handed_to(attention, surface)

    def is_quiet_on(self, surface: str, now: float) -> bool:
        own = self._hours_of(self.team.quiet_on(surface))
        return replace(self.calendar, person=own).period_at(now) is not None

    def next_reminder(self, ask: Ask, *, now: float) -> tuple[float, bool] | None:
        calendar = self.calendar_of(ask)
        return rules.next_reminder(ask, now=now, calendar=calendar, policy=self.policy)

    def deadline_after_quiet(self, ask: Ask, *, latest: float) -> float | None:
        calendar = self.calendar_of(ask)
        return rules.deadline_after_quiet(ask, latest=latest, calendar=calendar, policy=self.policy)

    def time_to_see_it(self, ask: Ask, *, now: float) -> float:
        calendar = self.calendar_of(ask)
        return rules.time_to_see_it(ask, now=now, calendar=calendar, policy=self.policy)

    def urgent_since(self, ask: Ask) -> float | None:
        """Since when urgent asks are counted against this new one; None: it is not urgent, or does
        not ring for that."""
        if ask.approval or not rules.is_let_through(ask, self.policy):
            return None
        night = self.calendar_of(ask).period_at(ask.created_at)
        return None if night is None else night.start

    def morning(self, now: float, calendar: Calendar | None = None) -> float:
        """When a person is likely to look again: the end of quiet hours, if they end within a day.
        Else the time of the summary, or eight."""
        end = (calendar or self.calendar).end_after(now)
        if end is not None and end - now <= DAY:
            return end
        at = self.policy.summary_at
        return self.hours.next_time(USUAL_MORNING if at is None else at, after=now)

    def switch_at(self, now: float) -> Switch | None:
        """The switch that counts now."""
        return self.switch if self.switch is not None and now in self.switch.period else None

    def is_quiet(self, now: float) -> bool:
        return self.calendar.period_at(now) is not None

    def is_hidden(self, ask: Ask, *, surface: str, now: float) -> bool:
        """Whether a surface that has no card of this ask gets none now."""
        if self.is_for_escalation(surface):
            if not ask.attention.escalated:
                return True
        elif not self.team.shows(ask, surface):
            return True
        return self.sound(ask, now=now, surface=surface) is Sound.HIDDEN

    def hides_notice(self, notice: Notice, *, surface: str) -> bool:
        """Whether a surface never shows this notice."""
        return self.is_for_escalation(surface) or not self.team.shows_notice(notice, surface)

    def is_for_escalation(self, surface: str) -> bool:
        escalate = self.policy.escalate
        return escalate is not None and escalate in (surface, surface.partition(":")[0])
