"""The owner's limits for asks, as plain values. `chatbridge.settings` reads them."""

from __future__ import annotations

from dataclasses import dataclass

HOUR = 3600.0
DAY = 24 * HOUR
PARTY_LIMIT_FACTOR = 3  # Limit multiplier for all links that share a project, a token or a user
TOTAL_LIMIT_FACTOR = 30  # Limit multiplier for all links together
APPROVAL_LIMIT_FACTOR = 2
"""Further multiplier for approvals, so that open questions do not block them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Times are in seconds."""

    default_timeout: float = 300.0
    min_timeout: float = 10.0  # Shorter time-outs are raised to this
    max_timeout: float = 1800.0
    max_block: float | None = None
    """A call that waits longer returns a ticket; None: it waits until the ask ends."""
    late_answer_ttl: float = 12 * HOUR
    max_open_asks: int = 20
    withdraw_on_cancel: bool = False
    declared_defaults: bool = False
    retention: float = 90 * DAY
    approval_channels: frozenset[str] = frozenset({"web"})
    """Where an approval can be settled: nowhere that an agent could reach by itself."""

    extension: float = 15 * 60.0
    orphaned_after: float = 120.0  # An ask without a caller for this long says so on its card
    handover_within: float = 5.0
    """An answer that has not reached its caller after this time counts as kept."""
    return_within: float = 10.0
    """Links that have not reconnected this long after a start have lost their calls."""
    drain_within: float = 60.0
    """Deadlines wait this long for the channels' backlog after a start or a clock step."""
