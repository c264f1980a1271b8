"""Pairing through Telegram: who has the code is named to the terminal, everybody else gets what
every stranger gets, which is nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from chatbridge.channels.chat.bot import NOBODY
from chatbridge.channels.chat.people import MAX_NAME_CHARACTERS
from chatbridge.channels.telegram.channel import TelegramChannel
from chatbridge.channels.telegram.settings import Telegram
from chatbridge.core.delivery.queue import RateLimit
from chatbridge.core.errors import ChatRefused, NotPaired, TooManyCodes
from chatbridge.core.pairing import CODE_SECONDS, MAX_GUESSES_PER_PERSON, Pairing
from chatbridge.hub.control.server import Json, Request, TerminalPairing
from tests.fakes.channel_context import channel_context
from tests.fakes.clock import StillClock
from tests.fakes.inbox import open_desk
from tests.fakes.telegram.people import Phone
from tests.fakes.telegram.server import BotApi
from tests.fakes.telegram_desk import HINT, waiting

PATIENCE = 20.0
ASKING = Request(do="pair", given={}, uid=7)


def greeting(chat: object) -> Request:
    return Request(do="greet", given={"chat": chat}, uid=7)


@dataclass(slots=True, kw_only=True)
class Bridge:
    """A hub's Telegram, and the requests of terminals beside it."""

    api: BotApi
    clock: StillClock
    terminal: TerminalPairing
    channel: TelegramChannel

    def phone(self, name: str) -> Phone:
        person = self.api.person(name, username=name.lower())
        return self.api.private(person).phone(person)

    @asynccontextmanager
    async def pairing(self) -> AsyncIterator[tuple[Json, asyncio.Future[Json]]]:
        """The code, and what comes of it."""
        events = self.terminal.pair(ASKING)
        code = await anext(events)
        then = asyncio.ensure_future(anext(events))
        try:
            yield code, then
        finally:
            then.cancel()
            await asyncio.wait({then})
            await events.aclose()

    async def brings(self, phone: Phone, text: str) -> None:
        """Says this to the bot; returns once it has been dealt with."""
        phone.say(text)
        await waiting(self.api.until_confirmed)()

    def said(self) -> list[str]:
        """What the bot has done beside reading and its menu."""
        quiet = {"getMe", "getUpdates", "setMyCommands"}
        return [it.method for it in self.api.requests if it.method not in quiet]


@pytest.fixture
async def bridge(tmp_path: Path) -> AsyncIterator[Bridge]:
    clock = StillClock()
    with BotApi.running(clock=clock) as api:
        async with running(tmp_path, api, clock) as found:
            yield found


@asynccontextmanager
async def running(
    folder: Path, api: BotApi, clock: StillClock, *allowed: int
) -> AsyncIterator[Bridge]:
    pairing = Pairing(clock=clock)
    channel = TelegramChannel(
        Telegram.model_validate(
            {"token": api.token, "allowed_users": allowed, "api_base": api.address}
        ),
        channel_context(clock, hint=HINT, pairing=pairing),
        pace=RateLimit(),
    )
    up = asyncio.Event()
    terminal = TerminalPairing(
        pairing,
        channel="telegram",
        clock=clock,
        troubles=lambda: {"telegram": channel.trouble},
        up_within=5.0,
    )
    async with open_desk(folder, clock=clock, channel=channel, ready=up) as desk:
        work = asyncio.create_task(channel.run(desk.inbox, ready=up.set))
        try:
            async with asyncio.timeout(PATIENCE):
                await up.wait()
            yield Bridge(api=api, clock=clock, terminal=terminal, channel=channel)
        finally:
            work.cancel()
            await asyncio.wait({work}, timeout=PATIENCE)


async def test_a_bot_that_nobody_may_answer_reads_all_the_same_and_says_what_to_run(
    bridge: Bridge,
) -> None:
    assert bridge.channel.trouble == NOBODY.format(name="telegram")
    assert "chatbridge pair" in NOBODY
    await waiting(bridge.api.until_polled)()


