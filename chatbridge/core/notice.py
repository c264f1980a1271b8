"""A notice: what an agent tells its owner without waiting for an answer."""

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
