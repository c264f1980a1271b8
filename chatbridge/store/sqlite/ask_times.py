"""The query of how long asks took.

The index `asks_counted` has all that the query reads of an ask that has ended. SQLite would look at
each of its rows to group them, and sort them once more for the hours. So the query jumps from one
name to the next, and brings the asks of a group as one text of numbers: for 100,000 asks a third of
the time of a row for each.
"""

from __future__ import annotations

from chatbridge.core.model import Status
from chatbridge.core.statistics import QUARTER
from chatbridge.store.ask_times import SCALE

ENDS = ", ".join(f"('{status}')" for status in Status if status is not Status.OPEN)


def _spans(since: str, until: str) -> str:
    """The asks of a group as numbers: the quarter hour in which each was asked, and the seconds
    from one time to another."""
    seconds = f"max(0, min({until} - {since}, {SCALE - 1}))"
    return (
        f"group_concat(CAST(created_at / {QUARTER} AS INTEGER) * {SCALE}"
        f" + CAST({seconds} AS INTEGER))"
    )


_COUNTED = """
    FROM asks INDEXED BY asks_counted
    WHERE settled_at IS NOT NULL AND project_name = of_project AND agent_name = of_agent
    AND approval = is_approval AND status = ended
    AND created_at BETWEEN :since AND :until
"""
_HEARD = f"{_COUNTED} AND alone_since IS NULL"
_LEFT = f"{_COUNTED} AND alone_since >= -9e999"
_GONE = "max(alone_since, created_at)"
ASK_TIMES = f"""
    WITH RECURSIVE
    projects (name) AS (
        SELECT min(project_name) FROM asks INDEXED BY asks_counted WHERE settled_at IS NOT NULL
        UNION ALL
        SELECT (SELECT min(project_name) FROM asks INDEXED BY asks_counted
                WHERE settled_at IS NOT NULL AND project_name > name)
        FROM projects WHERE name IS NOT NULL
    ),
    groups (of_project, of_agent) AS (
        SELECT name, (SELECT min(agent_name) FROM asks INDEXED BY asks_counted
                      WHERE settled_at IS NOT NULL AND project_name = name)
        FROM projects WHERE name IS NOT NULL
        UNION ALL
        SELECT of_project, (SELECT min(agent_name) FROM asks INDEXED BY asks_counted
                            WHERE settled_at IS NOT NULL AND project_name = of_project
                            AND agent_name > of_agent)
        FROM groups WHERE of_agent IS NOT NULL
    ),
    approvals (is_approval) AS (VALUES (0), (1)),
    ends (ended) AS (VALUES {ENDS})
    SELECT of_project, of_agent, is_approval, ended,
        (SELECT {_spans("created_at", "settled_at")} {_HEARD}),
        (SELECT {_spans("created_at", "settled_at")} {_LEFT}),
        (SELECT {_spans(_GONE, "settled_at")} {_LEFT})
    FROM groups, approvals, ends WHERE of_agent IS NOT NULL
    UNION ALL
    SELECT project_name, agent_name, approval, status,
        {_spans("created_at", ":until")} FILTER (WHERE alone_since IS NULL),
        {_spans("created_at", ":until")} FILTER (WHERE alone_since >= -9e999),
        {_spans(_GONE, ":until")} FILTER (WHERE alone_since >= -9e999)
    FROM asks WHERE status = 'open' AND created_at BETWEEN :since AND :until
    GROUP BY project_name, agent_name, approval
"""  # noqa: S608 - constants
