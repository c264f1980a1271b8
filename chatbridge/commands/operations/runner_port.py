"""What operations need of a runner. `runner_client` implements it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from chatbridge.core.errors import RunnerUnavailable

How = Literal["exited", "timed_out", "stopped", "not_started", "lost"]
"""`not_started`: the program could not be started, and `error` says why. `lost`: the runner died,
and with it everything that is known of the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One command to be run, in a process group of its own, with nothing to read."""

    id: str
    executable: str
    argv: tuple[str, ...]
    folder: str
    environment: Mapping[str, str] = field(repr=False)
    """All of it: nothing is inherited."""
    output: str
    """The file for what it prints on both of its outputs."""
    limit: int
    """Bytes in that file. Beyond it the beginning and the end are kept."""
    timeout: float
    """Seconds; then the whole group is ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """How a command ended."""

    id: str
    how: How
    exit_code: int | None = None
    signal: int | None = None
    size: int = 0
    """How many bytes it printed."""
    left_out: int = 0
    """How many of them are not in its file."""
    started_at: float | None = None
    ended_at: float
    error: str | None = None


class NotHandedOver(RunnerUnavailable):
    """The runner does not have it, and will not get it."""


class Runner(Protocol):
    """Runs commands. It outlives a hub: what it runs goes on, and what ended meanwhile is known to
    the next one until it is forgotten."""

    ended: Callable[[End], None]
    """Told of every end, once for each hub; of those that an earlier hub started, too."""

    async def known(self) -> Mapping[str, End | None]:
        """What it runs (None), and what has ended and was not forgotten. What an operation's id is
        missing from was never handed over to this runner; an earlier one may have died with it.

        :raises RunnerUnavailable:
        """
        ...

    async def start(self, order: Order) -> None:
        """Hand it over; returns when the runner has it: its process is there, or its end is told.
        An id that it knows is not started again.

        :raises NotHandedOver:
        :raises RunnerUnavailable: it cannot be said whether the runner has it.
        """
        ...

    async def stop(self, operation_id: str) -> None:
        """End its whole process group, gently at first. Its end is told as any other."""
        ...

    async def forget(self, operation_id: str) -> None:
        """Its end is stored."""
        ...
