"""A caller without a link: an agent that comes over HTTP, as the tools' server sees it."""

from __future__ import annotations

from dataclasses import dataclass

from mcp_types import LoggingLevel

from chatbridge.core.model import Project

REMOTE = "chatbridge.remote"
"""Where the scope of an HTTP request says who makes it."""


@dataclass(slots=True, kw_only=True)
class Remote:
    link: str
    project: Project
    usual: float
    """How long a call may take where nothing is known of its client."""
    limit: float | None = None
    folder: str | None = None
    request: str | None = None
    """The call's name, where the client's own ids name nothing: without a session, each of a
    token's clients begins to count anew."""
    present: bool = True
    level: LoggingLevel = "info"

    def age(self, request: object) -> float | None:
        """Nobody repeats a call over HTTP."""
        return None
