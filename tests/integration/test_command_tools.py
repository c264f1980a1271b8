"""Commands as an MCP client sees them: what a call returns, at once or with the output."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from chatbridge.core.model import DENY, VERDICTS, Answer
from tests.fakes.command_agents import official, raw, text_of
from tests.fakes.command_hub import CommandHub, Json, command_hub
from tests.fakes.core_env import OWNER

GIT: Json = {
    "schema": 2,
    "name": "git",
    "command": ["git"],
    "subcommands": [
        {
            "name": "status",
            "description": "Show what has changed",
            "synchronous": True,
            "readOnly": True,
            "options": [{"name": "short", "type": "boolean"}],
        },
        {
            "name": "fetch",
            "description": "Fetch from a remote",
            "hints": ["Read the changelog", "Write a test"],
            "options": [{"name": "remote", "type": "string", "positional": True}],
        },
        {"name": "push", "description": "Push", "approve": "always", "destructive": True},
        {"name": "tag", "description": "Tag", "approve": "always", "synchronous": True},
    ],
}
GIT_FILE = os.path.realpath("/usr/bin/git")


@pytest.fixture
async def hub(tmp_path: Path) -> AsyncIterator[CommandHub]:
    async with command_hub(tmp_path, {"git": GIT}) as found:
        yield found


async def test_every_command_is_a_tool_between_ours_and_those_for_operations(
    hub: CommandHub,
) -> None:
    async with official(hub) as agent, official(hub, mode="2026-07-28") as modern:
        tools = await agent.listed()
        assert [tool["name"] for tool in tools] == [
            "ask_user",
            "git_status",
            "git_fetch",
            "git_push",
            "git_tag",
            "status",
            "await",
            "cancel",
        ]
        assert await agent.listed() == tools
        others = await modern.listed()
    assert [tool["name"] for tool in others] == [tool["name"] for tool in tools]
    # Who is not pushed anything is not told that it will be.
    pushed = [tool["name"] for tool, other in zip(tools, others, strict=True) if tool != other]
    assert pushed == ["git_fetch", "git_push"]
    by_name = {tool["name"]: tool for tool in tools}
    assert by_name["git_push"]["annotations"]["destructiveHint"]
    assert not by_name["git_fetch"]["annotations"]["destructiveHint"]
    assert by_name["git_status"]["annotations"]["readOnlyHint"]
    assert by_name["git_status"]["title"] == "git status"
    assert by_name["git_fetch"]["inputSchema"]["properties"]["remote"]["type"] == "string"
    assert all(tool["icons"] for tool in tools)


async def test_descriptions_lead_away_from_waiting_and_not_where_there_is_nothing_to_wait_for(
    hub: CommandHub,
) -> None:
    async with official(hub) as agent:
        said = {tool["name"]: tool["description"].lower() for tool in await agent.listed()}
    for name in ("git_status", "git_tag"):
        for word in ("operation", "background", "status,", "await", "wait"):
            assert word not in said[name]
    assert "operationid" in said["git_fetch"]
    assert "write a test" in said["git_fetch"]
    assert said["await"].startswith("do not call this")
    assert "final validation" in said["await"]
    assert "not `await`" in said["status"]


async def test_an_asynchronous_call_returns_at_once_what_was_started_and_what_to_do_meanwhile(
    hub: CommandHub,
) -> None:
    async with official(hub) as agent:
        first = await agent.told("git_fetch", remote="origin")
        order = await hub.runner.order()
        hub.world.clock.advance(7)
        second = await agent.told("git_fetch")
    assert order.id == first["operationId"]
    assert order.argv == ("git", "fetch", "--", "origin")
    assert order.folder == str(hub.project)
    assert first == {
        "operationId": order.id,
        "tool": "git_fetch",
        "status": "started",
        "command": "git fetch -- origin",
        "meanwhile": ["Read the changelog", "Write a test"],
        "next": "Go on with other work. You are told when it ends. Look at it with status, which "
        "never waits.",
    }
    running = {"operationId": order.id, "tool": "git_fetch", "seconds": 7.0}
    assert second["running"] == [running]


async def test_a_client_that_cannot_be_told_is_not_promised_to_be(hub: CommandHub) -> None:
    async with official(hub, mode="2026-07-28") as agent:
        started = await agent.told("git_fetch")
    assert started["next"] == "Go on with other work. Look at it with status, which never waits."


async def test_a_synchronous_call_returns_what_was_printed_and_nothing_else(
    hub: CommandHub,
) -> None:
    async with raw(hub) as agent:
        agent.call("1", "git_status", short=True)
        order = await hub.runner.order()
        assert order.argv == ("git", "status", "--short")
        hub.runner.end(order, output="\x1b[31m M\x1b[0m shop.py\n")
        assert await agent.result("1") == {
            "content": [{"type": "text", "text": " M shop.py"}],
            "isError": False,
        }
        await hub.next_end()
        agent.call("2", "git_status")
        hub.runner.end(await hub.runner.order(number=2))
        assert (await agent.result("2"))["content"][0]["text"] == "(no output)"
        await hub.next_end()
        assert not agent.notified("notifications/message")


async def test_a_synchronous_command_that_fails_is_an_error_that_says_how(hub: CommandHub) -> None:
    async with raw(hub) as agent:
        agent.call("1", "git_status")
        order = await hub.runner.order()
        hub.world.clock.advance(0.25)
        hub.runner.end(order, 128, output="fatal: not a git repository\n")
        result = await agent.result("1")
    assert result["isError"]
    said = result["content"][0]["text"]
    assert said == "git status failed: exit 128 after 0.2 s\nfatal: not a git repository"


async def test_a_long_output_is_told_by_both_its_ends_and_where_the_whole_is(
    hub: CommandHub,
) -> None:
    async with raw(hub) as agent:
        agent.call("1", "git_status")
        order = await hub.runner.order()
        hub.runner.end(order, output="first\n" + "x" * 100_000 + "\nlast\n")
        said = (await agent.result("1"))["content"][0]["text"]
    assert said.startswith("first\nxxx")
    assert said.endswith("xxx\nlast")
    assert f"bytes left out; all of it is in {order.output} …\n" in said
    assert len(said) < 17_000


async def test_a_synchronous_call_ends_before_its_client_gives_up_and_the_operation_goes_on(
    tmp_path: Path,
) -> None:
    async with command_hub(tmp_path, {"git": GIT}, max_block=33) as hub, raw(hub) as agent:
        agent.call("1", "git_status")
        order = await hub.runner.order()
        await hub.world.clock.until_asleep(33)
        hub.world.clock.advance(33)
        result = (await agent.result("1"))["structuredContent"]
        assert result["operationId"] == order.id
        assert result["status"] == "started"
        assert result["next"].startswith("It takes longer than this call can wait")
        hub.runner.end(order, output="done\n")
        message = await agent.hears(lambda it: it.get("method") == "notifications/message")
        assert message["params"]["data"]["operationId"] == order.id


async def test_a_waiting_call_shows_that_it_is_alive_and_not_once_it_has_ended(
    hub: CommandHub,
) -> None:
    async with raw(hub) as agent:
        agent.call("1", "git_status", progress=True)
        order = await hub.runner.order()
        await hub.world.clock.until_asleep(15)
        hub.world.clock.advance(15)
        beat = await agent.hears(lambda it: it.get("method") == "notifications/progress")
        assert beat["params"]["progress"] == 15
        assert beat["params"]["message"].startswith("git status has run for 15 s")
        hub.runner.end(order)
        await agent.result("1")
        hub.world.clock.advance(60)
        agent.call("2", "status")
        await agent.result("2")
        assert len(agent.notified("notifications/progress")) == 1


async def test_a_call_that_its_client_gives_up_leaves_the_operation_running(
    hub: CommandHub,
) -> None:
    async with raw(hub) as agent:
        agent.call("1", "git_status")
        order = await hub.runner.order()
        agent.notify("notifications/cancelled", {"requestId": "1"})
        agent.call("2", "status", operationId=order.id)
        (found,) = (await agent.result("2"))["structuredContent"]["operations"]
        assert found["status"] == "running"
        hub.runner.end(order, output="clean\n")
        assert (await hub.next_end()).stage == "succeeded"
        await agent.hears(lambda it: it.get("method") == "notifications/message")


async def test_a_command_that_needs_a_person_says_so_at_once_and_starts_nothing(
    hub: CommandHub,
) -> None:
    async with official(hub) as agent:
        asked = await agent.told("git_push")
        assert asked["status"] == "awaiting_approval"
        assert asked["next"].startswith("A person is asked to allow it")
        (ask,) = await hub.world.store.open_asks()
        assert ask.questions[0].subject
        assert ask.questions[0].subject.code == f"{GIT_FILE} push"
        (found,) = (await agent.told("status"))["operations"]
        assert found["status"] == "awaiting_approval"
    assert not hub.runner.orders


async def test_a_synchronous_command_that_a_person_denies_is_an_error_with_their_words(
    hub: CommandHub,
) -> None:
    async with raw(hub) as agent:
        agent.call("1", "git_tag")
        ask = await hub.world.until(lambda it: it.open)
        deny = Answer(values=(VERDICTS[DENY].label,), custom_text="not before the review")
        await hub.world.inbox.answer(ask.id, (deny,), person=OWNER)
        result = await agent.result("1")
    assert result["isError"]
    said = "git tag was not allowed: Denied: not before the review"
    assert result["content"][0]["text"] == said
    assert not hub.runner.orders


async def test_a_repeated_call_is_one_run(tmp_path: Path) -> None:
    async with command_hub(tmp_path, {"git": GIT}) as hub, raw(hub) as agent:
        agent.call("1", "git_status")
        order = await hub.runner.order()
        await agent.hub_died()
        async with command_hub(tmp_path, runner=hub.runner, clock=hub.world.clock) as next_hub:
            await agent.connect(next_hub)
            hub.runner.end(order, output="once\n")
            result = await agent.result("1")
    assert result["content"][0]["text"] == "once"
    assert list(hub.runner.orders) == [order.id]


async def test_what_a_command_does_not_take_is_refused_with_what_it_does(hub: CommandHub) -> None:
    async with official(hub) as agent:
        result = await agent.call("git_status", shrt=True)
        assert result.is_error
        assert "did you mean short?" in text_of(result)
        found = await agent.told("status")
    assert found == {"operations": []}
