"""Whether anybody could see a question: a different thing from whether anybody answered it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from chatbridge.core.text import one_line, shortened, title_of

WHY = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    shown: tuple[str, ...] = ()
    """The channels that have shown it."""
    missing: tuple[tuple[str, str], ...] = ()
    """The channels that have not, each with the reason."""
    confined: str | None = None
    """Why the channels that have not cannot: the hub itself is in a sandbox. And what to do."""
    unsure: bool = False
    """It may be on its way to one of them just now, or that is not known."""
    coming: bool = False
    """A chat that works has not shown it yet, perhaps because others come first."""

    @property
    def nobody(self) -> str | None:
        """Said to the agent when nobody can have seen it."""
        if self.shown or self.unsure:
            return None
        if not self.missing:
            return "Nobody could be reached: no channel is set up."
        listed = "; ".join(f"{title_of(name)}: {_short(why)}" for name, why in self.missing)
        said = f"Nobody could be reached. {listed}."
        return f"{said} {self.confined}" if self.confined else said

    @property
    def places(self) -> str:
        """Where it can be answered, in words."""
        return " and ".join(title_of(name) for name in self.shown)


UNSURE = Reach(unsure=True)
Reached = Callable[[str], Awaitable[Reach]]
"""How far the ask of this id has come."""


def _short(why: str) -> str:
    return shortened(one_line(why), WHY).rstrip(".")
