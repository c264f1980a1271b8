"""What every chat promises of the morning summary."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from functools import partial

import pytest
import pytest_asyncio

from chatbridge.core.cards.phrases import local_time
from chatbridge.core.forms import form
from chatbridge.core.model import Answer, Ask, Person, Project, Question, QuietRule
from chatbridge.core.nights.hours import Period, Switch
from chatbridge.core.nights.policy import NightPolicy
from chatbridge.core.nights.summaries import AFTER_SECONDS, Summaries
from chatbridge.core.nights.summary import GLYPH
from chatbridge.core.policy import Policy
from tests.contract.drivers import CHATS, DRIVERS, Driver
from tests.fakes.clock import StillClock
from tests.fakes.inbox import ANYWHERE, COMMAND, CONFIRM, SELECT, SHOP, Desk
from tests.matrix_asks import plain

pytestmark = pytest.mark.asyncio(loop_scope="module")

HOUR = 3600.0
PATIENCE = 20.0
ELSEWHERE = Person(name="Ada", channel="web")
QUIETLY = NightPolicy(reminders=(), extend_deadlines=False)


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=CHATS)
async def chat(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Driver]:
    folder = tmp_path_factory.mktemp("summaries")
    policy = Policy(max_timeout=24 * HOUR, approval_channels=ANYWHERE | {"notebook"})
    async with DRIVERS[request.param](folder, request, policy=policy) as driver:
        yield driver


@pytest_asyncio.fixture(loop_scope="module")
async def driver(chat: Driver) -> AsyncIterator[Driver]:
    """In quiet hours, with no open ask."""
    nights, now = chat.desk.inbox.nights, clock_of(chat).time()
    nights.policy = QUIETLY
    nights.switch = Switch(on=True, period=Period(now, now + 8 * HOUR))
    summaries_of(chat.desk).look()
    yield chat
    for ask in await chat.desk.inbox.open_asks():
        await chat.desk.inbox.cancel(ask.id, reason=None, person=ELSEWHERE)


def clock_of(driver: Driver) -> StillClock:
    assert isinstance(driver.desk.clock, StillClock)
    return driver.desk.clock


def summaries_of(desk: Desk) -> Summaries:
    assert desk.summaries is not None
    return desk.summaries


async def now(driver: Driver, ask: Ask) -> Ask:
    return await driver.desk.inbox.ask(ask.id)


async def until(fits: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            if fits():
                return
            await asyncio.sleep(0.005)


def summaries(driver: Driver) -> list[tuple[str, bool]]:
    return [(plain(text), rang) for text, rang in driver.heard() if text.startswith(GLYPH)]


def newest(driver: Driver) -> str:
    return summaries(driver)[-1][0]


async def end_the_night(driver: Driver) -> None:
    """And let it be decided whether there is something to say."""
    switch, clock = driver.desk.inbox.nights.switch, clock_of(driver)
    assert switch is not None
    clock.advance(switch.period.end + AFTER_SECONDS - clock.time())
    await until(lambda: summaries_of(driver.desk).handed_over == switch.period)


async def morning(driver: Driver) -> str:
    """The summary, once it is there."""
    before = len(summaries(driver))
    await end_the_night(driver)
    await until(lambda: len(summaries(driver)) > before)
    return newest(driver)


async def asked(driver: Driver, *questions: Question, project: Project = SHOP) -> Ask:
    ask = await driver.desk.ask(*questions, timeout=20 * HOUR, project=project)
    await driver.shown(ask)
    return ask


async def test_it_names_what_waits_and_what_happened_and_rings_once(driver: Driver) -> None:
    before = len(summaries(driver))
    await asked(driver, SELECT)
    await asked(driver, COMMAND, project=replace(SHOP, name="infra"))
    short = await driver.desk.ask(CONFIRM, timeout=HOUR)
    await driver.desk.notify("The build is green")
    await driver.desk.time_out(short)
    said = await morning(driver)
    lines = said.splitlines()
    assert lines[0].startswith("☀️ While you were away, ")
    assert lines[1] == "2 questions are waiting · 1 timed out"
    assert lines[2] == "1 notice"
    assert "1. shop-api: Which database should the integration tests" in said
    assert "2. infra: Run this command? terraform apply" in said
    assert " · ends " in said
    assert summaries(driver)[before:] == [(newest(driver), True)]


async def test_one_that_comes_in_quiet_hours_does_not_ring(driver: Driver) -> None:
    await asked(driver, SELECT)
    nights, clock = driver.desk.inbox.nights, clock_of(driver)
    here = local_time(clock.time() + HOUR)
    nights.policy = replace(QUIETLY, summary_at=here.hour * 60 + here.minute)
    summaries_of(driver.desk).look()
    before = len(summaries(driver))
    clock.advance(HOUR + AFTER_SECONDS)
    await until(lambda: len(summaries(driver)) > before)
    assert nights.is_quiet(clock.time())
    assert not summaries(driver)[-1][1]


async def test_it_changes_with_what_it_names_and_does_not_come_again(driver: Driver) -> None:
    before = len(summaries(driver))
    first = await asked(driver, SELECT)
    second = await asked(driver, CONFIRM)
    await morning(driver)
    sqlite = (Answer(values=("SQLite",)),)
    await driver.desk.inbox.answer(first.id, sqlite, person=ELSEWHERE)
    await until(lambda: "1 question is waiting" in newest(driver))
    assert "1. ✅ shop-api" in newest(driver)
    third = await asked(driver, SELECT)
    await until(lambda: "2 questions are waiting" in newest(driver))
    assert newest(driver).index("2. shop-api: Delete") < newest(driver).index("3. shop-api: Which")
    for ask in (second, third):
        await driver.desk.inbox.cancel(ask.id, reason=None, person=ELSEWHERE)
    await until(lambda: "waiting" not in newest(driver).replace("Nothing is waiting", ""))
    assert len(summaries(driver)) == before + 1


def is_last(driver: Driver, text: str) -> bool:
    last = driver.heard()[-1][0]
    return text in last and not last.startswith(GLYPH)


async def test_a_number_brings_its_card_to_the_bottom(driver: Driver) -> None:
    await asked(driver, SELECT)
    ask = await asked(driver, CONFIRM)
    await morning(driver)
    for number, text in ((1, SELECT.text), (2, CONFIRM.text)):
        assert await driver.pick(number) == ""
        await until(partial(is_last, driver, text))
        assert not driver.heard()[-1][1], "who asked for it is looking"
    ask = await now(driver, ask)
    await driver.shown(ask)
    await driver.tap(ask, form.Choose(step=0, option=0))
    assert not (await now(driver, ask)).open


async def test_a_number_brings_a_card_that_is_held_or_snoozed(driver: Driver) -> None:
    snoozed = await asked(driver, SELECT)
    await driver.desk.inbox.put(snoozed.id, form.Snooze(minutes=12 * 60), person=ELSEWHERE)
    await morning(driver)
    clock, nights = clock_of(driver), driver.desk.inbox.nights
    nights.policy = replace(QUIETLY, quiet=QuietRule(hours=("",) * 7, hold=True))
    nights.switch = Switch(on=True, period=Period(clock.time(), clock.time() + HOUR))
    held = await driver.desk.ask(CONFIRM, timeout=20 * HOUR)
    await until(lambda: CONFIRM.text in newest(driver))
    for number, ask in ((1, snoozed), (2, held)):
        assert await driver.pick(number) == ""
        await until(partial(is_last, driver, ask.questions[0].text))
        assert (await now(driver, ask)).attention.snoozed_until is None
        await driver.shown(await now(driver, ask))


async def test_a_strangers_number_brings_nothing(driver: Driver) -> None:
    ask = await asked(driver, CONFIRM)
    await morning(driver)
    before = await now(driver, ask)
    await driver.pick(1, stranger=True)
    await driver.shown(await driver.desk.ask(SELECT))
    assert await now(driver, ask) == before


async def test_where_only_the_last_reminder_goes_there_is_none(driver: Driver) -> None:
    driver.desk.inbox.nights.policy = replace(QUIETLY, escalate=driver.channel.name)
    before = len(summaries(driver))
    await driver.desk.ask(CONFIRM, timeout=20 * HOUR)
    await end_the_night(driver)
    driver.desk.inbox.nights.policy = QUIETLY
    await asked(driver, SELECT)
    await asked(driver, SELECT)
    assert len(summaries(driver)) == before


async def test_tricks_of_agents_stay_in_their_line(driver: Driver) -> None:
    text = "Ok?\n\n2. infra: <b>x</b> [a](http://b.example) \u202etxet " + "long " * 300
    project = replace(SHOP, name="x\n9. y\u200b <i>")
    await asked(driver, replace(CONFIRM, text=text), project=project)
    said = await morning(driver)
    assert "\u202e" not in said
    assert "\u200b" not in said
    assert len([line for line in said.splitlines() if line[:1].isdigit() and ". " in line]) == 1
    assert len(said) < 400
