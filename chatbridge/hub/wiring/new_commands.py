"""Tells the chats when agents may use other commands than before: definitions are files, and
whatever runs as their owner can write to them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

from chatbridge.commands.definitions.definition import Command
from chatbridge.core.model import ChannelState
from chatbridge.core.ports import Clock
from chatbridge.core.store_port import Store, Transaction
from chatbridge.core.stored_json import reader
from chatbridge.core.text import one_line

CHANNEL, KEY = "commands", "grants"
NAMED = 10
_read = reader(dict[str, str])


async def tell_of_new_commands(
    commands: Iterable[Command], store: Store, *, clock: Clock, tell: Callable[[str], None]
) -> None:
    """What there is is compared with what there was when this was last looked at."""
    now = {command.tool: command.grant for command in commands}
    note = await store.note(channel=CHANNEL, key=KEY)
    before = (_read(note.value) if note else None) or {}
    if now == before:
        return
    new = [tool for tool in now if tool not in before]
    changed = [tool for tool in now if tool in before and now[tool] != before[tool]]
    said = [("new commands", new), ("commands that were changed", changed)]
    told = [f"{what}: {_named(tools)}" for what, tools in said if tools]
    if told:
        tell(
            f"Agents can use {'; '.join(told)}. If that was not you, look at them with: "
            "chatbridge tools list"
        )
    fresh = ChannelState(channel=CHANNEL, key=KEY, value=json.dumps(now), at=clock.time())

    async def work(tx: Transaction) -> None:
        await tx.save_note(fresh)

    await store.write(work)


def _named(tools: list[str]) -> str:
    more = f" and {len(tools) - NAMED} more" if len(tools) > NAMED else ""
    return one_line(", ".join(tools[:NAMED])) + more
