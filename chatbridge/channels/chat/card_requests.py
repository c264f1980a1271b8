"""What people want of a card beside answering. Wishes are not kept: a person can tap again."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    typing: tuple[int, str] | None = None
    """Who wants a prompt: id and name."""
    anew: bool = False
    """Post the card at the bottom and take the old one away."""
    again: bool = False
    """The same, because taps on the old card may have been lost."""


NO_WISH = Wish()


class Wishes:
    """The last wish for each ask, until it is granted."""

    def __init__(self) -> None:
        self._open: dict[str, Wish] = {}

    def add(self, ask_id: str, wish: Wish) -> None:
        self._open[ask_id] = wish

    def of(self, ask_id: str) -> Wish:
        return self._open.get(ask_id, NO_WISH)

    def granted(self, ask_id: str, wish: Wish, *, left: Wish = NO_WISH) -> None:
        """This one, and not one that came meanwhile."""
        if self._open.get(ask_id) is wish:
            del self._open[ask_id]
            if left != NO_WISH:
                self._open[ask_id] = left