async def test_the_link_leads_to_the_bot_with_the_code(bridge: Bridge) -> None:
    async with bridge.pairing() as (code, _):
        name = bridge.api.bot.username
        assert code["link"] == f"https://t.me/{name}?start=p_{code['code']}"
        assert code["until"] == bridge.clock.time() + CODE_SECONDS


async def test_who_presses_start_is_named_to_the_terminal_and_told_nothing(bridge: Bridge) -> None:
    ada = bridge.phone("Ada")
    async with bridge.pairing() as (code, then):
        await bridge.brings(ada, f"/start p_{code['code']}")
        number = ada.person.id
        assert (await then)["claimed"] == {
            "channel": "telegram",
            "person": number,
            "chat": number,
            "name": "Ada",
            "username": "ada",
        }
    assert bridge.said() == []


@pytest.mark.parametrize(
    "text", ["/start", "/start hello", "/start p_22222222", "/start p_", "/start p_{code} x", "hi"]
)
async def test_a_stranger_without_the_code_gets_nothing_and_causes_nothing(
    bridge: Bridge, text: str
) -> None:
    eve = bridge.phone("Eve")
    async with bridge.pairing() as (code, then):
        await bridge.brings(eve, text.format(code=code["code"]))
        assert not then.done()
    assert bridge.said() == []


async def test_a_wrong_code_costs_telegram_as_much_as_any_strangers_start(bridge: Bridge) -> None:
    """Nothing that can be counted from outside tells a wrong code from a bare Start."""
    eve = bridge.phone("Eve")
    counted = []
    await waiting(bridge.api.until)(lambda it: it.calls("setMyCommands"))
    async with bridge.pairing() as (code, then):
        for text in ("/start", "/start p_22222222", f"/start p_{code['code'][:-1]}"):
            await waiting(bridge.api.until)(lambda it: it.polling)
            before = len(bridge.api.requests)
            await bridge.brings(eve, text)
            await waiting(bridge.api.until)(lambda it: it.polling)
            counted.append(len(bridge.api.requests) - before)
        assert not then.done()
    assert len(set(counted)) == 1, counted


async def test_a_used_code_is_nothing_for_the_next_one(bridge: Bridge) -> None:
    ada, eve = bridge.phone("Ada"), bridge.phone("Eve")
    async with bridge.pairing() as (code, then):
        await bridge.brings(ada, f"/start p_{code['code']}")
        await bridge.brings(eve, f"/start p_{code['code']}")
        assert (await then)["claimed"]["name"] == "Ada"
    assert bridge.said() == []


async def test_after_ten_minutes_the_terminal_is_told_and_the_code_is_nothing(
    bridge: Bridge,
) -> None:
    ada = bridge.phone("Ada")
    async with bridge.pairing() as (code, then):
        async with asyncio.timeout(PATIENCE):
            await bridge.clock.until_asleep(CODE_SECONDS)
        bridge.clock.advance(CODE_SECONDS)
        assert await then == {"over": True}
        await bridge.brings(ada, f"/start p_{code['code']}")
    assert bridge.said() == []


async def test_a_code_is_gone_with_its_terminal(bridge: Bridge) -> None:
    ada = bridge.phone("Ada")
    async with bridge.pairing() as (old, _):
        pass
    async with bridge.pairing() as (new, then):
        await bridge.brings(ada, f"/start p_{old['code']}")
        assert not then.done()
        await bridge.brings(ada, f"/start p_{new['code']}")
        assert (await then)["claimed"]["name"] == "Ada"


async def test_a_fourth_terminal_is_refused(bridge: Bridge) -> None:
    async with bridge.pairing(), bridge.pairing(), bridge.pairing():
        with pytest.raises(TooManyCodes):
            await anext(bridge.terminal.pair(ASKING))


