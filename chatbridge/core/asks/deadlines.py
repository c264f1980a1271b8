"""Deadlines: what is due for an ask and when, and how to apply it. Pure functions."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from chatbridge.core.asks import transitions
from chatbridge.core.model import Ask
from chatbridge.core.nights.later import LEFT_AFTER_SNOOZE
from chatbridge.core.nights.policy import SLEPT_SECONDS
from chatbridge.core.policy import Policy


class Due(StrEnum):
    DEADLINE = "deadline"
    SEND = "send"  # An answer that could be undone goes out
    ORPHANED = "orphaned"
    HANDOVER = "handover"
    SHOW = "show"  # A card that was held may be shown
    REMIND = "remind"
    SECOND_LINE = "second_line"  # The second line of its route gets the card
    SPREAD = "spread"  # It may not have been shown where its route leads
    WAKE = "wake"  # A card that was snoozed comes back
    REDRAW = "redraw"  # The card has to be drawn again, because the deadline is near


def all_due(
    ask: Ask, *, now: float, policy: Policy, extra_seconds: float = 0.0
) -> Iterator[tuple[float, Due]]:
    """Yield everything that is still due, with its wall time. `extra_seconds` is added to the time
    in which an answer has to be handed over."""
    if ask.open:
        if ask.deadline is not None:
            yield ask.deadline, Due.DEADLINE
        if ask.draft.send_at is not None:
            yield ask.draft.send_at, Due.SEND
        if ask.attention.snoozed_until is not None:
            yield ask.attention.snoozed_until, Due.WAKE
        if shown_at := policy.nights.next_shown(ask, now=now):
            yield shown_at, Due.SHOW
        if (second := policy.nights.second_line_at(ask)) is not None:
            yield second, Due.SECOND_LINE
        if (checked := policy.nights.route_checked_at(ask, now=now)) is not None:
            yield checked, Due.SPREAD
        if reminder := policy.nights.next_reminder(ask, now=now):
            yield reminder[0], Due.REMIND
        if (turn := _soon(ask)) is not None and turn > now:
            yield turn, Due.REDRAW
        if ask.orphaned_since is not None and not ask.orphaned:
            yield ask.orphaned_since + policy.orphaned_after, Due.ORPHANED
    elif transitions.is_undelivered(ask):
        yield now + policy.handover_within + extra_seconds, Due.HANDOVER


def is_redraw_due(ask: Ask, *, now: float) -> bool:
    """Whether the card should have been drawn again by now."""
    soon = _soon(ask)
    return soon is not None and soon <= now


def apply_due(due: Due, ask: Ask, *, now: float, policy: Policy) -> Ask:
    """Return the changed ask, or the same object if nothing has to be done."""
    if due is Due.DEADLINE and ask.open and ask.deadline and ask.deadline <= now:
        return _end(ask, now=now, policy=policy)
    if due is Due.SEND and transitions.is_sending(ask) and (ask.draft.send_at or 0.0) <= now:
        return transitions.send(ask, now=now, policy=policy)
    if due is Due.ORPHANED and ask.open and ask.orphaned_since and not ask.orphaned:
        if ask.orphaned_since + policy.orphaned_after > now:
            return ask
        if ask.needs_caller:
            return transitions.withdraw(ask, now=now)
        return transitions.mark_orphaned(ask)
    if due is Due.HANDOVER and transitions.is_undelivered(ask):
        return transitions.keep(ask)
    if due is Due.WAKE and ask.open and 0 < (ask.attention.snoozed_until or 0.0) <= now:
        return _wake(ask, now=now, policy=policy)
    if due is Due.SHOW and ask.open and not policy.nights.held_until(ask, now=now):
        return transitions.bump_revision(ask)
    if due is Due.SECOND_LINE and (at := policy.nights.second_line_at(ask)) is not None:
        return transitions.show_second_line(ask, now=now) if at <= now else ask
    if due is Due.SPREAD and (at := policy.nights.route_checked_at(ask, now=now)) is not None:
        return transitions.show_everywhere(ask) if at <= now else ask
    if due is Due.REMIND and (next_one := policy.nights.next_reminder(ask, now=now)):
        at, last = next_one
        return transitions.remind(ask, now=now, last=last) if at <= now else ask
    if due is Due.REDRAW and ask.open and is_redraw_due(ask, now=now):
        return transitions.bump_revision(ask)
    return ask


def _end(ask: Ask, *, now: float, policy: Policy) -> Ask:
    """End it, unless it would have timed out unseen."""
    if ask.attention.snoozed_until is not None:  # that is over, too, and may be applied later
        woken = _wake(ask, now=now, policy=policy)
        if woken.deadline is not None and woken.deadline > now:
            return woken
    until = min(
        policy.nights.time_to_see_it(ask, now=now), transitions.latest_deadline(ask, policy)
    )
    if until > now and not transitions.is_sending(ask):
        return transitions.extend_to(ask, until)
    return transitions.time_out(ask, now=now, policy=policy)


def _wake(ask: Ask, *, now: float, policy: Policy) -> Ask:
    """Bring it back, with time to answer it also if the hub has slept."""
    woken, until = transitions.wake(ask, now=now), ask.attention.snoozed_until or now
    if now - until <= SLEPT_SECONDS or ask.deadline is None:
        return woken
    latest = transitions.latest_deadline(ask, policy)
    return transitions.extend_to(woken, min(now + LEFT_AFTER_SNOOZE, latest))


SOON_SHARE = 0.2
SOON_MAX_SECONDS = 10 * 60.0


def soon_at(*, created_at: float, deadline: float | None) -> float | None:
    """When the card starts to say that time is running out."""
    if deadline is None:
        return None
    return deadline - min((deadline - created_at) * SOON_SHARE, SOON_MAX_SECONDS)


def _soon(ask: Ask) -> float | None:
    return soon_at(created_at=ask.created_at, deadline=ask.deadline)
