"""Which faults come when: drawn from the seed alone, before anything begins.

So the same seed brings the same faults at the same seconds; what they meet differs with the
machine's mood.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping
from dataclasses import dataclass

FIRST, LAST = 4.0, 3.0
"""Seconds without a fault at the beginning and at the end."""
LULL = 12.0
"""Now and then a time to get work done."""
LULL_EVERY, PAIR_EVERY = 10, 5
WEIGHTS = {
    "kill the hub": 6,
    "kill the hub twice": 3,
    "kill the hub as it starts": 3,
    "kill the hub as discord brings something": 4,
    "stop the hub": 2,
    "freeze the hub": 2,
    "kill a link": 6,
    "freeze a link": 1,
    "kill telegram": 4,
    "kill matrix": 2,
    "cut telegram": 3,
    "cut matrix": 3,
    "refuse telegram": 3,
    "refuse matrix": 3,
    "delay telegram": 2,
    "delay matrix": 2,
    "lose answers of telegram": 4,
    "lose answers of matrix": 4,
    "429 from telegram": 3,
    "429 from matrix": 3,
    "cut discord": 1,
    "refuse discord": 2,
    "delay discord": 1,
    "lose answers of discord": 4,
    "429 from discord": 2,
    "5xx from discord": 2,
    "silence discord": 2,
    "cut discord's gateway": 2,
    "refuse discord's gateway": 2,
    "end discord's session": 2,
    "RECONNECT from discord": 1,
    "INVALID_SESSION from discord": 2,
    "no heartbeat of discord": 1,
    "repeat discord's events": 2,
    "fill the disk": 4,
    "move the clock": 4,
    "restart everything": 1,
}
"""How often each is drawn, beside the others."""
OF_ONE_HUB = ("freeze the hub", "fill the disk")
FOR_SEVERAL = {
    **{fault: often for fault, often in WEIGHTS.items() if fault not in OF_ONE_HUB},
    "kill the hub": 10,
    "stop the hub": 4,
    "freeze the leader": 10,
    "cut the leader off": 10,
    "kill a follower": 3,
    "stop a follower": 1,
    "freeze a follower": 2,
    "cut a follower off": 2,
    "kill all hubs": 1,
    "kill postgresql": 2,
    "restart postgresql": 2,
}
"""With several hubs, where the others of the hub are for the one that leads. Their database has a
disk of its own."""
STEPS = (-7200.0, -3600.0, -600.0, -30.0, -4.0, 4.0, 30.0, 600.0, 3600.0, 7200.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Strike:
    at: float
    """Seconds after the beginning."""
    fault: str
    seconds: float
    """How long it lasts, where it does."""
    chance: float
    """Between 0 and 1, for whatever else is to be decided: which link, how many, how far."""

    @property
    def step(self) -> float:
        """How far the clock is moved, from the real time."""
        return STEPS[int(self.chance * len(STEPS))]


def draw(
    source: random.Random,
    seconds: float,
    *,
    pause: float,
    left_out: Collection[str] = (),
    weights: Mapping[str, int] = WEIGHTS,
) -> tuple[Strike, ...]:
    """All faults of a run of so many seconds, `pause` apart on average. What is left out
    leaves the others as they are."""
    strikes: list[Strike] = []
    at = FIRST
    while at < seconds - LAST:
        count = 2 if source.randrange(PAIR_EVERY) == 0 else 1
        strikes += [_drawn(source, at, weights) for _ in range(count)]
        at += source.expovariate(1 / pause)
        at += LULL if source.randrange(LULL_EVERY) == 0 else 0.0
    return tuple(strike for strike in strikes if strike.fault not in left_out)


def _drawn(source: random.Random, at: float, weights: Mapping[str, int]) -> Strike:
    return Strike(
        at=round(at, 2),
        fault=source.choices(list(weights), list(weights.values()))[0],
        seconds=round(source.uniform(0.2, 5.0), 2),
        chance=source.random(),
    )
