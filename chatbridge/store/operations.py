"""Operations in the database. Implements `core.operation.OperationStore`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from chatbridge.core.errors import StoreError
from chatbridge.core.model import CallName
from chatbridge.core.operation import Operation, Stage
from chatbridge.store.database import Connection, Parameters
from chatbridge.store.rows import (
    COMMAND,
    UnreadableRows,
    assignments,
    columns,
    insert,
    prefixed,
    texts,
)
from chatbridge.store.transaction import SqlTransaction
from chatbridge.store.writer import Writer

LISTED_BY_PREFIX = 10

_SAVED = ("stage", "approved", "ask_id", "started_at", "ended_at", "result")
"""What `save` replaces: whether its response arrived is noted beside it, at any time."""
_SAVE = f"UPDATE operations SET {assignments(_SAVED)} WHERE id = :id AND stage = :was"  # noqa: S608
_UNDELIVERED = """
    SELECT * FROM operations WHERE link = :link AND request = :request AND delivered = 0
    AND tool = :tool ORDER BY seq DESC
"""
_DELIVERED = """
    UPDATE operations SET delivered = 1 WHERE link = ? AND request = ? AND delivered = 0
"""
_GET = "SELECT * FROM operations WHERE id = ?"
_BY_PREFIX = """
    SELECT * FROM operations WHERE id >= :prefix AND id < :beyond
    AND project = :project ORDER BY seq DESC LIMIT :limit
"""
_OF_PROJECT = """
    SELECT * FROM operations WHERE project = ?
    ORDER BY ended_at IS NULL DESC, NOT synchronous DESC, seq DESC LIMIT ?
"""
_UNENDED = "SELECT * FROM operations WHERE ended_at IS NULL ORDER BY seq"
_STORED_IDS = "SELECT id FROM operations WHERE id IN (SELECT value FROM json_each(:ids))"
_GRANTED = "SELECT 1 FROM operations WHERE link = ? AND grant_key = ? AND approved = 1 LIMIT 1"
_OLD = """
    SELECT id, seq FROM operations WHERE ended_at < :before OR (ended_at IS NOT NULL AND seq <=
        (SELECT seq FROM operations ORDER BY seq DESC LIMIT 1 OFFSET :keep))
    ORDER BY ended_at LIMIT :limit
"""
_REMOVE = "DELETE FROM operations WHERE seq = ?"


@dataclass(frozen=True, slots=True)
class SqlOperations:
    reading: Connection
    writer: Writer
    unreadable: UnreadableRows

    async def add(self, operation: Operation) -> Operation:
        row = _row(operation)

        async def work(tx: SqlTransaction) -> Operation:
            for earlier in await tx.rows(_UNDELIVERED, row):
                known = self.unreadable.first(COMMAND, [earlier])
                if known is None:  # it may have run: it is not run a second time
                    raise StoreError(
                        f"the command {COMMAND.name_of(earlier)} was begun by another version "
                        "of chatbridge, and this one cannot read how it is. Install that version "
                        "again"
                    )
                if known.plan.command == operation.plan.command:
                    return known
            tx.connection.check_lasts()
            await tx.change(insert("operations", row), row)
            if tx.trail:
                tx.trail.add([tx.trail.auditor.requested(operation)])
            return operation

        return await self.writer.run(work)

    async def save(self, operation: Operation, *, was: Stage) -> bool:
        row = {**_row(operation), "was": was.value}

        async def work(tx: SqlTransaction) -> bool:
            saved = await tx.change(_SAVE, row) == 1
            if saved and tx.trail:
                tx.trail.add(tx.trail.auditor.operation_changed(was, operation))
            return saved

        return await self.writer.run(work)

    async def delivered(self, call: CallName) -> None:
        await self.writer.run(lambda tx: tx.change(_DELIVERED, (call.link, call.request)))

    async def undelivered(self, call: CallName, *, tool: str) -> Sequence[Operation]:
        given = {"link": call.link, "request": call.request, "tool": tool}
        return await self._all(_UNDELIVERED, given)

    async def get(self, operation_id: str) -> Operation | None:
        rows = await self.reading.rows(_GET, (operation_id,))
        return self.unreadable.first(COMMAND, rows)

    async def by_prefix(self, *, project: str, prefix: str) -> Sequence[Operation]:
        given = {"project": project, "limit": LISTED_BY_PREFIX, **prefixed(prefix)}
        return await self._all(_BY_PREFIX, given)

    async def of_project(self, *, project: str, limit: int) -> Sequence[Operation]:
        return await self._all(_OF_PROJECT, (project, limit))

    async def unended(self) -> Sequence[Operation]:
        return await self._all(_UNENDED)

    async def stored_ids(self, ids: Iterable[str]) -> frozenset[str]:
        found = await self.reading.rows(_STORED_IDS, {"ids": json.dumps([*ids])})
        return frozenset(texts(found))

    async def _all(self, sql: str, parameters: Parameters = ()) -> list[Operation]:
        rows = await self.reading.rows(sql, parameters)
        return self.unreadable.read(COMMAND, rows)

    async def granted(self, *, link: str, grant: str) -> bool:
        return bool(await self.reading.rows(_GRANTED, (link, grant)))

    async def remove(self, *, before: float, keep: int, limit: int) -> Sequence[str]:
        given = {"before": before, "keep": keep, "limit": limit}

        async def work(tx: SqlTransaction) -> list[str]:
            old = await tx.rows(_OLD, given)
            for row in old:
                await tx.change(_REMOVE, (row["seq"],))
            return texts(old)

        return await self.writer.run(work)


def _row(operation: Operation) -> dict[str, Any]:
    return {**columns(operation), "synchronous": operation.plan.synchronous}
