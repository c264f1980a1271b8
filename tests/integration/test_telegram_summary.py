"""The morning summary on Telegram, which takes the same message twice: what fails, and its link."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from chatbridge.core.model import Answer, Ask, Person
from chatbridge.core.nights.hours import Period, Switch
from chatbridge.core.nights.nights import Nights
from chatbridge.core.nights.policy import NightPolicy
from chatbridge.core.nights.summaries import AFTER_SECONDS
from chatbridge.core.nights.summary import GLYPH, Summary
from chatbridge.core.policy import Policy
from tests.fakes.clock import START
from tests.fakes.inbox import ANYWHERE, CONFIRM, SELECT
from tests.fakes.telegram.people import Card
from tests.fakes.telegram.server import BotApi
from tests.fakes.telegram_desk import PATIENCE, Telegram, running_telegram

HOUR = 3600.0
NIGHT = Period(START, START + 8 * HOUR)
ELSEWHERE = Person(name="Ada", channel="web")


@pytest.fixture
async def telegram(tmp_path: Path) -> AsyncIterator[Telegram]:
    nights = Nights(policy=NightPolicy(reminders=()), switch=Switch(on=True, period=NIGHT))
    policy = Policy(max_timeout=24 * HOUR, approval_channels=ANYWHERE, nights=nights)
    async with running_telegram(tmp_path, policy=policy) as running:
        yield running


def summaries(telegram: Telegram) -> list[Card]:
    return [card for card in telegram.phone.messages if card.text.startswith(GLYPH)]


def is_summary(params: dict[str, object]) -> bool:
    return str(params.get("text", "")).startswith(GLYPH)


async def asked(telegram: Telegram) -> Ask:
    ask = await telegram.desk.ask(CONFIRM, timeout=20 * HOUR)
    await telegram.card(ask)
    return ask


def end_the_night(telegram: Telegram) -> None:
    telegram.clock.advance(NIGHT.end + AFTER_SECONDS - telegram.clock.time())


async def went_on(telegram: Telegram) -> None:
    """The chat has done what it had to do, and more."""
    for _ in range(4):
        ask = await telegram.desk.ask(SELECT)
        await telegram.in_time(telegram.card(ask))


async def test_a_network_that_is_down_delays_it(telegram: Telegram) -> None:
    await telegram.desk.notify("Nothing else is to be sent.")
    await telegram.sees("Nothing else is to be sent.")
    telegram.api.go_down()
    end_the_night(telegram)
    (chat,) = telegram.channel.surfaces
    async with asyncio.timeout(PATIENCE):
        while True:
            if chat.trouble is not None:  # it has tried
                break
            await asyncio.sleep(0.005)
    telegram.clock.advance(HOUR)
    telegram.api.come_back()
    await telegram.in_time(telegram.sees(GLYPH))
    await went_on(telegram)
    assert len(summaries(telegram)) == 1


async def test_a_pause_that_telegram_asks_for_delays_it(telegram: Telegram) -> None:
    await asked(telegram)
    telegram.api.fail("sendMessage", status=429, retry_after=3, when=is_summary)
    end_the_night(telegram)
    await telegram.in_time(telegram.sees(GLYPH))
    await went_on(telegram)
    assert len(summaries(telegram)) == 1


@pytest.mark.parametrize("arrived", [True, False])
async def test_an_answer_that_was_lost_does_not_send_it_again(
    telegram: Telegram, arrived: bool
) -> None:
    await asked(telegram)
    telegram.api.cut("sendMessage", after_effect=arrived, when=is_summary)
    end_the_night(telegram)

    def tried(api: BotApi) -> int:
        return sum(is_summary(call.params) for call in api.calls("sendMessage"))

    await asyncio.to_thread(telegram.api.until, tried)
    await went_on(telegram)
    assert tried(telegram.api) == 1
    assert len(summaries(telegram)) == int(arrived)


async def test_it_has_a_button_that_opens_the_inbox(telegram: Telegram) -> None:
    shown = await sent(telegram, "https://inbox.example.org")
    assert shown.rows == (("1",), ("Open the inbox",))
    assert shown.keys[-1].url == "https://inbox.example.org"


async def test_where_telegram_takes_no_such_address_it_comes_without_one(
    telegram: Telegram,
) -> None:
    shown = await sent(telegram, "http://desktop:8787")
    assert shown.rows == (("1",),)


async def sent(telegram: Telegram, inbox: str) -> Card:
    """The summary, after it was sent and then edited."""
    ask = await asked(telegram)
    (chat,) = telegram.channel.surfaces
    other = await asked(telegram)
    now = telegram.clock.time()
    made = Summary(period=NIGHT, at=now, waiting=(ask, other), inbox=inbox)
    first = await chat.summarize(made, place=None, again=False)
    ended = await telegram.desk.inbox.answer(other.id, (Answer(values=("yes",)),), person=ELSEWHERE)
    assert not ended.open
    later = replace(made, waiting=(ask,))
    shown = await chat.summarize(later, place=first.place, again=False)
    assert shown.messages == 0
    (card,) = summaries(telegram)
    assert "1 question is waiting" in card.text
    return card
