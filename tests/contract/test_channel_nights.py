"""What every chat promises for nights: quiet hours, and cards that come back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from chatbridge.channels.chat.card_visibility import CardVisibility, any_unseen
from chatbridge.core.cards.phrases import clock_time
from chatbridge.core.forms import form
from chatbridge.core.model import (
    Answer,
    Ask,
    Attention,
    Level,
    Person,
    Priority,
    Question,
    QuietRule,
    View,
)
from chatbridge.core.nights.hours import Period, Switch
from chatbridge.core.nights.nights import Nights
from chatbridge.core.nights.policy import NightPolicy
from chatbridge.core.policy import Policy
from tests.contract.drivers import CHATS, DRIVERS, Driver
from tests.contract.notebook_driver import notebook_channel
from tests.fakes.clock import StillClock
from tests.fakes.inbox import ANYWHERE, COMMAND, CONFIRM, MULTI, SELECT, TEXT

pytestmark = pytest.mark.asyncio(loop_scope="module")

MINUTE, HOUR = 60.0, 3600.0
BELOW = "continued below"
HOLD = QuietRule(hours=("",) * 7, hold=True)


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=CHATS)
async def chat(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Driver]:
    folder = tmp_path_factory.mktemp("nights")
    policy = Policy(max_timeout=24 * HOUR, approval_channels=ANYWHERE | {"notebook"})
    async with DRIVERS[request.param](folder, request, policy=policy) as driver:
        yield driver


@pytest_asyncio.fixture(loop_scope="module")
async def driver(chat: Driver) -> AsyncIterator[Driver]:
    """With no open ask, and no quiet hours."""
    yield chat
    (surface,) = chat.channel.surfaces
    for ask in await chat.desk.inbox.open_asks():
        ended = await chat.desk.broker.time_out(ask.id)
        if await chat.desk.inbox.post(ask.id, surface=surface.name) is not None:
            await chat.shown(ended)
    chat.desk.inbox.nights.policy = NightPolicy()
    chat.desk.inbox.nights.switch = None


def clock_of(driver: Driver) -> StillClock:
    assert isinstance(driver.desk.clock, StillClock)
    return driver.desk.clock


def nights_of(driver: Driver) -> Nights:
    return driver.desk.inbox.nights


def quiet_for(driver: Driver, seconds: float) -> float:
    """Quiet hours from now on; when they end."""
    now = clock_of(driver).time()
    nights_of(driver).switch = Switch(on=True, period=Period(now, now + seconds))
    return now + seconds


def last_heard(driver: Driver, text: str) -> tuple[str, bool]:
    return [each for each in driver.heard() if text in each[0]][-1]


async def until(fits: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(20):
        while True:
            if await fits():
                return
            await asyncio.sleep(0.005)


async def changes(driver: Driver, ask: Ask, fits: Callable[[Attention], bool]) -> Ask:
    """The ask, once its attention fits."""

    async def is_so() -> bool:
        return fits((await now(driver, ask)).attention)

    await until(is_so)
    return await now(driver, ask)


async def now(driver: Driver, ask: Ask) -> Ask:
    return await driver.desk.inbox.ask(ask.id)


# ── quiet hours ───────────────────────────────────────────────────────────────────────────────────


async def test_in_quiet_hours_a_card_comes_without_a_sound_and_otherwise_with_one(
    driver: Driver,
) -> None:
    await driver.shown(await driver.desk.ask(SELECT))
    assert last_heard(driver, SELECT.text)[1]
    quiet_for(driver, HOUR)
    await driver.shown(await driver.desk.ask(CONFIRM))
    assert not last_heard(driver, CONFIRM.text)[1]


async def test_urgent_questions_and_approvals_ring_where_the_owner_lets_them(
    driver: Driver,
) -> None:
    quiet_for(driver, HOUR)
    await driver.shown(await driver.desk.ask(CONFIRM, priority=Priority.URGENT))
    assert last_heard(driver, CONFIRM.text)[1]
    await driver.shown(await driver.desk.ask(COMMAND))
    assert last_heard(driver, "terraform")[1]
    nights_of(driver).policy = NightPolicy(let_through=frozenset())
    await driver.shown(await driver.desk.ask(SELECT, priority=Priority.URGENT))
    assert not last_heard(driver, SELECT.text)[1]


async def test_low_priority_never_rings(driver: Driver) -> None:
    await driver.shown(await driver.desk.ask(SELECT, priority=Priority.LOW))
    assert not last_heard(driver, SELECT.text)[1]


@pytest.mark.parametrize("summary", [True, False])
async def test_what_is_held_comes_when_quiet_hours_end_and_rings_if_no_summary_does(
    driver: Driver, summary: bool
) -> None:
    nights_of(driver).policy = NightPolicy(quiet=HOLD, summary=summary)
    ends = quiet_for(driver, HOUR)
    held = await driver.desk.ask(CONFIRM, timeout=3 * HOUR)
    through = await driver.desk.ask(SELECT, timeout=3 * HOUR, priority=Priority.URGENT)
    before = [text for text, _ in driver.heard() if CONFIRM.text in text]
    await driver.shown(through)
    assert [text for text, _ in driver.heard() if CONFIRM.text in text] == before
    clock_of(driver).advance(ends - clock_of(driver).time())
    await driver.shown(held)
    text, rang = last_heard(driver, CONFIRM.text)
    assert rang is not summary
    assert "shop-api" in text
    await driver.tap(held, form.Choose(step=0, option=0))
    assert not (await now(driver, held)).open


async def test_what_would_time_out_while_it_is_held_is_shown_without_a_sound(
    driver: Driver,
) -> None:
    nights_of(driver).policy = NightPolicy(quiet=HOLD, extend_deadlines=False)
    quiet_for(driver, HOUR)
    await driver.shown(await driver.desk.ask(CONFIRM, timeout=30 * MINUTE))
    assert not last_heard(driver, CONFIRM.text)[1]


async def test_words_beside_the_cards_are_not_taken_for_what_is_held(driver: Driver) -> None:
    first = await driver.desk.ask(TEXT, timeout=3 * HOUR)
    await driver.shown(first)
    (surface,) = driver.channel.surfaces
    nights_of(driver).policy = NightPolicy(quiet=HOLD)
    quiet_for(driver, HOUR)
    await driver.desk.ask(replace(TEXT, text="And the tag?"), timeout=3 * HOUR)
    inbox, shown = driver.desk.inbox, CardVisibility(driver.channel.name)
    assert not await any_unseen(inbox, surface.name, shown)
    nights_of(driver).policy = NightPolicy()
    assert await any_unseen(inbox, surface.name, shown), "it may be on its way now"


async def test_in_quiet_hours_a_notice_comes_without_a_sound(driver: Driver) -> None:
    await driver.desk.notify("The build is red", level=Level.ERROR)
    await driver.notices(until="The build is red")
    assert last_heard(driver, "The build is red")[1]
    quiet_for(driver, HOUR)
    await driver.desk.notify("The build is black", level=Level.ERROR)
    await driver.notices(until="The build is black")
    assert not last_heard(driver, "The build is black")[1]


# ── reminders ─────────────────────────────────────────────────────────────────────────────────────


async def reminded(driver: Driver, ask: Ask, *, after: float) -> Ask:
    """Once so much time has passed, and the card is there again."""
    before = (await now(driver, ask)).attention.raised
    clock_of(driver).advance(after)
    raised = await changes(driver, ask, lambda attention: attention.raised > before)
    await driver.shown(raised)
    return raised


async def test_a_reminder_is_a_new_card_that_rings_and_can_be_answered(driver: Driver) -> None:
    ask = await driver.desk.ask(SELECT, timeout=5 * HOUR)
    await driver.shown(ask)
    first = len(driver.heard())
    ask = await reminded(driver, ask, after=15 * MINUTE)
    shown = await driver.shown(ask)
    assert shown.startswith("⏳")
    assert "still open since" in shown
    assert "SQLite" in shown
    new = driver.heard()[first:]
    assert [rang for _, rang in new] == [True], "one message, and it rings"

    async def is_retired() -> bool:
        return BELOW in driver.heard()[first - 1][0]

    await until(is_retired)
    assert SELECT.text not in driver.heard()[first - 1][0], "the old card is one line"
    await driver.tap(ask, form.Choose(step=0, option=1))
    answered = await now(driver, ask)
    assert answered.outcome
    assert answered.outcome.answers == (Answer(values=("SQLite",)),)


async def test_each_reminder_takes_the_place_of_the_one_before(driver: Driver) -> None:
    first = len(driver.heard())
    ask = await driver.desk.ask(CONFIRM, timeout=5 * HOUR)
    await driver.shown(ask)
    for after in (15 * MINUTE, 165 * MINUTE):
        ask = await reminded(driver, ask, after=after)

    async def only_the_last_asks() -> bool:
        said = [text for text, _ in driver.heard()[first:]]
        return [CONFIRM.text in text for text in said] == [False, False, True]

    await until(only_the_last_asks)
    await driver.tap(ask, form.Choose(step=0, option=0))
    assert not (await now(driver, ask)).open


async def test_nobody_is_reminded_in_quiet_hours_or_while_they_fill_it_in(
    driver: Driver,
) -> None:
    ask = await driver.desk.ask(MULTI, CONFIRM, timeout=20 * HOUR)
    begun = await driver.desk.ask(MULTI, timeout=20 * HOUR)
    await driver.shown(begun)
    clock_of(driver).advance(14 * MINUTE)
    await driver.tap(begun, form.Toggle(step=0, option=0, on=True))
    ends = quiet_for(driver, HOUR)
    clock_of(driver).advance(5 * MINUTE)
    await driver.shown(await driver.desk.ask(SELECT))  # what was due has been looked at
    for each in (ask, begun):
        assert (await now(driver, each)).attention.raised == 0
    clock_of(driver).advance(ends + 16 * MINUTE - clock_of(driver).time())
    await driver.shown(await driver.desk.ask(SELECT))
    assert (await now(driver, ask)).attention.raised == 0, "the summary was its reminder"
    after = ask.created_at + 3 * HOUR - clock_of(driver).time()
    assert (await reminded(driver, ask, after=after)).attention.raised == 1


def came_back(times: int) -> Callable[[Attention], bool]:
    return lambda attention: attention.raised == times


async def test_of_cards_that_come_back_together_the_first_rings(driver: Driver) -> None:
    asks = [await driver.desk.ask(each, timeout=5 * HOUR) for each in (SELECT, CONFIRM, MULTI)]
    for ask in asks:
        await driver.shown(ask)
    for number, after in ((1, 15 * MINUTE), (2, 165 * MINUTE)):
        first = len(driver.heard())
        clock_of(driver).advance(after)
        for ask in asks:
            await driver.shown(await changes(driver, ask, came_back(number)))
        assert [rang for _, rang in driver.heard()[first:]] == [True, False, False]


@pytest.mark.parametrize("summary_at", [None, 1])
async def test_what_came_silently_rings_when_quiet_hours_end_without_a_summary(
    driver: Driver, summary_at: int | None
) -> None:
    policy = NightPolicy(reminders=(), summary=summary_at is not None, summary_at=summary_at)
    nights_of(driver).policy = policy
    ends = quiet_for(driver, HOUR)
    asks = [await driver.desk.ask(each, timeout=30 * MINUTE) for each in (SELECT, CONFIRM)]
    for ask in asks:
        await driver.shown(ask)
    first = len(driver.heard())
    clock_of(driver).advance(ends - clock_of(driver).time())
    for ask in asks:
        back = await changes(driver, ask, came_back(1))
        await driver.shown(back)
        assert back.deadline == ends + 30 * MINUTE
    assert [rang for _, rang in driver.heard()[first:]] == [True, False]


async def test_the_next_step_goes_on_in_the_reminder(driver: Driver) -> None:
    ask = await driver.desk.ask(CONFIRM, SELECT, timeout=5 * HOUR)
    await driver.tap(ask, form.Choose(step=0, option=0))
    ask = await reminded(driver, await now(driver, ask), after=26 * MINUTE)
    shown = await driver.shown(ask)
    assert SELECT.text in shown
    await driver.tap(ask, form.Choose(step=ask.draft.step, option=1))
    review = await now(driver, ask)
    assert review.draft.at == len(ask.questions)


async def test_where_only_the_last_reminder_goes_nothing_else_does(driver: Driver) -> None:
    (surface,) = driver.channel.surfaces
    nights_of(driver).policy = NightPolicy(
        reminders=(15 * MINUTE, HOUR), escalate=driver.channel.name
    )
    ask = await driver.desk.ask(CONFIRM, timeout=65 * MINUTE)
    notice = await driver.desk.notify("Just so you know")
    assert await driver.desk.shown_on(notice) == frozenset()
    clock_of(driver).advance(16 * MINUTE)
    await changes(driver, ask, lambda attention: attention.raised > 0)
    assert await driver.desk.inbox.post(ask.id, surface=surface.name) is None
    clock_of(driver).advance(44 * MINUTE)
    await driver.shown(await changes(driver, ask, lambda attention: attention.escalated))
    assert last_heard(driver, CONFIRM.text)[1]


# ── later ─────────────────────────────────────────────────────────────────────────────────────────


def points_below(driver: Driver) -> bool:
    """Whether the newest card, or a screen of it, points to another one."""
    texts = [text for text, _ in driver.heard()]
    newest = max(at for at, text in enumerate(texts) if SELECT.text in text)
    return any(BELOW in text for text in texts[newest:])


async def snoozed(driver: Driver, *questions: Question, minutes: int = 60) -> Ask:
    """An ask whose card was there, and is out of the way by a tap on the screen for more time."""
    ask = await driver.desk.ask(*questions, timeout=3 * HOUR)
    await driver.shown(ask)
    await driver.tap(ask, form.AskLater(step=0))
    await driver.tap(await now(driver, ask), form.Snooze(step=1, minutes=minutes))
    return await now(driver, ask)


async def test_more_time_is_asked_for_on_a_screen_of_its_own_and_can_be_left(
    driver: Driver,
) -> None:
    ask = await driver.desk.ask(CONFIRM, timeout=3 * HOUR)
    assert ask.deadline
    await driver.tap(ask, form.AskLater(step=0))
    shown = await driver.shown(await now(driver, ask))
    for label in ("+15 min", "+1 h", "Snooze 1 h"):
        assert label in shown
    await driver.tap(ask, form.Back(step=1))
    back = await now(driver, ask)
    assert (back.draft.view, back.deadline) == (View.QUESTION, ask.deadline)
    await driver.tap(ask, form.AskLater(step=2))
    await driver.tap(ask, form.Extend(step=3, minutes=60))
    later = await now(driver, ask)
    assert (later.draft.view, later.deadline) == (View.QUESTION, ask.deadline + HOUR)
    assert CONFIRM.text in await driver.shown(later)
    await driver.tap(later, form.Choose(step=4, option=0))
    assert not (await now(driver, ask)).open


async def test_a_snoozed_card_is_a_line_and_comes_back_as_a_new_message_that_rings(
    driver: Driver,
) -> None:
    ask = await snoozed(driver, SELECT)
    until_then = ask.attention.snoozed_until
    assert until_then
    assert until_then == pytest.approx(clock_of(driver).time() + HOUR, abs=60)
    shown = await driver.shown(ask)
    assert f"💤 Snoozed until {clock_time(until_then)}. It comes back then." in shown
    assert SELECT.text in shown
    assert "SQLite" not in shown
    assert not points_below(driver), "there is nothing below"
    said = len(driver.heard())
    clock_of(driver).advance(until_then - clock_of(driver).time() - 1)
    await driver.shown(await driver.desk.ask(CONFIRM))
    assert (await now(driver, ask)).attention.raised == 0, "nobody is reminded of it"
    clock_of(driver).advance(1)
    ask = await changes(driver, ask, lambda attention: attention.raised == 1)
    shown = await driver.shown(ask)
    assert "SQLite" in shown
    (back,) = [each for each in driver.heard()[said:] if "SQLite" in each[0]]
    assert back[1], "it rings"

    async def is_retired() -> bool:
        return not any("💤" in text for text, _ in driver.heard())

    await until(is_retired)
    await driver.tap(ask, form.Choose(step=ask.draft.step, option=1))
    answered = await now(driver, ask)
    assert answered.outcome
    assert answered.outcome.answers == (Answer(values=("SQLite",)),)


async def test_a_snoozed_card_can_be_shown_now_where_it_is(driver: Driver) -> None:
    ask = await snoozed(driver, SELECT)
    await driver.shown(ask)
    said = len(driver.heard())
    await driver.tap(ask, form.ShowNow(step=ask.draft.step))
    ask = await now(driver, ask)
    assert (ask.attention.snoozed_until, ask.attention.raised) == (None, 0)
    shown = await driver.shown(ask)
    assert "SQLite" in shown
    assert "💤" not in shown
    assert not points_below(driver)
    assert len(driver.heard()) == said, "nothing new"
    await driver.tap(ask, form.Choose(step=ask.draft.step, option=0))
    assert not (await now(driver, ask)).open


async def test_a_snoozed_question_can_be_answered_by_a_reply_or_elsewhere(driver: Driver) -> None:
    ask = await snoozed(driver, TEXT)
    await driver.shown(ask)
    await driver.type(ask, "feat: it was easy")
    answered = await now(driver, ask)
    assert answered.outcome
    assert answered.outcome.answers == (Answer(values=("feat: it was easy",)),)
    other = await snoozed(driver, SELECT)
    person = Person(name="Ada", channel="elsewhere")
    await driver.desk.inbox.answer(other.id, (Answer(values=("SQLite",)),), person=person)
    assert "Answered" in await driver.shown(await now(driver, other))


async def test_more_than_is_allowed_is_refused_with_the_reason_and_changes_nothing(
    driver: Driver,
) -> None:
    nights_of(driver).policy = NightPolicy(reminders=())
    ask = await driver.desk.ask(CONFIRM, timeout=23 * HOUR)
    await driver.shown(ask)
    clock_of(driver).advance(22 * HOUR)
    ask = await now(driver, ask)
    await driver.shown(ask)
    told = await driver.tap(ask, form.Snooze(step=0, minutes=9_999))
    assert told.startswith("It can be snoozed ")
    told = await driver.tap(ask, form.Snooze(step=0, minutes=120))
    assert told.startswith("It can be snoozed until ")
    assert await now(driver, ask) == ask
    await driver.tap(ask, form.Extend(step=0, minutes=999))
    later = await now(driver, ask)
    assert later.deadline == ask.created_at + 24 * HOUR, "as far as is allowed"
    await driver.tap(later, form.Extend(step=0, minutes=15))
    assert await now(driver, ask) == later


# ── once ──────────────────────────────────────────────────────────────────────────────────────────


async def test_what_a_hub_that_was_killed_may_have_sent_is_not_sent_again(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """On a service that would take it twice. Whatever is left works."""
    async with DRIVERS["notebook"](tmp_path, request) as driver:
        ask = await driver.desk.ask(CONFIRM, timeout=5 * HOUR)
        await driver.shown(ask)
        await driver.desk.end_deliveries()
        (surface,) = driver.channel.surfaces
        post = await driver.desk.inbox.post(ask.id, surface=surface.name)
        assert post is not None
        raised = replace(
            ask, attention=replace(ask.attention, raised=1, reminded_at=1.0), revision=9
        )
        noted = await surface.show(raised, place=post.place)
        assert (noted.complete, noted.messages) == (False, 0), "the intent comes first"
        killed = await surface.show(raised, place=noted.place)
        assert killed.messages == 1
        there = driver.heard()
        next_hub = notebook_channel(tmp_path, clock_of(driver))
        (again,) = next_hub.surfaces
        again.attach(driver.desk.inbox)
        shown = await again.show(raised, place=noted.place)
        assert shown.messages == 0
        assert len(driver.heard()) == len(there)
        assert driver.heard()[0][0].startswith("⏳"), "the first card stays"
