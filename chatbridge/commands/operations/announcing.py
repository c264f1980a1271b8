"""Tells the chats once that a long operation has ended."""

from __future__ import annotations

from chatbridge.commands.operations.execution import signal_name
from chatbridge.core.cards.operation_summary import CHARACTERS, LINES, for_people, last_lines
from chatbridge.core.cards.phrases import format_duration
from chatbridge.core.delivery.notices import Notices
from chatbridge.core.model import CallName, Level, OperationEnd
from chatbridge.core.operation import Operation, Stage
from chatbridge.core.text import one_line

TOLD = frozenset((Stage.SUCCEEDED, Stage.FAILED, Stage.TIMED_OUT, Stage.INTERRUPTED))
"""Stages that are announced. Whoever cancelled or denied an operation knows of it."""


class Announcing:
    def __init__(self, notices: Notices, *, after: float) -> None:
        """`after`: seconds; shorter operations are not announced."""
        self._notices = notices
        self._after = after

    async def announce(self, operation: Operation) -> None:
        """Send one notice, however often this is called for an operation. :raises StoreError:"""
        took = operation.took(operation.ended_at or 0.0)
        if operation.stage not in TOLD or took <= self._after:
            return
        end = _end(operation, took)
        title = one_line(operation.title)
        how = f"failed: {end.how} after" if end.how else "finished after"
        await self._notices.send(
            # No request has such an id: one is JSON.
            CallName(link=operation.call.link, request=f"operation {operation.id}"),
            project=operation.project,
            agent=operation.agent,
            message=f"{title} {how} {format_duration(took)}",
            level=Level.INFO if end.succeeded else Level.ERROR,
            operation=end,
        )


def _end(operation: Operation, took: float) -> OperationEnd:
    result = operation.result
    succeeded = operation.stage is Stage.SUCCEEDED
    tail = "" if succeeded else last_lines(result.tail or result.head, LINES, characters=CHARACTERS)
    more = bool(result.tail) or for_people(result.head).strip() != tail.strip()
    return OperationEnd(
        id=operation.id,
        title=operation.title,
        succeeded=succeeded,
        how=_how(operation),
        took=took,
        tail=tail,
        whole=result.size > 0 and more,
    )


def _how(operation: Operation) -> str:
    result = operation.result
    match operation.stage:
        case Stage.SUCCEEDED:
            return ""
        case Stage.TIMED_OUT:
            return "timed out"
        case Stage.INTERRUPTED:
            return "interrupted"
        case _ if result.exit_code is not None:
            return f"exit {result.exit_code}"
        case _ if result.signal is not None:
            return f"ended by {signal_name(result.signal)}"
        case _:
            return "not started"
