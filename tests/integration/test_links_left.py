"""Links whose connections end: their agents come back with a new one while the old one has not come
to its end, or only a hub between has gone."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from anyio import CancelScope

from chatbridge.core.asks.reach import Reach
from chatbridge.core.model import Status
from chatbridge.hub.links.listener import Links
from chatbridge.hub.links.peers import Origin, Peers
from chatbridge.tools.ask_user import AskUser
from chatbridge.tools.call import ToolCall, ToolHandler, ToolResult, text_result
from chatbridge.tools.definition import object_schema
from chatbridge.tools.waiting import Waiting
from tests.fakes.core_env import BLUE, OWNER, world
from tests.fakes.link_server import Link, door


class Slow(ToolHandler):
    """One that does not end at once when it is cancelled, as with a store that is slow."""

    name = title = description = "slow"
    schema = object_schema()

    def __init__(self) -> None:
        self.began, self.may_end = asyncio.Event(), asyncio.Event()

    async def run(self, arguments: dict[str, Any], call: ToolCall) -> ToolResult:
        self.began.set()
        try:
            await asyncio.Event().wait()
        finally:
            with CancelScope(shield=True):
                await self.may_end.wait()
        return text_result("")


async def test_an_agent_is_not_asked_twice(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()  # both links are of one project
    async with world(tmp_path) as hub:

        async def nobody(_: str) -> Reach:
            return Reach()

        slow = Slow()
        tools = (AskUser(Waiting(hub.broker, nobody)), slow)
        async with door(hub, tmp_path / "s", tools=tools):
            old = await Link.connect(tmp_path / "s", cwd=str(tmp_path))
            await old.hear()
            await old.ask(1)
            first = await hub.until(lambda ask: ask.open)
            call = {"name": "slow", "arguments": {}}
            old.say({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call})
            await slow.began.wait()
            old.close()
            new = await Link.connect(tmp_path / "s", cwd=str(tmp_path), link="b" * 32)
            await new.hear()
            await new.ask(1)
            asked = await hub.until(lambda ask: ask.open)
            slow.may_end.set()
            assert asked.id == first.id
            new.close()


@asynccontextmanager
async def passed_on(links: Links, *, cwd: Path, cut: bool = False) -> AsyncIterator[Link]:
    """A link that is connected to another hub. `cut`: by the hub that leads, in the end."""
    ours, theirs = socket.socketpair()
    link = Link.over(*await asyncio.open_unix_connection(sock=ours), cwd=str(cwd))
    there, back = await asyncio.open_unix_connection(sock=theirs)
    preface, other = json.loads(await there.readline()), Origin(pid=0, uid=os.getuid(), hub="b")
    taking = asyncio.ensure_future(links.take(preface, there, back, other))
    try:
        yield link
    finally:
        if cut:
            taking.cancel()
        else:
            link.close()
        await asyncio.gather(taking, return_exceptions=True)
        link.close()
        back.close()


@pytest.mark.parametrize("says", [True, False])
async def test_only_a_link_that_has_left_leaves_its_question(tmp_path: Path, says: bool) -> None:
    async with world(tmp_path, withdraw_on_cancel=True) as hub, door(hub, tmp_path / "s") as links:
        async with passed_on(links, cwd=tmp_path) as link:
            await link.ask(1)
            asked = await hub.until(lambda ask: ask.open)
            if says:
                link.say({"chatbridge": "left"})
        if says:
            await hub.until(lambda ask: ask.status is Status.WITHDRAWN)
            return
        hub.clock.advance(hub.broker.policy.return_within - 1)
        async with passed_on(links, cwd=tmp_path) as link:
            await link.ask(1)
            hub.clock.advance(hub.broker.policy.return_within)
            answered = await hub.inbox.answer(asked.id, BLUE, person=OWNER)
            assert not answered.kept
            assert "blue" in str(await link.hear())


async def test_a_link_to_a_hub_that_leads_leaves_at_once(tmp_path: Path) -> None:
    async with (
        world(tmp_path, withdraw_on_cancel=True) as hub,
        door(hub, tmp_path / "s", peers=Peers(hub="a")),
    ):
        link = await Link.connect(tmp_path / "s", cwd=str(tmp_path))
        await link.hear()
        await link.ask(1)
        await hub.until(lambda ask: ask.open)
        link.close()
        await hub.until(lambda ask: ask.status is Status.WITHDRAWN)


@pytest.mark.parametrize("cut", [False, True])
async def test_a_link_that_does_not_come_back_has_left(tmp_path: Path, cut: bool) -> None:
    async with world(tmp_path, withdraw_on_cancel=True) as hub, door(hub, tmp_path / "s") as links:
        async with passed_on(links, cwd=tmp_path, cut=cut) as link:
            await link.ask(1)
            await hub.until(lambda ask: ask.open)
        await hub.clock.until_asleep(hub.broker.policy.return_within)
        hub.clock.advance(hub.broker.policy.return_within)
        await hub.until(lambda ask: ask.status is Status.WITHDRAWN)
