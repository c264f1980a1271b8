"""Tells the chats when somebody new may answer: the settings are a file, and whatever runs as its
owner can write to it."""

from __future__ import annotations

import json
from collections.abc import Callable

from chatbridge.core.model import Note
from chatbridge.core.ports import Clock
from chatbridge.core.store_port import Store, Transaction
from chatbridge.core.stored import reader
from chatbridge.settings import Settings

KEY = "people"
_read = reader(list[str])


async def tell_of_newcomers(
    settings: Settings, store: Store, *, clock: Clock, tell: Callable[[str], None]
) -> None:
    """Who may answer is compared with who could when the last hub started."""
    people = {
        "telegram": [str(number) for number in settings.telegram.allowed_users],
        "matrix": list(settings.matrix.allowed_users),
    }
    for channel, now in people.items():
        note = await store.note(channel=channel, key=KEY)
        before = (_read(note.value) if note else None) or []
        if now == before:
            continue
        new = [person for person in now if person not in before]
        if before and new:
            named = ", ".join(new)
            tell(
                f"Somebody new may answer: {named}. If that was not you, run: "
                f"chatbridge people remove {new[0]}"
            )
        await _remember(
            store, Note(channel=channel, key=KEY, value=json.dumps(now), at=clock.time())
        )


async def _remember(store: Store, note: Note) -> None:
    async def work(tx: Transaction) -> None:
        await tx.save_note(note)

    await store.write(work)
