"""What every channel promises a team: roles, names, taking, handing over, and routes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace

import pytest
import pytest_asyncio

from chatbridge.core.cards.sharing import EVERYWHERE, TO_WHOM
from chatbridge.core.forms import form
from chatbridge.core.model import Ask, ChannelState, Level, Person, Post
from chatbridge.core.people.routes import UNSHOWN_SECONDS, Route
from chatbridge.core.people.team import Member, Role, Team
from chatbridge.core.policy import Policy
from tests.contract.drivers import CHANNELS, DRIVERS, Driver
from tests.fakes.clock import StillClock
from tests.fakes.inbox import ANYWHERE, COMMAND, CONFIRM, SELECT, TEXT

pytestmark = pytest.mark.asyncio(loop_scope="module")

HOUR = 3600.0
ISOLATES = dict.fromkeys((0x2068, 0x2069))
READ = frozenset({Role.READ})
BOB = Person(name="bob@example", channel="elsewhere", id="bob")
FIRST = form.Choose(step=0, option=0)


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=CHANNELS)
async def open_driver(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Driver]:
    folder = tmp_path_factory.mktemp("people")
    policy = Policy(max_timeout=24 * HOUR, approval_channels=ANYWHERE | {"notebook"})
    async with DRIVERS[request.param](folder, request, policy=policy) as driver:
        yield driver


@pytest_asyncio.fixture(loop_scope="module")
async def driver(open_driver: Driver) -> AsyncIterator[Driver]:
    """With no open ask, and no team."""
    yield open_driver
    nights, inbox = open_driver.desk.inbox.nights, open_driver.desk.inbox
    nights.team = Team()
    surface = open_driver.channel.surfaces[0].name
    for ask in await inbox.open_asks():
        ended = await open_driver.desk.broker.time_out(ask.id)
        if await inbox.post(ask.id, surface=surface) is not None:
            await open_driver.shown(ended)


async def ada_of(driver: Driver) -> Person:
    """Who answers here, as the service vouches for her."""
    ask = await driver.desk.ask(CONFIRM)
    await driver.shown(ask)
    await driver.tap(ask, FIRST)
    outcome = (await now(driver, ask)).outcome
    assert outcome
    assert outcome.by
    return outcome.by


async def a_team(
    driver: Driver, *routes: Route, roles: frozenset[Role] = frozenset({Role.ANSWER, Role.APPROVE})
) -> Team:
    """Ann is who answers here, with these roles; Bob is reached in the same chat."""
    ada, channel = await ada_of(driver), driver.channel.name
    team = Team(
        members=(
            Member(name="Ann", identities=((channel, ada.id),) if ada.id else (), roles=roles),
            Member(name="Bob", identities=((BOB.channel if not ada.id else channel, "bob"),)),
        ),
        routes=routes,
        surfaces=frozenset({driver.channel.surfaces[0].name, f"{channel}:elsewhere"}),
    )
    driver.desk.inbox.nights.team = team
    return team


async def now(driver: Driver, ask: Ask) -> Ask:
    return await driver.desk.inbox.ask(ask.id)


async def read(driver: Driver, ask: Ask) -> str:
    """What its card says, without the marks around names."""
    return (await driver.shown(ask)).translate(ISOLATES)


async def until(fits: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(20):
        while True:
            if await fits():
                return
            await asyncio.sleep(0.005)


def on_page(driver: Driver) -> bool:
    """Where nobody is known by an id."""
    return driver.channel.name == "web"


def chats_only(driver: Driver) -> None:
    if on_page(driver):
        pytest.skip("nobody is known by an id on a page")


# ── names and roles ───────────────────────────────────────────────────────────────────────────────


async def test_a_service_vouches_for_who_it_is_and_cards_have_the_owners_name(
    driver: Driver,
) -> None:
    chats_only(driver)
    await a_team(driver)
    ask = await driver.desk.ask(SELECT)
    await driver.shown(ask)
    await driver.tap(ask, FIRST)
    answered = await now(driver, ask)
    assert answered.outcome
    assert answered.outcome.by
    assert answered.outcome.by.name == "Ann"
    assert answered.outcome.by.id
    assert "Ann answered" in await read(driver, answered)


async def test_who_may_only_read_changes_nothing_and_is_told_so(driver: Driver) -> None:
    chats_only(driver)
    await a_team(driver, roles=READ)
    question, words = await driver.desk.ask(SELECT), await driver.desk.ask(TEXT)
    await driver.shown(question)
    for action in (FIRST, form.Take(step=0), form.AskLater(step=0), form.AskCancel(step=0)):
        assert "You can read this, but not answer it." in await driver.tap(question, action)
        assert await now(driver, question) == question
    await driver.shown(words)
    await driver.type(words, "feat: mine")
    assert await now(driver, words) == words


async def test_an_approval_takes_the_role_for_it_also_to_deny(driver: Driver) -> None:
    chats_only(driver)
    await a_team(driver, roles=frozenset({Role.ANSWER}))
    ask = await driver.desk.ask(COMMAND)
    await driver.shown(ask)
    for option in (0, 2):
        assert "You may not approve this." in await driver.tap(
            ask, form.Choose(step=0, option=option)
        )
        assert await now(driver, ask) == ask
    answered = await driver.desk.ask(SELECT)
    await driver.shown(answered)
    await driver.tap(answered, FIRST)
    assert not (await now(driver, answered)).open


async def test_who_may_only_read_switches_no_quiet_hours_and_tells_no_agent(
    driver: Driver,
) -> None:
    chats_only(driver)
    await a_team(driver, roles=READ)
    await driver.shown(await driver.desk.ask(SELECT))
    await driver.command("quiet 2h")
    assert driver.desk.inbox.nights.switch is None
    assert any("You can read this" in text for text, _ in driver.heard())


# ── taking ────────────────────────────────────────────────────────────────────────────────────────


async def test_whoever_takes_it_is_on_everybodys_card_and_can_let_it_go(driver: Driver) -> None:
    await a_team(driver)
    ask = await driver.desk.ask(SELECT)
    await driver.shown(ask)
    assert not await driver.tap(ask, form.Take(step=0))
    taken = await now(driver, ask)
    who = "Somebody in the web inbox" if on_page(driver) else "Ann"
    assert f"{who} is on it." in await read(driver, taken)
    await driver.tap(taken, form.Release(step=0))
    free = await now(driver, ask)
    assert free.attention.taken_by is None
    assert "is on it" not in await read(driver, free)


async def test_what_somebody_else_has_taken_can_be_answered_but_not_let_go(
    driver: Driver,
) -> None:
    await a_team(driver)
    ask = await driver.desk.ask(SELECT)
    await driver.shown(ask)
    bob = replace(BOB, channel=BOB.channel if on_page(driver) else driver.channel.name)
    await driver.desk.inbox.put(ask.id, form.Take(step=0), person=bob)
    taken = await now(driver, ask)
    assert "Bob is on it." in await read(driver, taken)
    assert "Bob is on it. You can answer" in await driver.tap(taken, form.Release(step=0))
    await driver.tap(taken, FIRST)
    assert not (await now(driver, ask)).open


async def test_a_stranger_takes_nothing_and_learns_nothing(driver: Driver) -> None:
    await a_team(driver)
    ask = await driver.desk.ask(SELECT)
    await driver.shown(ask)
    told = await driver.intrude(ask, form.Take(step=0), "take")
    assert await now(driver, ask) == ask
    assert "Ann" not in told
    assert "SQLite" not in told


async def test_without_a_team_there_is_nothing_to_share(driver: Driver) -> None:
    ask = await driver.desk.ask(SELECT)
    shown = await read(driver, ask)
    assert "take it" not in shown
    assert "Hand over" not in shown
    step = await driver.desk.inbox.put(
        ask.id, form.Take(step=0), person=Person(name="x", channel="web")
    )
    assert step == form.UNFIT


# ── handing over ──────────────────────────────────────────────────────────────────────────────────


async def test_a_question_is_handed_over_with_a_sound_where_the_other_is(driver: Driver) -> None:
    team = await a_team(driver)
    ask = await driver.desk.ask(SELECT)
    await driver.shown(ask)
    await driver.tap(ask, form.AskHandOver(step=0))
    asked = await now(driver, ask)
    shown = await read(driver, asked)
    assert TO_WHOM in shown
    before = len(driver.heard())
    await driver.tap(asked, form.HandOver(step=1, to=team.members[1].key))
    handed = await now(driver, ask)
    who = "Somebody in the web inbox" if on_page(driver) else "Ann"
    shown = await read(driver, handed)
    assert f"{who} handed this to Bob." in shown
    assert "SQLite" in shown
    if not on_page(driver):
        assert [rang for _, rang in driver.heard()[before:]] == [True], "one card, with a sound"
    await driver.tap(handed, form.Choose(step=2, option=0))
    assert not (await now(driver, ask)).open


async def test_an_approval_goes_only_to_who_may_approve(driver: Driver) -> None:
    team = await a_team(driver)
    ann, bob = team.members
    bob = replace(bob, roles=frozenset({Role.ANSWER}))
    driver.desk.inbox.nights.team = replace(team, members=(ann, bob))
    ask = await driver.desk.ask(COMMAND)
    await driver.shown(ask)
    await driver.tap(ask, form.AskHandOver(step=0))
    asked = await now(driver, ask)
    assert "Bob" not in await read(driver, asked)
    by = Person(name="x", channel=driver.channel.name, id="other")
    step = await driver.desk.inbox.put(ask.id, form.HandOver(step=1, to=bob.key), person=by)
    assert isinstance(step, form.Refused)
    assert not (await now(driver, ask)).attention.handovers


# ── routes ────────────────────────────────────────────────────────────────────────────────────────


def clock_of(driver: Driver) -> StillClock:
    assert isinstance(driver.desk.clock, StillClock)
    return driver.desk.clock


async def elsewhere(driver: Driver, *, second: tuple[str, ...] = ()) -> str:
    """Routes lead to another chat of this channel, and then to the second line. That chat."""
    place = f"{driver.channel.name}:elsewhere"
    after = 600.0 if second else None
    await a_team(driver, Route(to=(place,), project="shop*", second=second, after=after))
    return place


async def is_shown(driver: Driver, ask: Ask) -> bool:
    surface = driver.channel.surfaces[0].name
    return await driver.desk.inbox.post(ask.id, surface=surface) is not None


async def test_a_card_that_is_routed_elsewhere_comes_with_the_second_line(driver: Driver) -> None:
    chats_only(driver)
    place = await elsewhere(driver, second=("Bob",))
    ask = await driver.desk.ask(SELECT, timeout=3 * HOUR)
    post = Post(ask_id=ask.id, surface=place, place="", revision=1)
    await driver.desk.inbox.adopt(post, over=None, handles=())
    await driver.shown(await driver.desk.ask(CONFIRM, project=replace(ask.project, name="other")))
    clock_of(driver).advance(UNSHOWN_SECONDS)
    await driver.desk.inbox.remember(ChannelState(channel="x", key="x", value="", at=0.0))
    assert not await is_shown(driver, ask)
    clock_of(driver).advance(600.0 - UNSHOWN_SECONDS)

    async def has_second() -> bool:
        return (await now(driver, ask)).attention.second_line_at is not None

    await until(has_second)
    ask = await now(driver, ask)
    assert "so the second line has it, too." in await read(driver, ask)
    assert driver.heard()[-1][1], "with a sound"
    await driver.tap(ask, FIRST)
    assert not (await now(driver, ask)).open


async def test_what_its_route_cannot_show_is_shown_everywhere(driver: Driver) -> None:
    chats_only(driver)
    await elsewhere(driver)
    ask = await driver.desk.ask(SELECT, timeout=3 * HOUR)
    clock_of(driver).advance(UNSHOWN_SECONDS)

    async def spread() -> bool:
        return (await now(driver, ask)).attention.everywhere

    await until(spread)
    assert EVERYWHERE in await read(driver, await now(driver, ask))


async def test_a_notice_goes_where_its_route_leads(driver: Driver) -> None:
    chats_only(driver)
    await elsewhere(driver)
    notice = await driver.desk.notify("The build is broken", level=Level.ERROR)
    assert not await driver.desk.shown_on(notice)
    other = replace(notice.project, name="other")
    await driver.desk.notify("The build is fine", project=other)
    assert "broken" not in "".join(await driver.notices(until="The build is fine"))


async def test_what_is_shown_elsewhere_is_still_in_the_list_of_open_questions(
    driver: Driver,
) -> None:
    chats_only(driver)
    await elsewhere(driver)
    await driver.desk.ask(SELECT, timeout=3 * HOUR)
    await driver.desk.ask(CONFIRM, timeout=3 * HOUR)
    listed = await driver.desk.inbox.open_rows(limit=10)
    assert listed.total == 2
