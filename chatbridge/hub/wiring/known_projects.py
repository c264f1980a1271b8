"""The projects in which agents were seen. No command runs a program from them.

Kept in the store, because an agent can remove what marks a folder as a project (`.git`), and
because the next hub has to know them before any agent is back.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

from chatbridge.core.model import ChannelState, Project
from chatbridge.core.ports import Clock
from chatbridge.core.store_port import Store
from chatbridge.core.tasks import until_stored

CHANNEL, KEY = "commands", "projects"
T = TypeVar("T")
MOST = 1_000  # The newest of them


def stored(value: str | None) -> tuple[str, ...]:
    """As the note has them; a damaged one has none."""
    return tuple(each for each in _parsed(value, list) if isinstance(each, str))


@dataclass(slots=True)
class KnownProjects:
    """`folders` are real paths, the newest last."""

    store: Store
    clock: Clock
    spawn: Callable[[Coroutine[Any, Any, None]], None]
    folders: dict[str, None] = field(default_factory=dict)

    async def load(self) -> None:
        note = await self.store.note(CHANNEL, KEY)
        self.folders = dict.fromkeys(stored(note.value if note else None))

    def add(self, project: Project) -> None:
        """An agent works there now. One without a root has no project that others could have."""
        if not os.path.isabs(project.key):
            return
        if (folder := os.path.realpath(project.key)) in self.folders:
            return
        # Another object: threads look at the old one.
        self.folders = dict.fromkeys([*self.folders, folder][-MOST:])
        self.spawn(until_stored(self._write, clock=self.clock, what="the list of projects"))

    async def _write(self) -> None:
        """All of them: one that was tried again may come after a later one."""
        await write_note(self.store, CHANNEL, KEY, [*self.folders], clock=self.clock)


async def read_note(store: Store, channel: str, key: str, kind: type[T]) -> T:
    """Empty: nothing, or nothing that can be read."""
    note = await store.note(channel, key)
    return _parsed(note.value if note else None, kind)


def _parsed(value: str | None, kind: type[T]) -> T:
    try:
        found = json.loads(value or "null")
    except ValueError:
        found = None
    return found if isinstance(found, kind) else kind()


async def write_note(store: Store, channel: str, key: str, value: object, *, clock: Clock) -> None:
    note = ChannelState(channel=channel, key=key, value=json.dumps(value), at=clock.time())
    await store.write(lambda tx: tx.save_note(note))
