"""What `tools/list` shows, to whom, and when there is nothing to show."""

from __future__ import annotations

from typing import Any

import pytest
from mcp.client.client import Client

from chatbridge.tool_names import TOOLS
from tests.acceptance.bridge import CARRIERS, MODES, connected, new_home
from tests.acceptance.connections import Connections

pytestmark = pytest.mark.asyncio(loop_scope="session")


HERE = [name for name in TOOLS if name != "question_ask"]
"""What a client sees that can show no form of its own."""

LESSONS = (
    "one to three short questions",
    "the right type",
    "good options",
    "Answered:",
    "Cancelled:",
    "Timed out:",
    "wait_for_answer",
)


async def listed(client: Client) -> list[dict[str, Any]]:
    result = await client.list_tools(cache_mode="bypass")
    return [tool.model_dump(by_alias=True, exclude_none=True) for tool in result.tools]


async def timeout_limits(client: Client) -> tuple[int, int, int]:
    (ask_user,) = [tool for tool in await listed(client) if tool["name"] == "ask_user"]
    shown = ask_user["inputSchema"]["properties"]["timeout"]
    return shown["minimum"], shown["maximum"], shown["default"]


async def test_every_client_sees_the_same_tools_in_the_same_order(connections: Connections) -> None:
    ways = [(carrier, mode) for carrier in CARRIERS for mode in MODES]
    lists = []
    for carrier, mode in ways:
        client = (await connections.get(carrier=carrier, mode=mode)).client
        lists += [await listed(client), await listed(client)]
    assert [tool["name"] for tool in lists[0]] == HERE
    assert all(found == lists[0] for found in lists)


async def test_every_tool_has_a_title_annotations_an_icon_and_a_description(
    connections: Connections,
) -> None:
    for tool in await listed((await connections.get()).client):
        assert tool["title"]
        assert tool["annotations"]["title"]
        assert tool["icons"][0]["src"].startswith("data:image/svg+xml;base64,")
        assert len(tool["description"]) > 100


async def test_no_input_schema_has_a_choice_of_schemas_at_its_top(connections: Connections) -> None:
    for tool in await listed((await connections.get()).client):
        assert tool["inputSchema"]["type"] == "object"
        assert not {"anyOf", "oneOf", "allOf"} & tool["inputSchema"].keys()


async def test_no_tool_promises_structured_content_that_some_of_its_results_lack(
    connections: Connections,
) -> None:
    for tool in await listed((await connections.get()).client):
        assert "outputSchema" not in tool


async def test_the_server_tells_agents_how_to_ask(connections: Connections) -> None:
    for carrier in CARRIERS:
        client = (await connections.get(carrier=carrier, mode="legacy")).client
        assert all(lesson in (client.instructions or "") for lesson in LESSONS)
        (ask_user,) = [tool for tool in await listed(client) if tool["name"] == "ask_user"]
        assert all(outcome in ask_user["description"] for outcome in LESSONS[3:])


async def test_the_schema_shows_the_time_outs_in_force(connections: Connections) -> None:
    plain, night = await connections.get(), await connections.get("night")
    assert await timeout_limits(plain.client) == (10_000, 1_800_000, 300_000)
    assert await timeout_limits(night.client) == (10_000, 28_800_000, 3_600_000)


async def test_a_projects_file_sets_its_default_time_out_up_to_the_owners_maximum(
    connections: Connections,
) -> None:
    connection = await connections.get(project="patient")
    connection.home.project("patient", file='default_timeout = "20min"')
    assert await timeout_limits(connection.client) == (10_000, 1_800_000, 1_200_000)
    connection.home.project("patient", file='default_timeout = "9h"')
    assert await timeout_limits(connection.client) == (10_000, 1_800_000, 1_800_000)


async def test_a_projects_file_cannot_shorten_the_default_where_declared_defaults_count(
    connections: Connections,
) -> None:
    connection = await connections.get("declared", project="hasty")
    before = await timeout_limits(connection.client)
    connection.home.project("hasty", file='default_timeout = "30s"')
    longer = await timeout_limits(connection.client)
    assert longer == (before[0], before[1], 30_000)


async def test_a_project_that_is_switched_off_sees_no_ask_tool_and_its_neighbour_all(
    connections: Connections,
) -> None:
    connection = await connections.get(project="patient")
    home = connection.home
    async with connected(home, home.project("quiet", file="enabled = false")) as quiet:
        # What would otherwise be decided without its owner stays.
        assert [tool["name"] for tool in await listed(quiet.client)] == ["approve_tool_use"]
        refused = await quiet.ask({"question": "Is anybody there?"})
        assert refused.is_error
        home.project("quiet", file="enabled = true")
        assert [tool["name"] for tool in await listed(quiet.client)] == HERE
    assert [tool["name"] for tool in await listed(connection.client)] == HERE


@pytest.mark.parametrize("mode", MODES)
async def test_a_link_that_is_switched_off_lists_nothing_and_starts_no_hub(mode: str) -> None:
    with new_home(ENABLED="false") as home:
        async with connected(home, home.project("off"), mode=mode) as off:
            assert await listed(off.client) == []
            result = await off.ask({"question": "Is anybody there?"})
            assert result.is_error
        assert not home.state.exists()


async def test_a_standalone_that_is_switched_off_lists_nothing_and_asks_nobody() -> None:
    with new_home(ENABLED="false") as home:
        project = home.project("off")
        async with connected(home, project, carrier="standalone") as off:
            assert await listed(off.client) == []
            result = await off.ask({"question": "Is anybody there?"})
            assert result.is_error
            assert home.person.open_asks() == []
