"""What every channel promises, whatever service is behind it.

A channel joins with a driver: a person, and a stranger, at the other end of its (fake) service.
"""

from __future__ import annotations

import asyncio
import html
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote

import httpx2
import pytest

from chatbridge.channels.telegram.data import Tap, encode, question_shown
from chatbridge.channels.web.receive import event_fields
from chatbridge.core import form
from chatbridge.core.card import Act
from chatbridge.core.form import Event
from chatbridge.core.model import Answer, Ask, Option, Person, Status
from chatbridge.core.ports import Channel
from tests.fakes.clock import StillClock
from tests.fakes.inbox import CONFIRM, MULTI, SELECT, TEXT, Desk
from tests.fakes.telegram.people import Phone
from tests.fakes.telegram.server import BotApi
from tests.fakes.telegram_desk import Telegram, running_telegram
from tests.fakes.web import MARK, Web, running_web

ELSEWHERE = Person(name="Ada", channel="elsewhere")


class Driver(Protocol):
    """The other end of a channel that runs and is served by delivery."""

    desk: Desk
    running: asyncio.Task[None]

    @property
    def channel(self) -> Channel: ...

    async def shown(self, ask: Ask) -> str:
        """What the person sees of the ask, as plain text, once delivery has caught up."""
        ...

    async def tap(self, ask: Ask, does: Event | Act) -> str:
        """The person taps a button that was drawn with this; what they are told, if anything."""
        ...

    async def type(self, ask: Ask, text: str) -> str:
        """The person writes an answer to this ask; what they are told, if anything."""
        ...

    async def intrude(self, ask: Ask, does: Event | Act, text: str) -> str:
        """Somebody who is not allowed taps the same button and writes; all that they get to see."""
        ...


class WebDriver:
    def __init__(self, web: Web) -> None:
        self.channel, self.desk, self.running = web.channel, web.desk, web.running
        self._web = web

    async def shown(self, ask: Ask) -> str:
        page = (await self._web.browser.get(f"/asks/{ask.id}")).text
        return html.unescape(re.sub(r"<[^>]+>", "", page))

    async def tap(self, ask: Ask, does: Event | Act) -> str:
        return _told(await self._post(self._web.browser, ask, event_fields(does)))

    async def type(self, ask: Ask, text: str) -> str:
        step = (await self.desk.inbox.ask(ask.id)).draft.step
        fields = {"do": "text", "step": str(step), "text": text}
        return _told(await self._post(self._web.browser, ask, fields))

    async def intrude(self, ask: Ask, does: Event | Act, text: str) -> str:
        tapped = await self._post(self._web.stranger, ask, event_fields(does))
        fields = {"do": "text", "step": "0", "text": text}
        typed = await self._post(self._web.stranger, ask, fields)
        return tapped.text + typed.text

    async def _post(
        self, client: httpx2.AsyncClient, ask: Ask, fields: dict[str, str]
    ) -> httpx2.Response:
        return await client.post(f"/asks/{ask.id}/form", data=fields, headers=MARK)


def _told(response: httpx2.Response) -> str:
    return unquote(response.headers.get("x-chatbridge-toast", ""))


@asynccontextmanager
async def drive_web(folder: Path) -> AsyncIterator[Driver]:
    async with running_web(folder) as web:
        yield WebDriver(web)


class TelegramDriver:
    def __init__(self, telegram: Telegram, eve: Phone) -> None:
        self.channel, self.desk, self.running = telegram.channel, telegram.desk, telegram.running
        self._telegram = telegram
        self._eve = eve

    async def shown(self, ask: Ask) -> str:
        card = await self._telegram.card(ask)
        return "\n".join((card.text, *(key.text for key in card.keys)))

    async def tap(self, ask: Ask, does: Event | Act) -> str:
        card = await self._telegram.card(ask)
        tap = self._telegram.phone.press(card, _data(ask, does))
        return await asyncio.to_thread(tap.answered)

    async def type(self, ask: Ask, text: str) -> str:
        phone = self._telegram.phone
        phone.say(text, reply_to=await self._telegram.card(ask))
        await self._telegram.dealt_with()
        return ""

    async def intrude(self, ask: Ask, does: Event | Act, text: str) -> str:
        """In the same group, where she sees the card: what the bot says to her is what counts."""
        card = await self._telegram.card(ask)
        before = {message.id for message in self._eve.messages}
        tap = self._eve.press(card, _data(ask, does))
        self._eve.say(text, reply_to=card)
        self._eve.say("/pending")
        await self._telegram.dealt_with()
        toast = await asyncio.to_thread(tap.answered)
        said = [m.text for m in self._eve.messages if m.from_bot and m.id not in before]
        return "\n".join((toast, *said))


def _data(ask: Ask, does: Event | Act) -> str:
    return encode(Tap(ask_id=ask.id, question=question_shown(ask), does=does))


@asynccontextmanager
async def drive_telegram(folder: Path) -> AsyncIterator[Driver]:
    clock = StillClock()
    with BotApi.running(clock=clock) as api:
        ada, eve = api.person("Ada"), api.person("Eve")
        team = api.group("team", ada, eve)
        async with running_telegram(
            folder, api=api, clock=clock, chat=team, phone=team.phone(ada)
        ) as telegram:
            yield TelegramDriver(telegram, team.phone(eve))


DRIVERS: dict[str, Callable[[Path], AbstractAsyncContextManager[Driver]]] = {
    "web": drive_web,
    "telegram": drive_telegram,
}


@pytest.fixture(params=DRIVERS)
async def driver(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Driver]:
    async with DRIVERS[request.param](tmp_path) as driver:
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
    assert "timed out" in shown.lower()
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
    await driver.tap(ask, Act.EXTEND)
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


async def test_a_channel_ends_within_a_second_of_being_told(driver: Driver) -> None:
    await driver.desk.ask(CONFIRM)
    driver.running.cancel()
    done, _ = await asyncio.wait({driver.running}, timeout=1.0)
    assert done
