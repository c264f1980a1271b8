"""Messages of the owner on their way through links: each reaches one agent of its project once,
whatever dies, freezes or gives up meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from chatbridge.core.messages.message import MessageState, OwnerMessage, Way
from chatbridge.core.model import Project
from tests.fakes.core_env import OWNER
from tests.fakes.sim_hub import (
    PATIENCE,
    PROJECT,
    QUESTION,
    TICK,
    Bridge,
    Pipe,
    WatchedClock,
    bridge,
    until,
)

TABS = "Message from the owner of this computer, sent 22:41 in the web inbox: use tabs"
NOTHING = "No message from the owner of this computer is waiting."


async def told(here: Bridge, pipe: Pipe, text: str = "use tabs") -> OwnerMessage:
    """A message to the agent behind this link, once the hub knows it."""
    agents = here.hub.inbox.messages.agents

    async def known() -> bool:
        return agents.of_link(pipe.id) is not None

    await until(known)
    agent = agents.of_link(pipe.id)
    assert agent
    return await here.hub.inbox.messages.tell(agent, text, by=OWNER)


async def is_now(here: Bridge, message: OwnerMessage, state: MessageState) -> OwnerMessage:
    found: list[OwnerMessage | None] = []

    async def fits() -> bool:
        found[:] = [await here.hub.store.message(message.id)]
        return found[0] is not None and found[0].state is state

    await until(fits)
    assert found[0]
    return found[0]


def texts(response: dict[str, Any]) -> list[str]:
    return [block["text"] for block in response["result"]["content"]]


async def check(pipe: Pipe, **arguments: float) -> list[str]:
    return texts(await pipe.response(pipe.call("check_messages", arguments)))


@asynccontextmanager
async def connected(
    path: Path,
    *projects: Project,
    client: str = "visual studio code",
    clock: WatchedClock | None = None,
) -> AsyncIterator[tuple[Bridge, list[Pipe]]]:
    """A hub, and one link for each of these projects."""
    clock = clock or WatchedClock()
    async with bridge(path, clock) as here:
        pipes = [Pipe(client, clock, project=project) for project in projects]
        for pipe in pipes:
            await pipe.connect(here)
        yield here, pipes


@asynccontextmanager
async def handed_over(
    path: Path, clock: WatchedClock, pipe: Pipe
) -> AsyncIterator[tuple[Bridge, OwnerMessage, int]]:
    """The response to an answered question, with a message, is in the socket of a frozen link."""
    async with bridge(path, clock) as here:
        await pipe.connect(here)
        message = await told(here, pipe)
        asked = pipe.call("ask_user", QUESTION)
        await here.has(pipe, asked, pause=None)
        pipe.frozen = True
        await here.answered()
        await pipe.answered_while_frozen()
        await is_now(here, message, MessageState.HANDED_OVER)
        yield here, message, asked


def pipe_of(clock: WatchedClock, client: str = "visual studio code") -> Pipe:
    return Pipe(client, clock)


# ── the usual way ─────────────────────────────────────────────────────────────────────────────────


async def test_a_message_goes_with_the_next_result_behind_the_contracts_block(
    tmp_path: Path,
) -> None:
    async with connected(tmp_path, PROJECT) as (here, (pipe,)):
        asked = pipe.call("ask_user", QUESTION)
        await here.has(pipe, asked, pause=None)
        message = await told(here, pipe)
        await here.answered()
        response = await pipe.response(asked)
        delivered = await is_now(here, message, MessageState.DELIVERED)
        assert delivered.way is Way.RESULT
        contract = (
            '{"answered": true, "cancelled": false, "timedOut": false, "answers": '
            '[{"questionId": "c", "values": ["blue"]}]}'
        )
        assert texts(response) == [contract, TABS]
        assert "structuredContent" not in response["result"]
        assert await check(pipe) == [NOTHING]


async def test_results_without_a_message_keep_their_structured_content(tmp_path: Path) -> None:
    async with connected(tmp_path, PROJECT) as (here, (pipe,)):
        asked = pipe.call("ask_user", QUESTION)
        await here.has(pipe, asked, pause=None)
        await here.answered()
        result = (await pipe.response(asked))["result"]
        assert len(result["content"]) == 1
        assert result["structuredContent"]["answered"]


async def test_while_nobody_has_written_calls_do_not_touch_the_store_for_messages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    touched: list[str] = []

    class Untouched:
        def __getattr__(self, name: str) -> object:
            touched.append(name)
            raise AttributeError(name)

    async with connected(tmp_path, PROJECT) as (here, (pipe,)):
        monkeypatch.setattr(here.hub.inbox.messages, "_store", Untouched())
        asked = pipe.call("ask_user", QUESTION)
        await here.has(pipe, asked, pause=None)
        await here.answered()
        await pipe.response(asked)
        assert await check(pipe) == [NOTHING]
        given_up = pipe.call("check_messages", {"waitSeconds": 60})
        await asyncio.wait_for(here.hub.clock.until_asleep(60.0), PATIENCE)
        pipe.cancel(given_up)
        await pipe.cut_off()
        await pipe.connect(here)
        assert await check(pipe) == [NOTHING]
        await pipe.die()
    assert touched == []


async def test_an_error_takes_a_message_along(tmp_path: Path) -> None:
    async with connected(tmp_path, PROJECT) as (here, (pipe,)):
        message = await told(here, pipe)
        response = await pipe.response(pipe.call("ask_user", {"questions": []}))
        problem, said = texts(response)
        assert response["result"]["isError"]
        assert "questions" in problem
        assert said == TABS
        await is_now(here, message, MessageState.DELIVERED)


async def test_several_messages_come_in_their_order(tmp_path: Path) -> None:
    async with connected(tmp_path, PROJECT) as (here, (pipe,)):
        for text in ("use tabs", "and Unix\nline ends"):
            message = await told(here, pipe, text)
        first, second = await check(pipe)
        assert first == TABS
        assert second.endswith("in the web inbox:\nand Unix\nline ends")
        assert (await is_now(here, message, MessageState.DELIVERED)).way is Way.CHECK


async def test_an_agent_is_known_to_the_next_hub_before_it_calls(tmp_path: Path) -> None:
    clock = WatchedClock()
    pipe = pipe_of(clock)
    async with bridge(tmp_path, clock) as here:
        await pipe.connect(here)
    async with bridge(tmp_path, clock) as here:
        await pipe.connect(here)
        await told(here, pipe)
        (agent,) = here.hub.inbox.messages.agents.listed()
        assert (agent.link, agent.name, agent.agent.name) == (pipe.id, "shop", "VS Code")
        assert await check(pipe) == [TABS]


@pytest.mark.parametrize("client", ["chatbridge-hook", "chatbridge-cli"])
async def test_hooks_and_commands_take_no_message(tmp_path: Path, client: str) -> None:
    async with connected(tmp_path, PROJECT) as (here, (pipe,)):
        message = await told(here, pipe)
        other = Pipe(client, pipe._clock)
        await other.connect(here)
        assert await check(other) == [NOTHING]
        assert len(here.hub.inbox.messages.agents.listed()) == 1
        await pipe.die()
        assert await check(other) == [NOTHING]
        await is_now(here, message, MessageState.WAITING)


# ── whose it is ───────────────────────────────────────────────────────────────────────────────────


async def test_only_the_addressed_one_of_two_agents_in_a_project_gets_it(tmp_path: Path) -> None:
    async with connected(tmp_path, PROJECT, PROJECT) as (here, (one, two)):
        await told(here, two)
        assert await check(one) == [NOTHING]
        assert await check(two) == [TABS]


async def test_after_a_restart_it_waits_for_the_addressed_one_that_has_not_called_yet(
    tmp_path: Path,
) -> None:
    clock = WatchedClock()
    one, two = pipe_of(clock), pipe_of(clock)
    async with bridge(tmp_path, clock) as here:
        await one.connect(here)
        await two.connect(here)
        message = await told(here, two)
    async with bridge(tmp_path, clock) as here:
        await one.connect(here)
        assert await check(one) == [NOTHING]  # the other may come back
        await two.connect(here)

        async def known() -> bool:
            return here.hub.inbox.messages.agents.of_link(two.id) is not None

        await until(known)
        await pass_grace(here, clock)
        assert await check(one) == [NOTHING]
        assert await check(two) == [TABS]
        await is_now(here, message, MessageState.DELIVERED)


async def test_once_the_addressed_agent_is_gone_the_next_of_its_project_gets_it(
    tmp_path: Path,
) -> None:
    async with connected(tmp_path, PROJECT, PROJECT) as (here, (one, two)):
        message = await told(here, one)
        waiting = two.call("check_messages", {"waitSeconds": 60})
        await one.die()
        assert texts(await two.response(waiting)) == [TABS]
        await is_now(here, message, MessageState.DELIVERED)


@pytest.mark.parametrize(
    ("mine", "other"),
    [
        ("/src/shop", "/src/shop-api"),
        ("/src/shop", "/src/shop/"),
        ("/src/shop", "/src/SHOP"),
        ("/src/shop", "/src"),
        ("link:a", "link:ab"),
        ("http:ci", "http:ci2"),
        ("http:ci", "uid:1000:http:ci"),
        ("uid:100:/src/shop", "uid:1000:/src/shop"),
        ("uid:1000:/src/shop", "/src/shop"),
        ("uid:1000:link:a", "link:a"),
    ],
)
async def test_no_agent_of_another_project_gets_it_even_when_its_own_is_gone(
    tmp_path: Path, mine: str, other: str
) -> None:
    projects = [Project(key=key, name="shop") for key in (mine, other, other)]
    async with connected(tmp_path, *projects) as (here, (pipe, stranger, waiting)):
        message = await told(here, pipe)
        assert await check(stranger) == [NOTHING]
        waits = waiting.call("check_messages", {"waitSeconds": 5})
        await pipe.die()
        assert await check(stranger) == [NOTHING]
        clock = here.hub.clock
        await asyncio.wait_for(clock.until_asleep(5.0), PATIENCE)
        clock.advance(5.0)
        assert texts(await waiting.response(waits)) == [NOTHING]
        await is_now(here, message, MessageState.WAITING)


# ── what dies, freezes or gives up ────────────────────────────────────────────────────────────────


async def pass_grace(here: Bridge, clock: WatchedClock) -> None:
    """The time in which a link may come back passes."""
    within = here.hub.broker.policy.return_within
    await asyncio.wait_for(clock.until_asleep(within), PATIENCE)
    clock.advance(within)


async def test_if_the_link_dies_before_it_confirms_the_next_agent_of_the_project_gets_it(
    tmp_path: Path,
) -> None:
    clock = WatchedClock()
    pipe, next_one = pipe_of(clock), pipe_of(clock)
    async with handed_over(tmp_path, clock, pipe) as (here, message, _):
        await next_one.connect(here)
        assert await check(next_one) == [NOTHING]
        await pipe.die()
        assert await check(next_one) == [TABS]
        await is_now(here, message, MessageState.DELIVERED)
        assert await check(next_one) == [NOTHING]


async def test_if_hub_and_link_die_before_it_is_confirmed_the_next_agent_gets_it(
    tmp_path: Path,
) -> None:
    clock = WatchedClock()
    pipe, next_one = pipe_of(clock), pipe_of(clock)
    async with handed_over(tmp_path, clock, pipe) as (_, message, _):
        pass
    async with bridge(tmp_path, clock) as here:
        await next_one.connect(here)
        waiting = next_one.call("check_messages", {"waitSeconds": 60})
        await pass_grace(here, clock)
        assert texts(await next_one.response(waiting)) == [TABS]
        await is_now(here, message, MessageState.DELIVERED)


async def test_if_the_hub_dies_before_the_link_has_it_the_repeated_call_has_it_once(
    tmp_path: Path,
) -> None:
    clock = WatchedClock()
    pipe = pipe_of(clock)
    async with handed_over(tmp_path, clock, pipe) as (_, message, asked):
        pass
    async with bridge(tmp_path, clock) as here:
        await pipe.connect(here)
        assert texts(await pipe.response(asked))[1:] == [TABS]
        await is_now(here, message, MessageState.DELIVERED)
        assert await check(pipe) == [NOTHING]


async def test_a_repeated_check_returns_at_once_with_what_it_had_taken(tmp_path: Path) -> None:
    clock = WatchedClock()
    pipe = pipe_of(clock)
    async with bridge(tmp_path, clock) as here:
        await pipe.connect(here)
        pipe.frozen = True
        checked = pipe.call("check_messages", {"waitSeconds": 600})
        message = await told(here, pipe)
        await pipe.answered_while_frozen()
    async with bridge(tmp_path, clock) as here:
        await pipe.connect(here)
        assert texts(await pipe.response(checked)) == [TABS]
        await is_now(here, message, MessageState.DELIVERED)


async def test_a_confirmation_that_comes_after_a_restart_counts(tmp_path: Path) -> None:
    clock = WatchedClock()
    pipe = pipe_of(clock)
    async with bridge(tmp_path, clock) as here:
        await pipe.connect(here)
        message = await told(here, pipe)
        checked = pipe.call("check_messages", {})
        pipe.unheard = True
        assert texts(await pipe.response(checked)) == [TABS]
    async with bridge(tmp_path, clock) as here:
        await pipe.connect(here)
        await is_now(here, message, MessageState.DELIVERED)
        assert await check(pipe) == [NOTHING]


async def test_a_confirmation_that_comes_after_a_cut_connection_counts(tmp_path: Path) -> None:
    clock = WatchedClock()
    pipe = pipe_of(clock)
    async with bridge(tmp_path, clock) as here:
        await pipe.connect(here)
        message = await told(here, pipe)
        checked = pipe.call("check_messages", {})
        pipe.unheard = True
        assert texts(await pipe.response(checked)) == [TABS]
        await pipe.cut_off()
        await is_now(here, message, MessageState.WAITING)
        await pipe.connect(here)
        await is_now(here, message, MessageState.DELIVERED)
        assert await check(pipe) == [NOTHING]


async def test_a_link_that_comes_back_without_the_call_gets_it_with_the_next(
    tmp_path: Path,
) -> None:
    clock = WatchedClock()
    pipe = pipe_of(clock)
    async with handed_over(tmp_path, clock, pipe) as (_, message, asked):
        pass
    pipe.cancel(asked)
    async with bridge(tmp_path, clock) as here:
        await pipe.connect(here)
        waits = await is_now(here, message, MessageState.WAITING)
        assert waits.handed_to is None
        assert await check(pipe) == [TABS]


async def test_if_the_call_is_cancelled_while_it_has_the_message_the_next_has_it(
    tmp_path: Path,
) -> None:
    clock = WatchedClock()
    pipe = pipe_of(clock)
    async with handed_over(tmp_path, clock, pipe) as (here, message, asked):
        pipe.cancel(asked)
        await is_now(here, message, MessageState.WAITING)
        pipe.thaw()
        assert asked not in pipe.responses
        assert await check(pipe) == [TABS]
        await is_now(here, message, MessageState.DELIVERED)


async def test_a_cancelled_check_takes_nothing(tmp_path: Path) -> None:
    async with connected(tmp_path, PROJECT) as (here, (pipe,)):
        checked = pipe.call("check_messages", {"waitSeconds": 60})
        await asyncio.wait_for(here.hub.clock.until_asleep(60.0), PATIENCE)
        pipe.cancel(checked)
        await told(here, pipe)
        assert await check(pipe) == [TABS]


async def test_a_response_after_a_silent_client_gave_up_counts_as_lost(tmp_path: Path) -> None:
    """Codex gives a call up after five minutes without a word; its link was frozen meanwhile."""
    clock = WatchedClock()
    pipe = pipe_of(clock, "codex")
    async with handed_over(tmp_path, clock, pipe) as (here, message, _):
        clock.advance(301.0)
        pipe.thaw()
        await is_now(here, message, MessageState.WAITING)
        assert await check(pipe) == [TABS]
        await is_now(here, message, MessageState.DELIVERED)


async def test_a_call_that_its_client_has_given_up_takes_no_message(tmp_path: Path) -> None:
    clock = WatchedClock()
    pipe = pipe_of(clock, "codex")
    async with bridge(tmp_path, clock) as here:
        await pipe.connect(here)
        asked = pipe.call("ask_user", QUESTION)
        await here.has(pipe, asked, pause=None)
        message = await told(here, pipe)
    clock.advance(301.0)
    async with bridge(tmp_path, clock) as here:
        await pipe.connect(here)
        response = await pipe.response(asked)
        assert len(response["result"]["content"]) == 1
        await is_now(here, message, MessageState.WAITING)
        assert await check(pipe) == [TABS]


# ── check_messages ────────────────────────────────────────────────────────────────────────────────


async def test_a_check_waits_no_longer_than_its_client(tmp_path: Path) -> None:
    clock = WatchedClock()
    pipe = pipe_of(clock, "codex")
    async with bridge(tmp_path, clock) as here:
        await pipe.connect(here)
        checked = pipe.call("check_messages", {"waitSeconds": 3600})

        async def waits() -> bool:
            return clock.calls.sleeps_for(280.0)

        await until(waits)
        clock.advance(280.0 + TICK)
        assert texts(await pipe.response(checked)) == [NOTHING]


async def test_a_waiting_check_shows_that_it_is_alive(tmp_path: Path) -> None:
    clock = WatchedClock()
    pipe = Pipe("visual studio code", clock, progress=True)
    async with bridge(tmp_path, clock) as here:
        await pipe.connect(here)
        checked = pipe.call("check_messages", {"waitSeconds": 60})

        async def beats() -> bool:
            return clock.calls.sleeps_for(15.0)

        await until(beats)
        clock.advance(15.0)
        await pipe.until(lambda: len(pipe.beats) > 0)
        assert pipe.beats == ["waiting for a message, 15 s"]
        await told(here, pipe)
        assert texts(await pipe.response(checked)) == [TABS]


@pytest.mark.parametrize("wait", [-1, 86_401, "5", True, None, [5]])
async def test_a_wrong_wait_is_refused_and_nothing_is_lost(tmp_path: Path, wait: Any) -> None:
    async with connected(tmp_path, PROJECT) as (here, (pipe,)):
        message = await told(here, pipe)
        response = await pipe.response(pipe.call("check_messages", {"waitSeconds": wait}))
        assert response["result"]["isError"]
        problem, said = texts(response)
        assert "waitSeconds is out of range" in problem
        assert said == TABS
        await is_now(here, message, MessageState.DELIVERED)


async def test_a_message_that_a_line_cannot_hold_waits_for_the_next_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatbridge.tools.messages.MAX_RESULT_BYTES", 1_000)
    async with connected(tmp_path, PROJECT) as (here, (pipe,)):
        await told(here, pipe, "a" * 700)
        await told(here, pipe, "b" * 700)
        (first,) = await check(pipe)
        assert first.endswith("a" * 700)
        (second,) = await check(pipe)
        assert second.endswith("b" * 700)
        assert await check(pipe) == [NOTHING]
