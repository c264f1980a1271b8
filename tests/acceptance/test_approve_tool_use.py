"""Claude Code's permission prompts, from an official client over a real link and hub to the owner
at the inbox's page and back: exactly what the agent gets, and what it cannot do by itself."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from chatbridge import lock_file
from chatbridge.cli.hub.hub_client import HubClient
from chatbridge.core.errors import HubRefused
from chatbridge.system import sockets
from tests.acceptance.bridge import CARRIERS, MODES, PATIENCE, Connection, connected
from tests.acceptance.connections import Connections
from tests.acceptance.raw_link import raw_link
from tests.fakes.approving import ALLOWED, LIST, denial, verdict
from tests.fakes.machine import Agent, House
from tests.fakes.on_terminal import OnTerminal, in_pipe
from tests.fakes.page import Page
from tests.fakes.warm_processes import warm_chatbridge

Json = dict[str, Any]
IN_SESSION = pytest.mark.asyncio(loop_scope="session")
COMMAND = "Run this command?"
COLOUR: Json = {
    "question": "Which colour?",
    "header": "Colour",
    "options": [{"label": "red", "description": "Warm"}, {"label": "blue", "description": "Calm"}],
    "multiSelect": False,
}


@asynccontextmanager
async def wanting(
    it: Connection, page: Page, arguments: Json = LIST, text: str = COMMAND
) -> AsyncIterator[tuple[asyncio.Task[Any], Json]]:
    """The waiting call, and the ask that the owner sees."""
    call = asyncio.create_task(
        it.client.call_tool("approve_tool_use", arguments, read_timeout_seconds=PATIENCE)
    )
    try:
        yield call, await asyncio.to_thread(page.sees, text, project=it.project.name)
    finally:
        call.cancel()
        await asyncio.wait({call})


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("mode", MODES)
@IN_SESSION
async def test_the_owner_allows_denies_answers_and_allows_for_the_session(
    connections: Connections, carrier: str, mode: str
) -> None:
    it = await connections.get(carrier=carrier, mode=mode)
    page = Page(it.home.state)
    async with wanting(it, page) as (call, ask):
        assert await asyncio.to_thread(page.allows, ask) == 200
        allowed = await call
        assert verdict(allowed) == ALLOWED
        assert not allowed.is_error
    async with wanting(it, page) as (call, ask):
        await asyncio.to_thread(page.denies, ask, "Use the staging server")
        assert denial(await call) == ("denied", "The user denied this: Use the staging server")
    questions = {"tool_name": "AskUserQuestion", "input": {"questions": [COLOUR]}}
    async with wanting(it, page, questions, "Which colour?") as (call, ask):
        await asyncio.to_thread(page.taps, ask, "choose", step=0, option=1)
        answered = {"questions": [COLOUR], "answers": {"Which colour?": "blue"}}
        assert verdict(await call) == {"behavior": "allow", "updatedInput": answered}
    async with wanting(it, page) as (call, ask):
        await asyncio.to_thread(page.allows_for_session, ask)
        assert verdict(await call) == ALLOWED
    assert verdict(await it.client.call_tool("approve_tool_use", LIST)) == ALLOWED


@IN_SESSION
async def test_nobody_answers_and_it_is_denied(connections: Connections) -> None:
    it = await connections.get("hasty", project="alone")
    result = await it.client.call_tool("approve_tool_use", LIST, read_timeout_seconds=PATIENCE)
    assert denial(result)[0] == "timed_out"
    assert not result.is_error


@IN_SESSION
async def test_a_project_that_is_switched_off_can_still_ask_for_permissions(
    connections: Connections,
) -> None:
    home = connections.home()
    page = Page(home.state)
    async with connected(home, home.project("silent", file="enabled = false")) as it:
        listed = await it.client.list_tools()
        assert [tool.name for tool in listed.tools] == ["approve_tool_use"]
        async with wanting(it, page) as (call, ask):
            await asyncio.to_thread(page.allows, ask)
            assert verdict(await call) == ALLOWED


# ── hubs that die ─────────────────────────────────────────────────────────────────────────────────


def wants(agent: Agent, id: int, arguments: Json = LIST) -> None:
    agent.request(id, "tools/call", {"name": "approve_tool_use", "arguments": arguments})


def result(agent: Agent) -> Json:
    """The JSON of the next response."""
    (block,) = agent.receive()["result"]["content"]
    found: Json = json.loads(block["text"])
    return found


def test_an_approval_outlives_a_hub_that_is_killed_and_is_allowed_once(home: House) -> None:
    page = Page(home.state)
    with home.agent() as agent:
        agent.initialize()
        wants(agent, 1)
        asked = page.sees(COMMAND)
        home.kill_hub(signal.SIGKILL)
        again = page.sees(COMMAND)
        assert again["id"] == asked["id"]
        assert len(page.open_asks()) == 1
        assert Page(home.state).allows(again) == 200
        assert result(agent) == ALLOWED
        wants(agent, 2)
        other = page.sees(COMMAND)
        assert other["id"] != asked["id"]
        assert Page(home.state).denies(other) == 200
        assert result(agent)["behavior"] == "deny"


# ── an agent tries by itself ──────────────────────────────────────────────────────────────────────


@asynccontextmanager
async def resisting(connections: Connections) -> AsyncIterator[tuple[Page, Json, Connection]]:
    """An approval that is open before and after, whatever is tried, and that a person denies."""
    it = await connections.get(project="greedy")
    page = Page(it.home.state)
    async with wanting(it, page) as (call, ask):
        yield page, ask, it
        assert (await asyncio.to_thread(page.ask, ask["id"]))["status"] == "open"
        assert await asyncio.to_thread(page.denies, ask) == 200
        assert denial(await call)[0] == "denied"


@IN_SESSION
async def test_the_token_can_neither_give_nor_take_an_approval(connections: Connections) -> None:
    async with resisting(connections) as (page, ask, _):
        path, question = f"/api/asks/{ask['id']}", ask["questions"][0]["id"]
        for value in ("allow", "session", "deny", "yes"):
            answers = [{"questionId": question, "values": [value]}]
            tried = await asyncio.to_thread(page.with_token, f"{path}/answer", {"answers": answers})
            assert tried == 403
        assert await asyncio.to_thread(page.with_token, f"{path}/cancel", {}) == 403
        taps = f"/asks/{ask['id']}/form"
        assert await asyncio.to_thread(page.with_token, taps, {"do": "choose"}) >= 400


@IN_SESSION
async def test_no_tool_that_is_called_over_the_socket_settles_an_approval(
    connections: Connections,
) -> None:
    async with resisting(connections) as (_, ask, it):
        await asyncio.to_thread(every_tool_tried, it, ask)


def every_tool_tried(it: Connection, ask: Json) -> None:
    names = ("askId", "session_id", "id", "tool_use_id", "answer", "answers", "input")
    arguments: Json = dict.fromkeys(names, ask["id"])
    with raw_link(it.home) as raw:
        raw.greet(it.project)
        raw.request(1, "tools/list", {})
        listed = raw.hears()
        assert listed
        tools = [tool["name"] for tool in listed["result"]["tools"]]
        assert "approve_tool_use" in tools
        for number, name in enumerate([*tools, "answer", "approve", "cancel"], 2):
            raw.request(number, "tools/call", {"name": name, "arguments": arguments})
            heard = raw.hears()
            assert heard
            assert heard["id"] == number
            assert '\\"allow\\"' not in json.dumps(heard), name
        for private in ("answer", "allowed", "reply", "resumed"):
            raw.say({"chatbridge": private, "call": 1, "response": ALLOWED})
        raw.request(99, "ping", {})
        assert raw.hears() == {"jsonrpc": "2.0", "id": 99, "result": {}}


@IN_SESSION
async def test_no_command_settles_an_approval(connections: Connections) -> None:
    async with resisting(connections) as (_, ask, it):
        for words in (["inbox"], ["answer", ask["id"], "allow"], ["hook", "allow"]):
            await asyncio.to_thread(
                subprocess.run,
                [*warm_chatbridge(), *words],
                env={"PATH": os.environ["PATH"], **it.home.environment},
                input=json.dumps(ALLOWED).encode(),
                capture_output=True,
                timeout=PATIENCE,
            )


@IN_SESSION
async def test_who_tries_to_approve_in_a_terminal_is_told_where_it_is_done(
    connections: Connections,
) -> None:
    async with resisting(connections) as (_, ask, it):
        await asyncio.to_thread(every_command_refused, it.home.environment, ask["id"])
        await asyncio.to_thread(every_request_refused, it, ask)


def every_command_refused(environment: dict[str, str], ask_id: str) -> None:
    rows = in_pipe(environment, "pending").stdout.splitlines()
    (row,) = (it for it in rows if it.startswith(ask_id[:6]))
    assert "Approve: ls -l" in row
    for words in (["answer", ask_id, "allow"], ["answer", ask_id, "1"], ["cancel", ask_id]):
        done = in_pipe(environment, *words)
        assert done.returncode == 1
        assert "cannot be given or refused where an agent could do it.\n" in done.stderr
        assert "Where it can be decided: web" in done.stderr
    with OnTerminal(environment, "answer", ask_id) as terminal:
        assert terminal.finish()[0] == 1


def every_request_refused(it: Connection, ask: Json) -> None:
    info = lock_file.read(str(it.home.state))
    assert info
    assert info.socket
    with sockets.connect(info.socket) as sock:
        line = HubClient(sock)
        line.greet()
        allow = [{"questionId": ask["questions"][0]["id"], "values": ["allow"]}]
        for do, more in (
            ("answer", {"answers": allow}),
            ("answer", {"words": ["session"], "person": {"channel": "web"}}),
            ("cancel", {"reason": "x", "channel": "web"}),
        ):
            with pytest.raises(HubRefused) as refused:
                line.ask(do, id=ask["id"], **more)
            assert refused.value.kind == "NotHere"
