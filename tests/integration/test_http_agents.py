"""Agents over HTTP: an answer reaches them, and what becomes of it if they go away."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from mcp import MCPError
from mcp.server import _streamable_http_modern as modern
from mcp_types import CallToolResult, TextContent
from sse_starlette import EventSourceResponse
from starlette.types import Message

from chatbridge.core.model import Ask, Status
from chatbridge.hub.http.guard import TOKEN
from chatbridge.hub.http.tokens import Tokens
from tests.fakes.clock import StillClock
from tests.fakes.core_env import BLUE, OWNER, PATIENCE, world
from tests.fakes.remote import (
    COLOUR,
    ERAS,
    MODES,
    Door,
    RawAgent,
    cut,
    open_door,
    result_of,
    text_of,
)


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    async with open_door(tmp_path) as it:
        yield it


def words(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


async def delivered(door: Door) -> Ask:
    return await door.hub.until(lambda ask: ask.delivered_at is not None)


# ── the usual way ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("mode", MODES)
async def test_an_official_client_asks_and_the_answer_counts_as_delivered(
    door: Door, mode: str
) -> None:
    async with door.client(mode) as client:
        call = asyncio.create_task(client.call_tool("ask_user", COLOUR))
        ask = await door.shown()
        assert (ask.project.key, ask.project.name) == ("http:ci", "ci")
        assert door.agents.projects() == ["ci"]
        await door.hub.inbox.answer(ask.id, BLUE, person=OWNER)
        assert words(await asyncio.wait_for(call, PATIENCE)) == "User selected: blue"
        assert (await delivered(door)).id == ask.id


@pytest.mark.parametrize("mode", MODES)
async def test_a_waiting_client_sees_progress(door: Door, mode: str) -> None:
    seen = asyncio.Event()

    async def note(progress: float, total: float | None, message: str | None) -> None:
        seen.set()

    async with door.client(mode) as client:
        call = asyncio.create_task(client.call_tool("ask_user", COLOUR, progress_callback=note))
        ask = await door.shown()
        await asyncio.wait_for(door.hub.clock.until_asleep(15.0), PATIENCE)
        door.hub.clock.advance(15.0)
        await asyncio.wait_for(seen.wait(), PATIENCE)
        await door.hub.inbox.answer(ask.id, BLUE, person=OWNER)
        assert not (await asyncio.wait_for(call, PATIENCE)).is_error


@pytest.mark.parametrize("era", ERAS)
async def test_a_silent_stream_is_kept_alive_with_comments(
    door: Door, era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert EventSourceResponse.DEFAULT_PING_INTERVAL == 15
    assert modern._SSE_PING_INTERVAL == 15
    monkeypatch.setattr(EventSourceResponse, "DEFAULT_PING_INTERVAL", 0.02)
    monkeypatch.setattr(modern, "_SSE_PING_INTERVAL", 0.02)
    async with door.visitor() as http, asyncio.timeout(PATIENCE):
        agent = RawAgent(http, era)
        await agent.begin()
        stream = http.stream("POST", "/mcp", json=agent.call(), headers=agent.headers())
        async with stream as response:
            assert response.headers["x-accel-buffering"] == "no"
            lines = response.aiter_lines()
            assert (await anext(lines)).startswith(": ping")


@pytest.mark.parametrize("era", ERAS)
async def test_half_a_surrogate_pair_in_a_question_becomes_a_question_mark(
    door: Door, era: str
) -> None:
    async with door.agent(era) as agent:
        call = agent.asking(question="Cut \ud83d off?")
        assert (await door.shown()).questions[0].text == "Cut ? off?"
        await cut(call)


# ── clients that go away ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_that_disconnects_waits_no_longer_and_can_ask_again(
    door: Door, era: str
) -> None:
    async with door.agent(era) as agent:
        first = agent.asking(1)
        ask = await door.shown()
        await cut(first)
        assert (await door.left_alone()).id == ask.id
        again = agent.asking(2)
        assert (await door.joined()).id == ask.id
        await door.hub.inbox.answer(ask.id, BLUE, person=OWNER)
        assert text_of(result_of(await again)) == "User selected: blue"


@pytest.mark.parametrize("era", ERAS)
async def test_an_answer_after_the_client_went_is_kept_for_the_same_question(
    door: Door, era: str
) -> None:
    async with door.agent(era) as agent:
        first = agent.asking(1)
        ask = await door.shown()
        await cut(first)
        await door.left_alone()
        kept = await door.hub.inbox.answer(ask.id, BLUE, person=OWNER)
        assert kept.kept
        assert "blue" in text_of(result_of(await agent.post(agent.call(2))))
        assert (await delivered(door)).id == ask.id


async def test_an_answer_whose_client_goes_while_it_is_being_written_is_kept(door: Door) -> None:
    async with door.visitor() as http:
        agent = RawAgent(http, ERAS[1])
        gone, bodies = asyncio.Event(), iter([json.dumps(agent.call()).encode()])
        (token,) = Tokens(str(door.state)).all()
        given = {**http.headers, **agent.headers()}
        scope = {
            "type": "http",
            "method": "POST",
            "path": "/mcp",
            "headers": [(k.lower().encode(), v.encode()) for k, v in given.items()],
            TOKEN: token,
        }

        async def receive() -> Message:
            if (body := next(bodies, None)) is not None:
                return {"type": "http.request", "body": body}
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                gone.set()
                await asyncio.Event().wait()  # until the SDK has noticed

        asking = asyncio.create_task(door.agents(scope, receive, send))
        ask = await door.shown()
        await door.hub.inbox.answer(ask.id, BLUE, person=OWNER)
        kept = await door.hub.until(lambda ask: ask.kept)
        assert kept.delivered_at is None
        await cut(asking)
        assert "blue" in text_of(result_of(await agent.post(agent.call(2))))


async def test_a_call_repeated_in_the_same_session_is_the_same_call(door: Door) -> None:
    async with door.agent(ERAS[0]) as agent:
        first = agent.asking(7)
        ask = await door.shown()
        await cut(first)
        await door.left_alone()
        again = agent.asking(7)
        assert (await door.joined()).id == ask.id
        await door.hub.inbox.answer(ask.id, BLUE, person=OWNER)
        assert text_of(result_of(await again)) == "User selected: blue"


async def test_a_request_id_that_is_still_open_is_refused_and_the_first_goes_on(
    door: Door,
) -> None:
    async with door.agent(ERAS[0]) as agent:
        first = agent.asking(1)
        ask = await door.shown()
        assert (await agent.post(agent.call(1))).status_code == 409
        await door.hub.inbox.answer(ask.id, BLUE, person=OWNER)
        assert text_of(result_of(await first)) == "User selected: blue"


@pytest.mark.parametrize("era", ERAS)
async def test_two_agents_with_one_token_and_the_same_words_have_two_questions(
    door: Door, era: str
) -> None:
    async with door.visitor() as http:
        calls = []
        asks = set()
        for _ in range(2):
            agent = RawAgent(http, era)
            await agent.begin()
            calls.append(agent.asking(1))
            asks.add((await door.shown()).id)
        assert len(asks) == 2
        for call in calls:
            await cut(call)


async def test_a_session_that_asks_again_while_its_first_call_waits_has_one_question(
    door: Door,
) -> None:
    """Its client may have given the first call up without closing its stream."""
    async with door.agent(ERAS[0]) as agent:
        first = agent.asking(1)
        ask = await door.shown()
        again = agent.asking(2)
        assert (await door.shown()).id == ask.id
        await door.hub.inbox.answer(ask.id, BLUE, person=OWNER)
        for call in (first, again):
            assert text_of(result_of(await call)) == "User selected: blue"
        assert (await delivered(door)).id == ask.id


async def test_a_client_that_cancels_waits_no_longer(door: Door) -> None:
    async with door.agent(ERAS[0]) as agent:
        call = agent.asking(1)
        await door.shown()
        note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
        assert (await agent.post(note)).status_code == 202
        await door.left_alone()
        assert "-32800" in (await call).text


# ── limits, tickets and the hub's own end ─────────────────────────────────────────────────────────


@pytest.mark.parametrize("mode", MODES)
async def test_a_client_of_which_nothing_is_known_gets_a_ticket_in_time(
    door: Door, mode: str
) -> None:
    async with door.client(mode) as client:
        call = asyncio.create_task(client.call_tool("ask_user", COLOUR))
        ask = await door.shown()
        await asyncio.wait_for(door.hub.clock.until_asleep(51.0), PATIENCE)
        door.hub.clock.advance(51.0)
        assert ask.id in words(await asyncio.wait_for(call, PATIENCE))
        waiting = asyncio.create_task(client.call_tool("wait_for_answer", {"askId": ask.id}))
        await door.hub.inbox.answer(ask.id, BLUE, person=OWNER)
        assert words(await asyncio.wait_for(waiting, PATIENCE)) == "User selected: blue"


@pytest.mark.parametrize("era", ERAS)
async def test_the_holder_of_a_ticket_counts_as_a_caller_and_can_ask_again(
    door: Door, era: str
) -> None:
    async with door.agent(era) as agent:
        asked = [{"id": "c", "question": "Which?", "type": "text"}]
        ticket = result_of(await agent.post(agent.call(1, questions=asked, wait=False)))
        ask = await door.shown()
        assert ticket["structuredContent"]["askId"] == ask.id
        assert ask.orphaned_since is None
        again = agent.asking(2, questions=asked)
        assert (await door.shown()).id == ask.id
        await cut(again)


@pytest.mark.parametrize("era", ERAS)
async def test_after_a_restart_the_same_words_go_on_with_the_same_question(
    tmp_path: Path, era: str
) -> None:
    async with open_door(tmp_path, withdraw_on_cancel=True) as door:
        token, http = door.token, door.visitor()
        agent = RawAgent(http, era)
        await agent.begin()
        call = agent.asking(1)
        ask = await door.shown()
        stopped = agent.session
    await asyncio.wait({call})
    await http.aclose()
    clock = StillClock()
    async with open_door(tmp_path, clock=clock, token=token) as door, door.visitor() as http:
        agent = RawAgent(http, era)
        agent.session = stopped
        if era == ERAS[0]:
            assert (await agent.post(agent.call(2))).status_code == 404
            await agent.begin()
        # Links would come back within that time; who comes over HTTP cannot.
        await asyncio.wait_for(clock.until_asleep(door.hub.broker.policy.return_within), PATIENCE)
        clock.advance(door.hub.broker.policy.return_within)
        await door.left_alone()
        again = agent.asking(3)
        assert (await door.joined()).id == ask.id
        await door.hub.inbox.answer(ask.id, BLUE, person=OWNER)
        assert text_of(result_of(await again)) == "User selected: blue"


@pytest.mark.parametrize("withdraws", [False, True])
async def test_who_asks_again_right_after_a_restart_does_not_wait_for_a_link_to_come_back(
    tmp_path: Path, withdraws: bool
) -> None:
    async with open_door(tmp_path, withdraw_on_cancel=withdraws) as door:
        token, http = door.token, door.visitor()
        call = RawAgent(http, ERAS[1]).asking(1)
        ask = await door.shown()
    await asyncio.wait({call})
    await http.aclose()
    restarted = open_door(tmp_path, clock=StillClock(), token=token, withdraw_on_cancel=withdraws)
    async with restarted as door, door.visitor() as http:  # its clock stands still
        again = RawAgent(http, ERAS[1]).asking(2)
        assert (await door.joined()).id == ask.id
        await door.hub.inbox.answer(ask.id, BLUE, person=OWNER)
        assert text_of(result_of(await asyncio.wait_for(again, PATIENCE))) == "User selected: blue"
        assert await door.hub.inbox.open_asks() == []


async def test_an_ended_session_leaves_its_questions_open_without_a_caller(door: Door) -> None:
    async with door.visitor() as http:
        agent = RawAgent(http, ERAS[0])
        await agent.begin()
        call = agent.asking(1)
        ask = await door.shown()
        ended = await http.delete("/mcp", headers=agent.headers())
        assert ended.status_code == 200
        assert (await door.left_alone()).id == ask.id
        assert "result" not in (await call).text
        assert (await agent.post(agent.call(2))).status_code == 404
        assert (await door.hub.now(ask)).status is Status.OPEN


@pytest.mark.parametrize("mode", MODES)
async def test_a_stop_in_order_ends_a_waiting_call_with_an_error_and_no_silence(
    tmp_path: Path, mode: str
) -> None:
    errors: list[BaseException] = []

    async def wait_in_vain(door: Door) -> None:
        async with door.client(mode) as client:
            try:
                await client.call_tool("ask_user", COLOUR)
            except MCPError as error:
                errors.append(error)

    async with open_door(tmp_path) as door:
        waiting = asyncio.create_task(wait_in_vain(door))
        ask = await door.shown()
    await asyncio.wait_for(waiting, PATIENCE)
    assert len(errors) == 1
    async with world(tmp_path) as next_hub:
        assert (await next_hub.now(ask)).open
