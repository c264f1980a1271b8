"""Two people with a chat of their own each: routes, the second line, handing over, quiet hours."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from chatbridge.core.model import Ask, QuietRule
from chatbridge.core.nights.nights import Nights
from chatbridge.core.nights.policy import NightPolicy
from chatbridge.core.people.routes import UNSHOWN_SECONDS, Route
from chatbridge.core.people.team import Member, Role, Team
from chatbridge.core.policy import Policy
from tests.fakes.clock import StillClock
from tests.fakes.inbox import ANYWHERE, SELECT
from tests.fakes.telegram.people import Phone
from tests.fakes.telegram.server import BotApi
from tests.fakes.telegram_desk import Telegram, read, running_telegram

HOUR = 3600.0
TO_ANN = Route(to=("Ann",), project="shop*", second=("Bob",), after=600.0)


@dataclass(slots=True)
class Two:
    telegram: Telegram
    ann: Phone
    bob: Phone

    @property
    def nights(self) -> Nights:
        return self.telegram.desk.inbox.nights

    async def ask(self) -> Ask:
        return await self.telegram.desk.ask(SELECT, timeout=5 * HOUR)

    async def sees(self, phone: Phone, text: str) -> str:
        card = await asyncio.to_thread(phone.sees, lambda message: text in read(message))
        return read(card)

    def has(self, phone: Phone) -> list[str]:
        return self.telegram.said(phone)

    async def tap(self, ask: Ask, label: str, *, phone: Phone) -> str:
        surface = [self.ann, self.bob].index(phone)
        card = await self.telegram.current(ask, surface=surface, phone=phone)
        return await self.telegram.tap(card, label, phone=phone)

    def pass_time(self, seconds: float) -> None:
        self.telegram.clock.advance(seconds)

    async def until(self, ask: Ask, fits: Callable[[Ask], bool]) -> Ask:
        async with asyncio.timeout(20):
            while True:
                if fits(found := await self.telegram.now(ask)):
                    return found
                await asyncio.sleep(0.005)


@asynccontextmanager
async def two(
    folder: Path, *routes: Route, quiet: QuietRule | None = None, hold: bool = False
) -> AsyncIterator[Two]:
    clock = StillClock()
    with BotApi.running(clock=clock) as api:
        ann, bob = api.person("Annemarie"), api.person("Robert")
        chats = [api.private(person) for person in (ann, bob)]
        members = (
            Member(name="Ann", identities=(("telegram", str(ann.id)),), quiet=quiet),
            Member(name="Bob", identities=(("telegram", str(bob.id)),)),
        )
        surfaces = frozenset(f"telegram:{chat.id}" for chat in chats)
        held = QuietRule(hours=("",) * 7, hold=True) if hold else None
        nights = Nights(
            policy=NightPolicy(quiet=held),
            team=Team(members=members, routes=routes, surfaces=surfaces),
        )
        policy = Policy(max_timeout=24 * HOUR, approval_channels=ANYWHERE, nights=nights)
        async with running_telegram(
            folder,
            api=api,
            clock=clock,
            chat=chats[0],
            phone=chats[0].phone(ann),
            chats=[chat.id for chat in chats],
            allowed=[bob],
            policy=policy,
        ) as telegram:
            yield Two(telegram, telegram.phone, chats[1].phone(bob))


async def test_a_route_leads_to_one_and_after_a_while_the_second_line_rings(
    tmp_path: Path,
) -> None:
    async with two(tmp_path, TO_ANN) as it:
        ask = await it.ask()
        await it.sees(it.ann, SELECT.text)
        it.pass_time(UNSHOWN_SECONDS)
        await it.telegram.desk.ask(SELECT, project=replace(ask.project, name="blog"))
        await it.sees(it.bob, "blog")
        assert len(it.has(it.bob)) == 1, "the other one is not his"
        it.pass_time(600.0 - UNSHOWN_SECONDS)
        shown = await it.sees(it.bob, "second line has it, too")
        assert "shop-api" in shown
        assert not it.bob.messages[-1].silent
        await it.tap(ask, "2 · SQLite", phone=it.bob)
        answered = await it.until(ask, lambda found: not found.open)
        assert answered.outcome
        assert answered.outcome.by
        assert answered.outcome.by.name == "Bob"
        await it.sees(it.ann, "Bob answered")


async def test_the_second_line_rings_also_where_the_card_is_already(tmp_path: Path) -> None:
    async with two(tmp_path, replace(TO_ANN, to=("Ann", "Bob"))) as it:
        ask = await it.ask()
        await it.sees(it.ann, SELECT.text)
        await it.sees(it.bob, SELECT.text)
        it.pass_time(600.0)
        await it.sees(it.bob, "second line has it, too")
        await it.sees(it.ann, "second line has it, too")
        await it.telegram.current(ask, surface=1, phone=it.bob)
        assert SELECT.text in it.has(it.bob)[-1]
        assert len(it.bob.messages) == 2, "a new card, and a line where the old one was"
        assert len(it.ann.messages) == 1


async def test_after_a_day_without_telegram_the_second_line_gets_its_card_again_too(
    tmp_path: Path,
) -> None:
    async with two(tmp_path, TO_ANN) as it:
        it.nights.policy = NightPolicy(reminders=())
        ask = await it.telegram.desk.ask(SELECT, timeout=200 * HOUR)
        await it.sees(it.ann, SELECT.text)
        it.pass_time(600.0)
        await it.sees(it.bob, "second line has it, too")
        await it.telegram.current(ask, surface=1, phone=it.bob)
        it.telegram.api.go_down()
        await it.until(ask, lambda _: it.telegram.channel.trouble is not None)
        it.pass_time(50 * HOUR)
        it.telegram.api.come_back()
        await it.telegram.in_time(it.sees(it.bob, "Taps of more than a day ago were not kept."))


async def test_who_takes_it_keeps_the_second_line_away_and_letting_go_lets_it_come(
    tmp_path: Path,
) -> None:
    async with two(tmp_path, TO_ANN) as it:
        ask = await it.ask()
        await it.sees(it.ann, SELECT.text)
        await it.tap(ask, "I'll take it", phone=it.ann)
        await it.sees(it.ann, "Ann is on it.")
        it.pass_time(1200.0)
        await it.until(ask, lambda found: found.attention.reminded_at is not None)
        assert (await it.telegram.now(ask)).attention.second_line_at is None
        assert not it.has(it.bob)
        await it.tap(ask, "Let it go", phone=it.ann)
        await it.until(ask, lambda found: found.attention.second_line_at is not None)
        await it.sees(it.bob, SELECT.text)


async def test_handing_over_shows_it_where_the_route_did_not_and_rings_only_there(
    tmp_path: Path,
) -> None:
    async with two(tmp_path, replace(TO_ANN, second=(), after=None)) as it:
        ask = await it.ask()
        await it.sees(it.ann, SELECT.text)
        await it.tap(ask, "Hand over…", phone=it.ann)
        card = await it.telegram.current(ask, phone=it.ann)
        assert [key.text for key in card.keys if key.text == "Ann"] == [], "that is herself"
        await it.telegram.tap(card, "Bob", phone=it.ann)
        shown = await it.sees(it.bob, "Ann handed this to Bob.")
        assert SELECT.text in shown
        assert not it.bob.messages[-1].silent
        await it.sees(it.ann, "Ann handed this to Bob.")
        assert len(it.has(it.ann)) == 1, "her own card is only changed"
        await it.tap(ask, "Hand over…", phone=it.bob)
        card = await it.telegram.current(ask, surface=1, phone=it.bob)
        await it.telegram.tap(card, "Ann", phone=it.bob)
        await it.until(ask, lambda found: len(found.attention.handovers) == 2)
        await it.telegram.current(ask, phone=it.ann)
        assert len([text for text in it.has(it.ann) if SELECT.text in text]) == 1
        assert not it.ann.messages[-1].silent
        assert SELECT.text in it.has(it.ann)[-1], "a new card, at the bottom"


async def test_ones_own_quiet_hours_silence_ones_own_chat_alone(tmp_path: Path) -> None:
    async with two(tmp_path) as it:
        quiet_now(it)
        await it.ask()
        await it.sees(it.ann, SELECT.text)
        await it.sees(it.bob, SELECT.text)
        assert it.ann.messages[-1].silent
        assert not it.bob.messages[-1].silent


async def test_what_is_held_in_ones_own_quiet_hours_comes_when_they_end(tmp_path: Path) -> None:
    async with two(tmp_path, hold=True) as it:
        ends = quiet_now(it)
        ask = await it.ask()
        await it.sees(it.bob, SELECT.text)
        it.pass_time(900.0)  # a reminder does not wake her either
        await it.until(ask, lambda found: found.attention.reminded_at is not None)
        assert not it.has(it.ann)
        it.pass_time(ends - it.telegram.clock.time())
        await it.sees(it.ann, SELECT.text)


def quiet_now(it: Two) -> float:
    """An hour around now is quiet for Ann; when it ends."""
    zone = ZoneInfo("UTC")
    now = datetime.fromtimestamp(it.telegram.clock.time(), zone)
    start, end = now - timedelta(minutes=30), now + timedelta(minutes=30)
    rule = QuietRule(hours=(f"{start:%H:%M}-{end:%H:%M}",) * 7, zone="UTC")
    ann, bob = it.nights.team.members
    it.nights.team = replace(it.nights.team, members=(replace(ann, quiet=rule), bob))
    return end.replace(second=0, microsecond=0).timestamp()


async def test_who_may_only_read_sees_cards_and_changes_nothing(tmp_path: Path) -> None:
    async with two(tmp_path) as it:
        ann, bob = it.nights.team.members
        readers = (ann, replace(bob, roles=frozenset({Role.READ})))
        it.nights.team = replace(it.nights.team, members=readers)
        ask = await it.ask()
        await it.sees(it.bob, SELECT.text)
        told = await it.tap(ask, "2 · SQLite", phone=it.bob)
        assert told == "You can read this, but not answer it."
        assert await it.telegram.now(ask) == ask
