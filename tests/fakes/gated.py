"""Operations in front of the gate, without anything that would run them."""

from __future__ import annotations

import itertools
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from chatbridge.commands.operations.gate import Gate
from chatbridge.core.asks.broker import Broker
from chatbridge.core.model import Agent, CallName, Project
from chatbridge.core.operation import Operation, Plan, Stage
from chatbridge.core.ports import Clock
from chatbridge.store.sqlite.store import SqliteStore

SHOP = Project(key="/src/shop", name="shop")
CLAUDE = Agent(client="claude-code", name="Claude Code")
HOME = os.path.expanduser("~")
_ids = itertools.count(1)


def operation(
    *argv: str,
    number: int = 1,
    link: str = "link-1",
    folder: str = f"{HOME}/shop",
    destructive: bool = False,
    grant: str | None = None,
    approved: bool = False,
) -> Operation:
    return Operation(
        id=f"operation-{next(_ids)}",
        call=CallName(link=link, request=str(number)),
        project=SHOP,
        agent=CLAUDE,
        tool="git_push",
        title="git push",
        group="git",
        plan=Plan(
            argv=argv or ("git", "push"),
            executable="/usr/bin/git",
            folder=folder,
            timeout=600.0,
            output_limit=10_000,
            destructive=destructive,
        ),
        created_at=0.0,
        stage=Stage.AWAITING_APPROVAL,
        grant=grant,
        approved=approved,
    )


@asynccontextmanager
async def gate_before(broker: Broker, *, clock: Clock, folder: Path) -> AsyncIterator[Gate]:
    """A gate whose operations are in a file of their own."""
    store = await SqliteStore.open(folder / "operations.db")
    try:
        yield Gate(broker, store=store.operations, clock=clock, timeout=300.0)
    finally:
        await store.close()
