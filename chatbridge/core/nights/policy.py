"""What the owner has set for nights, and what it means for an ask at a time. Pure functions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum, auto
from math import inf
from typing import Protocol

from chatbridge.core.model import Ask, Attention, Priority, QuietRule
from chatbridge.core.nights.hours import MINUTE, Calendar

REMIND_BEFORE_END_SECONDS = 10 * MINUTE
REMIND_MIN_TIMEOUT_SECONDS = 30 * MINUTE
"""Asks with less time have no reminder before their end."""
REMINDERS_APART_SECONDS = 10 * MINUTE
ONE_RING_SECONDS = 2 * MINUTE
"""Of the cards that come by the clock within this time, the first one rings."""
FILLING_IN_SECONDS = 10 * MINUTE
"""So long after a person's last tap nobody is reminded."""
SEEN_SECONDS = 10 * MINUTE
"""What has less time after quiet hours is not held."""
SLEPT_SECONDS = MINUTE
"""What is overdue by more, the hub has slept over: its machine was suspended, or none ran."""
MAX_MOVES = 20
"""Out of one quiet period into the next: then the end of one has to do."""


class Sound(Enum):
    """How a card comes into a chat that does not have it yet."""

    HIDDEN = auto()
    SILENT = auto()
    ONCE = auto()  # Loud, unless another one that came by the clock has just rung there
    LOUD = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class NightPolicy:
    """Times are in seconds."""

    quiet: QuietRule | None = None
    let_through: frozenset[str] = frozenset({"approval", "urgent"})
    extend_deadlines: bool = True  # Out of quiet hours, as far as the time-out's limit allows
    grace: float = 30 * MINUTE  # After quiet hours: when such a deadline is
    max_urgent: int = 3  # For each project and night
    reminders: tuple[float, ...] = (15 * MINUTE, 180 * MINUTE)  # After the ask was opened
    escalate: str | None = None  # The channel or surface that gets only the last reminder
    summary: bool = True  # One is sent when quiet hours end
    summary_at: int | None = None  # The minute of the day at which it is sent instead


class Asked(Protocol):
    """What counts of an ask, or of its row in a list."""

    @property
    def approval(self) -> bool: ...

    @property
    def attention(self) -> Attention: ...

    @property
    def created_at(self) -> float: ...

    @property
    def deadline(self) -> float | None: ...


def is_let_through(ask: Asked, policy: NightPolicy) -> bool:
    if ask.approval:
        return "approval" in policy.let_through
    return ask.attention.priority is Priority.URGENT and "urgent" in policy.let_through


def sound(ask: Ask, *, now: float, calendar: Calendar, policy: NightPolicy) -> Sound:
    """How a card of this ask would come now."""
    attention = ask.attention
    if attention.snoozed_until is not None:
        return Sound.HIDDEN
    if held_until(ask, now=now, calendar=calendar, policy=policy) is not None:
        return Sound.HIDDEN
    if attention.priority is Priority.LOW:
        return Sound.SILENT
    if is_let_through(ask, policy):
        return Sound.LOUD
    if calendar.period_at(now) is not None:
        return Sound.SILENT
    if attention.raised:
        return Sound.ONCE
    if calendar.period_at(ask.created_at) is None:
        return Sound.LOUD
    return Sound.SILENT if _summary_rings(ask.created_at, calendar, policy) else Sound.ONCE


def _summary_rings(at: float, calendar: Calendar, policy: NightPolicy) -> bool:
    """Whether a summary rings when the quiet hours of this moment end, for all that they have
    brought. One at a set time may come too late for what ends before."""
    owners = replace(calendar, project=None, person=None)
    night = owners.period_at(at)
    if night is None or owners.is_brief(night):
        return False
    return policy.summary and policy.summary_at is None


