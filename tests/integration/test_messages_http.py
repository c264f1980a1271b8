"""Messages of the owner to agents over HTTP: with a session or without, once, and to no other
token."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from mcp_types import TextContent
from starlette.types import Message

from chatbridge.core.messages.message import MessageState, OwnerMessage
from chatbridge.hub.http.guard import TOKEN
from chatbridge.hub.http.tokens import Tokens
from tests.fakes.clock import StillClock
from tests.fakes.core_env import BLUE, OWNER, PATIENCE
from tests.fakes.remote import (
    ERAS,
    MODES,
    Door,
    RawAgent,
    cut,
    open_door,
    result_of,
)
from tests.fakes.sim_hub import until

TABS = "Message from the owner of this computer, sent 22:41 in the web inbox: use tabs"
NOTHING = "No message from the owner of this computer is waiting."


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    async with open_door(tmp_path) as it:
        yield it


@asynccontextmanager
async def checking(door: Door, era: str, token: str | None = None) -> AsyncIterator[RawAgent]:
    """An agent that has called once, so that it is known."""
    async with door.visitor(token) as http:
        agent = RawAgent(http, era)
        agent.tool = "check_messages"
        await agent.begin()
        assert texts(await agent.post(agent.call())) == [NOTHING]
        yield agent


async def told(door: Door, *, nth: int = 0) -> OwnerMessage:
    agents = door.hub.inbox.messages.agents.listed()
    return await door.hub.inbox.messages.tell(agents[nth], "use tabs", by=OWNER)


async def is_now(door: Door, message: OwnerMessage, state: MessageState) -> None:
    async def fits() -> bool:
        found = await door.hub.store.message(message.id)
        return found is not None and found.state is state

    await until(fits)


def texts(response: httpx2.Response) -> list[str]:
    return [block["text"] for block in result_of(response)["content"]]


@pytest.mark.parametrize("mode", MODES)
async def test_an_official_client_has_it_with_its_next_result(door: Door, mode: str) -> None:
    async with door.client(mode) as client:
        await client.list_tools()
        asking = asyncio.create_task(client.call_tool("ask_user", {"question": "Why?"}))
        ask = await door.shown()
        message = await told(door)
        await door.hub.inbox.answer(ask.id, BLUE, person=OWNER)
        result = await asyncio.wait_for(asking, PATIENCE)
        blocks = [each.text for each in result.content if isinstance(each, TextContent)]
        assert blocks == ["User answered: blue", TABS]
        await is_now(door, message, MessageState.DELIVERED)


@pytest.mark.parametrize("era", ERAS)
async def test_it_comes_once(door: Door, era: str) -> None:
    async with checking(door, era) as agent:
        message = await told(door)
        assert texts(await agent.post(agent.call(2))) == [TABS]
        await is_now(door, message, MessageState.DELIVERED)
        assert texts(await agent.post(agent.call(3))) == [NOTHING]


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_that_goes_while_it_waits_leaves_the_message_for_its_next_call(
    door: Door, era: str
) -> None:
    async with checking(door, era) as agent:
        waiting = agent.asking(2, waitSeconds=30)
        await asyncio.wait_for(door.hub.clock.until_asleep(30.0), PATIENCE)
        await cut(waiting)

        async def left() -> bool:
            return all(not session.open for session in door.agents._sessions)

        await until(left)
        message = await told(door)
        await is_now(door, message, MessageState.WAITING)
        assert texts(await agent.post(agent.call(3))) == [TABS]


@pytest.mark.parametrize("era", ERAS)
async def test_if_the_client_goes_while_the_response_is_written_the_message_waits_again(
    door: Door, era: str
) -> None:
    async with checking(door, era) as agent:
        message = await told(door)
        gone, bodies = asyncio.Event(), iter([json.dumps(agent.call(2)).encode()])
        (token,) = Tokens(str(door.state)).all()
        given = {**agent._http.headers, **agent.headers()}
        scope = {
            "type": "http",
            "method": "POST",
            "path": "/mcp",
            "query_string": b"",
            "headers": [(k.lower().encode(), v.encode()) for k, v in given.items()],
            TOKEN: token,
        }

        async def receive() -> Message:
            if (body := next(bodies, None)) is not None:
                return {"type": "http.request", "body": body}
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            if message["type"] == "http.response.body" and message.get("body"):
                gone.set()
                await asyncio.Event().wait()  # until the SDK has noticed

        asking = asyncio.create_task(door.agents(scope, receive, send))
        await asyncio.wait_for(gone.wait(), PATIENCE)
        await is_now(door, message, MessageState.WAITING)
        await cut(asking)
        assert texts(await agent.post(agent.call(3))) == [TABS]
        await is_now(door, message, MessageState.DELIVERED)


async def test_a_client_that_cancels_its_check_leaves_the_message(door: Door) -> None:
    async with checking(door, ERAS[0]) as agent:
        waiting = agent.asking(2, waitSeconds=30)
        await asyncio.wait_for(door.hub.clock.until_asleep(30.0), PATIENCE)
        note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}
        assert (await agent.post(note)).status_code == 202
        await waiting
        await told(door)
        assert texts(await agent.post(agent.call(3))) == [TABS]


async def test_only_the_addressed_session_of_a_token_gets_it(door: Door) -> None:
    async with checking(door, ERAS[0]) as one, checking(door, ERAS[0]) as two:
        await told(door, nth=1)
        assert texts(await one.post(one.call(2))) == [NOTHING]
        assert texts(await two.post(two.call(2))) == [TABS]


async def test_once_its_session_is_over_the_next_of_the_same_token_gets_it(door: Door) -> None:
    async with checking(door, ERAS[0]) as one:
        await told(door)
        assert (await one._http.delete("/mcp", headers=one.headers())).status_code == 200

        async def gone() -> bool:
            return not door.hub.inbox.messages.agents.listed()

        await until(gone)
        async with door.agent(ERAS[0]) as two:
            two.tool = "check_messages"
            assert texts(await two.post(two.call(2))) == [TABS]


@pytest.mark.parametrize("name", ["other", "ci2", "ci-2"])
@pytest.mark.parametrize("era", ERAS)
async def test_another_token_gets_nothing_even_when_the_addressed_agent_is_gone(
    door: Door, era: str, name: str
) -> None:
    stranger = door.add_token(name)
    async with checking(door, ERAS[0]) as agent, checking(door, era, stranger) as other:
        message = await told(door)
        assert texts(await other.post(other.call(2))) == [NOTHING]
        await agent._http.delete("/mcp", headers=agent.headers())
        waiting = other.asking(3, waitSeconds=5)
        await asyncio.wait_for(door.hub.clock.until_asleep(5.0), PATIENCE)
        door.hub.clock.advance(5.0)
        assert texts(await waiting) == [NOTHING]
        await is_now(door, message, MessageState.WAITING)


async def test_a_session_named_by_another_token_gets_nothing(door: Door) -> None:
    stranger = door.add_token("other")
    async with checking(door, ERAS[0]) as agent, door.visitor(stranger) as http:
        await told(door)
        thief = RawAgent(http, ERAS[0])
        thief.tool, thief.session = agent.tool, agent.session
        assert (await thief.post(thief.call(2))).status_code == 404
        assert texts(await agent.post(agent.call(2))) == [TABS]


@pytest.mark.parametrize("era", ERAS)
async def test_after_a_restart_a_message_waits_for_the_next_agent_of_the_token(
    tmp_path: Path, era: str
) -> None:
    async with open_door(tmp_path) as door, checking(door, era):
        token, message = door.token, await told(door)
    clock = StillClock()
    async with open_door(tmp_path, clock=clock, token=token) as door, door.agent(era) as agent:
        agent.tool = "check_messages"
        waiting = agent.asking(2, waitSeconds=30)
        within = door.hub.broker.policy.return_within
        for seconds in (30.0, within):  # the call, and the hub, which waits for the agent of before
            await asyncio.wait_for(clock.until_asleep(seconds), PATIENCE)
        clock.advance(within)
        assert texts(await waiting) == [TABS]
        await is_now(door, message, MessageState.DELIVERED)
