"""An ask as one row of a list: short, safe to show, and made without drawing its card."""

from __future__ import annotations

from dataclasses import dataclass, field

from chatbridge.core.asks.deadlines import compute_soon_at
from chatbridge.core.cards.card import APPROVAL_GLYPH, GLYPHS, State
from chatbridge.core.cards.outcome_text import how_it_ended
from chatbridge.core.model import Agent, Project, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What lists say of an ask. The store keeps it beside the ask. Every text in it is visible
    already, and cut."""

    question: str
    """The first question as one line."""
    title: str | None = None
    """As one line; None where it says no more than the question."""
    subject: str | None = None
    """Of an approval: the file, or the beginning of the code."""
    language: str | None = None
    """Of an approval: what its code is written in."""
    file: bool = False
    """The subject is the file that would be changed."""
    approval: bool = False
    channels: tuple[str, ...] = ()
    """Of an approval: where it may be settled, by the settings under which it was asked."""
    count: int = 1
    """How many questions it has."""
    at: int = 0
    """Which of them is shown."""
    done: int = 0
    """How many of them have been answered."""
    review: bool = False
    """All answers are there, and not sent yet."""
    state: State = State.OPEN
    verdict: str | None = None
    beyond: bool = False
    """Of an approval: it allows more than its subject."""
    said: str | None = None
    """The answers, or why there is none, as one line."""
    ended_at: float | None = None
    by: str | None = None
    """The channel on which somebody ended it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    id: str
    seq: int
    project: Project
    agent: Agent
    status: Status
    created_at: float
    deadline: float | None
    settled_at: float | None
    delivered_at: float | None
    late: bool
    """It has an answer that was given after the time-out."""
    orphaned: bool
    summary: Summary = field(repr=False)

    @property
    def approval(self) -> bool:
        return self.summary.approval

    @property
    def approval_channels(self) -> tuple[str, ...]:
        return self.summary.channels

    @property
    def glyph(self) -> str:
        open_approval = self.approval and self.status is Status.OPEN
        return APPROVAL_GLYPH if open_approval else GLYPHS[self.summary.state]

    @property
    def soon_at(self) -> float | None:
        return compute_soon_at(created_at=self.created_at, deadline=self.deadline)

    @property
    def ended_at(self) -> float:
        return self.summary.ended_at or self.settled_at or self.created_at

    def how_it_ended(self, *, channel: str) -> str:
        found = self.summary
        return how_it_ended(
            found.state,
            approval=found.approval,
            verdict=found.verdict,
            beyond=found.beyond,
            elsewhere=found.by not in (None, channel),
        )


@dataclass(frozen=True, slots=True)
class Rows:
    """A part of a list, and how many rows all of it has."""

    rows: tuple[Row, ...]
    total: int
    """Read after the rows: an ask may have come or ended in between."""

    @property
    def only(self) -> Row | None:
        """The row, where there is one alone."""
        return self.rows[0] if self.total == len(self.rows) == 1 else None


Past = tuple[float, int]
"""A place in the history: when an ask ended, and its `seq`, which tells those apart that ended at
the same time."""
