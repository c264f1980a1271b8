"""Operations: recorded, approved, queued, run, and their ends stored, across restarts of the hub.

Owns the life of an operation. What is run and whether it may be is decided before (`arguments`,
`gate`), the processes are the runner's.
"""

from __future__ import annotations

from chatbridge.core.model import CallName
from chatbridge.core.operation import Operation


class Operations:
    """The interface that the tools count on."""

    async def begin(self, operation: Operation) -> Operation:
        """Record it, then have it approved or queued. A repeated call's is the one of before.

        :raises TooManyOperations: nothing was recorded.
        """
        raise NotImplementedError

    async def ended(self, operation_id: str) -> Operation:
        """Wait until it has ended, however long that takes. :raises UnknownOperation:"""
        raise NotImplementedError

    async def find(self, operation_id: str, *, project: str) -> Operation:
        """By its id or the beginning of it. :raises UnknownOperation:"""
        raise NotImplementedError

    async def listed(self, *, project: str, limit: int) -> list[Operation]:
        """Those on the way first, then the newest that have ended."""
        raise NotImplementedError

    async def cancel(self, operation_id: str, *, project: str) -> tuple[Operation, bool]:
        """End it, with its whole process group; returns when it has ended. False: it had ended
        already. :raises UnknownOperation:"""
        raise NotImplementedError

    async def delivered(self, call: CallName) -> None:
        """The response to this call is with its client."""
        raise NotImplementedError
