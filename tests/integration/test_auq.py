"""auq's questions from the call to the text that comes back, answered tap by tap."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from chatbridge.core.asks.reach import Reach
from chatbridge.core.asks.scheduler import CLOCK_CHECK_SECONDS
from chatbridge.core.forms.form import (
    AskExplain,
    Choose,
    Done,
    Edit,
    Explain,
    Other,
    Rephrase,
    Skip,
    Submit,
    Text,
    Toggle,
)
from chatbridge.core.model import Status
from tests.auq_asks import BOTH, ONE, golden
from tests.fakes.auq_agent import HASTY, PATIENT_FOR, AuqAgent, Tap, WatchedClock, tapped
from tests.fakes.core_env import OWNER, world

UNREACHED = Reach(missing=(("web", "no page was open"),))


def pick(option: int) -> Tap:
    return lambda step: Choose(step=step, option=option)


def tick(option: int) -> Tap:
    return lambda step: Toggle(step=step, option=option, on=True)


def edit(question: int) -> Tap:
    return lambda step: Edit(step=step, question=question)


def typed(text: str) -> Tap:
    return lambda step: Text(step=step, text=text)


def done(step: int) -> Done:
    return Done(step=step)


def skip(step: int) -> Skip:
    return Skip(step=step)


def other(step: int) -> Other:
    return Other(step=step)


def ask_explain(step: int) -> AskExplain:
    return AskExplain(step=step)


def explain(step: int) -> Explain:
    return Explain(step=step)


def rephrase(step: int) -> Rephrase:
    return Rephrase(step=step)


def send(step: int) -> Submit:
    return Submit(step=step)


FORMS: dict[str, list[Tap]] = {
    "answered": [pick(0), tick(1), tick(0), done, send],
    "other": [
        other, typed("Kim's \"old\" one"), tick(2), other, typed("the linter's"), done, send,
    ],
    "nothing_chosen": [skip, done, send],
    "elaborate": [ask_explain, explain, tick(0), done, send],
    "elaborate_guided": [
        pick(1), ask_explain, typed('What does "load" mean here?'), send,
    ],
    "rephrase": [pick(1), ask_explain, rephrase, send],
}  # fmt: skip


@pytest.mark.parametrize(("name", "taps"), FORMS.items(), ids=list(FORMS))
async def test_what_a_person_taps_comes_back_in_the_contracts_words(
    tmp_path: Path, name: str, taps: list[Tap]
) -> None:
    async with world(tmp_path) as hub:
        call, ask = await AuqAgent(hub).asking(BOTH)
        await tapped(hub, ask, *taps)
        assert await call == (golden(name, session=ask.id), False)


async def test_asking_back_about_the_only_question_sends_it_at_once(tmp_path: Path) -> None:
    async with world(tmp_path) as hub:
        call, ask = await AuqAgent(hub).asking(ONE)
        await tapped(hub, ask, ask_explain, rephrase)
        text, is_error = await call
        assert not is_error
        assert "[REPHRASE_REQUEST] Please rephrase question 'Database'" in text
        assert (await hub.now(ask)).status is Status.ANSWERED


async def test_who_asked_back_and_then_chooses_has_chosen(tmp_path: Path) -> None:
    async with world(tmp_path) as hub:
        call, ask = await AuqAgent(hub).asking(BOTH)
        back: list[Tap] = [ask_explain, rephrase, tick(0), tick(1), done, edit(0), pick(0), send]
        await tapped(hub, ask, *back)
        assert await call == (golden("answered", session=ask.id), False)


async def test_the_card_has_the_only_questions_title_and_a_set_has_none(tmp_path: Path) -> None:
    async with world(tmp_path) as hub:
        agent = AuqAgent(hub)
        assert (await agent.submitted(ONE)).title == "Database"
        assert (await agent.submitted(BOTH)).title is None


@pytest.mark.parametrize(
    ("reason", "name"), [(None, "rejected"), ('Ask "Kim" first.', "rejected_reason")]
)
async def test_a_rejection_comes_back_with_its_reason_and_is_no_error(
    tmp_path: Path, reason: str | None, name: str
) -> None:
    async with world(tmp_path) as hub:
        agent = AuqAgent(hub)
        call, ask = await agent.asking(BOTH)
        await hub.inbox.cancel(ask.id, reason=reason, person=OWNER)
        assert await call == (golden(name, session=ask.id), False)
        assert await agent.wait(ask) == (golden(name, session=ask.id), False)
        for blocking in (True, False):
            fetched = await agent.fetch(ask.id, blocking=blocking)
            assert fetched == (golden(f"fetched_{name}", session=ask.id), False)


async def test_the_end_of_a_session_is_logged_with_its_id_and_the_calls(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with world(tmp_path) as hub:
        call, ask = await AuqAgent(hub).asking(ONE)
        await tapped(hub, ask, pick(1))
        await call
        logged = f"Session completed successfully session={ask.id} call=call-1"
        assert logged in caplog.messages


async def test_without_a_setting_there_is_no_deadline(tmp_path: Path) -> None:
    async with world(tmp_path) as hub:
        call, ask = await AuqAgent(hub).asking(ONE)
        assert ask.deadline is None
        hub.clock.advance(8 * 3600)
        await tapped(hub, ask, pick(1))
        assert await call == (golden("answered_one", session=ask.id), False)


@pytest.mark.parametrize(
    ("reach", "name"), [(None, "timed_out"), (UNREACHED, "timed_out_unreached")]
)
async def test_at_the_deadline_comes_an_error_that_says_so(
    tmp_path: Path, reach: Reach | None, name: str
) -> None:
    clock = WatchedClock()
    async with world(tmp_path, clock) as hub:
        agent = AuqAgent(hub, timeout=60.0, reach=reach)
        call, ask = await agent.asking(BOTH)
        await clock.asleep(CLOCK_CHECK_SECONDS)
        clock.advance(60.0)
        assert await call == (golden(name, session=ask.id), True)
        assert (await hub.now(ask)).status is Status.TIMED_OUT
        assert await agent.fetch(ask.id) == (golden(name, session=ask.id), True)


async def test_before_the_clients_limit_comes_the_text_of_a_call_that_does_not_wait(
    tmp_path: Path,
) -> None:
    clock = WatchedClock()
    async with world(tmp_path, clock) as hub:
        agent = AuqAgent(hub, client=HASTY)
        call, ask = await agent.asking(BOTH)
        await clock.asleep(PATIENT_FOR)
        clock.advance(PATIENT_FOR)
        assert await call == (golden("submitted", session=ask.id), False)
        hub.clock.advance(3600.0)
        await tapped(hub, ask, *FORMS["answered"])
        answered = (golden("answered", session=ask.id), False)
        assert await agent.fetch(ask.id[:8]) == answered
        assert (await hub.now(ask)).delivered_at is not None


async def test_who_has_gone_on_without_the_answers_still_counts_as_a_caller(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as hub:
        agent = AuqAgent(hub)
        ask = await agent.submitted(BOTH)
        await agent.fetch(ask.id)
        assert (await hub.now(ask)).orphaned_since is None
        await agent.gone()
        assert (await hub.now(ask)).orphaned_since is not None


async def test_a_call_that_does_not_wait_returns_at_once_and_tells_how_to_fetch(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as hub:
        agent = AuqAgent(hub)
        text, is_error = await agent.ask({**BOTH, "nonBlocking": True})
        (ask,) = await hub.inbox.open_asks()
        assert (text, is_error) == (golden("submitted", session=ask.id), False)


async def test_the_same_set_again_on_one_link_is_the_same_session(tmp_path: Path) -> None:
    async with world(tmp_path) as hub:
        agent = AuqAgent(hub)
        first = await agent.ask({**BOTH, "nonBlocking": True})
        assert await agent.ask({**BOTH, "nonBlocking": True}) == first
        assert len(await hub.inbox.open_asks()) == 1


async def test_the_same_set_after_the_agent_was_killed_is_one_card(tmp_path: Path) -> None:
    async with world(tmp_path) as hub:
        killed = AuqAgent(hub)
        cut_off, ask = await killed.asking(BOTH)
        cut_off.cancel()
        await killed.gone()
        call = asyncio.create_task(AuqAgent(hub, link="link-2").ask(BOTH))
        await hub.until(lambda changed: changed.open and changed.orphaned_since is None)
        assert [found.id for found in await hub.inbox.open_asks()] == [ask.id]
        await tapped(hub, ask, *FORMS["answered"])
        assert await call == (golden("answered", session=ask.id), False)


async def test_an_answer_that_came_after_the_agent_had_gone_is_given_to_the_next_and_says_so(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as hub:
        killed = AuqAgent(hub)
        cut_off, ask = await killed.asking(ONE)
        cut_off.cancel()
        await killed.gone()
        await tapped(hub, ask, pick(1))
        late = await AuqAgent(hub, link="link-2").ask(ONE)
        assert late == (golden("late", session=ask.id), False)


async def test_a_kept_answer_is_given_also_to_a_call_that_does_not_wait(tmp_path: Path) -> None:
    async with world(tmp_path) as hub:
        killed = AuqAgent(hub)
        ask = await killed.submitted(ONE)
        await killed.gone()
        await tapped(hub, ask, pick(1))
        late = await AuqAgent(hub, link="link-2").ask({**ONE, "nonBlocking": True})
        assert late == (golden("late", session=ask.id), False)
