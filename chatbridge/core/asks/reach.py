"""Which channels have shown an ask, and why the others have not."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from chatbridge.core.cards.outcome_text import PLACES
from chatbridge.core.text import one_line, shortened

MAX_REASON_CHARACTERS = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    shown: tuple[str, ...] = ()
    """Channels that have shown it."""
    missing: tuple[tuple[str, str], ...] = ()
    """Channels that have not shown it, each with the reason."""
    confined: str | None = None
    """Set if the hub itself runs in a sandbox: why this blocks the channels, and what to do."""
    unsure: bool = False
    """A channel may be showing it right now, or its state is unknown."""
    coming: bool = False
    """A working chat has not shown it yet, perhaps because other cards come first."""

    @property
    def nobody(self) -> str | None:
        """The message for the agent if nobody can have seen the ask."""
        if self.shown or self.unsure:
            return None
        if not self.missing:
            return "Nobody could be reached: no channel is set up."
        listed = "; ".join(f"{_place(name)}: {_short(why)}" for name, why in self.missing)
        said = f"Nobody could be reached. {listed}."
        return f"{said} {self.confined}" if self.confined else said

    @property
    def places(self) -> str:
        """The places that have shown it, as text."""
        return " and ".join(_place(name) for name in self.shown)


UNSURE = Reach(unsure=True)
Reached = Callable[[str], Awaitable[Reach]]
"""Returns the reach of the ask with this id."""


def _place(name: str) -> str:
    return PLACES.get(name, name)


def _short(why: str) -> str:
    return shortened(one_line(why), MAX_REASON_CHARACTERS).rstrip(".")
