"""At Telegram's real limits: whatever agents want at once, no request is one too many."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from chatbridge.core.model import Status
from tests.fakes.inbox import MULTI
from tests.fakes.telegram_hub import LONG, Scene, TelegramHub

MANY = 50
STEP = 0.1


def shown(scene: Scene) -> set[str]:
    """The titles that the chat shows."""
    lines = (card.text.split("\n")[1:2] for card in scene.phone.messages if card.from_bot)
    return {line.strip("\u2068\u2069") for found in lines for line in found}


async def until_nothing_is_left(hub: TelegramHub, fits: Callable[[], bool]) -> float:
    """Let time pass in small steps, each with the chance to use it; how much it took."""
    before = hub.clock.time()
    async with asyncio.timeout(60):
        while not fits():
            hub.clock.advance(STEP)
            began = time.perf_counter()
            await asyncio.sleep(0.001)
            # Where everything takes longer, requests do, too: the clock waits for them.
            await asyncio.sleep(5 * max(0.0, time.perf_counter() - began - 0.002))
    return hub.clock.time() - before


@pytest.mark.parametrize("group", [False, True], ids=["private", "group"])
async def test_fifty_questions_at_once_all_arrive_and_none_is_one_too_many(
    tmp_path: Path, group: bool
) -> None:
    with Scene.set(tmp_path, rate_limits=True, group=group) as scene:
        async with scene.hub(pace=None) as hub:
            asks = [await hub.ask(number) for number in range(MANY)]
            titles = {f"Number {number}." for number in range(MANY)}
            took = await until_nothing_is_left(
                hub, lambda: len(scene.api.calls("sendMessage")) >= MANY
            )
            await hub.until(lambda: shown(scene) >= titles)
            assert len(scene.phone.messages) == MANY
            for ask in asks[-3:]:
                await hub.until_noted(ask)
        assert scene.api.rate_limited == 0
        assert took < MANY * (4.0 if group else 1.1), "it could have been faster"


async def test_a_form_that_is_filled_in_while_questions_pour_in_stays_within_the_limits(
    tmp_path: Path,
) -> None:
    """Edits count, too."""
    with Scene.set(tmp_path, rate_limits=True) as scene:
        async with scene.hub(pace=None) as hub:
            asks = [await hub.ask(number) for number in range(20)]
            for number, ask in enumerate(asks):
                scene.phone.tap(await hub.in_time(hub.sees(number), step=STEP), "blue")
                await hub.answered(ask)
            await until_nothing_is_left(
                hub, lambda: all("✅" in card.text for card in scene.phone.messages)
            )
        assert scene.api.rate_limited == 0
        assert len(scene.api.calls("sendMessage")) == 20


async def test_what_a_tap_changed_is_shown_before_questions_that_wait(tmp_path: Path) -> None:
    with Scene.set(tmp_path, rate_limits=True) as scene:
        async with scene.hub(pace=None) as hub:
            first = await hub.ask(0)
            card = await hub.sees(0)
            await hub.until_noted(first)
            for number in range(1, 50):
                await hub.ask(number)
            before = len(scene.phone.messages)
            await hub.tap(card)
            assert (await hub.now(first)).status is Status.ANSWERED
            await until_nothing_is_left(hub, lambda: "✅" in scene.phone.now(card).text)
            assert len(scene.phone.messages) <= before + 5, "what was on its way, and no more"
        assert scene.api.rate_limited == 0


async def test_an_edit_that_telegram_put_off_is_still_the_first(tmp_path: Path) -> None:
    with Scene.set(tmp_path, rate_limits=True) as scene:
        async with scene.hub(pace=None) as hub:
            first = await hub.desk.ask(MULTI, title="Number 0.", timeout=LONG)
            card = await hub.sees(0)
            await hub.until_noted(first)
            for number in range(1, 50):
                await hub.ask(number)
            before = len(scene.phone.messages)
            scene.api.fail("editMessageText", status=429, retry_after=5)
            scene.phone.press(card, card.keys[0].data or "")
            await until_nothing_is_left(hub, lambda: scene.phone.now(card).keys != card.keys)
            assert len(scene.phone.messages) <= before + 5
        assert scene.api.rate_limited == 0


async def test_a_chat_at_its_limit_delays_no_other(tmp_path: Path) -> None:
    with Scene.set(tmp_path, rate_limits=True, group=True) as scene:
        ada = scene.phone.person
        private = scene.api.private(ada)
        async with scene.hub(pace=None, chats=[scene.chat.id, private.id]) as hub:
            for number in range(30):
                await hub.ask(number)
            phone = private.phone(ada)
            await until_nothing_is_left(hub, lambda: len(phone.messages) == 30)
            assert len(scene.phone.messages) < 20
            await until_nothing_is_left(hub, lambda: len(scene.phone.messages) == 30)
        assert scene.api.rate_limited == 0
