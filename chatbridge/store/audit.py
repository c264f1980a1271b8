"""The table of the audit trail: lines that a transaction adds, and how they are read.

What a line says is in `core.audit`. The database itself refuses changes of it.
"""

from __future__ import annotations

import json
import math
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from chatbridge.core.audit import Auditor, Entry, Line
from chatbridge.store.database import Connection, Record

COLUMNS = (
    *("at", "kind", "thing", "id", "project", "project_name", "client", "agent_name"),
    *("who", "who_id", "channel", "surface", "what"),
)
ADDED_AT_ONCE = 16
"""Lines of one statement: each number of lines is a statement of its own to the database."""
READ_AT_ONCE = 1_000

AUDIT_LINES = """
    SELECT * FROM audit WHERE seq > :after AND +at >= :since AND +at < :until
    AND (:project = '' OR project = :project OR project_name = :project
         OR substr(project_name, length(project_name) - length(:project)) = '/' || :project)
    AND (:person = '' OR who = :person OR who_id = :person)
    ORDER BY seq LIMIT :limit
"""
AUDIT_NAMES = "SELECT DISTINCT who, project_name FROM audit"
FIRST_AUDIT_LINE = "SELECT min(+seq) FROM audit WHERE at >= ?"
REMOVE_AUDIT_LINES = """
    DELETE FROM audit WHERE seq IN (SELECT seq FROM audit WHERE at < ? ORDER BY at LIMIT ?)
"""

_common = attrgetter(
    *("kind.value", "thing.value", "id"),
    *("project.key", "project.name", "agent.client", "agent.name"),
)


@dataclass(slots=True)
class Trail:
    """The lines of the transaction that is under way."""

    auditor: Auditor
    now: Callable[[], float]
    _entries: list[Entry] = field(default_factory=list)

    def add(self, entries: Iterable[Entry]) -> None:
        self._entries += entries

    def clear(self) -> None:
        self._entries.clear()

    async def write(self, connection: Connection) -> None:
        """Before the commit. :raises StoreError:"""
        at, entries = self.now(), self._entries
        for first in range(0, len(entries), ADDED_AT_ONCE):
            some = entries[first : first + ADDED_AT_ONCE]
            values = [value for entry in some for value in _row(entry, at)]
            await connection.change(_insert(len(some)), values)


def _insert(lines: int) -> str:
    values = f"({', '.join('?' * len(COLUMNS))})"
    return f"INSERT INTO audit ({', '.join(COLUMNS)}) VALUES {', '.join([values] * lines)}"  # noqa: S608 - our names


def _row(entry: Entry, at: float) -> tuple[Any, ...]:
    who, by = ("", "", ""), entry.by
    if by is not None:
        who = by.name, by.id and f"{by.channel}:{by.id}", by.channel
    what = json.dumps(dict(entry.what), ensure_ascii=False)
    return (at, *_common(entry), *who, entry.surface, what)


async def read_lines(
    connection: Connection,
    *,
    since: float = -math.inf,
    until: float = math.inf,
    after: int = 0,
    project: str = "",
    person: str = "",
    limit: int,
) -> Sequence[Line]:
    """In the order in which they were written. :raises StoreError:"""
    given = {"since": since, "until": until, "after": after, "limit": limit}
    rows = await connection.rows(AUDIT_LINES, {**given, "project": project, "person": person})
    return [_line(row) for row in rows]


async def all_lines(
    connection: Connection,
    *,
    since: float,
    until: float,
    project: str = "",
    person: str = "",
    at_once: int = READ_AT_ONCE,
) -> AsyncIterator[Line]:
    """However many there are. :raises StoreError:"""
    ((first,),) = await connection.rows(FIRST_AUDIT_LINE, (since,))
    page: Sequence[Line] = ()
    while page or first is not None:
        after, first = page[-1].seq if page else first - 1, None
        page = await read_lines(
            connection,
            since=since,
            until=until,
            after=after,
            project=project,
            person=person,
            limit=at_once,
        )
        for line in page:
            yield line


async def names_in(connection: Connection) -> tuple[set[str], set[str]]:
    """The people and the projects of the whole trail; these also without the hub or the user before
    their folder. :raises StoreError:"""
    rows = await connection.rows(AUDIT_NAMES)
    projects = {str(row["project_name"]) for row in rows}
    projects |= {name.rpartition("/")[2] for name in projects}
    return {str(row["who"]) for row in rows} - {""}, projects


def _line(row: Record) -> Line:
    """Also of a row that somebody has damaged: a line of the trail is not left out."""
    texts = {name: str(row[name]) for name in COLUMNS[1:-1]}
    return Line(seq=row["seq"], at=row["at"], **texts, what=_what(row["what"]))


def _what(stored: object) -> dict[str, Any]:
    try:
        found = json.loads(stored) if isinstance(stored, str) else None
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {"unreadable": str(stored)}
