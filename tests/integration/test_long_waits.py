"""Nights in which things die, sleep and come late: nobody is asked twice, no answer is lost, and
none is given twice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from chatbridge.core.asks.reach import Reach
from chatbridge.core.cards.build import build_card
from chatbridge.core.cards.card import State
from chatbridge.core.model import Ask, Call, CallName
from chatbridge.core.store_port import Transaction
from chatbridge.tools.call import Peer, ToolCall
from chatbridge.tools.clients import Client, agent_of
from chatbridge.tools.waiting import Waiting
from tests.fakes.core_env import BLUE, OWNER, World, request, world
from tests.fakes.sim_agent import Agent, GivesUp, Night
from tests.fakes.sim_hub import HOUR, Bridge, WatchedClock, bridge, until


def agent(client: str = "visual studio code", clock: WatchedClock | None = None) -> Agent:
    return Agent(client=client, clock=clock or WatchedClock(), gives_up=GivesUp.SILENTLY)


@asynccontextmanager
async def asked(path: Path, client: str = "visual studio code") -> AsyncIterator[Night]:
    async with Night(path, agent(client)) as night:
        night.agent.ask()
        await night.agent.is_heard(night.here)
        yield night


async def another(night: Night, here: Bridge) -> Agent:
    """A new process of the same agent, with the same question."""
    new = agent(night.agent.client, night.clock)
    await new.pipe.connect(here)
    new.ask()
    return new


async def grace(here: Bridge, clock: WatchedClock) -> None:
    """The time in which a link may come back passes."""
    within = here.hub.broker.policy.return_within

    async def counts() -> bool:
        return clock.somebody_sleeps_for(within)

    await until(counts)
    clock.advance(within)


async def kept(here: Bridge) -> None:
    async def is_kept() -> bool:
        return (await here.the_ask()).kept

    await until(is_kept)


async def confirmed(night: Night, number: int) -> Call:
    """This call, once the hub knows that its response was written."""
    name = CallName(link=night.agent.pipe.id, request=str(number))
    found: list[Call] = []

    async def work(tx: Transaction) -> Call | None:
        return await tx.call(name)

    async def known() -> bool:
        call = await night.here.hub.store.write(work)
        found[:] = [call] if call else []
        return bool(call and call.delivered_at)

    await until(known)
    return found[0]


def state(ask: Ask) -> State:
    return build_card(ask, channel="web").state


# ── agents and hubs that die ──────────────────────────────────────────────────────────────────────


async def test_an_agent_that_is_killed_and_started_anew_goes_on_with_the_same_card(
    tmp_path: Path,
) -> None:
    async with asked(tmp_path) as night:
        await night.agent.pipe.die()
        new = await another(night, night.here)
        await new.is_heard(night.here)
        night.clock.advance(8 * HOUR)
        await night.here.answered()
        assert await new.take()
        assert (await night.delivered()).delivered_at
        assert not night.agent.pipe.responses.keys() - {0}


async def test_after_a_power_cut_an_agent_that_asks_at_once_goes_on_with_the_same_card(
    tmp_path: Path,
) -> None:
    """Agent and hub died together, so the new hub cannot know yet that nobody will come back."""
    async with asked(tmp_path) as night:
        await night.hub_dies()
        night.clock.advance(60.0)
        async with bridge(tmp_path, night.clock) as here:
            new = await another(night, here)
            await grace(here, night.clock)
            await new.is_heard(here)
            await here.answered()
            assert await new.take()
            assert new.answers[0]["answers"][0]["values"] == ["blue"]
        await night.hub_starts()


async def test_an_answer_given_before_a_power_cut_reaches_the_agent_that_asks_again_at_once(
    tmp_path: Path,
) -> None:
    async with asked(tmp_path) as night:
        night.agent.pipe.frozen = True
        await night.here.answered()
        await night.hub_dies()
        night.clock.advance(60.0)
        async with bridge(tmp_path, night.clock) as here:
            new = await another(night, here)
            await grace(here, night.clock)
            assert await new.take()
            assert new.answers[0]["late"] is True
            assert len(await here.asks()) == 1
        night.agent.pipe.thaw()
        await night.hub_starts()


async def test_an_agent_with_the_same_words_as_one_that_comes_back_gets_a_card_of_its_own(
    tmp_path: Path,
) -> None:
    async with asked(tmp_path) as night:
        await night.hub_dies()
        await night.hub_starts()
        await night.agent.is_heard(night.here)
        other = await another(night, night.here)
        await other.is_heard(night.here)
        assert len(await night.here.asks()) == 2


@pytest.mark.parametrize(("hours", "late"), [(11.9, True), (12.1, False)])
@pytest.mark.parametrize("restart", [False, True], ids=["same hub", "next hub"])
async def test_yesterdays_yes_answers_todays_question_only_while_it_is_kept(
    tmp_path: Path, hours: float, late: bool, restart: bool
) -> None:
    async with asked(tmp_path) as night:
        await night.agent.pipe.die()
        await night.here.answered()
        await kept(night.here)
        if restart:
            await night.hub_dies()
        night.clock.step(hours * HOUR)  # the machine slept, too
        async with AsyncExitStack() as stack:
            next_hub = bridge(tmp_path, night.clock)
            here = await stack.enter_async_context(next_hub) if restart else night.here
            new = await another(night, here)
            if late:
                assert await new.take()
                assert new.answers[0]["late"] is True
                return
            await new.is_heard(here)
            (today,) = await here.hub.store.open_asks()
            assert len(await here.asks()) == 2
            assert today.outcome is None


# ── the machine sleeps ────────────────────────────────────────────────────────────────────────────


async def test_a_client_that_slept_with_its_machine_gets_its_answer_and_it_counts(
    tmp_path: Path,
) -> None:
    """Timers of clients stand still meanwhile, as ours does: its limit has not come."""
    async with asked(tmp_path, "zed") as night:
        night.clock.advance(20.0)
        night.clock.step(8 * HOUR)
        await night.here.answered()
        assert await night.agent.take()
        assert not (await night.delivered()).kept
        night.agent.ask()
        await night.agent.is_heard(night.here)
        assert len(await night.here.asks()) == 2


async def test_a_client_that_slept_gets_its_ticket_and_counts_as_a_caller(tmp_path: Path) -> None:
    async with asked(tmp_path, "zed") as night:
        night.clock.advance(20.0)
        night.clock.step(8 * HOUR)
        night.clock.advance(35.0)
        assert not await night.agent.take()
        assert (await confirmed(night, 1)).live
        assert (await night.here.the_ask()).orphaned_since is None
        await night.answered_at(night.clock.monotonic() + 100.0)
        assert not (await night.delivered()).kept


async def test_a_clock_that_is_set_back_does_not_make_a_client_wait_longer(tmp_path: Path) -> None:
    async with asked(tmp_path, "zed") as night:
        night.clock.step(-5 * HOUR)
        night.clock.advance(52.0)
        assert not await night.agent.take()


# ── what comes after a silent client's limit ──────────────────────────────────────────────────────


async def test_an_answer_that_is_written_after_a_silent_clients_limit_is_kept_for_its_next_ask(
    tmp_path: Path,
) -> None:
    async with asked(tmp_path, "zed") as night:
        pipe = night.agent.pipe
        pipe.frozen = True
        night.clock.advance(40.0)
        await night.here.answered()
        await pipe.answered_while_frozen()
        night.clock.advance(25.0)
        await night.agent.give_up()
        pipe.thaw()
        await kept(night.here)
        assert state(await night.here.the_ask()) is State.KEPT
        night.agent.ask()
        assert await night.agent.take()
        assert night.agent.answers[0]["late"] is True
        assert state(await night.delivered()) is State.ANSWERED


async def test_a_ticket_that_is_written_after_a_silent_clients_limit_has_no_holder(
    tmp_path: Path,
) -> None:
    async with asked(tmp_path, "zed") as night:
        night.clock.advance(70.0)  # as when the hub's process was stopped meanwhile

        async def orphaned() -> bool:
            return (await night.here.the_ask()).orphaned_since is not None

        await until(orphaned)
        await night.agent.pipe.die()
        new = await another(night, night.here)
        await new.is_heard(night.here)
        assert len(await night.here.asks()) == 1


async def test_a_client_that_says_when_it_gives_up_gets_its_answer_however_late(
    tmp_path: Path,
) -> None:
    async with asked(tmp_path, "gemini-cli-mcp-client") as night:
        pipe = night.agent.pipe
        pipe.frozen = True
        await night.here.answered()
        await pipe.answered_while_frozen()
        night.clock.advance(3 * HOUR)
        pipe.thaw()
        assert await night.agent.take()
        assert not (await night.delivered()).kept


# ── wait_for_answer ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("wanted", "waits"), [(10.0, 10.0), (3600.0, 51.0)])
async def test_a_wait_ends_when_it_was_to_and_never_later_than_its_client_would(
    tmp_path: Path, wanted: float, waits: float
) -> None:
    async with asked(tmp_path, "zed") as night:
        agent, pipe = night.agent, night.agent.pipe
        night.clock.advance(52.0)
        assert not await agent.take()
        waiting = {"askId": agent.ticket, "waitSeconds": wanted}
        agent.request = pipe.call("wait_for_answer", waiting)
        await night.here.has(pipe, agent.request, pause=waits)
        night.clock.advance(waits - 1.0)
        assert agent.request not in pipe.responses
        night.clock.advance(1.1)
        assert not await agent.take()
        assert (await night.here.the_ask()).open


# ── waits without an end ──────────────────────────────────────────────────────────────────────────


CODEX = Peer(agent=agent_of("codex"), client=Client(limit=300.0, cancels=False))


def endless(hub: World, number: int, peer: Peer = CODEX) -> ToolCall:
    return ToolCall(
        name=CallName(link="l", request=str(number)),
        id=f"call-{number}",
        project=request().project,
        peer=peer,
        report=None,
        clock=hub.clock,
        learned=lambda: hub.broker.waiting_calls.learned_limit("l") if peer is not CODEX else None,
    )


async def nowhere(ask_id: str) -> Reach:
    return Reach()


async def test_a_wait_without_an_end_outlives_the_limit_and_can_be_asked_for_again(
    tmp_path: Path,
) -> None:
    """A silent client's call counts as gone after its limit: asking again goes on with the ask."""
    clock = WatchedClock()
    async with world(tmp_path, clock, max_block=5.0) as hub:
        waiting = Waiting(hub.broker, nowhere)
        hub.broker.waiting_calls.link_opened("l")
        results: list[asyncio.Task[Ask | None]] = []
        for number in (1, 2):
            call = endless(hub, number)
            wait = await waiting.ask(request(timeout=10 * HOUR), call)
            results.append(asyncio.create_task(wait.ended(endless=True)))
            if number == 1:
                await until_asleep(clock, 300.0)
                clock.advance(301.0)
                await hub.until(lambda a: a.orphaned_since is not None)
        assert len(await hub.inbox.open_asks()) == 1
        await hub.inbox.answer(wait.ask.id, BLUE, person=OWNER)
        for result in results:
            ended = await asyncio.wait_for(result, 20)
            assert ended
            assert ended.answer
        await hub.broker.waiting_calls.delivered(CallName(link="l", request="1"))
        assert (await hub.now(wait.ask)).delivered_at is None
        await hub.broker.waiting_calls.delivered(CallName(link="l", request="2"))
        assert (await hub.now(wait.ask)).delivered_at


