"""What the person means to do about each ask, and what is noted of it.

The ways themselves are in the modules whose names end with `_ways`. Each returns whether the riddle
is answered by it as far as the person can know: True, False (the service did not take it, or said
why not), or None (nobody said anything).
"""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field

from tests.chaos.log import Gave, Log, Refused, Way
from tests.chaos.manner import Manner
from tests.chaos.riddles import Kind, Riddle, choices

NEXT_STEP = 25.0
"""How long the person waits for the next screen before doing something else."""
A_WORD = 45.0
"""How long for a word about what was typed."""
LOOK_EVERY = 0.3
OVER = ("Already answered", "Timed out", "Cancelled", "Withdrawn")


@dataclass(slots=True)
class Plan:
    """What the person means to do about one ask."""

    ask: str
    riddle: Riddle
    due: float
    waits_until: float = 0.0
    """For the card to come on Discord."""
    busy: bool = False
    done: bool = False
    """An answer was accepted, and nobody has said that it was not taken."""
    tries: int = 0
    awaited: list[Given] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """An answer on Matrix that the bot may still say something about."""

    event: str
    reaction: bool
    way: Way
    values: tuple[str, ...]


@dataclass(slots=True)
class Deeds:
    """What the person did beside plain answering, for the report."""

    races: int = 0
    double_taps: int = 0
    fast_toggles: int = 0
    asked_which: int = 0
    taken_at_once: int = 0
    """Texts beside the cards that the bot did not ask back about."""
    stale_taps: int = 0


class Notebook:
    """What all ways share: chance, the log, and patience."""

    def __init__(self, log: Log, random: random.Random, manner: Manner) -> None:
        self.random = random
        self.manner = manner
        self.deeds = Deeds()
        self._log = log
        self._numbers = itertools.count(1)
        self.failures: list[str] = []
        """What should not happen to a person: mistakes of these tests."""
        self._beside: set[asyncio.Task[None]] = set()

    def value(self, riddle: Riddle, question: int) -> tuple[str, ...]:
        part = riddle.parts[question]
        if part.kind is Kind.TEXT:
            return (f"{riddle.key} says {next(self._numbers)}",)
        offered = choices(part)
        if part.kind is Kind.MULTI:
            count = self.random.randint(1, len(offered))
            picked = self.random.sample(offered, count)
            return tuple(it for it in offered if it in picked)
        return (self.random.choice(offered),)

    def writes_beside(self) -> bool:
        return self.random.random() < self.manner.beside

    async def close(self) -> None:
        beside = list(self._beside)
        for task in beside:
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)

    def gave(
        self,
        plan: Plan,
        question: int,
        way: Way,
        values: tuple[str, ...],
        accepted: bool | None,
        whole: bool,
        text: str,
        *,
        at: float,
    ) -> None:
        self._log.add(
            Gave(
                at=at,
                riddle=plan.riddle.key,
                question=question,
                way=way,
                values=values,
                accepted=accepted,
                whole=whole,
                text=text[:200],
            )
        )

    def refused(self, plan: Plan, way: Way, values: tuple[str, ...], text: str) -> None:
        self._log.add(
            Refused(at=time.time(), riddle=plan.riddle.key, way=way, values=values, text=text[:200])
        )
        if not text.startswith(OVER):
            plan.done = False
            plan.due = time.time() + 1.0

    async def until(self, fits: Callable[[], bool], *, within: float = NEXT_STEP) -> bool:
        until = time.monotonic() + within
        while not fits():
            if time.monotonic() > until:
                return False
            await asyncio.sleep(LOOK_EVERY)
        return True

    def spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._beside.add(task)
        task.add_done_callback(self._over)

    def _over(self, task: asyncio.Task[None]) -> None:
        self._beside.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.failures.append(f"the person failed: {error!r}")
