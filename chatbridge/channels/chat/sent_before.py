"""What was sent before, at a service that takes a message which is sent again for another one.

Each message carries the name of its key where people do not see it. Where one may be out without
anybody having heard so, it is looked for by that name before it is sent.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager

from chatbridge.core.errors import RetryLater


class SentBefore:
    def __init__(self, read: Callable[[str, str | None], Awaitable[Mapping[str, str]]]) -> None:
        """`read` finds the messages of a room, or of a thread in it, by the names they carry."""
        self._read = read
        self._found: dict[str, str] = {}
        self._known: set[tuple[str, str | None]] = set()
        """Rooms, and threads in them, of which all is known that this process has not sent."""

    async def find(self, room: str, thread: str | None, name: str) -> str | None:
        """The message of this name that an earlier process has sent, or this one without having
        heard so."""
        if name and (room, thread) not in self._known:
            self._found |= await self._read(room, thread)
            self._known.add((room, thread))
        return self._found.get(name)

    @contextmanager
    def sending(self, room: str, thread: str | None) -> Iterator[None]:
        """Look again if nobody hears what became of it."""
        try:
            yield
        except RetryLater as error:
            if not error.unsent:
                self._known.discard((room, thread))
            raise

    def begun(self, room: str, thread: str) -> None:
        """A thread below a message that is new."""
        self._known.add((room, thread))
