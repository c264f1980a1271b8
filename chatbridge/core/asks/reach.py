"""Which channels have shown an ask, and why the others have not."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from chatbridge.core.text import one_line, shortened, title_of

MAX_REASON_CHARACTERS = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    shown: tuple[str, ...] = ()  # Channels that have shown it
    missing: tuple[tuple[str, str], ...] = ()  # Those that have not, each with the reason
    confined: str | None = None  # If the hub is in a sandbox: what that blocks, and what to do
    unsure: bool = False  # A channel may be showing it right now, or its state is unknown
    coming: bool = False  # A working chat has not shown it yet: other cards may come first

    @property
    def nobody(self) -> str | None:
        """The message for the agent if nobody can have seen the ask."""
        if self.shown or self.unsure:
            return None
        if not self.missing:
            return "Nobody could be reached: no channel is set up."
        listed = "; ".join(f"{title_of(name)}: {_short(why)}" for name, why in self.missing)
        said = f"Nobody could be reached. {listed[:1].upper()}{listed[1:]}."
        return f"{said} {self.confined}" if self.confined else said

    @property
    def places(self) -> str:
        """Where it can be answered, in words."""
        return " and ".join(title_of(name) for name in self.shown)


UNSURE = Reach(unsure=True)
Reached = Callable[[str], Awaitable[Reach]]  # Returns the reach of the ask with this id


def _short(why: str) -> str:
    return shortened(one_line(why), MAX_REASON_CHARACTERS).rstrip(".")