async def test_two_people_with_two_codes_at_once_are_each_named_to_their_own_terminal(
    bridge: Bridge,
) -> None:
    ada, ben = bridge.phone("Ada"), bridge.phone("Ben")
    async with bridge.pairing() as (one, first), bridge.pairing() as (two, second):
        ada.say(f"/start p_{two['code']}")
        await bridge.brings(ben, f"/start p_{one['code']}")
        assert (await first)["claimed"]["name"] == "Ben"
        assert (await second)["claimed"]["name"] == "Ada"


async def test_who_has_guessed_too_often_is_not_heard_with_the_right_code_either(
    bridge: Bridge,
) -> None:
    ada, eve = bridge.phone("Ada"), bridge.phone("Eve")
    async with bridge.pairing() as (code, then):
        for guess in range(MAX_GUESSES_PER_PERSON):
            eve.say(f"/start p_2222222{guess}")
        await bridge.brings(eve, f"/start p_{code['code']}")
        assert not then.done()
        await bridge.brings(ada, f"/start p_{code['code']}")
        assert (await then)["claimed"]["name"] == "Ada"
    assert bridge.said() == []


async def test_whatever_somebody_is_called_the_terminal_hears_a_short_line(bridge: Bridge) -> None:
    eve = bridge.phone("\x1b[2J\u202eAda\n✓ paired\x07" + "x" * 10_000)
    async with bridge.pairing() as (code, then):
        await bridge.brings(eve, f"/start p_{code['code']}")
        name = (await then)["claimed"]["name"]
    assert name.isprintable()
    assert len(name) <= MAX_NAME_CHARACTERS


async def test_a_code_that_is_said_in_a_group_counts_for_nobody(bridge: Bridge) -> None:
    ada = bridge.api.person("Ada")
    group = bridge.api.group("team", ada, privacy=False).phone(ada)
    async with bridge.pairing() as (code, then):
        await bridge.brings(group, f"/start p_{code['code']}")
        await bridge.brings(group, f"/start@{bridge.api.bot.username} p_{code['code']}")
        assert not then.done()
    assert bridge.said() == []


async def test_somebody_who_is_paired_already_can_bring_a_code_too(
    tmp_path: Path,
) -> None:
    clock = StillClock()
    with BotApi.running(clock=clock) as api:
        ada = api.person("Ada")
        phone = api.private(ada).phone(ada)
        async with running(tmp_path, api, clock, ada.id) as bridge, bridge.pairing() as (code, it):
            await bridge.brings(phone, f"/start p_{code['code']}")
            assert (await it)["claimed"]["person"] == ada.id
            assert bridge.said() == []


async def test_only_a_paired_chat_is_greeted_and_once(tmp_path: Path) -> None:
    clock = StillClock()
    with BotApi.running(clock=clock) as api:
        ada = api.person("Ada")
        phone = api.private(ada).phone(ada)
        async with running(tmp_path, api, clock, ada.id) as bridge:
            phone.block()
            with pytest.raises(ChatRefused):
                await bridge.terminal.greet(greeting(ada.id))
            phone.unblock()
            for _ in range(2):
                assert await bridge.terminal.greet(greeting(ada.id)) == {}
            with pytest.raises(NotPaired, match="config"):
                await bridge.terminal.greet(greeting(5))
            with pytest.raises(NotPaired):
                await bridge.terminal.greet(greeting("5"))
        (said,) = [card for card in phone.messages if card.from_bot]
        assert said.text.startswith("This chat is paired with ")
        assert said.text.endswith(". Agents' questions arrive here.")
        assert said.silent


@pytest.mark.parametrize(
    ("troubles", "why"),
    [
        ({"web": None}, "chatbridge setup"),
        ({"telegram": "telegram rejected the bot token (401)"}, "rejected"),
    ],
)
async def test_without_a_bot_that_works_the_terminal_is_told_why(
    troubles: dict[str, str | None], why: str
) -> None:
    clock = StillClock()
    terminal = TerminalPairing(
        Pairing(clock=clock),
        channel="telegram",
        clock=clock,
        troubles=lambda: troubles,
        up_within=0.01,
    )
    with pytest.raises(NotPaired, match=why):
        await anext(terminal.pair(ASKING))