def held_until(ask: Asked, *, now: float, calendar: Calendar, policy: NightPolicy) -> float | None:
    """Until when the card is not shown in chats that do not have it; None: it may come now. What
    would time out unseen is not held, nor what was there before quiet hours began. A snoozed one
    comes back at its own time."""
    if ask.attention.snoozed_until is not None:
        return None
    rules = (policy.quiet, ask.attention.quiet)
    if not any(rule.hold for rule in rules if rule is not None):
        return None
    period = calendar.period_at(now)
    if period is None or ask.created_at < period.start:
        return None
    time_to_see_it = min(policy.grace, SEEN_SECONDS)
    ends_before = ask.deadline is not None and ask.deadline < period.end + time_to_see_it
    # Reminders come outside the owner's quiet hours, not outside everybody's.
    raised = ask.attention.raised and calendar.person is None
    if ends_before or raised or is_let_through(ask, policy):
        return None
    return period.end


def deadline_after_quiet(
    ask: Ask, *, latest: float, calendar: Calendar, policy: NightPolicy
) -> float | None:
    """The deadline, moved out of the quiet hours that it falls into. What rings then keeps its
    own."""
    if ask.deadline is None or not policy.extend_deadlines or is_let_through(ask, policy):
        return ask.deadline
    moved = _after_quiet(ask.deadline, policy.grace, calendar)
    return max(ask.deadline, min(moved, latest))


def time_to_see_it(ask: Ask, *, now: float, calendar: Calendar, policy: NightPolicy) -> float:
    """Until when an overdue ask stays open, because it was held while it was asked and the hub may
    have slept over all the time in which it could be seen; `now`: it does not."""
    if ask.deadline is None or now - ask.deadline <= SLEPT_SECONDS:
        return now
    held = held_until(ask, now=ask.created_at, calendar=calendar, policy=policy)
    return now if held is None else now + min(policy.grace, SEEN_SECONDS)


def _after_quiet(at: float, pause: float, calendar: Calendar) -> float:
    """The same time or, if it is in quiet hours, so long after them and in no others."""
    for _ in range(MAX_MOVES):
        if (period := calendar.period_at(at)) is None:
            return at
        at = period.end + pause
    return at if (period := calendar.period_at(at)) is None else period.end


def reminder_times(ask: Ask, *, calendar: Calendar, policy: NightPolicy) -> tuple[float, ...]:
    """When to remind of an ask that nobody answers, from its beginning to its end. None comes in
    quiet hours: what falls into them, its own beginning too, comes when they end, unless something
    else rings then. The last of the set times is counted anew from there."""
    if ask.attention.priority is Priority.LOW:
        return ()
    created, deadline = ask.created_at, ask.deadline
    times = [created + after for after in policy.reminders[:-1]]
    if not is_let_through(ask, policy):
        times.append(created)
    if policy.reminders and deadline and deadline - created >= REMIND_MIN_TIMEOUT_SECONDS:
        times.append(deadline - REMIND_BEFORE_END_SECONDS)
    times = [
        _after_quiet(at, 0.0, calendar)
        for at in times
        if not _summary_rings(at, calendar, policy)
        and not held_until(ask, now=at, calendar=calendar, policy=policy)
    ]
    for after in policy.reminders[-1:]:
        night = calendar.period_at(created + after)
        times.append(_after_quiet((night.end if night else created) + after, 0.0, calendar))
    found: list[float] = []
    for at in sorted(times):
        near = bool(found) and at - found[-1] < REMINDERS_APART_SECONDS
        if not near and created < at < (deadline or inf):
            found.append(at)
    return tuple(found)


def next_reminder(
    ask: Ask, *, now: float, calendar: Calendar, policy: NightPolicy
) -> tuple[float, bool] | None:
    """When the next reminder comes, at once if it is overdue, and whether it is the last one."""
    attention: Attention = ask.attention
    if not ask.open or attention.snoozed_until is not None:
        return None
    given = attention.reminded_at or ask.created_at
    left = [at for at in reminder_times(ask, calendar=calendar, policy=policy) if at > given]
    if not left:
        return None
    # After a clock step or a restart it may be long overdue, and quiet by now.
    at = max(left[0], now, given + REMINDERS_APART_SECONDS if attention.reminded_at else 0.0)
    if attention.touched_at is not None:
        at = max(at, attention.touched_at + FILLING_IN_SECONDS)
    at = _after_quiet(at, 0.0, calendar)
    if ask.deadline is not None and at >= ask.deadline:
        return None
    return at, all(other <= at for other in left)
