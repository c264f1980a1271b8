"""The query of how long asks took."""

from __future__ import annotations

from chatbridge.core.statistics import QUARTER
from chatbridge.store.ask_times import SCALE

_UNTIL = "CASE WHEN status = 'open' THEN :until ELSE settled_at END"


def _spans(since: str) -> str:
    """The asks of a group as numbers: the quarter hour in which each was asked, and the seconds
    until its end."""
    seconds = f"greatest(0, least({_UNTIL} - {since}, {SCALE - 1}))"
    return (
        f"string_agg((trunc(created_at)::bigint / {QUARTER} * {SCALE}"
        f" + trunc({seconds})::bigint)::text, ',')"
    )


ASK_TIMES = f"""
    SELECT project_name, agent_name, approval, status,
        {_spans("created_at")} FILTER (WHERE alone_since IS NULL),
        {_spans("created_at")} FILTER (WHERE alone_since IS NOT NULL),
        {_spans("greatest(alone_since, created_at)")} FILTER (WHERE alone_since IS NOT NULL)
    FROM asks WHERE created_at BETWEEN :since AND :until
    GROUP BY project_name, agent_name, approval, status
"""  # noqa: S608 - constants
