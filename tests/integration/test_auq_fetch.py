"""`get_answered_questions`, and `wait_for_answer` on the same sessions."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from chatbridge.core.asks.reach import Reach
from chatbridge.core.asks.scheduler import CLOCK_CHECK_SECONDS
from chatbridge.core.errors import ToolInputError
from chatbridge.core.forms.form import AnswerAnyway, Choose
from chatbridge.core.model import Answer, Ask, Project
from chatbridge.core.store_port import Transaction
from tests.auq_asks import BOTH, ONE, SESSION, about, golden
from tests.fakes.auq_agent import HASTY, PATIENT_FOR, AuqAgent, WatchedClock, tapped
from tests.fakes.core_env import OWNER, World, world

SQLITE = (Answer(values=("SQLite",)),)
UNREACHED = Reach(missing=(("web", "no page was open"),))
ELSEWHERE = Project(key="/src/billing", name="billing")
UNKNOWN = "No session with this session_id in this project"


async def refusal(agent: AuqAgent, session: str) -> tuple[str, str]:
    with pytest.raises(ToolInputError) as refused:
        await agent.fetch(session)
    sentence, details = str(refused.value).split("\n")
    return sentence, details


async def put_beside(hub: World, ask: Ask, ask_id: str) -> None:
    """The same ask once more, under this id."""

    async def work(tx: Transaction) -> None:
        await tx.add_ask(replace(ask, id=ask_id))

    await hub.store.write(work)


async def test_a_session_is_fetched_by_its_id_or_its_first_eight_characters_as_often_as_wanted(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as hub:
        agent = AuqAgent(hub)
        ask = await agent.submitted(ONE)
        names = (ask.id, ask.id[:8], ask.id[:13], ask.id.upper())
        for name in names:
            assert await agent.fetch(name) == (golden("pending", session=ask.id), False)
        await hub.inbox.answer(ask.id, SQLITE, person=OWNER)
        for name in names:
            for blocking in (False, True):
                answered = await agent.fetch(name, blocking=blocking)
                assert answered == (golden("answered_one", session=ask.id), False)
        assert (await hub.now(ask)).delivered_at is not None


async def test_a_blocking_fetch_waits_for_the_answer(tmp_path: Path) -> None:
    async with world(tmp_path) as hub:
        agent = AuqAgent(hub)
        ask = await agent.submitted(ONE)
        fetching = asyncio.create_task(agent.fetch(ask.id[:8], blocking=True))
        await hub.until(lambda changed: changed.id == ask.id)
        await hub.inbox.answer(ask.id, SQLITE, person=OWNER)
        assert await fetching == (golden("answered_one", session=ask.id), False)


async def test_a_blocking_fetch_returns_before_the_clients_limit_and_can_be_repeated(
    tmp_path: Path,
) -> None:
    clock = WatchedClock()
    async with world(tmp_path, clock) as hub:
        agent = AuqAgent(hub, client=HASTY)
        ask = await agent.submitted(ONE)
        for _ in range(2):
            fetching = asyncio.create_task(agent.fetch(ask.id, blocking=True))
            await clock.asleep(PATIENT_FOR)
            clock.advance(PATIENT_FOR)
            assert await fetching == (golden("pending", session=ask.id), False)
        await hub.inbox.answer(ask.id, SQLITE, person=OWNER)
        answered = (golden("answered_one", session=ask.id), False)
        assert await agent.fetch(ask.id, blocking=True) == answered


async def test_a_blocking_fetch_of_a_set_that_is_rejected_meanwhile_returns(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as hub:
        agent = AuqAgent(hub)
        ask = await agent.submitted(BOTH)
        fetching = asyncio.create_task(agent.fetch(ask.id, blocking=True))
        await hub.until(lambda changed: changed.id == ask.id)
        await hub.inbox.cancel(ask.id, reason='Ask "Kim" first.', person=OWNER)
        assert await fetching == (golden("fetched_rejected_reason", session=ask.id), False)


async def test_while_nobody_can_be_reached_an_open_set_says_so(tmp_path: Path) -> None:
    async with world(tmp_path) as hub:
        agent = AuqAgent(hub, reach=UNREACHED)
        ticket = await agent.ask({**BOTH, "nonBlocking": True})
        (ask,) = await hub.inbox.open_asks()
        assert ticket == (golden("submitted_unreached", session=ask.id), False)
        assert await agent.fetch(ask.id) == (golden("pending_unreached", session=ask.id), False)
        assert await agent.wait(ask, seconds=0) == ticket


async def test_an_answer_after_the_deadline_is_fetched_and_says_so(tmp_path: Path) -> None:
    clock = WatchedClock()
    async with world(tmp_path, clock) as hub:
        agent = AuqAgent(hub, timeout=60.0)
        call, ask = await agent.asking(ONE)
        await clock.asleep(CLOCK_CHECK_SECONDS)
        clock.advance(60.0)
        await call
        await tapped(
            hub, ask, lambda step: AnswerAnyway(step=step), lambda step: Choose(step=step, option=1)
        )
        for _ in range(2):
            assert await agent.fetch(ask.id) == (golden("late", session=ask.id), False)


async def test_wait_for_answer_returns_what_the_call_itself_would_have(tmp_path: Path) -> None:
    async with world(tmp_path) as hub:
        agent = AuqAgent(hub)
        ticket = await agent.ask({**ONE, "nonBlocking": True})
        (ask,) = await hub.inbox.open_asks()
        assert await agent.wait(ask, seconds=0) == ticket
        await hub.inbox.answer(ask.id, SQLITE, person=OWNER)
        for _ in range(2):
            assert await agent.wait(ask) == (golden("answered_one", session=ask.id), False)


async def test_an_unknown_session_is_refused_with_the_open_ones_of_this_tool_and_project(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as hub:
        agent = AuqAgent(hub)
        assert await refusal(agent, SESSION) == (
            UNKNOWN,
            f"session_id: given '{SESSION}'; accepted: none, as none is open",
        )
        ours = [await agent.submitted(ONE), await agent.submitted(BOTH)]
        ended = await agent.submitted(about("Ended"))
        await hub.inbox.cancel(ended.id, reason=None, person=OWNER)
        theirs = await AuqAgent(hub, link="link-2", project=ELSEWHERE).submitted(ONE)
        await agent.call("ask_user", {"question": "Which name?", "wait": False})
        sentence, details = await refusal(agent, SESSION[:8])
        assert sentence == UNKNOWN
        known = details.partition("one that is open: ")[2].split(", ")
        assert sorted(known) == sorted(ask.id for ask in ours)
        assert theirs.id not in details


async def test_a_session_of_another_project_or_tool_is_unknown_open_or_answered(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as hub:
        agent = AuqAgent(hub)
        theirs = await AuqAgent(hub, link="link-2", project=ELSEWHERE).submitted(ONE)
        await agent.call("ask_user", {"question": "Which name?", "wait": False})
        (plain,) = [ask for ask in await hub.inbox.open_asks() if ask.tool == "ask_user"]
        await hub.inbox.answer(theirs.id, SQLITE, person=OWNER)
        for ask in (theirs, plain):
            for name in (ask.id, ask.id[:8]):
                assert (await refusal(agent, name))[0] == UNKNOWN


async def test_a_beginning_that_several_sessions_share_is_refused_with_all_of_them(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as hub:
        agent = AuqAgent(hub)
        ask = await agent.submitted(ONE)
        twins = [f"{SESSION[:-1]}{digit}" for digit in "12"]
        for twin in twins:
            await put_beside(hub, ask, twin)
        sentence, details = await refusal(agent, SESSION[:8])
        assert sentence == "Several sessions begin with this session_id"
        assert details.endswith(f"the whole id of one of them: {', '.join(twins)}")
        assert await agent.fetch(twins[0]) == (golden("pending", session=twins[0]), False)


@pytest.mark.parametrize("session", ["%%%%%%%%", "________", "\x00" * 8, "' OR 1=1 --"])
async def test_a_session_that_is_no_id_is_unknown(tmp_path: Path, session: str) -> None:
    async with world(tmp_path) as hub:
        agent = AuqAgent(hub)
        await agent.submitted(ONE)
        assert (await refusal(agent, session))[0] == UNKNOWN