async def test_a_wait_without_an_end_whose_limit_is_learned_keeps_an_answer_that_comes_after_it(
    tmp_path: Path,
) -> None:
    """The second call shows the limit, and may itself be given up in silence before the third."""
    clock = WatchedClock()
    async with world(tmp_path, clock) as hub:
        waiting = Waiting(hub.broker, nowhere)
        hub.broker.waiting_calls.link_opened("l")
        results = []
        for number in (1, 2):
            call = endless(hub, number, Peer(agent=agent_of("mcp")))
            wait = await waiting.ask(request(timeout=10 * HOUR), call)
            results.append(asyncio.create_task(wait.ended(endless=True)))
            clock.advance(6.0)
        clock.advance(1.0)
        await hub.inbox.answer(wait.ask.id, BLUE, person=OWNER)
        for number, result in enumerate(results, 1):
            assert await asyncio.wait_for(result, 20)
            await hub.broker.waiting_calls.delivered(CallName(link="l", request=str(number)))
        assert (await hub.now(wait.ask)).delivered_at is None
        taken = await waiting.ask(request(timeout=10 * HOUR), endless(hub, 3))
        assert (taken.ask.id, taken.caller.late) == (wait.ask.id, True)


async def until_asleep(clock: WatchedClock, seconds: float) -> None:
    async def asleep() -> bool:
        return clock.somebody_sleeps_for(seconds)

    await until(asleep)
