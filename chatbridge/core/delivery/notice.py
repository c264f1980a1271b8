"""A notice: what an agent tells its owner without waiting for an answer, or what chatbridge tells
of an operation."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from chatbridge.core.model import Agent, CallName, Project


class Level(StrEnum):
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


GLYPHS = {Level.INFO: "ℹ️", Level.WARNING: "⚠️", Level.ERROR: "❌"}


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationEnd:
    """That an operation has ended, which nobody waited for."""

    id: str
    title: str
    """The command as people say it: `cargo build`."""
    succeeded: bool
    how: str
    """How it ended, in our words: `exit 1`, `timed out`. Nothing where it succeeded."""
    took: float
    tail: str = ""
    """Of a failure: the last lines that it printed."""
    whole: bool = False
    """There is more of its output than the tail."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    id: str
    call: CallName
    """A repeated call is the same notice."""
    project: Project
    agent: Agent
    message: str
    title: str = ""
    level: Level = Level.INFO
    at: float
    operation: OperationEnd | None = None
    """What it is about, if it is chatbridge's own and about an operation. `message` then says the
    same in one line."""
