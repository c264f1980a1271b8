"""`chatbridge serve`: official clients over HTTP, beside the agents of this machine."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from chatbridge import lock_file
from tests.acceptance.bridge import MODES, PATIENCE, Json, connected, new_home, text_of
from tests.acceptance.served import Served, served
from tests.acceptance.windows import Window
from tests.fakes.reverse_proxy import bearer_proxy

COLOUR = {"question": "Which colour?", "options": ["red", "blue"]}
ERAS = ("2025-11-25", "2026-07-28")
SUITES = {"2025-11-25": "active", "2026-07-28": "all"}
SCENARIOS = {
    "2025-11-25": {
        "server-initialize",
        "server-session-lifecycle",
        "ping",
        "logging-set-level",
        "tools-list",
        "server-sse-multiple-streams",
        "dns-rebinding-protection",
    },
    "2026-07-28": {
        "server-stateless",
        "tools-list",
        "caching",
        "http-header-validation",
        "server-sse-multiple-streams",
        "dns-rebinding-protection",
        "input-required-result-unsupported-methods",
    },
}
"""Of the conformance tool: those for which a server needs none of the tool's own fixtures."""
NEEDS_FIXTURES = {
    "sep-2575-server-rejects-undeclared-capability",
    "sep-2575-missing-capability-http-400",
    "sep-2575-http-server-no-independent-requests-on-stream",
    "sep-2575-server-no-log-without-loglevel",
    "sep-2549-prompts-list-caching-hints",
    "sep-2549-resources-list-caching-hints",
    "sep-2549-resources-templates-list-caching-hints",
}
"""Single checks of these: for the tool's own tools, for prompts and for resources."""
SCHEMA = "wire-schema-valid"


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
    for era, found in zip(
        ERAS, await asyncio.gather(*(conformance(hub, tool, era) for era in ERAS)), strict=True
    ):
        failed = {
            (scenario, check)
            for scenario, checks in found.items()
            for check, status in checks
            if status == "FAILURE"
        }
        assert not [scenario for scenario, check in failed if check == SCHEMA], era
        for scenario in SCENARIOS[era]:
            passed = {check for check, status in found[scenario] if status == "SUCCESS"}
            assert passed - {SCHEMA}, (era, scenario)
            missed = {check for where, check in failed if where == scenario}
            assert missed <= NEEDS_FIXTURES, (era, scenario)


async def conformance(hub: Served, tool: str, era: str) -> dict[str, list[tuple[str, str]]]:
    """By scenario, what was checked and how it went."""
    results = hub.home.folder / f"conformance-{era}"
    async with bearer_proxy(hub.port, hub.token(f"conformance-{era}")) as port:
        process = await asyncio.create_subprocess_exec(
            *(tool, "server", "--suite", SUITES[era], "--spec-version", era),
            *("--url", f"http://localhost:{port}/mcp", "--output-dir", str(results)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=hub.home.folder,
        )
        said, _ = await asyncio.wait_for(process.communicate(), 3 * PATIENCE)
    found = {}
    for file in results.glob("*/checks.json"):
        name = re.fullmatch(r"server-(.+?)-\d{4}-\d\d-\d\dT.+", file.parent.name)
        assert name, file
        checks = json.loads(file.read_text(encoding="utf-8"))
        found[name[1]] = [(check["id"], check["status"]) for check in checks]
    assert SCENARIOS[era] <= found.keys(), said.decode()
    return found


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
            with served(home):
                holder = lock_file.find_holder(str(home.state))
                assert holder
                assert holder.started_by == "person"
                assert holder.pid == home.lock_holder() != started_by_link
                assert (await near.sees("Still there?"))["id"] == ask["id"]
                await asyncio.to_thread(home.person.answer, ask, {"values": ["yes"]})
                assert "yes" in text_of(await waiting)
