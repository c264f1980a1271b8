"""What time does to an ask: what is due for it and when, and what it becomes then. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from chatbridge.core.asks import timing, transitions
from chatbridge.core.model import Ask
from chatbridge.core.policy import Policy


class Due(StrEnum):
    DEADLINE = "deadline"
    ALONE = "alone"
    HANDOVER = "handover"
    TURN = "turn"
    """The card has to be drawn anew, because the deadline comes near."""


def all_due(
    ask: Ask, *, now: float, policy: Policy, patience: float = 0.0
) -> Iterator[tuple[float, Due]]:
    """All that is to come, with its wall time. `patience` is added to the time in which an answer
    is to be handed over."""
    if ask.open:
        if ask.deadline is not None:
            yield ask.deadline, Due.DEADLINE
        for turn in timing.turns(ask):
            if turn > now:
                yield turn, Due.TURN
        if ask.alone_since is not None and not ask.alone:
            yield ask.alone_since + policy.alone_after, Due.ALONE
    elif transitions.undelivered(ask):
        yield now + policy.handover_within + patience, Due.HANDOVER


def overtaken(ask: Ask, *, now: float) -> bool:
    """Whether its card should have been drawn anew before."""
    return any(turn <= now for turn in timing.turns(ask))


def come_due(due: Due, ask: Ask, *, now: float, policy: Policy) -> Ask:
    """The ask afterwards; the same one if there is nothing to be done, or no more."""
    if due is Due.DEADLINE and ask.open and ask.deadline and ask.deadline <= now:
        return transitions.timed_out(ask, now=now, policy=policy)
    if due is Due.ALONE and ask.open and ask.alone_since and not ask.alone:
        if ask.alone_since + policy.alone_after > now:
            return ask
        return transitions.withdrawn(ask, now=now) if ask.approval else transitions.alone(ask)
    if due is Due.HANDOVER and transitions.undelivered(ask):
        return transitions.kept(ask)
    if due is Due.TURN and ask.open and overtaken(ask, now=now):
        return transitions.redrawn(ask)
    return ask
