"""An answer that can be undone: it goes out when its time has come, whatever happens meanwhile."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from chatbridge.core.errors import AskEnded
from chatbridge.core.forms import form
from chatbridge.core.model import (
    ALLOW,
    DENY,
    Answer,
    Ask,
    Question,
    QuestionType,
    Status,
    Subject,
    View,
)
from chatbridge.core.policy import Policy
from tests.fakes.core_env import COLOUR, OWNER, World, name, world
from tests.fakes.inbox import ANYWHERE, COMMAND, SELECT, TEXT
from tests.fakes.telegram_desk import read, running_telegram
from tests.fakes.web import MARK, running_web

SURE = Question(id="sure", text="Sure?", type=QuestionType.CONFIRM)
DROP = replace(COMMAND, subject=replace(COMMAND.subject or Subject(code="x"), destructive=True))
BLUE = Answer(values=("blue",))
PATIENT = Policy(undo=5.0, approval_channels=ANYWHERE)


async def choose(hub: World, ask: Ask, option: int = 1) -> form.Step:
    step = (await hub.now(ask)).draft.step
    return await hub.inbox.put(ask.id, form.Choose(step=step, option=option), person=OWNER)


async def undo(hub: World, ask: Ask) -> form.Step:
    step = (await hub.now(ask)).draft.step
    return await hub.inbox.put(ask.id, form.Undo(step=step), person=OWNER)


async def test_an_answer_goes_out_after_its_time_and_not_before(tmp_path: Path) -> None:
    async with world(tmp_path, undo=5.0) as hub:
        ask = await hub.ask()
        waiting = asyncio.ensure_future(hub.ended(ask))
        assert isinstance(await choose(hub, ask), form.Moved)
        held = await hub.now(ask)
        assert (held.open, held.draft.view) == (True, View.SENDING)
        assert held.draft.send_at == hub.clock.time() + 5
        hub.clock.advance(4.9)
        await asyncio.sleep(0)
        assert not waiting.done()
        hub.clock.advance(0.2)
        ended = await waiting
        assert ended.status is Status.ANSWERED
        assert ended.outcome
        assert (ended.outcome.answers, ended.outcome.by) == ((BLUE,), OWNER)


async def test_undo_leads_back_to_the_form_with_what_was_filled_in(tmp_path: Path) -> None:
    async with world(tmp_path, undo=5.0) as hub:
        ask = await hub.ask(COLOUR)
        await choose(hub, ask)
        await undo(hub, ask)
        back = await hub.now(ask)
        assert (back.draft.view, back.draft.send_at) == (View.QUESTION, None)
        assert back.draft.entries[0].picked == (1,)
        hub.clock.advance(60)
        assert (await hub.now(ask)).open
        await choose(hub, ask, 0)
        hub.clock.advance(6)
        ended = await hub.ended(ask)
        assert ended.outcome
        assert ended.outcome.answers == (Answer(values=("red",)),)


async def test_a_form_goes_back_to_its_review(tmp_path: Path) -> None:
    async with world(tmp_path, undo=5.0) as hub:
        ask = await hub.ask(COLOUR, SURE)
        await choose(hub, ask)
        await choose(hub, ask)
        step = (await hub.now(ask)).draft.step
        await hub.inbox.put(ask.id, form.Submit(step=step), person=OWNER)
        assert (await hub.now(ask)).draft.view is View.SENDING
        await undo(hub, ask)
        assert (await hub.now(ask)).draft.view is View.REVIEW


async def test_nothing_else_changes_what_is_about_to_be_sent(tmp_path: Path) -> None:
    async with world(tmp_path, undo=5.0) as hub:
        ask = await hub.ask()
        await choose(hub, ask)
        held = await hub.now(ask)
        step = held.draft.step
        for event in (
            form.Choose(step=step, option=0),
            form.Text(text="other", step=None),
            form.AskCancel(step=step),
            form.Cancel(step=step),
            form.Back(step=step),
            form.AnswerAnyway(step=step),
        ):
            assert await hub.inbox.put(ask.id, event, person=OWNER) == form.ABOUT_TO_BE_SENT
        assert await hub.inbox.put(ask.id, form.Undo(step=0), person=OWNER) == form.STALE
        assert await hub.now(ask) == held


async def test_a_hub_that_is_killed_meanwhile_loses_nothing(tmp_path: Path) -> None:
    async with world(tmp_path, undo=5.0) as hub:
        ask = await hub.ask(timeout=1800.0)
        await choose(hub, ask)
    async with world(tmp_path, hub.clock, undo=5.0) as early:
        assert (await early.now(ask)).open
    hub.clock.advance(60)
    async with world(tmp_path, hub.clock) as after:
        ended = await after.ended(ask)
        assert ended.outcome
        assert ended.outcome.answers == (BLUE,)


@pytest.mark.parametrize("timeout", [1800.0, 7200.0])
async def test_an_approval_that_no_hub_could_send_for_long_is_not_given(
    tmp_path: Path, timeout: float
) -> None:
    async with world(tmp_path, undo=5.0) as hub:
        ask = await hub.ask(COMMAND, timeout=timeout)
        await choose(hub, ask, ALLOW)
    hub.clock.advance(3600)
    async with world(tmp_path, hub.clock, undo=5.0) as after:
        if timeout < 3600:
            assert (await after.ended(ask)).status is Status.TIMED_OUT
        else:
            back = await after.until(lambda each: each.draft.view is View.QUESTION)
            assert (back.open, back.draft.send_at) == (True, None)
            await choose(after, ask, DENY)
            after.clock.advance(6)
            ended = await after.ended(ask)
            assert ended.outcome
            assert ended.outcome.answers == (Answer(values=("deny",)),)


async def test_an_answer_that_was_sent_late_is_as_old_as_it_is(tmp_path: Path) -> None:
    async with world(tmp_path, undo=5.0) as hub:
        ask = await hub.ask(COMMAND, timeout=7200.0)
        await choose(hub, ask, ALLOW)
        due = hub.clock.time() + 5.0
    hub.clock.advance(300)
    async with world(tmp_path, hub.clock, undo=5.0) as after:
        ended = await after.ended(ask)
        assert ended.outcome
        assert ended.outcome.answers == (Answer(values=("allow",)),)
        assert (ended.outcome.at, ended.settled_at) == (due, due)


async def test_an_undo_that_waits_in_the_backlog_counts_after_a_restart(tmp_path: Path) -> None:
    async with world(tmp_path, undo=5.0) as hub:
        ask = await hub.ask(timeout=600.0)
        await choose(hub, ask)
    hub.clock.advance(60)

    async def drained(after: World) -> None:
        await undo(after, ask)

    async with world(tmp_path, hub.clock, drained=drained, undo=5.0) as after:
        await after.until(lambda each: each.draft.view is View.QUESTION)
        after.clock.advance(1)
        assert (await after.now(ask)).open


async def test_a_deadline_that_passes_meanwhile_sends_it(tmp_path: Path) -> None:
    async with world(tmp_path, undo=60.0) as hub:
        ask = await hub.ask(timeout=30.0)
        await choose(hub, ask)
        assert (await hub.now(ask)).draft.send_at == ask.deadline
        hub.clock.advance(30.0)
        ended = await hub.ended(ask)
        assert ended.status is Status.ANSWERED


async def test_a_clients_limit_sends_it_too(tmp_path: Path) -> None:
    async with world(tmp_path, undo=60.0) as hub:
        ask = await hub.ask(COMMAND)
        await choose(hub, ask, ALLOW)
        ended = await hub.broker.time_out(ask.id)
        assert ended.outcome
        assert ended.outcome.answers == (Answer(values=("allow",)),)


async def test_what_was_undone_is_not_used_at_the_deadline(tmp_path: Path) -> None:
    declared = replace(COLOUR, on_timeout=Answer(values=("red",)))
    async with world(tmp_path, undo=5.0, declared_defaults=True) as hub:
        ask = await hub.ask(declared, timeout=30.0)
        await choose(hub, ask)
        await undo(hub, ask)
        hub.clock.advance(31)
        ended = await hub.ended(ask)
        assert ended.outcome
        assert ended.outcome.answers == (Answer(values=("red",), decided_by="timeout"),)


async def test_an_undo_after_it_was_sent_is_too_late(tmp_path: Path) -> None:
    async with world(tmp_path, undo=5.0) as hub:
        ask = await hub.ask()
        await choose(hub, ask)
        step = (await hub.now(ask)).draft.step
        hub.clock.advance(6)
        await hub.ended(ask)
        with pytest.raises(AskEnded):
            await hub.inbox.put(ask.id, form.Undo(step=step), person=OWNER)


async def test_an_answer_for_which_nobody_waits_any_more_is_kept(tmp_path: Path) -> None:
    async with world(tmp_path, undo=5.0) as hub:
        ask = await hub.ask()
        await choose(hub, ask)
        await hub.broker.waiting_calls.cancel(name())
        assert (await hub.now(ask)).open
        hub.clock.advance(6)
        ended = await hub.until(lambda each: not each.open)
        assert (ended.status, ended.kept) == (Status.ANSWERED, True)


async def test_a_call_that_takes_its_question_back_withdraws_it_as_any_open_one(
    tmp_path: Path,
) -> None:
    async with world(tmp_path, undo=5.0, withdraw_on_cancel=True) as hub:
        ask = await hub.ask()
        await choose(hub, ask)
        await hub.broker.waiting_calls.cancel(name())
        hub.clock.advance(6)
        assert (await hub.ended(ask)).status is Status.WITHDRAWN


@pytest.mark.parametrize(
    ("question", "option", "held"),
    [(SURE, 0, True), (COLOUR, 0, False), (COMMAND, ALLOW, False)],
    ids=["yes or no", "select", "approval"],
)
async def test_it_can_be_for_a_yes_or_no_alone(
    tmp_path: Path, question: Question, option: int, held: bool
) -> None:
    async with world(tmp_path, undo_confirms=5.0) as hub:
        ask = await hub.ask(question)
        await choose(hub, ask, option)
        assert (await hub.now(ask)).open is held


async def test_allowing_something_destructive_can_be_undone_and_denying_it_need_not(
    tmp_path: Path,
) -> None:
    async with world(tmp_path, undo_confirms=5.0) as hub:
        ask, denied = await hub.ask(DROP), await hub.ask(DROP, number=2)
        await choose(hub, ask, ALLOW)
        await choose(hub, ask, ALLOW)
        assert (await hub.now(ask)).draft.view is View.SENDING
        await undo(hub, ask)
        assert (await hub.now(ask)).draft.view is View.QUESTION
        await choose(hub, denied, DENY)
        assert not (await hub.now(denied)).open


# ── as a person sees it ───────────────────────────────────────────────────────────────────────────


async def test_in_telegram_the_card_says_when_it_is_sent_and_has_undo(tmp_path: Path) -> None:
    async with running_telegram(tmp_path, policy=PATIENT) as telegram:
        ask = await telegram.desk.ask(SELECT)
        card = await telegram.step(ask, "2 · SQLite")
        assert card.rows == (("Undo",),)
        assert "SQLite\n\nSending at " in read(card)
        card = await telegram.step(ask, "Undo")
        assert "Sending at" not in card.text
        card = await telegram.step(ask, "2 · SQLite")
        telegram.clock.advance(6)
        await telegram.until(card, lambda card: "You answered here" in card.text)
        assert await telegram.answers(ask) == (Answer(values=("SQLite",)),)


async def test_in_telegram_an_approval_says_what_is_about_to_happen(tmp_path: Path) -> None:
    policy = replace(PATIENT, approval_channels=frozenset({"telegram"}))
    async with running_telegram(tmp_path, policy=policy) as telegram:
        ask = await telegram.desk.ask(COMMAND)
        await telegram.card(ask)
        telegram.clock.advance(2)
        card = await telegram.step(ask, "Allow once")
        assert "Allowed once. Sending at " in card.text
        assert card.rows == (("Undo",),)
        assert (await telegram.now(ask)).open
        await telegram.step(ask, "Undo")
        telegram.clock.advance(2)
        await telegram.step(ask, "Allow more…", "For 1 h")
        telegram.clock.advance(2)
        card = await telegram.step(ask, "Yes")
        assert "Allowed for 1 h. Sending at " in card.text


async def test_on_the_page_it_has_a_button(tmp_path: Path) -> None:
    async with running_web(tmp_path, policy=PATIENT) as web:
        for question in (TEXT, COMMAND):
            ask = await web.desk.ask(question)
            sent = {"do": "text", "step": "0", "text": "it"}
            if question is COMMAND:
                sent = {"do": "choose", "step": "0", "option": str(ALLOW)}
            page = (await web.browser.post(f"/asks/{ask.id}/form", data=sent, headers=MARK)).text
            assert "Sending at " in page
            back = {"do": "undo", "step": "1"}
            page = (await web.browser.post(f"/asks/{ask.id}/form", data=back, headers=MARK)).text
            assert "Sending at " not in page
            assert (await web.desk.inbox.ask(ask.id)).draft.view is View.QUESTION
