"""`chatbridge serve`: official clients over HTTP, beside the agents of this machine."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.bridge import MODES, PATIENCE, Json, connected, new_home, text_of
from tests.acceptance.served import Served, served
from tests.acceptance.windows import Window
from tests.fakes.bearer_proxy import bearer_proxy

COLOUR = {"question": "Which colour?", "options": ["red", "blue"]}
SCENARIOS = [
    "server-initialize",
    "ping",
    "tools-list",
    "tools-call-error",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
]
"""Of the conformance tool: those for which a server needs none of the tool's own fixtures."""


@pytest.fixture(scope="module")
def hub() -> Iterator[Served]:
    home = new_home(
        ELICIT="both", APPROVALS__TIMEOUT="1s", MIN_TIMEOUT="1s", HTTP__HOSTS="localhost"
    )
    with home as here, served(here) as it:
        yield it


@pytest.mark.parametrize("mode", MODES)
async def test_an_official_client_asks_and_gets_the_answer(hub: Served, mode: str) -> None:
    name = f"asks-{mode}"
    async with hub.client(hub.token(name), name, mode) as seat:
        result = await seat.connection.answered(COLOUR, {"values": ["blue"]})
        assert text_of(result) == "User selected: blue"


async def test_agents_over_http_and_of_this_machine_share_a_hub_and_no_question(
    hub: Served,
) -> None:
    remote = hub.client(hub.token("far"), "far", "auto")
    local = connected(hub.home, hub.home.project("near"))
    async with remote as far, local as near:
        ask_id = await near.ticket({"questions": [{"id": "a", "question": "Near?"}]})
        refused = await far.connection.wait_for(ask_id)
        assert refused.is_error
        assert "Near" not in text_of(refused)
        result = await far.connection.answered({"question": "Far?"}, {"values": ["yes"]})
        assert "yes" in text_of(result)


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_a_form_in_the_clients_window_is_answered_over_http(hub: Served, mode: str) -> None:
    name, window = f"window-{mode}", Window()
    async with hub.client(hub.token(name), name, mode, window=window) as seat:
        window.fills_in("What now?", answer="lunch")
        result = await asyncio.wait_for(seat.call("What now?"), PATIENCE)
        assert "lunch" in text_of(result)
        entries = list((hub.home.state / "journal").glob("*/*.yaml"))
        assert any("What now?" in entry.read_text() for entry in entries)


async def test_a_tool_use_that_nobody_allows_is_denied(hub: Served) -> None:
    async with hub.client(hub.token("careful"), "careful", "legacy") as seat:
        call = {"tool_name": "Bash", "input": {"command": "ls"}, "tool_use_id": "t1"}
        result = await asyncio.wait_for(seat.tool("approve_tool_use", call), PATIENCE)
        assert json.loads(text_of(result))["behavior"] == "deny"


@pytest.mark.inspector
async def test_the_conformance_tool_finds_no_fault(hub: Served, inspector_command: str) -> None:
    tool = str(Path(inspector_command).with_name("conformance"))
    async with bearer_proxy(hub.port, hub.token("conformance")) as port:
        process = await asyncio.create_subprocess_exec(
            *(tool, "server", "--suite", "all", "--url", f"http://localhost:{port}/mcp"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=hub.home.folder,
        )
        said, _ = await asyncio.wait_for(process.communicate(), 2 * PATIENCE)
    passed = re.findall(r"^✓ (\S+): [1-9]\d* passed, 0 failed", said.decode(), re.MULTILINE)
    assert set(SCENARIOS) <= set(passed), said.decode()


# ── hubs that come and go ─────────────────────────────────────────────────────────────────────────


async def test_after_kill_9_the_same_words_go_on_with_the_same_question() -> None:
    with new_home() as home, served(home) as hub:
        tokens = {mode: hub.token(f"night-{mode}") for mode in ("legacy", "2026-07-28")}
        asked: dict[str, Json] = {}
        everybody_waits = asyncio.Barrier(len(tokens) + 1)

        async def wait_in_vain(mode: str) -> None:
            async with hub.client(tokens[mode], f"night-{mode}", mode) as seat:
                waiting = seat.tool("ask_user", COLOUR)
                asked[mode] = await seat.connection.sees("Which colour?")
                await everybody_waits.wait()
                await waiting

        async def ask_again(mode: str) -> None:
            async with hub.client(tokens[mode], f"night-{mode}", mode) as seat:
                waiting = seat.tool("ask_user", COLOUR)
                ask = await seat.connection.sees("Which colour?")
                assert ask["id"] == asked[mode]["id"]
                await asyncio.to_thread(home.person.answer, ask, {"values": ["blue"]})
                assert "blue" in text_of(await waiting)

        waiting = [asyncio.create_task(wait_in_vain(mode)) for mode in tokens]
        await asyncio.wait_for(everybody_waits.wait(), PATIENCE)
        await asyncio.to_thread(hub.kill)
        lost = await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), PATIENCE)
        assert all(isinstance(error, BaseException) for error in lost)
        await asyncio.to_thread(hub.start_again)
        await asyncio.gather(*(ask_again(mode) for mode in tokens))
        assert not await asyncio.to_thread(home.person.open_asks)


async def test_it_takes_over_from_a_hub_that_a_link_started_and_its_question_goes_on() -> None:
    with new_home() as home:
        async with connected(home, home.project("shop")) as near:
            waiting = asyncio.create_task(near.ask({"question": "Still there?"}))
            ask = await near.sees("Still there?")
            started_by_link = home.lock_holder()
            with served(home) as hub:
                assert home.lock_holder() == hub.process.pid != started_by_link
                assert (await near.sees("Still there?"))["id"] == ask["id"]
                await asyncio.to_thread(home.person.answer, ask, {"values": ["yes"]})
                assert "yes" in text_of(await waiting)
