"""The owner's limits for asks, as plain values. `chatbridge.settings` reads them."""

from __future__ import annotations

from dataclasses import dataclass, field

from chatbridge.core.nights.nights import Nights

HOUR = 3600.0
DAY = 24 * HOUR
PARTY_FACTOR = 3  # Limit multiplier for all links that share a project, a token or a user
TOTAL_FACTOR = 30  # Limit multiplier for all links together
APPROVAL_FACTOR = 2  # Of approvals: open questions must not block them


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Times are in seconds."""

    default_timeout: float = 300.0
    min_timeout: float = 10.0  # Shorter time-outs are raised to this
    max_timeout: float = 1800.0
    max_block: float | None = None  # Then a call returns a ticket; None: it waits for the end
    late_answer_ttl: float = 12 * HOUR
    max_open_asks: int = 20
    withdraw_on_cancel: bool = False
    declared_defaults: bool = False
    retention: float = 90 * DAY
    audit_retention: float = 365 * DAY
    undo: float = 0.0  # Seconds in which an answer can be undone before it is sent
    undo_confirms: float = 0.0  # The same for a yes or no, and for a destructive approval
    replies: tuple[str, ...] = ()  # The owner's quick answers to questions for text
    approval_channels: frozenset[str] = frozenset({"web"})  # Nowhere that an agent could reach
    nights: Nights = field(default_factory=Nights)

    orphaned_after: float = 120.0  # An ask without a caller for this long says so on its card
    handover_within: float = 5.0  # After this time, an answer that was not delivered is kept
    return_within: float = 10.0  # After a start, links that come later have lost their calls
    drain_within: float = 60.0  # Deadlines wait for the channels' backlog after a start
