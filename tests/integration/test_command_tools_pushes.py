"""What clients are told without having asked: how an operation ended, where they take it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from mcp_types import LoggingLevel

from chatbridge.commands.definitions.problems import Problem
from chatbridge.commands.tools.notifications import MAX_WAITING, Pushes
from chatbridge.core.model import Agent, CallName, Project
from chatbridge.core.operation import Operation, Plan, Stage
from tests.fakes.command_agents import Raw, official, raw
from tests.fakes.command_hub import PATIENCE, CommandHub, Json, command_hub

MESSAGE = "notifications/message"
TOOLS = "notifications/tools/list_changed"
CARGO: Json = {
    "schema": 2,
    "name": "cargo",
    "command": ["true"],
    "subcommands": [{"name": "build", "description": "Build"}],
}

UNUSABLE = Problem(
    file=Path("ant.json"), line=1, path="", kind="json", found="", accepted="", mend=""
)


@pytest.fixture
async def hub(tmp_path: Path) -> AsyncIterator[CommandHub]:
    async with command_hub(tmp_path, {"cargo": CARGO}) as found:
        yield found


def is_message(message: Json) -> bool:
    return message.get("method") == MESSAGE


async def begun(agent: Raw, request: str) -> str:
    agent.call(request, "cargo_build")
    operation_id: str = (await agent.result(request))["structuredContent"]["operationId"]
    return operation_id


async def test_the_end_of_an_operation_is_pushed_to_the_agent_that_called_and_no_other(
    hub: CommandHub,
) -> None:
    async with raw(hub) as agent, raw(hub) as neighbour:
        operation_id = await begun(agent, "1")
        order = await hub.runner.order()
        hub.world.clock.advance(252)
        hub.runner.end(order, 1, output="ok\n\x1b[1merror\x1b[0m: no field `x`\n")
        assert await agent.hears(is_message) == {
            "jsonrpc": "2.0",
            "method": MESSAGE,
            "params": {
                "level": "error",
                "logger": "chatbridge",
                "data": {
                    "operationId": operation_id,
                    "tool": "cargo_build",
                    "status": "failed",
                    "exitCode": 1,
                    "seconds": 252.0,
                    "lastLines": "ok\nerror: no field `x`",
                    "message": "cargo build failed: exit 1 after 4 min 12 s. Call status with this "
                    "operationId for its output.",
                },
            },
        }
        neighbour.call("1", "status")
        await neighbour.result("1")
        assert not neighbour.notified(MESSAGE)


async def test_a_client_without_a_handshake_is_pushed_nothing(hub: CommandHub) -> None:
    async with official(hub, mode="2026-07-28") as agent:
        await agent.told("cargo_build")
        hub.runner.end(await hub.runner.order())
        await hub.next_end()
        await agent.told("status")
        assert agent.heard == []


async def test_a_client_hears_nothing_before_it_has_shaken_hands(hub: CommandHub) -> None:
    hub.define("ant", "{")
    await hub.offer.reload()
    agent = Raw()
    agent.notify("notifications/initialized")  # nobody has been greeted
    await agent.connect(hub)
    greeting, *rest = agent.heard
    assert greeting["id"] == "hello"
    assert rest == []
    await agent.hears(is_message)
    await agent.hub_died()


async def test_a_client_that_wants_errors_alone_hears_of_those_alone(hub: CommandHub) -> None:
    async with raw(hub) as agent:
        agent.request("level", "logging/setLevel", {"level": "error"})
        assert await agent.result("level") == {}
        await begun(agent, "1")
        hub.runner.end(await hub.runner.order(), 0)
        await hub.next_end()
        failed = await begun(agent, "2")
        hub.runner.end(await hub.runner.order(number=2), 2)
        told = await agent.hears(is_message)
        assert told["params"]["data"]["operationId"] == failed
        assert len(agent.notified(MESSAGE)) == 1


async def test_the_next_hub_knows_which_level_its_client_wants(tmp_path: Path) -> None:
    agent = Raw()
    async with command_hub(tmp_path, {"cargo": CARGO}) as hub:
        await agent.connect(hub)
        for level in ("emergency", "error"):
            agent.request(level, "logging/setLevel", {"level": level})
            await agent.result(level)
        await agent.hub_died()
    unusable = {"ant": "{"}
    async with command_hub(tmp_path, unusable, clock=hub.world.clock) as next_hub:
        await agent.connect(next_hub)
        failed = await begun(agent, "1")
        next_hub.runner.end(await next_hub.runner.order(), 2)
        await agent.hears(is_message)
        assert [told["params"]["data"].get("operationId") for told in agent.notified(MESSAGE)] == [
            failed
        ]
        await agent.hub_died()


async def test_the_server_says_that_it_logs_only_where_it_can(hub: CommandHub) -> None:
    async with official(hub) as agent, official(hub, mode="auto") as modern:
        assert agent.client.server_capabilities.logging is not None
        assert modern.client.server_capabilities.logging is None
        assert modern.client.server_capabilities.tools
        assert modern.client.server_capabilities.tools.list_changed
        assert modern.client.instructions == agent.client.instructions


@pytest.mark.parametrize("back", ["before the end", "after it"])
async def test_what_ended_for_a_client_of_the_hub_before_is_pushed_by_the_next_one(
    tmp_path: Path, back: str
) -> None:
    agent = Raw()
    async with command_hub(tmp_path, {"cargo": CARGO}) as hub:
        await agent.connect(hub)
        operation_id = await begun(agent, "1")
        order = await hub.runner.order()
        await agent.hub_died()
    async with command_hub(tmp_path, runner=hub.runner, clock=hub.world.clock) as next_hub:
        if back == "before the end":
            await agent.connect(next_hub)
        next_hub.runner.end(order, output="built\n")
        await next_hub.next_end()
        if back == "after it":
            await agent.connect(next_hub)
        await agent.hears(is_message)
        agent.request("2", "ping", {})
        await agent.result("2")
        (told,) = agent.notified(MESSAGE)
        assert told["params"]["level"] == "info"
        assert told["params"]["data"]["operationId"] == operation_id
        await agent.hub_died()


@pytest.mark.parametrize("here", [False, True])
@pytest.mark.parametrize(("level", "pushed"), [("debug", 1), ("error", 0)])
async def test_an_end_waits_until_its_client_has_shaken_hands_and_its_level_is_known(
    here: bool, level: LoggingLevel, pushed: int
) -> None:
    pushes, session, ended = Pushes(), Suspended(), an_end(synchronous=False)
    session.reads.set()
    if not here:
        pushes.ended(ended)
    async with pushes.to(session):
        if here:
            pushes.ended(ended)
        await asyncio.sleep(0)
        assert session.heard == []
        session.level = level
        pushes.ready(session)
        pushes.tools_changed()
        await session.until_heard(TOOLS)
    assert session.heard == [*[MESSAGE] * pushed, TOOLS]


async def test_what_waits_for_clients_that_never_come_back_is_bounded() -> None:
    pushes, session = Pushes(), Suspended()
    session.reads.set()
    for _ in range(3 * MAX_WAITING):
        pushes.ended(an_end(synchronous=False))
    async with pushes.to(session):
        pushes.ready(session)
        await session.until_heard(MESSAGE, times=MAX_WAITING)
        pushes.tools_changed()
        await session.until_heard(TOOLS)
    assert session.heard == [*[MESSAGE] * MAX_WAITING, TOOLS]


@pytest.mark.parametrize(("delivered", "pushed"), [(False, 0), (True, 1)])
async def test_the_end_of_what_a_call_will_come_back_for_after_a_restart_is_not_pushed(
    delivered: bool, pushed: int
) -> None:
    pushes, session = Pushes(), Suspended()
    session.reads.set()
    waited_for = an_end(synchronous=True, delivered=delivered)
    async with pushes.to(session):
        pushes.ready(session)
        pushes.ended(waited_for)
        pushes.tools_changed()
        await session.until_heard(TOOLS)
    assert session.heard == [*[MESSAGE] * pushed, TOOLS]


def an_end(*, synchronous: bool, delivered: bool = False) -> Operation:
    """Of what the session below has called."""
    return Operation(
        id="0f0e0d0c",
        call=CallName(link=Suspended.link, request="1"),
        project=Suspended.project,
        agent=Agent(client="c", name="C"),
        tool="cargo_build",
        title="cargo build",
        group="cargo",
        plan=Plan(
            argv=("cargo",),
            executable="/bin/true",
            folder="/",
            timeout=1,
            output_limit=1024,
            synchronous=synchronous,
        ),
        created_at=0,
        ended_at=1,
        stage=Stage.SUCCEEDED,
        delivered=delivered,
    )


class Suspended:
    """A session whose client does not read for now."""

    link = "suspended"
    folder: str | None = "/"
    project = Project(key="suspended", name="suspended")

    def __init__(self) -> None:
        self.level: LoggingLevel = "debug"
        self.heard: list[str] = []
        self.reads, self._news = asyncio.Event(), asyncio.Event()

    async def push(self, method: str, params: Json | None = None) -> None:
        await self.reads.wait()
        self.heard.append(method)
        self._news.set()

    async def until_heard(self, method: str, *, times: int = 1) -> None:
        async with asyncio.timeout(PATIENCE):
            while self.heard.count(method) < times:
                self._news.clear()
                await self._news.wait()


async def test_nobody_waits_for_a_client_that_does_not_read_and_what_waits_is_bounded() -> None:
    pushes, session = Pushes(), Suspended()
    async with pushes.to(session):
        pushes.ready(session)
        for _ in range(3 * MAX_WAITING):
            pushes.tools_changed()
        pushes.problems([UNUSABLE])
        session.reads.set()
        await session.until_heard(MESSAGE)
    assert len(session.heard) <= MAX_WAITING + 1
