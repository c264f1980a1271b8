"""Which of two hubs with one name keeps it, as one of them sees it. Pure, without I/O.

Whoever starts takes the name, since a hub that has crashed left its row in the database. One that
is alive takes it back: it has been seen to have it, for longer than anybody may take it back from
it, and a moment ago. Any other hub gives the name up. So two never take it in turns.

`election` carries that out.
"""

from __future__ import annotations

from dataclasses import dataclass

BACK_WITHIN_SECONDS = 3.0
SETTLED_AFTER_SECONDS = 5.0
"""More than the other one needs to notice, and to write its row."""


@dataclass(slots=True)
class HubName:
    """All times are of one clock, which goes on while the machine sleeps."""

    _taken: float | None = None
    _seen: float = float("-inf")

    def taken(self, now: float) -> None:
        """This hub has written its row."""
        if self._taken is None:
            self._taken = now

    def seen(self, began: float) -> None:
        """The row was this hub's; it was asked for at `began`."""
        self._seen = began

    def may_be_taken(self, now: float) -> bool:
        """Whether this hub may write its row over another's."""
        if self._taken is None:
            return True
        settled = self._seen - self._taken >= SETTLED_AFTER_SECONDS
        return settled and now - self._seen < BACK_WITHIN_SECONDS
