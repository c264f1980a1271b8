"""`status`, `await` and `cancel`: what agents are told of operations, and how they end them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from chatbridge.commands.operations.runner_client import Order
from chatbridge.commands.tools.operation_tools import MAX_WAITING
from tests.fakes.command_agents import Official, Raw, official, raw, text_of
from tests.fakes.command_hub import CommandHub, Json, command_hub

MAKE: Json = {
    "schema": 2,
    "name": "make",
    "command": ["true"],
    "subcommands": [
        {"name": "test", "description": "Test"},
        {"name": "deploy", "description": "Deploy", "approve": "always"},
    ],
}


@pytest.fixture
async def hub(tmp_path: Path) -> AsyncIterator[CommandHub]:
    async with command_hub(tmp_path, {"make": MAKE}) as found:
        yield found


async def begun(hub: CommandHub, agent: Official, number: int = 1) -> Order:
    await agent.told("make_test")
    return await hub.runner.order(number=number)


async def one(agent: Official, operation_id: str) -> Json:
    (found,) = (await agent.told("status", operationId=operation_id))["operations"]
    assert isinstance(found, dict)
    return found


# ── status ────────────────────────────────────────────────────────────────────────────────────────


async def test_status_tells_of_one_operation_before_and_after_its_end(hub: CommandHub) -> None:
    async with official(hub) as agent:
        order = await begun(hub, agent)
        hub.runner.prints(order, "one\n")
        hub.world.clock.advance(3)
        before = await one(agent, order.id)
        hub.runner.end(order, 2, output="one\ntwo\n")
        await hub.next_end()
        after = await one(agent, order.id)
        assert await one(agent, order.id[:8]) == after
    own = {
        "operationId": order.id,
        "tool": "make_test",
        "command": "true test",
        "folder": str(hub.project),
        "seconds": 3.0,
    }
    printed = {"head": "one\n", "file": order.output}
    assert before == {**own, "status": "running", "output": printed}
    whole = {"head": "one\ntwo\n", "file": order.output}
    assert after == {**own, "status": "failed", "exitCode": 2, "output": whole}


async def test_a_list_has_those_on_the_way_first_and_of_failures_the_last_lines(
    hub: CommandHub,
) -> None:
    async with official(hub) as agent:
        for number, code in ((1, 0), (2, 1)):
            order = await begun(hub, agent, number)
            hub.world.clock.advance(1)
            hub.runner.end(order, code, output=f"line {number}\n")
            await hub.next_end()
        await begun(hub, agent, 3)
        listed = (await agent.told("status"))["operations"]
    assert [each["status"] for each in listed] == ["running", "failed", "succeeded"]
    assert listed[1]["lastLines"] == "line 2"
    assert "lastLines" not in listed[2]
    assert not any("output" in each for each in listed)


async def test_an_operation_of_another_project_is_not_there(
    hub: CommandHub, tmp_path: Path
) -> None:
    (other := tmp_path / "billing").joinpath(".git").mkdir(parents=True)
    async with official(hub) as agent, official(hub, folder=other) as neighbour:
        order = await begun(hub, agent)
        assert await neighbour.told("status") == {"operations": []}
        for tool in ("status", "await", "cancel"):
            result = await neighbour.call(tool, operationId=order.id)
            assert result.is_error
            assert "there is no operation" in text_of(result)
        assert (await one(agent, order.id))["status"] == "running"


@pytest.mark.parametrize("given", ["1234567", 5, ""])
async def test_what_can_be_no_id_is_refused_with_what_can(hub: CommandHub, given: object) -> None:
    async with official(hub) as agent:
        result = await agent.call("status", operationId=given)
    assert result.is_error
    assert "at least its first 8 characters" in text_of(result)


# ── await ─────────────────────────────────────────────────────────────────────────────────────────


async def test_await_returns_what_has_ended_at_once_with_its_output(hub: CommandHub) -> None:
    async with official(hub) as agent:
        order = await begun(hub, agent)
        hub.runner.end(order, output="fine\n")
        await hub.next_end()
        found = await agent.told("await", operationId=order.id)
        assert found == await agent.told("status", operationId=order.id)
        result = await agent.call("await")
        assert text_of(result).startswith("Nothing is on the way")


async def test_await_without_an_id_waits_for_all_of_the_project_and_nothing_is_pushed(
    hub: CommandHub,
) -> None:
    async with raw(hub) as agent:
        for number in ("1", "2"):
            agent.call(number, "make_test")
            await agent.result(number)
        orders = [await hub.runner.order(number=number) for number in (1, 2)]
        agent.call("3", "await")
        await hub.world.clock.until_asleep(300)
        for order in orders:
            hub.runner.end(order, output="fine\n")
        found = (await agent.result("3"))["structuredContent"]["operations"]
        assert {each["operationId"] for each in found} == {order.id for order in orders}
        assert {each["status"] for each in found} == {"succeeded"}
        assert not agent.notified("notifications/message")


async def test_when_its_time_is_up_await_says_what_still_runs_and_that_is_no_error(
    hub: CommandHub,
) -> None:
    async with official(hub) as agent:
        order, other = [await begun(hub, agent, number) for number in (1, 2)]
        ids = [order.id, other.id]
        waiting = asyncio.ensure_future(agent.call("await", operationIds=ids, timeout=77))
        await hub.world.clock.until_asleep(77)
        hub.runner.end(other, 1)
        await hub.next_end()
        hub.world.clock.advance(77)
        result = await waiting
        assert not result.is_error
        said = text_of(result)
        assert said.startswith("Not all have ended after 1 min 17 s.")
        assert f"make test has run for 1 min 17 s (operationId {order.id})" in said
        assert "make test failed: exit 1 after 0 s" in said
        assert "look with status" in said
        assert (await one(agent, order.id))["status"] == "running"


async def test_of_many_waits_of_one_agent_those_beyond_the_limit_only_look(
    hub: CommandHub,
) -> None:
    async with raw(hub) as agent, official(hub) as other:
        for round_, order in enumerate([await begun(hub, other, number) for number in (1, 2)]):
            names = [f"{round_}-{number}" for number in range(MAX_WAITING + 1)]
            for name in names:
                agent.call(name, "await", operationId=order.id)
            looked = await agent.hears(lambda message: message.get("id") in names)  # noqa: B023
            (said,) = looked["result"]["content"]
            assert said["text"].startswith("Not all have ended after 0 s.")
            waiting = asyncio.ensure_future(other.told("await", operationId=order.id))
            hub.runner.end(order)
            assert (await waiting)["operations"][0]["status"] == "succeeded", "another's own limit"
            for name in set(names) - {looked["id"]}:
                (found,) = (await agent.result(name))["structuredContent"]["operations"]
                assert found["status"] == "succeeded"


@pytest.mark.parametrize("timeout", [-1, 3601, "5", True])
async def test_a_time_that_await_does_not_take_is_refused(hub: CommandHub, timeout: object) -> None:
    async with official(hub) as agent:
        result = await agent.call("await", timeout=timeout)
    assert result.is_error
    assert "0 to 3600 s" in text_of(result)


# ── cancel ────────────────────────────────────────────────────────────────────────────────────────


async def test_cancel_has_three_answers(hub: CommandHub) -> None:
    async with official(hub) as agent:
        order = await begun(hub, agent)
        cancelled = await agent.told("cancel", operationId=order.id, reason="wrong branch")
        assert cancelled["cancelled"]
        assert cancelled["status"] == "cancelled"
        assert cancelled["reason"] == "wrong branch"
        assert cancelled["message"] == "make test is cancelled"

        over = await begun(hub, agent, 2)
        hub.runner.end(over, 3)
        await hub.next_end()
        await hub.next_end()
        ended = await agent.told("cancel", operationId=over.id)
        assert not ended["cancelled"]
        assert ended["message"] == "It had ended: make test failed: exit 3 after 0 s"

        unknown = await agent.call("cancel", operationId="00000000-0000")
        assert unknown.is_error
        assert order.id in text_of(unknown)
        assert over.id in text_of(unknown)
        assert (await agent.call("cancel")).is_error


async def test_cancelling_what_waits_for_a_person_takes_the_question_away(hub: CommandHub) -> None:
    async with official(hub) as agent:
        asked = await agent.told("make_deploy")
        assert len(await hub.world.store.open_asks()) == 1
        told = await agent.told("cancel", operationId=asked["operationId"])
        assert told["cancelled"]
        assert await hub.world.store.open_asks() == []
    assert not hub.runner.orders


# ── after an upgrade ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("then", ["leads elsewhere", "is gone", "is defined otherwise"])
async def test_a_repeated_call_gets_what_it_began_whatever_became_of_the_program(
    tmp_path: Path, then: str
) -> None:
    """It is not run a second time, and nobody says that nothing was started."""
    program = tmp_path / "bin" / "build"
    program.parent.mkdir()
    program.symlink_to("/bin/true")
    definition = built_by(program, timeout=60)
    agent = Raw()
    async with command_hub(tmp_path, {"build": definition}) as hub:
        await agent.connect(hub)
        agent.call("1", "build")
        order = await hub.runner.order()
        await agent.hub_died()
    if then != "is defined otherwise":
        program.unlink()
    if then == "leads elsewhere":
        program.symlink_to("/bin/false")
    definition = built_by(program, timeout=30 if then == "is defined otherwise" else 60)
    clock, runner = hub.world.clock, hub.runner
    async with command_hub(tmp_path, {"build": definition}, runner=runner, clock=clock) as hub:
        await agent.connect(hub)
        runner.end(order, output="built")
        result = await agent.result("1")
        assert (result["content"][0]["text"], result["isError"]) == ("built", False)
        assert list(runner.orders) == [order.id]
        await agent.hub_died()


def built_by(program: Path, *, timeout: int) -> Json:
    subcommand = {"name": "default", "description": "Build", "synchronous": True}
    return {
        "schema": 2,
        "name": "build",
        "command": [str(program)],
        "timeout": timeout,
        "subcommands": [subcommand],
    }
