"""Commands from end to end: real clients, a real hub, a real runner, real processes."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.shared.subscriptions import ToolsListChanged

from tests.acceptance.bridge import (
    CARRIERS,
    PATIENCE,
    Connection,
    Home,
    connected,
    new_home,
    text_of,
    told,
    until,
)
from tests.fakes.link_client import LinkClient

pytestmark = pytest.mark.asyncio(loop_scope="module")

ERAS = ("legacy", "2026-07-28")
SCRIPT = """\
case "$1" in
say) shift; printf '%s|' "$@"; pwd;;
fail) echo "no such thing" >&2; exit 3;;
work) echo started >> runs; while [ ! -e "$2" ]; do sleep 0.02; done; echo finished;;
esac
"""


def definition(script: Path) -> dict[str, Any]:
    texts = {"name": "words", "type": "array", "positional": True}
    gate = {"name": "until", "type": "string", "positional": True, "required": True}
    says = "Say it"
    return {
        "schema": 2,
        "name": "shop",
        "command": ["/bin/sh", str(script)],
        "subcommands": [
            {"name": "say", "description": says, "synchronous": True, "options": [texts]},
            {"name": "fail", "description": says, "synchronous": True},
            # sh takes everything after the script's name as the script's own.
            {"name": "work", "description": says, "options": [gate], "separator": None},
            {
                "name": "work_here",
                "argv": ["work"],
                "description": says,
                "options": [gate],
                "separator": None,
                "synchronous": True,
            },
        ],
    }


def defined(home: Home, name: str, content: object) -> None:
    folder = home.folder / ".config" / "chatbridge" / "tools"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = folder / f"{name}.json"
    file.write_text(json.dumps(content), encoding="utf-8")
    file.chmod(0o600)


def with_commands(home: Home) -> Home:
    script = home.folder / "shop.sh"
    script.write_text(SCRIPT, encoding="utf-8")
    defined(home, "shop", definition(script))
    return home


@pytest.fixture(scope="module")
def shared() -> Iterator[Home]:
    with new_home() as found:
        yield with_commands(found)


@pytest.fixture
def own() -> Iterator[Home]:
    with new_home() as found:
        yield with_commands(found)


async def call(agent: Connection, tool: str, **arguments: Any) -> Any:
    return await agent.client.call_tool(tool, arguments, read_timeout_seconds=PATIENCE)


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize("carrier", CARRIERS)
async def test_a_command_is_run_as_it_was_meant_and_its_output_comes_back(
    request: pytest.FixtureRequest, carrier: str, mode: str
) -> None:
    home: Home = request.getfixturevalue("shared" if carrier == "link" else "own")
    project = home.project(f"run-{mode}")
    async with connected(home, project, carrier=carrier, mode=mode) as agent:
        said = await call(agent, "shop_say", words=["two words", "--option", "$(id) `id` ; id"])
        assert text_of(said) == f"--|two words|--option|$(id) `id` ; id|{project}"
        assert said.structured_content is None
        failed = await call(agent, "shop_fail")
        assert failed.is_error
        first, *rest = text_of(failed).split("\n")
        assert first.startswith("shop fail failed: exit 3 after ")
        assert rest == ["no such thing"]

        started = told(await call(agent, "shop_work", until="go"))
        assert started["status"] == "started"
        (before,) = told(await call(agent, "status"))["operations"][:1]
        assert before["operationId"] == started["operationId"]
        (project / "go").touch()
        waited = await call(agent, "await", operationId=started["operationId"])
        (ended,) = told(waited)["operations"]
        assert ended["status"] == "succeeded"
        assert ended["output"]["head"] == "finished\n"
        assert _in_file(ended["output"]["file"]) == "finished\n"


def _in_file(path: str) -> str:
    return Path(path).read_text(encoding="utf-8")


async def test_a_new_file_is_a_new_tool_and_clients_of_both_eras_hear_of_it(shared: Home) -> None:
    project = shared.project("listening")
    extra = {
        "schema": 2,
        "name": "extra",
        "command": ["true"],
        "subcommands": [{"name": "default", "description": "Do nothing"}],
    }
    async with (
        connected(shared, project, mode="2026-07-28") as modern,
        modern.client.listen(tools_list_changed=True) as changes,
    ):
        with shaken(LinkClient(shared.environment, cwd=project)) as agent:
            defined(shared, "extra", extra)
            assert await asyncio.wait_for(anext(changes), PATIENCE) == ToolsListChanged()
            heard = await asyncio.to_thread(agent.receive, PATIENCE)
            assert heard["method"] == "notifications/tools/list_changed"
        tools = (await modern.client.list_tools(cache_mode="bypass")).tools
        assert "extra" in [tool.name for tool in tools]


async def test_a_command_outlives_kill_9_of_the_hub_and_is_told_of_once(own: Home) -> None:
    project = own.project("killed")
    heard = await asyncio.to_thread(_through_a_kill, own, project)
    (result,) = [message["result"] for message in heard if message.get("id") == 1]
    assert result["content"][0]["text"] == "finished"
    (pushed,) = [message["params"]["data"] for message in heard if "method" in message]
    assert pushed["tool"] == "shop_work"
    assert pushed["status"] == "succeeded"
    assert (project / "runs").read_text(encoding="utf-8").split() == ["started", "started"]


def _through_a_kill(own: Home, project: Path) -> list[dict[str, Any]]:
    """One command whose call waits for it, and one in the background."""
    runs = project / "runs"

    def two_run() -> bool | None:
        return (runs.exists() and len(runs.read_text(encoding="utf-8").split()) == 2) or None

    with shaken(LinkClient(own.environment, cwd=project)) as agent:
        for number, tool in ((1, "shop_work_here"), (2, "shop_work")):
            call = {"name": tool, "arguments": {"until": "go"}}
            agent.request(number, "tools/call", call)
        assert agent.receive(PATIENCE)["id"] == 2
        until(two_run, "two commands that run")
        pid = own.lock_holder()
        assert pid
        os.kill(pid, signal.SIGKILL)
        (project / "go").touch()
        heard = [agent.receive(PATIENCE) for _ in range(2)]
        agent.request(3, "ping")
        while heard[-1].get("id") != 3:
            heard.append(agent.receive(PATIENCE))
    return heard


@contextmanager
def shaken(agent: LinkClient) -> Iterator[LinkClient]:
    """A raw client of the handshake era, after that."""
    with agent:
        info = {"name": "raw", "version": "1"}
        offer = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
        agent.request(0, "initialize", offer)
        agent.receive(PATIENCE)
        agent.notify("notifications/initialized")
        yield agent
