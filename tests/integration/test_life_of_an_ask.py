"""An ask from its opening to its end: who settles it, and that it settles once."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from chatbridge.core.errors import AskEnded, ChatbridgeError, TooManyOpenAsks, UnknownAsk
from chatbridge.core.forms import form
from chatbridge.core.model import (
    Answer,
    Attachment,
    ChannelState,
    Option,
    Question,
    QuestionType,
    Status,
)
from tests.fakes.core_env import BLUE, COLOUR, OWNER, name, request, world
from tests.fakes.databases import Database
from tests.fakes.inbox import more_time


async def test_an_answer_reaches_the_call_that_waits_for_it(tmp_path: Path) -> None:
    async with world(tmp_path) as hub:
        ask = await hub.ask()
        waiting = asyncio.ensure_future(hub.ended(ask))
        await hub.inbox.answer(ask.id, BLUE, person=OWNER)
        ended = await waiting
        assert ended.status is Status.ANSWERED
        assert ended.outcome
        assert ended.outcome.answers == BLUE


async def test_of_many_answers_at_once_exactly_one_counts(database: Database) -> None:
    async with world(database) as hub:
        ask = await hub.ask()
        answers = [(Answer(values=("red" if i % 2 else "blue",)),) for i in range(40)]
        results = await asyncio.gather(
            *(hub.inbox.answer(ask.id, given, person=OWNER) for given in answers),
            hub.inbox.cancel(ask.id, reason=None, person=OWNER),
            return_exceptions=True,
        )
        taken = [r for r in results if not isinstance(r, BaseException)]
        assert len(taken) == 1
        assert all(isinstance(r, AskEnded) for r in results if isinstance(r, BaseException))
        assert (await hub.now(ask)).outcome == taken[0].outcome


async def test_a_repeated_call_finds_the_ask_it_made(database: Database) -> None:
    async with world(database) as hub:
        first = await hub.ask()
        again = await hub.ask()
        assert again.id == first.id
        assert len(await hub.inbox.open_asks()) == 1


async def test_what_was_hidden_is_stored_as_it_is_shown_and_a_label_comes_back_as_it_was(
    tmp_path: Path,
) -> None:
    run = "\u200b" * 500
    label = f"blue{run}"
    colour = Question(
        id="c",
        text=f"Which{run}?",
        type=QuestionType.SELECT,
        options=(Option(label="red"), Option(label=label, description=run)),
    )
    async with world(tmp_path) as hub:
        ask = await hub.ask(colour)
        assert (await hub.ask(colour)).id == ask.id
        (stored,) = (await hub.now(ask)).questions
        assert stored.text == "Which⟨U+200B ×500⟩?"
        assert stored.options[1].description == "⟨U+200B ×500⟩"
        await hub.inbox.put(ask.id, form.Choose(step=0, option=1), person=OWNER)
        outcome = (await hub.now(ask)).outcome
        assert outcome
        assert outcome.answers == (Answer(values=(label,)),)


async def test_a_request_id_used_again_with_other_words_is_a_new_ask(tmp_path: Path) -> None:
    async with world(tmp_path) as hub:
        first = await hub.ask()
        other = await hub.ask(Question(id="q", text="Another question?"))
        assert other.id != first.id


async def test_a_request_id_used_again_after_delivery_is_a_new_ask(database: Database) -> None:
    async with world(database) as hub:
        first = await hub.ask()
        await hub.inbox.answer(first.id, BLUE, person=OWNER)
        await hub.broker.waiting_calls.delivered(name())
        assert (await hub.ask()).id != first.id


async def test_two_live_callers_with_the_same_words_get_two_asks(database: Database) -> None:
    async with world(database) as hub:
        assert (await hub.ask(link="a")).id != (await hub.ask(link="b")).id


async def test_an_agent_that_floods_is_told_which_asks_are_open(database: Database) -> None:
    async with world(database, max_open_asks=3) as hub:
        asks = [await hub.ask(Question(id="q", text=f"No {i}?"), number=i) for i in range(3)]
        with pytest.raises(TooManyOpenAsks) as refused:
            await hub.ask(number=9)
        assert all(ask.id in str(refused.value) for ask in asks)
        assert len(await hub.inbox.open_asks()) == 3


async def test_an_ask_of_another_project_cannot_be_followed(tmp_path: Path) -> None:
    async with world(tmp_path) as hub:
        ask = await hub.ask()
        with pytest.raises(UnknownAsk, match="None is open"):
            await hub.broker.follow(ask.id, name("b"), project="/src/other")
        with pytest.raises(UnknownAsk, match=ask.id):
            await hub.broker.follow("nonsense", name("b"), project="/src/shop")


async def test_the_deadline_ends_an_ask_without_an_answer(tmp_path: Path) -> None:
    async with world(tmp_path) as hub:
        ask = await hub.ask(timeout=60.0)
        hub.clock.advance(61)
        ended = await hub.ended(ask)
        assert ended.status is Status.TIMED_OUT
        assert ended.outcome
        assert ended.outcome.answers == ()


async def test_more_time_moves_the_deadline_up_to_the_latest_one_allowed(tmp_path: Path) -> None:
    async with world(tmp_path, max_timeout=1000.0) as hub:
        ask = await hub.ask(timeout=60.0)
        later = await more_time(hub.inbox, ask.id, person=OWNER)
        assert later.deadline == ask.created_at + 960
        latest = await more_time(hub.inbox, ask.id, person=OWNER)
        assert latest.deadline == ask.created_at + 1000
        assert (await more_time(hub.inbox, ask.id, person=OWNER)).revision == latest.revision
        hub.clock.advance(61)
        assert (await hub.now(ask)).open


async def test_a_time_out_is_never_an_answer_unless_the_owner_allows_declared_defaults(
    tmp_path: Path,
) -> None:
    declared = Question(
        id="colour",
        text="Which colour?",
        type=QuestionType.SELECT,
        options=COLOUR.options,
        on_timeout=Answer(values=("red",)),
    )
    async with world(tmp_path) as hub:
        ask = await hub.ask(declared, timeout=60.0)
        hub.clock.advance(61)
        ended = await hub.ended(ask)
        assert ended.outcome
        assert ended.outcome.answers == ()
    async with world(tmp_path, declared_defaults=True) as hub:
        ask = await hub.ask(declared, timeout=60.0, link="x")
        hub.clock.advance(61)
        ended = await hub.ended(ask)
        assert ended.status is Status.TIMED_OUT
        assert ended.outcome
        assert ended.outcome.answers == (Answer(values=("red",), decided_by="timeout"),)


async def test_a_half_filled_form_is_no_answer_at_the_deadline(tmp_path: Path) -> None:
    second = Question(id="why", text="Why?")
    async with world(tmp_path, declared_defaults=True) as hub:
        ask = await hub.ask(COLOUR, second, timeout=60.0)
        await hub.inbox.put(ask.id, form.Choose(step=0, option=1), person=OWNER)
        hub.clock.advance(61)
        ended = await hub.ended(ask)
        assert ended.outcome
        assert ended.outcome.answers == ()


async def test_a_draft_survives_a_restart(database: Database) -> None:
    second = Question(id="why", text="Why?")
    async with world(database) as hub:
        ask = await hub.ask(COLOUR, second)
        await hub.inbox.put(ask.id, form.Choose(step=0, option=1), person=OWNER)
    async with world(database, hub.clock) as after:
        await after.inbox.put(ask.id, form.Text(text="It is the sea"), person=OWNER)
        draft = (await after.now(ask)).draft
        await after.inbox.put(ask.id, form.Submit(step=draft.step), person=OWNER)
        outcome = (await after.now(ask)).outcome
        assert outcome
        assert [a.values for a in outcome.answers] == [("blue",), ("It is the sea",)]


async def test_a_stale_tap_changes_nothing_and_says_so(tmp_path: Path) -> None:
    async with world(tmp_path) as hub:
        ask = await hub.ask(COLOUR, Question(id="why", text="Why?"))
        tap = form.Choose(step=0, option=1)
        assert isinstance(await hub.inbox.put(ask.id, tap, person=OWNER), form.Moved)
        before = await hub.now(ask)
        assert await hub.inbox.put(ask.id, tap, person=OWNER) == form.STALE
        assert await hub.now(ask) == before


async def test_a_cursor_moves_even_if_the_ask_takes_nothing_more(database: Database) -> None:
    async with world(database) as hub:
        ask = await hub.ask()
        await hub.inbox.cancel(ask.id, reason="no", person=OWNER)
        cursor = ChannelState(channel="chat", key="bot", value="7", at=hub.clock.time())
        tap = form.Choose(step=0, option=1)
        with pytest.raises(AskEnded):
            await hub.inbox.put(ask.id, tap, person=OWNER, cursor=cursor)
        moved = ChannelState(channel="chat", key="bot", value="8", at=hub.clock.time())
        with pytest.raises(UnknownAsk):
            await hub.inbox.put("unknown", tap, person=OWNER, cursor=moved)
        assert await hub.store.note(channel="chat", key="bot") == moved


async def test_sweeping_forgets_what_ended_long_ago_and_nothing_else(database: Database) -> None:
    async with world(database, retention=1000.0, late_answer_ttl=100.0) as hub:
        old = await hub.ask(number=1)
        await hub.inbox.answer(old.id, BLUE, person=OWNER)
        still_open = await hub.ask(Question(id="q", text="Open?"), number=2, timeout=1800.0)
        hub.clock.advance(1001)
        recent = await hub.ask(Question(id="q", text="Recent?"), number=3)
        await hub.inbox.cancel(recent.id, reason=None, person=OWNER)
        assert await hub.broker.sweep() == 1
        with pytest.raises(UnknownAsk):
            await hub.now(old)
        assert (await hub.now(still_open)).open
        assert not (await hub.now(recent)).open


async def test_an_answer_that_is_still_kept_is_not_swept(database: Database) -> None:
    async with world(database, retention=1.0) as hub:
        ask = await hub.ask(link="a")
        await hub.broker.waiting_calls.link_closed("a")
        await hub.inbox.answer(ask.id, BLUE, person=OWNER)
        hub.clock.advance(60)
        assert await hub.broker.sweep() == 0
        assert (await hub.ask(link="b")).id == ask.id


async def test_a_failing_sweep_is_a_warning_and_hurts_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with world(tmp_path) as hub:
        ask = await hub.ask()
    assert await hub.broker.sweep() == 0  # its store is closed
    assert "sweep failed" in caplog.text
    async with world(tmp_path) as after:
        assert (await after.now(ask)).open


async def test_every_refused_ask_is_an_error_of_ours(tmp_path: Path) -> None:
    async with world(tmp_path) as hub:
        for attempt in (
            hub.inbox.ask("x"),
            more_time(hub.inbox, "x", person=OWNER),
            hub.inbox.discard("x", person=OWNER),
            hub.inbox.cancel("x", reason=None, person=OWNER),
            hub.inbox.answer("x", BLUE, person=OWNER),
            hub.broker.ended("x"),
        ):
            with pytest.raises(ChatbridgeError, match="no question with the id"):
                await attempt


async def test_the_same_words_in_another_project_are_another_ask() -> None:
    assert request().fingerprint != request(project="/src/other").fingerprint
    assert request().fingerprint == request(timeout=10.0).fingerprint


def test_the_same_picture_at_another_place_is_another_ask() -> None:
    """Who sees it beside another option answers another question."""
    picture = Attachment(digest="a" * 64, name="a.png", type="image/png", size=9)
    shown = replace(COLOUR.options[0], image=picture)
    first = replace(COLOUR, options=(shown, *COLOUR.options[1:]))
    shown = replace(COLOUR.options[1], image=picture)
    second = replace(COLOUR, options=(COLOUR.options[0], shown, *COLOUR.options[2:]))
    beside = replace(request(), attachments=(picture,), fingerprint="")
    asks = (request(), request(first), request(second), beside)
    assert len({each.fingerprint for each in asks}) == len(asks)
