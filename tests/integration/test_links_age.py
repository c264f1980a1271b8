"""How old a repeated call is, its link knows: the clock may have been set while no hub ran."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from chatbridge.core.model import Ask
from tests.fakes.core_env import BLUE, OWNER, World, world
from tests.fakes.link_server import Link, call_of, door

SILENT = "zed"  # gives a call up after 60 s, and says nothing
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": SILENT, "version": "1"},
    },
}


async def connected(path: Path) -> Link:
    link = await Link.connect(path)
    await link.hear()
    link.say(INITIALIZE)
    await link.hear()
    return link


@asynccontextmanager
async def repeated(
    tmp_path: Path, *, age: float, clock_set_by: float = 0.0, held: float = 0.0
) -> AsyncIterator[tuple[World, Link, Ask]]:
    """A call that has waited so long when its link finds the next hub, which may hold it before it
    finds the one that leads."""
    async with world(tmp_path) as hub, door(hub, tmp_path / "s") as links:
        link = await connected(tmp_path / "s")
        link.say(call_of(1))
        ask = await hub.until(lambda ask: ask.open)
        await links.close()
        link.close()
    hub.clock.step(clock_set_by)
    async with world(tmp_path, hub.clock) as after, door(after, tmp_path / "t"):
        again = await connected(tmp_path / "t")
        again.say({"chatbridge": "held", "seconds": held})
        again.say({"chatbridge": "age", "request": 1, "seconds": age}, call_of(1))
        again.say({"chatbridge": "held", "seconds": 0})
        again.say({"chatbridge": "resumed"})
        yield after, again, ask
        again.close()


@pytest.mark.parametrize(
    ("age", "held", "clock_set_by"), [(65.0, 0.0, -600.0), (65.0, 0.0, 5.0), (49.0, 16.0, 0.0)]
)
async def test_the_answer_to_a_call_that_was_given_up_meanwhile_is_kept(
    tmp_path: Path, age: float, held: float, clock_set_by: float
) -> None:
    given = repeated(tmp_path, age=age, held=held, clock_set_by=clock_set_by)
    async with given as (hub, _, ask):
        await hub.until(lambda seen: seen.id == ask.id and seen.orphaned_since is not None)
        assert (await hub.inbox.answer(ask.id, BLUE, person=OWNER)).kept


async def test_a_call_that_still_waits_has_its_caller_however_the_clock_was_set(
    tmp_path: Path,
) -> None:
    async with repeated(tmp_path, age=20.0, clock_set_by=120.0) as (hub, link, ask):
        await hub.until(lambda seen: seen.id == ask.id)
        answered = await hub.inbox.answer(ask.id, BLUE, person=OWNER)
        assert not answered.kept
        assert (await link.hear())["id"] == 1
        link.say({"chatbridge": "delivered", "request": 1})
        assert await link.hear() == {"chatbridge": "acknowledged", "request": 1}
        assert (await hub.now(ask)).delivered_at is not None


@pytest.mark.parametrize(
    ("waited", "clock_set_by", "in_time"), [(20.0, 7200.0, True), (61.0, -7200.0, False)]
)
async def test_whether_a_response_came_in_time_the_link_knows_that_has_it_from_an_earlier_hub(
    tmp_path: Path, waited: float, clock_set_by: float, in_time: bool
) -> None:
    async with world(tmp_path) as hub, door(hub, tmp_path / "s"):
        link = await connected(tmp_path / "s")
        link.say(call_of(1))
        ask = await hub.until(lambda ask: ask.open)
        await hub.inbox.answer(ask.id, BLUE, person=OWNER)
        assert (await link.hear())["id"] == 1
    link.close()
    hub.clock.step(clock_set_by)
    async with world(tmp_path, hub.clock) as after, door(after, tmp_path / "t"):
        again = await connected(tmp_path / "t")
        again.say({"chatbridge": "delivered", "request": 1, "waited": waited})
        assert await again.hear() == {"chatbridge": "acknowledged", "request": 1}
        assert ((await after.now(ask)).delivered_at is not None) is in_time
        again.close()
