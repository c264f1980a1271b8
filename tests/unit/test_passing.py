"""What a hub that follows holds ends at once when it is elected itself."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import asyncpg
import pytest

from chatbridge.core.tasks import end_tasks
from chatbridge.hub.cluster.passing import Passing
from chatbridge.hub.links.peers import Origin
from chatbridge.store.postgres.election import Candidate, Election


async def nowhere() -> asyncpg.Connection[Any]:
    raise OSError


async def fine(_: object) -> None: ...


async def status() -> dict[str, Any]:
    return {}


class Heard:
    """The other end of a connection, which only listens."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []

    def write(self, data: bytes) -> None:
        self.lines += [json.loads(line) for line in data.splitlines()]

    async def drain(self) -> None: ...

    def get_extra_info(self, name: str) -> None: ...

    def close(self) -> None: ...


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


async def test_a_hub_whose_name_another_one_has_passes_nothing_on_and_says_why() -> None:
    election = Election(nowhere, Candidate(id="a", name="hub-a", release="1"), fine)
    passing = Passing(election, None, status)
    origin, ended, heard = Origin(pid=1, uid=1), asyncio.StreamReader(), Heard()
    held = asyncio.ensure_future(
        passing.serve({"chatbridge": "link"}, asyncio.StreamReader(), heard, origin)  # type: ignore[arg-type]
    )
    await asyncio.sleep(0)
    election.namesake = "set cluster.name"
    for tell in election.on_change:
        tell()
    async with asyncio.timeout(1):
        with pytest.raises(ConnectionRefusedError):
            await held
    await passing.serve({"chatbridge": "link"}, ended, heard, origin)  # type: ignore[arg-type]
    ended.feed_data(b'{"do": "pending"}\n')
    ended.feed_eof()
    await passing.serve({"chatbridge": "terminal"}, ended, heard, origin)  # type: ignore[arg-type]
    assert heard.lines == [
        {"chatbridge": "refused", "message": "set cluster.name"},
        {"error": "set cluster.name", "kind": "HubFollows"},
    ]
