"""What a hub that follows holds ends at once when it is elected itself."""

from __future__ import annotations

import asyncio
from typing import Any

import asyncpg
import pytest

from chatbridge.core.tasks import end_tasks
from chatbridge.hub.cluster.passing import Passing
from chatbridge.store.postgres.election import Candidate, Election


async def nowhere() -> asyncpg.Connection[Any]:
    raise OSError


async def fine(_: object) -> None: ...


async def status() -> dict[str, Any]:
    return {}


@pytest.mark.parametrize("turns", range(5))
async def test_a_held_connection_ends_though_news_come_in_the_same_turn(turns: int) -> None:
    election = Election(nowhere, Candidate(id="a", name="hub-a", release="1"), fine)
    passing = Passing(election, None, status)
    reader = asyncio.StreamReader()
    held = asyncio.ensure_future(passing._pass_on(b"", reader, None))  # type: ignore[arg-type]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    for tell in election.on_change:
        tell()
    for _ in range(turns):
        await asyncio.sleep(0)
    async with asyncio.timeout(1):
        await end_tasks([held])
    assert held.cancelled()
