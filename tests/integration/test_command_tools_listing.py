"""Which command tools there are, for whom, and how clients hear that there are others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from mcp import MCPError
from mcp.shared.subscriptions import ToolsListChanged
from mcp_types import INVALID_PARAMS

from tests.fakes.command_agents import Raw, official, raw, text_of
from tests.fakes.command_hub import PATIENCE, CommandHub, Json, command_hub, define
from tests.fakes.remote import served

CHANGED = "notifications/tools/list_changed"
BESIDE = ["status", "await", "cancel"]


def definition(name: str, *subcommands: str) -> Json:
    parts = [{"name": each, "description": f"Do {each}"} for each in subcommands]
    return {"schema": 2, "name": name, "command": ["true"], "subcommands": parts}


MAKE = definition("make", "test", "build")


@pytest.fixture
async def hub(tmp_path: Path) -> AsyncIterator[CommandHub]:
    async with command_hub(tmp_path, {"make": MAKE}) as found:
        yield found


async def test_where_nothing_is_defined_there_is_nothing_to_look_after(tmp_path: Path) -> None:
    async with command_hub(tmp_path) as hub, official(hub) as agent:
        assert await agent.names() == ["ask_user"]


async def test_a_client_with_a_handshake_is_told_when_the_files_change_on_disk(
    hub: CommandHub,
) -> None:
    async with official(hub) as agent:
        assert agent.client.server_capabilities.tools
        assert agent.client.server_capabilities.tools.list_changed
        hub.define("ant", definition("ant", "clean"))
        await hub.offer.reload()
        await agent.hears(CHANGED)
        names = ["ask_user", "ant_clean", "make_test", "make_build", *BESIDE]
        assert await agent.names() == names
        hub.define("ant", None)
        await hub.offer.reload()
        await agent.hears(CHANGED)
        assert await agent.names() == ["ask_user", "make_test", "make_build", *BESIDE]


async def test_a_client_without_one_is_told_on_its_subscription(hub: CommandHub) -> None:
    async with official(hub, mode="2026-07-28") as agent:
        async with agent.client.listen(tools_list_changed=True) as changes:
            hub.define("ant", definition("ant", "clean"))
            await hub.offer.reload()
            event = await asyncio.wait_for(anext(changes), PATIENCE)
        assert event == ToolsListChanged()
        assert "ant_clean" in await agent.names()
        assert len(agent.heard) == 1, "it was told beside its subscription"


async def test_files_that_change_nothing_visible_are_no_news(hub: CommandHub) -> None:
    async with raw(hub) as agent:
        hub.define("make", {**MAKE})
        await hub.offer.reload()
        hub.define("ant", {**definition("ant", "clean"), "enabled": False})
        await hub.offer.reload()
        hub.define("cat", definition("cat", "list"))
        await hub.offer.reload()
        await agent.hears(lambda it: it.get("method") == CHANGED)
        assert len(agent.notified(CHANGED)) == 1


@pytest.mark.parametrize("changes", [True, False])
async def test_after_a_restart_a_client_is_told_of_other_tools_and_of_no_others_nothing(
    tmp_path: Path, changes: bool
) -> None:
    agent = Raw()
    async with command_hub(tmp_path, {"make": MAKE}) as hub:
        await agent.connect(hub)
        await agent.hub_died()
    if changes:
        define(tmp_path, "ant", definition("ant", "clean"))
    async with command_hub(tmp_path) as hub:
        await agent.connect(hub)
        agent.request("list", "tools/list", {})
        tools = [tool["name"] for tool in (await agent.result("list"))["tools"]]
        assert ("ant_clean" in tools) is changes
        if changes:
            await agent.hears(lambda it: it.get("method") == CHANGED)
        hub.define("cat", definition("cat", "list"))
        await hub.offer.reload()
        await agent.hears(lambda it: len(agent.notified(CHANGED)) == 1 + changes)
        await agent.hub_died()


@pytest.mark.parametrize("changes", [True, False])
async def test_after_a_restart_a_subscription_is_told_of_other_tools_only(
    tmp_path: Path, changes: bool
) -> None:
    async with command_hub(tmp_path, {"make": MAKE}):
        pass
    if changes:
        define(tmp_path, "ant", definition("ant", "clean"))
    async with (
        command_hub(tmp_path) as hub,
        official(hub, mode="2026-07-28") as agent,
        agent.client.listen(tools_list_changed=True) as heard,
    ):
        if changes:
            assert await asyncio.wait_for(anext(heard), PATIENCE) == ToolsListChanged()
        await agent.names()  # whatever was said before has been heard
        assert len(agent.heard) == changes


async def test_a_broken_file_is_told_in_a_call_of_its_tools_and_by_status(hub: CommandHub) -> None:
    part = '"subcommands": [{"name": "x"}]'
    hub.define("ant", f'{{\n "schema": 2, "name": "ant", "command": ["true"],\n {part}}}')
    await hub.offer.reload()
    async with official(hub) as agent:
        result = await agent.call("ant_x")
        assert result.is_error
        said = text_of(result)
        assert said.startswith("There is no tool ant_x now")
        assert "ant.json:3" in said
        assert "description" in said
        (problem,) = (await agent.told("status"))["problems"]
        assert problem["file"].endswith("ant.json")
        assert problem["line"] == 3
        assert problem["path"] == "subcommands[0].description"
        assert "make_test" in await agent.names()


async def test_clients_are_told_of_definition_files_that_cannot_be_used(hub: CommandHub) -> None:
    async with official(hub) as before:
        hub.define("ant", "{")
        await hub.offer.reload()
        async with official(hub) as later:
            for agent in (before, later):
                told = (await agent.hears("notifications/message"))["params"]
                assert told["level"] == "warning"
                assert told["logger"] == "chatbridge"
                assert "ant.json" in told["data"]["message"]
                (problem,) = told["data"]["problems"]
                assert problem["file"].endswith("ant.json")


@pytest.mark.parametrize("name", ["ask_user", *BESIDE])
async def test_no_definition_takes_the_name_of_a_tool_of_ours(hub: CommandHub, name: str) -> None:
    hub.define("thief", {**definition("x", "default"), "name": name})
    await hub.offer.reload()
    async with official(hub) as agent:
        assert await agent.names() == ["ask_user", "make_test", "make_build", *BESIDE]
        (problem,) = (await agent.told("status"))["problems"]
        assert problem["kind"] == "collision"


async def test_an_unknown_tool_is_told_what_there_is(hub: CommandHub) -> None:
    async with official(hub) as agent:
        with pytest.raises(MCPError) as error:
            await agent.call("make_tset")
    there = "ask_user, make_test, make_build, status, await, cancel"
    assert error.value.code == INVALID_PARAMS
    assert error.value.message == f"Unknown tool: 'make_tset'. There are: {there}"


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_an_agent_over_http_sees_no_command_and_can_run_none(
    hub: CommandHub, mode: str
) -> None:
    hub.define("ant", "{")
    await hub.offer.reload()
    async with (
        served(hub.world, await hub.server.get(), hub.folder) as door,
        door.client(mode) as client,
    ):
        tools = (await client.list_tools(cache_mode="bypass")).tools
        assert [tool.name for tool in tools] == ["ask_user"]
        for name in ("make_test", "status", "await", "cancel"):
            result = await client.call_tool(name, {})
            assert result.is_error
        with pytest.raises(MCPError) as error:
            await client.call_tool("ant_x", {})
        assert error.value.code == INVALID_PARAMS
        assert error.value.message == "Unknown tool: 'ant_x'. There are: ask_user"
    assert not hub.runner.orders


async def test_a_project_that_is_switched_off_sees_and_runs_no_command(hub: CommandHub) -> None:
    (hub.project / ".chatbridge.toml").write_text("enabled = false", encoding="utf-8")
    async with official(hub) as agent:
        assert await agent.names() == []
        assert (await agent.call("make_test")).is_error
        assert (await agent.call("status")).is_error
    assert not hub.runner.orders
