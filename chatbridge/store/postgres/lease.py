"""The lease: which of several hubs leads, as one of them sees it. Pure, without I/O.

No clock is trusted, neither ours nor the server's: only durations are compared, each on one
machine. The holder raises a counter once a second. A follower that has seen the same count for
`LEASE_SECONDS` of its own time takes over, by compare-and-set on what it has seen. The holder
counts as deposed `HELD_SECONDS` after its last successful renewal began, which is earlier.

`election` carries out the statements.
"""

from __future__ import annotations

from dataclasses import dataclass

LEASE_SECONDS = 3.0
HELD_SECONDS = 2.5
RENEW_SECONDS = 1.0
LOOK_SECONDS = 0.5
NOBODY = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The lease as the database has it. The last three are the holder's."""

    holder: str
    epoch: int
    beat: int
    name: str = ""
    address: str = ""
    certificate: str = ""


@dataclass(frozen=True, slots=True)
class Look:
    """Read the row."""


@dataclass(frozen=True, slots=True)
class Take:
    """Become the holder with the next epoch, if epoch and beat still are these."""

    epoch: int
    beat: int
    holder: str  # Who was seen with them


@dataclass(frozen=True, slots=True)
class Renew:
    """Raise the beat, if this hub still holds the lease with this epoch."""

    epoch: int


Statement = Look | Take | Renew


@dataclass(slots=True)
class Lease:
    """What one hub knows. `holder` is the random id of its process. All times are of one clock,
    which goes on while the machine sleeps."""

    holder: str
    row: Row | None = None
    epoch: int | None = None  # While this hub holds the lease
    alive: bool = False  # Whether the holder has raised the beat since this hub looks
    _since: float = 0.0  # Since when `row` is known to be as it is
    _renewed: float = 0.0  # When the last successful renewal began

    def statement(self, now: float) -> Statement:
        """What to ask the database now."""
        if self.epoch is not None:
            return Renew(self.epoch)
        if self.row is not None and now >= self.free_at:
            return Take(self.row.epoch, self.row.beat, self.row.holder)
        return Look()

    @property
    def free_at(self) -> float:
        """When the lease that was seen may be taken. Its own hub's may be taken at once: the reply
        to a `Take` was lost, and nobody acts on it."""
        if self.row is None:
            return float("inf")
        lasts = self.row.holder not in (NOBODY, self.holder)
        return self._since + (LEASE_SECONDS if lasts else 0.0)

    def answered(self, statement: Statement, row: Row | None, *, began: float, now: float) -> None:
        """The database's answer to a statement that was sent at `began`. None: no row fits."""
        match statement:
            case Look():
                seen = self.row and (self.row.epoch, self.row.beat, self.row.holder)
                if row is None or seen != (row.epoch, row.beat, row.holder):
                    # From the answer on, and not from the question: the holder may have raised the
                    # beat in between.
                    self._since = now
                    term = self.row and row and (self.row.holder, self.row.epoch)
                    self.alive = row is not None and term == (row.holder, row.epoch)
                self.row = row
            case Take() if row is not None:
                self.row, self.epoch, self._renewed = row, row.epoch, began
            case Take():
                self.row = None
            case Renew(epoch) if self.epoch == epoch:
                if row is None:
                    self.lost()
                else:
                    self.row, self._renewed = row, began

    @property
    def held_until(self) -> float:
        """When this hub counts as deposed, if it does not renew."""
        return self._renewed + HELD_SECONDS if self.epoch is not None else float("-inf")

    def holds(self, now: float) -> bool:
        return now < self.held_until

    def lost(self) -> None:
        """This hub leads no more, until it takes the lease anew."""
        self.row = self.epoch = None
