"""The audit trail of a real hub, read with the real command while the hub runs."""

from __future__ import annotations

import asyncio
import json
import subprocess
from typing import Any

import pytest

from tests.acceptance.bridge import PATIENCE, Home, connected, new_home, until
from tests.acceptance.test_approve_tool_use import wanting
from tests.acceptance.test_command_tools import with_commands
from tests.fakes.approving import ALLOWED, verdict
from tests.fakes.page import Page
from tests.fakes.program import CHATBRIDGE

Json = dict[str, Any]
SECRET = "hunter2-hunter2"
PORT: Json = {
    "questions": [
        {
            "id": "port",
            "question": "Which port?",
            "type": "select",
            "options": ["8080", "9090"],
        }
    ]
}
NAME: Json = {"questions": [{"id": "name", "question": "Password?", "type": "text"}]}


def trail(home: Home, *arguments: str) -> str:
    done = subprocess.run(
        [*CHATBRIDGE, "audit", *arguments],
        env={"PATH": "/usr/bin:/bin", "TZ": "UTC", **home.environment},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.asyncio
async def test_the_command_tells_who_asked_answered_allowed_and_ran_what() -> None:
    with new_home(AUDIT__ENABLED="true") as home:
        page = Page(with_commands(home).state)
        async with connected(home, home.project("shop")) as agent:
            for arguments, answer in (
                (PORT, {"values": ["9090"]}),
                (NAME, {"values": [SECRET]}),
            ):
                async with agent.asking(arguments) as (call, ask):
                    await asyncio.to_thread(agent.person.answer, ask, answer)
                    await call
            async with wanting(agent, page) as (call, ask):
                await asyncio.to_thread(page.allows, ask)
                assert verdict(await call) == ALLOWED
            await agent.client.call_tool("shop_say", {"words": ["hello"]})

            def told() -> list[Json] | None:
                found = [json.loads(line) for line in trail(home, "--json").splitlines()]
                ends = [line["kind"] for line in found]
                return found if ends.count("delivered") == 3 and "ended" in ends else None

            found = await asyncio.to_thread(until, told, "the last lines")
        assert SECRET not in json.dumps(found)
        assert [line["seq"] for line in found] == sorted(line["seq"] for line in found)
        assert {line["project"]["name"] for line in found} == {"shop"}
        asks = [line["id"] for line in found if line["kind"] == "asked"]
        ways = {it: [line for line in found if line["id"] == it] for it in asks}
        for end, way in zip(("answered", "answered", "allowed"), ways.values(), strict=True):
            kinds = [line["kind"] for line in way if line["kind"] != "shown"]
            assert kinds == ["asked", end, "delivered"]
        port, password, approval = ([it for it in way if it["who"]] for way in ways.values())
        assert port[-1]["what"] == {"about": "Which port?", "answers": [{"picked": ["9090"]}]}
        assert password[-1]["what"]["answers"] == [{"text": len(SECRET)}]
        assert approval[-1]["who"]["channel"] == "web"
        command = [line["kind"] for line in found if line["thing"] == "command"]
        assert command == ["requested", "run", "ended"]
        text = trail(home, "--since", "1h", "--project", "shop").splitlines()
        assert len(text) == len(found)
        assert any("answered" in line and '"Which port?", answers: "9090"' in line for line in text)
