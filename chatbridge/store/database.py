"""What the store needs of a database: connections that take SQL with named parameters.

The statements of this package are written once, in the SQL that SQLite and PostgreSQL have in
common; the few that differ are an adapter's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from chatbridge.core.errors import StoreError

Record = Any
"""A row of a result: its values by position and by the name of their column."""
Parameters = Sequence[Any] | Mapping[str, Any]
"""For `?` in their order, or for `:name`."""


class ConnectionLost(StoreError):
    """The server or the way to it has gone. What was not committed is undone."""


class Connection(Protocol):
    """One statement at a time, no implicit transactions."""

    @property
    def called(self) -> str:
        """The database, as errors name it: "the database …"."""

    @property
    def replaced(self) -> bool:
        """Whether the last statement used another text than it was given."""

    async def rows(self, sql: str, parameters: Parameters = ()) -> Sequence[Record]:
        """:raises StoreError:"""

    async def change(self, sql: str, parameters: Parameters = ()) -> int:
        """How many rows it changed. :raises StoreError:"""

    async def change_each(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run it once with each of these. :raises StoreError:"""

    async def begin(self) -> None:
        """Begin a transaction that writes. :raises StoreError:"""

    async def commit(self) -> None:
        """Return once it is on the disk. :raises StoreError: it was not committed."""

    async def roll_back(self) -> None:
        """There may be nothing to do, after some errors. :raises StoreError:"""

    def check_open(self) -> None:
        """:raises StoreError:"""

    def check_lasts(self) -> None:
        """:raises StoreError: what is written now would not be there for the next hub."""

    async def close(self) -> None: ...
