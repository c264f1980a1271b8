"""An ask as a row of a list: short, safe to show, and made without building its card."""

from __future__ import annotations

from dataclasses import dataclass, field

from chatbridge.core.asks.deadlines import soon_at
from chatbridge.core.cards.card import APPROVAL_GLYPH, FINISHED_GLYPH, GLYPHS, State
from chatbridge.core.cards.outcome_text import how_it_ended
from chatbridge.core.model import Agent, Attention, Project, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The texts of an ask for lists, visible and cut. The store keeps it beside the ask."""

    question: str  # The first question as one line
    title: str | None = None  # As one line; None if the question repeats it
    subject: str | None = None  # Of an approval: the file, or the beginning of the code
    language: str | None = None  # Of an approval: the language of its code
    file: bool = False  # The subject is the file to change
    approval: bool = False
    channels: tuple[str, ...] = ()  # Of an approval: where it could be settled when it was asked
    count: int = 1  # Number of questions
    at: int = 0  # Index of the current question
    done: int = 0  # Number of answered questions
    review: bool = False  # All questions are answered, and the answers are not sent yet
    state: State = State.OPEN
    verdict: str | None = None
    lasting: str | None = None  # Of an approval: for how long it was allowed, beyond one use
    beyond: bool = False  # Of an approval: it covers more than its subject
    what_next: bool = False  # The agent has finished, and this asks for its next task
    said: str | None = None  # The answers, or the reason why there are none, as one line
    ended_at: float | None = None


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
    late: bool  # Whether it was answered after the time-out
    orphaned: bool
    attention: Attention
    summary: Summary = field(repr=False)

    @property
    def approval(self) -> bool:
        return self.summary.approval

    @property
    def approval_channels(self) -> tuple[str, ...]:
        return self.summary.channels

    @property
    def glyph(self) -> str:
        if self.status is Status.OPEN and (self.approval or self.summary.what_next):
            return APPROVAL_GLYPH if self.approval else FINISHED_GLYPH
        return GLYPHS[self.summary.state]

    @property
    def soon_at(self) -> float | None:
        return soon_at(created_at=self.created_at, deadline=self.deadline)

    @property
    def ended_at(self) -> float:
        return self.summary.ended_at or self.settled_at or self.created_at

    @property
    def how_it_ended(self) -> str:
        about = self.summary
        return how_it_ended(
            about.state,
            approval=about.approval,
            verdict=about.verdict,
            beyond=about.beyond,
            lasting=about.lasting,
            done=about.what_next and self.status is Status.ANSWERED and about.said is None,
        )


@dataclass(frozen=True, slots=True)
class Rows:
    """A part of a list, and the number of rows in all."""

    rows: tuple[Row, ...]
    total: int  # Read after the rows: asks may have opened or ended in between

    @property
    def only(self) -> Row | None:
        """The row, if the list has exactly one."""
        return self.rows[0] if self.total == len(self.rows) == 1 else None


Past = tuple[float, int]  # A position in the history: end time, and `seq` to break ties
PastNotice = tuple[float, str]  # The same among notices: time, and the id of the last one
