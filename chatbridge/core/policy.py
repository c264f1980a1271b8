"""The owner's rules for asks, as plain numbers. `chatbridge.settings` reads them from outside."""

from __future__ import annotations

from dataclasses import dataclass

HOUR = 3600.0
DAY = 24 * HOUR
PARTY_LIMIT_FACTOR = 3
"""So many times what one link may have, all links of a project, a token or another user may."""
TOTAL_LIMIT_FACTOR = 30
"""So many times what one link may have, all links together may."""
APPROVAL_LIMIT_FACTOR = 2
"""Approvals may go on to so many times what a project, or all together, may have open: questions
of others do not keep a command from being allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Times are in seconds."""

    default_timeout: float = 300.0
    min_timeout: float = 10.0
    """The floor: a shorter time-out that is allowed at all is raised to it."""
    max_timeout: float = 1800.0
    max_block: float | None = None
    """After how long a waiting call returns a ticket; None: it waits until the ask ends."""
    late_answer_ttl: float = 12 * HOUR
    max_open_asks: int = 20
    withdraw_on_cancel: bool = False
    declared_defaults: bool = False
    retention: float = 90 * DAY
    approval_channels: frozenset[str] = frozenset({"telegram", "matrix", "web"})
    """Where an approval can be settled: nowhere that an agent could reach by itself."""

    extension: float = 15 * 60.0
    orphaned_after: float = 120.0
    """How long an ask has no caller before its card says so."""
    handover_within: float = 5.0
    """How long an answer may take to reach its caller before the card calls it kept."""
    return_within: float = 10.0
    """How long after a start a link may take to come back before its calls count as gone."""
    drain_within: float = 60.0
    """How long deadlines wait for the channels' backlog after a start or a clock step."""
