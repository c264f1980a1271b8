"""Operations: runs of command-line tools for agents, from the call to the stored result.

An operation is recorded before anything is started, so that a repeated call finds it instead of
running the command again. The `commands` package runs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from chatbridge.core.model import Agent, CallName, Project


class Stage(StrEnum):
    """The state of an operation. The first three are active, the others are final."""

    AWAITING_APPROVAL = "awaiting_approval"
    QUEUED = "queued"
    RUNNING = "running"  # It may have started, and is never started twice
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    DENIED = "denied"
    INTERRUPTED = "interrupted"  # Ended with chatbridge or the machine; the result is unknown


UNENDED = frozenset((Stage.AWAITING_APPROVAL, Stage.QUEUED, Stage.RUNNING))


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The exact command to run, and its limits."""

    argv: tuple[str, ...]
    executable: str  # The file to run; `argv[0]` is only its name
    folder: str
    environment: tuple[str, ...] = ()  # Names of additional variables. Values are never stored.
    timeout: float
    output_limit: int
    concurrency: int | None = None  # How many operations of its group may run at once
    synchronous: bool = False
    destructive: bool = False

    @property
    def command(self) -> tuple[tuple[str, ...], str]:
        """What the agent asked for. The rest comes from the definition, the settings and the disk,
        and may be another by the time a call is repeated, as after an upgrade."""
        return self.argv, self.folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result, with the beginning and the end of the output; a file has all of it."""

    exit_code: int | None = None  # None: killed by a signal, ended by us, or never started
    signal: int | None = None
    head: str = ""  # The beginning of the output; all of it if `tail` is empty
    tail: str = ""
    size: int = 0  # Bytes of output
    left_out: int = 0  # Bytes of output that were not stored
    reason: str | None = None  # Why it did not run or was ended, as text for people


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    id: str
    call: CallName
    project: Project
    agent: Agent
    tool: str
    title: str  # Display name of the command: `cargo build`
    group: str  # Its definition, whose concurrency limit all of its operations share
    plan: Plan
    created_at: float
    stage: Stage
    grant: str | None = None  # What a session approval covers, if one is enough
    approved: bool = False  # A person allowed it
    ask_id: str | None = None  # Its approval
    started_at: float | None = None
    ended_at: float | None = None
    delivered: bool = False  # From then on, the same name means another call
    result: Result = field(default_factory=Result)

    @property
    def ended(self) -> bool:
        return self.stage not in UNENDED

    def took(self, now: float) -> float:
        """Seconds that it has run."""
        if self.started_at is None:
            return 0.0
        return max((self.ended_at or now) - self.started_at, 0.0)


class OperationStore(Protocol):
    """Stores operations. Every method is one transaction. A write has been synced when it returns.
    All methods :raises StoreError:"""

    async def add(self, operation: Operation) -> Operation:
        """Store the operation and return it. If its call has an undelivered one with the same tool
        and command, return that one."""

    async def save(self, operation: Operation, *, was: Stage) -> bool:
        """Replace the row if its stage is still `was`, in one statement. Return whether it was."""

    async def delivered(self, call: CallName) -> None:
        """Record that the client has the response to this call."""

    async def undelivered(self, call: CallName, *, tool: str) -> Sequence[Operation]:
        """Operations of this call whose response has not reached the client, newest first.
        Unreadable ones are skipped."""

    async def get(self, operation_id: str) -> Operation | None: ...

    async def by_prefix(self, *, project: str, prefix: str) -> Sequence[Operation]:
        """Up to ten operations of the project whose id has this prefix, newest first."""

    async def of_project(self, *, project: str, limit: int) -> Sequence[Operation]:
        """Active operations first, then the newest ended ones. Synchronous ones come last, because
        their caller most likely has the result."""

    async def unended(self) -> Sequence[Operation]:
        """All active operations, oldest first. Unreadable ones are skipped."""

    async def stored_ids(self, ids: Iterable[str]) -> frozenset[str]:
        """Which of these are there, also if this version cannot read them."""

    async def granted(self, *, link: str, grant: str) -> bool:
        """Whether a person has approved an operation of this link with this grant."""

    async def remove(self, *, before: float, keep: int, limit: int) -> Sequence[str]:
        """Remove at most `limit` operations and return their ids: those that ended before that
        time, and all but the newest `keep`."""
