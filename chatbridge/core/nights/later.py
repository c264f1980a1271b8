"""More time for an ask, and snoozing it: what can be had now, and what it comes to. Pure functions.

What is offered and what is accepted are decided by the same function: a button that was drawn
earlier, or that nobody drew, is held to the limits of the moment in which it is tapped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf

from chatbridge.core.cards.phrases import format_time
from chatbridge.core.forms import form
from chatbridge.core.model import Ask
from chatbridge.core.nights.hours import DAY, HOUR, MINUTE

LEFT_AFTER_SNOOZE = 15 * MINUTE
"""So much time is left to answer what comes back."""
SHORTEST_REST = 5 * MINUTE
"""The shortest snooze that is offered, beside more time, where an hour is too long."""
LONGEST_SNOOZE_DAYS = 7

NO_MORE_TIME = form.Refused(why="This question can get no more time.")
NO_LIMIT = form.Refused(why="This question has no time limit.")
TIME_PASSED = form.Refused(why="That time has passed.")
TOO_SOON = form.Refused(why="It ends too soon to be snoozed.")
TOO_LONG = form.Refused(why=f"It can be snoozed for {LONGEST_SNOOZE_DAYS} days at most.")


@dataclass(frozen=True, slots=True, kw_only=True)
class LaterOption:
    label: str
    event: form.Later
    at: float  # The deadline that it leads to; of a snooze, when the card comes back


def options(ask: Ask, *, now: float, latest: float, morning: float) -> tuple[LaterOption, ...]:
    """What can be had without a cut. `latest`: the latest deadline allowed."""
    if not ask.open:
        return ()
    found = []
    for label, how in _offers(ask, now=now, latest=latest, morning=morning):
        to = resolve(ask, how, now=now, latest=latest)
        if not isinstance(to, form.Refused):
            at = to[0] if to[1] is None else to[1]
            assert at is not None
            found.append(LaterOption(label=label, event=how, at=at))
    return tuple(found)


def _offers(
    ask: Ask, *, now: float, latest: float, morning: float
) -> Iterator[tuple[str, form.Later]]:
    step, dawn = ask.draft.step, int(morning // MINUTE)
    until = format_time(dawn * MINUTE, now=now)
    if ask.deadline is not None:
        for minutes, label in ((15, "+15 min"), (60, "+1 h")):
            if ask.deadline + minutes * MINUTE <= latest:
                yield label, form.Extend(step=step, minutes=minutes)
        if ask.deadline + 15 * MINUTE > latest:  # what is left is offered as what it is
            last = int(latest // MINUTE)
            if last * MINUTE - ask.deadline >= MINUTE:
                end = format_time(last * MINUTE, now=now)
                yield f"Until {end}", form.ExtendUntil(step=step, until=last)
        else:
            yield f"Until {until}", form.ExtendUntil(step=step, until=dawn)
    back = _latest_return(ask, latest)
    if now + HOUR <= back:
        yield "Snooze 1 h", form.Snooze(step=step, minutes=60)
    elif (ask.deadline or 0.0) + MINUTE <= latest and now + SHORTEST_REST <= back:
        dawn = min(dawn, int(back // MINUTE))
        until = format_time(dawn * MINUTE, now=now)
    yield f"Snooze until {until}", form.SnoozeUntil(step=step, until=dawn)


def _latest_return(ask: Ask, latest: float) -> float:
    """Until when it can be snoozed, so that there is time for an answer then."""
    return inf if ask.deadline is None else max(latest, ask.deadline) - LEFT_AFTER_SNOOZE


def resolve(
    ask: Ask, how: form.Later, *, now: float, latest: float
) -> tuple[float | None, float | None] | form.Refused:
    """The new deadline, and until when it is snoozed, or why it cannot be had."""
    match how:
        case form.Extend(minutes=minutes):
            return _extended(ask, minutes, now=now, latest=latest)
        case form.ExtendUntil(until=minute):
            return _extended_until(ask, minute * MINUTE, now=now, latest=latest)
        case form.Snooze(minutes=minutes):
            return _snoozed(ask, now + minutes * MINUTE, now=now, latest=latest)
        case form.SnoozeUntil(until=minute):
            return _snoozed(ask, minute * MINUTE, now=now, latest=latest)


def settle(ask: Ask, step: form.Step, *, now: float, latest: float) -> form.Step:
    """What a step that postpones comes to by the clock; any other as it is."""
    if not isinstance(step, form.Postponed):
        return step
    if not ask.open:
        return form.UNFIT
    to = resolve(ask, step.how, now=now, latest=latest)
    if isinstance(to, form.Refused):
        return to
    return replace(step, deadline=to[0], snoozed_until=to[1])


def _extended(
    ask: Ask, minutes: int, *, now: float, latest: float
) -> tuple[float, None] | form.Refused:
    if ask.deadline is None:
        return NO_LIMIT
    if minutes <= 0:
        return form.UNFIT
    if ask.deadline >= latest:
        return _latest(ask.deadline, now)
    return min(ask.deadline + minutes * MINUTE, latest), None


def _extended_until(
    ask: Ask, until: float, *, now: float, latest: float
) -> tuple[float, None] | form.Refused:
    if ask.deadline is None:
        return NO_LIMIT
    if until <= now:
        return TIME_PASSED
    if until > latest:
        return _latest(max(latest, ask.deadline), now)
    if until <= ask.deadline:
        return form.Refused(why=f"It has time until {format_time(ask.deadline, now=now)} anyway.")
    return until, None


def _latest(at: float, now: float) -> form.Refused:
    return form.Refused(why=f"{format_time(at, now=now)} is the latest allowed.")


def _snoozed(
    ask: Ask, until: float, *, now: float, latest: float
) -> tuple[float | None, float] | form.Refused:
    if until <= now:
        return TIME_PASSED
    if until - now > LONGEST_SNOOZE_DAYS * DAY:
        return TOO_LONG
    if ask.deadline is None:
        return None, until
    last = _latest_return(ask, latest)
    if until <= last:
        return max(ask.deadline, until + LEFT_AFTER_SNOOZE), until
    if last - now < MINUTE:
        return TOO_SOON
    return form.Refused(why=f"It can be snoozed until {format_time(last, now=now)} at most.")
