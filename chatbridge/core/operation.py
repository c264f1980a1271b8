"""An operation: one run of a command-line tool for an agent, from the call to its stored result.

Owns what it is and how it can end. It is recorded before anything is started, so that a repeated
call finds it instead of running the command a second time; how it is run is `commands`' business.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from chatbridge.core.model import Agent, CallName, Project


class Stage(StrEnum):
    """Where an operation is. The first three are on the way, the others are ends."""

    AWAITING_APPROVAL = "awaiting_approval"
    QUEUED = "queued"
    RUNNING = "running"
    """Handed to the runner, or about to be: it may have been started, and is never started twice.
    """
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    DENIED = "denied"
    INTERRUPTED = "interrupted"
    """It ended with chatbridge or the machine, and nobody knows how."""


UNENDED = frozenset((Stage.AWAITING_APPROVAL, Stage.QUEUED, Stage.RUNNING))


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to be run, to the letter, and within which bounds."""

    argv: tuple[str, ...]
    executable: str
    """The file that is run; `argv[0]` is only its name."""
    folder: str
    environment: tuple[str, ...] = ()
    """Names of variables that it gets beside the usual ones. Values are never stored."""
    timeout: float
    output_limit: int
    concurrency: int | None = None
    """How many of its group may run at once."""
    synchronous: bool = False
    destructive: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """How it ended, with both ends of what it printed; the whole is in a file."""

    exit_code: int | None = None
    """None: it was ended by a signal, or not by itself, or never started."""
    signal: int | None = None
    head: str = ""
    """The beginning of the output; all of it if `tail` is empty."""
    tail: str = ""
    size: int = 0
    """How many bytes it printed."""
    left_out: int = 0
    """How many of them are neither in the file nor anywhere else."""
    reason: str | None = None
    """Why it did not run, or was ended: in words, for the agent and its owner."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    id: str
    call: CallName
    project: Project
    agent: Agent
    tool: str
    title: str
    """The command as people say it: `cargo build`."""
    group: str
    """The definition that it comes from; its limit counts for all of them."""
    plan: Plan
    created_at: float
    stage: Stage
    grant: str | None = None
    """Where one approval is enough for a session: what it is an approval of."""
    approved: bool = False
    """A person allowed it."""
    ask_id: str | None = None
    """The approval that it waits for, or waited for."""
    started_at: float | None = None
    ended_at: float | None = None
    delivered: bool = False
    """The call's response is with its client: the same name means another call from now on."""
    result: Result = field(default_factory=Result)

    @property
    def ended(self) -> bool:
        return self.stage not in UNENDED

    def took(self, now: float) -> float:
        """For how long it has run, in seconds."""
        if self.started_at is None:
            return 0.0
        return max((self.ended_at or now) - self.started_at, 0.0)


class OperationStore(Protocol):
    """Keeps operations. Every method is one transaction; a write has been synced when it returns.

    All of them :raises StoreError:
    """

    async def add(self, operation: Operation) -> Operation:
        """Keep it, unless its call has left one before that was not delivered and has the same
        tool and plan: then that one, as it is now."""
        ...

    async def save(self, operation: Operation, *, was: Stage) -> bool:
        """Replace the row if its stage still is `was`, in one statement. False: it was not."""
        ...

    async def delivered(self, call: CallName) -> None:
        """The responses to this call have reached the client."""
        ...

    async def get(self, operation_id: str) -> Operation | None: ...

    async def by_prefix(self, *, project: str, prefix: str) -> Sequence[Operation]:
        """Those of this project whose id begins like this, the newest first, ten at most."""
        ...

    async def of_project(self, *, project: str, limit: int) -> Sequence[Operation]:
        """Those on the way first, then the newest that have ended; last of all those that were
        synchronous, whose caller most likely has the result."""
        ...

    async def unended(self) -> Sequence[Operation]:
        """All that are on the way, oldest first. What cannot be read is passed over."""
        ...

    async def granted(self, *, link: str, grant: str) -> bool:
        """Whether a person has allowed an operation of this link with this grant."""
        ...

    async def remove(self, *, before: float, keep: int, limit: int) -> Sequence[str]:
        """Forget operations that ended before that time, and of the others those beyond the newest
        `keep`; their ids, at most `limit` of them."""
        ...
