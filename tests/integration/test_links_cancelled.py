"""A call that its client has cancelled has no caller, whatever came in between."""

from __future__ import annotations

from pathlib import Path

import pytest

from chatbridge.core.asks import waiting_calls
from chatbridge.core.errors import CallCancelled, StoreError
from tests.fakes.core_env import BLUE, OWNER, name, request, world
from tests.fakes.link_server import Link, door

CANCELLED = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}


async def full_disk(_: object) -> None:
    raise StoreError("the disk is full")


async def test_a_cancelled_call_that_cannot_be_stored_has_no_caller_after_the_links_return(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world(tmp_path) as hub, door(hub, tmp_path / "s"):
        link = await Link.connect(tmp_path / "s")
        await link.hear()
        await link.ask(1)
        ask = await hub.until(lambda ask: ask.open)
        with monkeypatch.context() as broken:
            broken.setattr(hub.store, "write", full_disk)
            link.say(CANCELLED)
            assert await link.hear() == {}, "it was not cut off"
        link.close()
        again = await Link.connect(tmp_path / "s")
        await again.hear()
        again.say({"chatbridge": "resumed"})
        await hub.until(lambda seen: seen.id == ask.id and seen.orphaned_since is not None)
        assert (await hub.inbox.answer(ask.id, BLUE, person=OWNER)).kept
        again.close()


@pytest.mark.parametrize(
    ("reason", "out_of_time"),
    [
        (None, False),  # once: nobody knows why
        ("timed out after 5.0s", True),  # the Python SDK
        ("McpError: MCP error -32001: Request timed out", True),  # the one for TypeScript
        ("context deadline exceeded", True),
        ("caller cancelled", False),
        ("AbortError: This operation was aborted", False),
    ],
)
async def test_a_cancellation_shows_the_clients_limit_unless_somebody_stopped_the_agent(
    tmp_path: Path, reason: str | None, out_of_time: bool
) -> None:
    async with world(tmp_path) as hub, door(hub, tmp_path / "s"):
        link = await Link.connect(tmp_path / "s", link="mine")
        await link.hear()
        await link.ask(1)
        await hub.until(lambda ask: ask.open)
        hub.clock.advance(30)
        params = {"requestId": 1, **({"reason": reason} if reason else {})}
        link.say({**CANCELLED, "params": params})
        await hub.until(lambda ask: ask.orphaned_since is not None)
        assert (hub.broker.waiting_calls.learned_limit("mine") is not None) is out_of_time
        link.close()


async def test_however_many_were_cancelled_a_call_that_comes_after_its_cancellation_asks_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting_calls, "MAX_CANCELLED_REQUESTS", 3)
    async with world(tmp_path) as hub:
        calls = hub.broker.waiting_calls
        calls.link_opened("link-1")
        for number in range(5):
            await calls.cancel(name("link-1", number))
        with pytest.raises(CallCancelled):
            await hub.broker.ask(request(), name("link-1", 4))
        assert not await hub.inbox.open_asks()


async def test_a_cancelled_call_leaves_nothing_behind_in_its_session(tmp_path: Path) -> None:
    async with world(tmp_path) as hub, door(hub, tmp_path / "s") as links:
        link = await Link.connect(tmp_path / "s")
        await link.hear()
        await link.ask(1)
        await hub.until(lambda ask: ask.open)
        (connection,) = links._connections.values()
        assert connection.session._requests == {"1"}
        link.say(CANCELLED)
        await hub.until(lambda ask: ask.orphaned_since is not None)
        assert not connection.session._requests
        link.close()


@pytest.mark.parametrize("pending", [False, True])
async def test_an_answer_to_a_call_that_the_link_has_forgotten_is_kept_unless_it_is_being_written(
    tmp_path: Path, pending: bool
) -> None:
    async with world(tmp_path) as hub, door(hub, tmp_path / "s") as links:
        link = await Link.connect(tmp_path / "s")
        await link.hear()
        await link.ask(1)
        ask = await hub.until(lambda ask: ask.open)
        await links.close()
        link.close()
    async with world(tmp_path, hub.clock) as after, door(after, tmp_path / "t"):
        await after.inbox.answer(ask.id, BLUE, person=OWNER)  # before its link is back
        link = await Link.connect(tmp_path / "t")
        await link.hear()
        link.say({"chatbridge": "resumed", **({"pending": [1]} if pending else {})})
        await link.ask(2)
        if pending:
            assert (await after.until(lambda seen: seen.open)).id != ask.id
        else:
            assert (await link.hear())["id"] == 2
        link.close()


async def test_a_repeated_call_whose_answer_is_on_its_way_is_not_taken_for_forgotten(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as hub, door(hub, tmp_path / "s") as links:
        link = await Link.connect(tmp_path / "s")
        await link.hear()
        await link.ask(1)
        ask = await hub.until(lambda ask: ask.open)
        await links.close()
        link.close()
    async with world(tmp_path, hub.clock) as after, door(after, tmp_path / "t"):
        await after.inbox.answer(ask.id, BLUE, person=OWNER)
        link = await Link.connect(tmp_path / "t")
        await link.hear()
        await link.ask(1)
        assert (await link.hear())["id"] == 1
        link.say({"chatbridge": "resumed"}, {"jsonrpc": "2.0", "id": 9, "method": "ping"})
        assert (await link.hear())["id"] == 9
        assert not (await after.inbox.ask(ask.id)).kept
        link.say({"chatbridge": "delivered", "request": 1})
        assert (await link.hear())["chatbridge"] == "acknowledged"
        assert (await after.inbox.ask(ask.id)).delivered_at is not None
        link.close()
