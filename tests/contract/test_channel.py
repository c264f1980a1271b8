"""What every channel promises, whatever service is behind it.

A channel joins with a driver: a person, and a stranger, at the other end of its (fake) service.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from chatbridge.core.forms import form
from chatbridge.core.model import Answer, Ask, Option, Person, Status
from tests.contract.drivers import CHANNELS, DRIVERS, Driver
from tests.fakes.inbox import CONFIRM, MULTI, SELECT, TEXT

pytestmark = pytest.mark.asyncio(loop_scope="module")

ELSEWHERE = Person(name="Ada", channel="elsewhere")


@pytest_asyncio.fixture(loop_scope="module", params=CHANNELS)
async def fresh(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Driver]:
    """A channel of the test's own."""
    async with DRIVERS[request.param](tmp_path, request) as driver:
        yield driver


def choose(ask: Ask, option: int) -> form.Choose:
    return form.Choose(step=ask.draft.step, option=option)


async def now(driver: Driver, ask: Ask) -> Ask:
    return await driver.desk.inbox.ask(ask.id)


# ── showing ───────────────────────────────────────────────────────────────────────────────────────


async def test_a_new_ask_shows_who_asks_what_and_every_option(driver: Driver) -> None:
    ask = await driver.desk.ask(SELECT)
    shown = await driver.shown(ask)
    for part in ("shop-api", "Claude Code", SELECT.text, "PostgreSQL in Docker", "SQLite"):
        assert part in shown


async def test_the_next_step_replaces_the_one_before(driver: Driver) -> None:
    ask = await driver.desk.ask(CONFIRM, TEXT)
    await driver.tap(ask, choose(ask, 0))
    shown = await driver.shown(await now(driver, ask))
    assert TEXT.text in shown


async def test_an_answer_from_elsewhere_retires_the_card(driver: Driver) -> None:
    ask = await driver.desk.ask(SELECT)
    assert "Answered" not in await driver.shown(ask)
    answered = await driver.desk.inbox.answer(
        ask.id, (Answer(values=("SQLite",)),), person=ELSEWHERE
    )
    shown = await driver.shown(answered)
    assert "SQLite" in shown
    assert "PostgreSQL in Docker" not in shown


async def test_a_timed_out_ask_says_so_and_offers_to_answer_anyway(driver: Driver) -> None:
    ask = await driver.desk.time_out(await driver.desk.ask(CONFIRM, timeout=60))
    shown = await driver.shown(ask)
    assert "not answered in time" in shown.lower()
    assert "Answer anyway" in shown


async def test_showing_again_brings_the_same_place_up_to_date(driver: Driver) -> None:
    ask = await driver.desk.ask(SELECT)
    (surface,) = driver.channel.surfaces
    await driver.shown(ask)
    first = await surface.show(ask, place=None)
    cancelled = await driver.desk.inbox.cancel(ask.id, reason="no", person=ELSEWHERE)
    await driver.shown(cancelled)
    again = await surface.show(cancelled, place=first.place)
    assert set(again.handles) <= set(first.handles)
    assert "Cancelled" in await driver.shown(cancelled)


async def test_an_agents_tricks_are_visible(driver: Driver) -> None:
    question = replace(SELECT, text="Safe \u202etxet", options=(Option(label="a\u200bb"),))
    shown = await driver.shown(await driver.desk.ask(question))
    assert "⟨U+202E⟩" in shown
    assert "⟨U+200B⟩" in shown
    assert "\u202e" not in shown


# ── putting in ────────────────────────────────────────────────────────────────────────────────────


async def test_one_tap_answers_a_single_select(driver: Driver) -> None:
    ask = await driver.desk.ask(SELECT)
    await driver.tap(ask, choose(ask, 1))
    answered = await now(driver, ask)
    assert answered.outcome
    assert answered.outcome.answers == (Answer(values=("SQLite",)),)
    assert answered.outcome.by
    assert answered.outcome.by.channel == driver.channel.name


async def test_a_text_answers_a_text_question(driver: Driver) -> None:
    ask = await driver.desk.ask(TEXT)
    await driver.type(ask, "feat: größer\nund mehr")
    answered = await now(driver, ask)
    assert answered.outcome
    assert answered.outcome.answers == (Answer(values=("feat: größer\nund mehr",)),)


async def test_quick_toggles_of_one_card_all_count(driver: Driver) -> None:
    ask = await driver.desk.ask(MULTI)
    for option in (2, 0, 1):
        await driver.tap(ask, form.Toggle(step=0, option=option, on=True))
    await driver.tap(ask, form.Toggle(step=0, option=1, on=False))
    await driver.tap(ask, form.Done(step=0))
    answered = await now(driver, ask)
    assert answered.outcome
    assert answered.outcome.answers[0].values == ("Unit tests", "Load test")


async def test_nothing_picked_is_said_kindly(driver: Driver) -> None:
    ask = await driver.desk.ask(MULTI)
    assert await driver.tap(ask, form.Done(step=0)) == form.NONE_PICKED.why
    assert (await now(driver, ask)).open


async def test_a_tap_of_an_older_step_changes_nothing_and_says_so(driver: Driver) -> None:
    ask = await driver.desk.ask(CONFIRM, SELECT)
    await driver.tap(ask, choose(ask, 0))
    before = await now(driver, ask)
    assert await driver.tap(ask, choose(ask, 1)) == form.STALE.why
    assert await now(driver, ask) == before


async def test_a_tap_after_the_end_changes_nothing_and_says_how_it_ended(driver: Driver) -> None:
    ask = await driver.desk.ask(CONFIRM)
    await driver.tap(ask, choose(ask, 0))
    before = await now(driver, ask)
    told = await driver.tap(ask, choose(ask, 1))
    assert re.fullmatch(r"Already answered at \d\d:\d\d\.", told)
    assert await now(driver, ask) == before


async def test_a_tap_answers_the_ask_it_was_drawn_for_and_no_other(driver: Driver) -> None:
    first = await driver.desk.ask(CONFIRM)
    second = await driver.desk.ask(SELECT)
    await driver.tap(second, choose(second, 0))
    assert (await now(driver, first)).open
    assert not (await now(driver, second)).open


async def test_more_time_can_be_had(driver: Driver) -> None:
    ask = await driver.desk.ask(CONFIRM, timeout=60)
    await driver.tap(ask, form.Extend(step=0, minutes=15))
    later = (await now(driver, ask)).deadline
    assert ask.deadline
    assert later
    assert later > ask.deadline


async def test_a_cancellation_is_one(driver: Driver) -> None:
    ask = await driver.desk.ask(CONFIRM)
    await driver.tap(ask, form.AskCancel(step=0))
    await driver.tap(ask, form.Cancel(step=1))
    assert (await now(driver, ask)).status is Status.CANCELLED


# ── strangers, and the end ────────────────────────────────────────────────────────────────────────


async def test_a_stranger_causes_nothing_and_learns_nothing(driver: Driver) -> None:
    for question in (CONFIRM, TEXT):
        ask = await driver.desk.ask(question, title="Release plan")
        learnt = await driver.intrude(ask, choose(ask, 0), "yes")
        for secret in (question.text, "Release plan", "shop-api"):
            assert secret not in learnt
        assert await now(driver, ask) == ask


async def test_a_channel_ends_within_a_second_of_being_told(fresh: Driver) -> None:
    await fresh.desk.ask(CONFIRM)
    await fresh.desk.end_deliveries()
    fresh.running.cancel()
    for _ in range(100):  # a loaded machine's hundredths of a second are longer, and count as one
        await asyncio.wait({fresh.running}, timeout=0.01)
    assert fresh.running.done()
