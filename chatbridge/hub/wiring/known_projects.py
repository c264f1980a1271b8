"""The projects in which agents were seen. No command runs a program from them.

Kept in the store, because an agent can remove what marks a folder as a project (`.git`), and
because the next hub has to know them before any agent is back.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from chatbridge.core.model import ChannelState, Project
from chatbridge.core.ports import Clock
from chatbridge.core.store_port import Store, Transaction

CHANNEL, KEY = "commands", "projects"
T = TypeVar("T")
MOST = 1_000
"""The newest of them."""


def stored(value: str | None) -> tuple[str, ...]:
    """As the note has them; a damaged one has none."""
    try:
        found = json.loads(value or "[]")
    except ValueError:
        return ()
    return tuple(each for each in found if isinstance(each, str)) if isinstance(found, list) else ()


class KnownProjects:
    """`folders` are real paths, the newest last."""

    def __init__(
        self, store: Store, *, clock: Clock, spawn: Callable[[Coroutine[Any, Any, None]], None]
    ) -> None:
        self._store, self._clock, self._spawn = store, clock, spawn
        self.folders: dict[str, None] = {}

    async def load(self) -> None:
        note = await self._store.note(channel=CHANNEL, key=KEY)
        self.folders = dict.fromkeys(stored(note.value if note else None))

    def add(self, project: Project) -> None:
        """An agent works there now. One without a root has no project that others could have."""
        if not os.path.isabs(project.key):
            return
        if (folder := os.path.realpath(project.key)) in self.folders:
            return
        newest = [*self.folders, folder][-MOST:]
        self.folders = dict.fromkeys(newest)  # another object: threads look at the old one
        self._spawn(write_note(self._store, CHANNEL, KEY, newest, clock=self._clock))


async def read_note(store: Store, channel: str, key: str, kind: type[T]) -> T:
    """Empty: nothing, or nothing that can be read."""
    note = await store.note(channel=channel, key=key)
    try:
        found = json.loads(note.value) if note else None
    except ValueError:
        found = None
    return found if isinstance(found, kind) else kind()


async def write_note(store: Store, channel: str, key: str, value: object, *, clock: Clock) -> None:
    note = ChannelState(channel=channel, key=key, value=json.dumps(value), at=clock.time())

    async def work(tx: Transaction) -> None:
        await tx.save_note(note)

    await store.write(work)
