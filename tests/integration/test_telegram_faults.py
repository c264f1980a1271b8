"""When Telegram, or the way to it, fails: nothing is lost, the owner is told once and in words that
help, and the web inbox and the agents go on as if nothing had happened."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import pytest

from chatbridge.core.model import Status
from tests.fakes.telegram.server import BotApi
from tests.fakes.telegram_hub import PATIENCE, Scene
from tests.fakes.telegram_log import lines, warnings

SENT = "Sent: blue"


# ── the short word for a tap ──────────────────────────────────────────────────────────────────────


async def test_a_tap_is_answered_after_its_commit_and_not_before(scene: Scene) -> None:
    async with scene.hub() as hub:
        ask = await hub.ask()
        card = await hub.sees()
        await hub.until_noted(ask)
        async with scene.locked():
            tap = scene.phone.tap(card, "blue")
            await hub.until(lambda: not scene.api.polling)
            scene.clock.advance(1.9)
            await hub.web.get("/healthz")
            assert tap.toast is None
        assert await asyncio.to_thread(tap.answered) == SENT
        assert (await hub.now(ask)).status is Status.ANSWERED


async def test_a_tap_whose_commit_takes_long_is_answered_without_a_word_once(scene: Scene) -> None:
    async with scene.hub() as hub:
        ask = await hub.ask()
        card = await hub.sees()
        await hub.until_noted(ask)
        async with scene.locked():
            tap = scene.phone.tap(card, "blue")
            await hub.until(lambda: tap.toast is not None, step=0.1)
            assert tap.toast == ""
            assert (await hub.now(ask)).open
        await hub.settled(card)
        await hub.until(lambda: not scene.api.pending)
    assert len(scene.api.calls("answerCallbackQuery")) == 1


async def test_a_tap_that_is_too_old_to_be_answered_counts_and_is_no_error(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "chatbridge")
    async with scene.hub() as hub:
        ask = await hub.ask()
        card = await hub.sees()
        await hub.until_noted(ask)
    scene.phone.tap(card, "blue")
    scene.api.expire_queries()
    caplog.clear()
    async with scene.hub() as hub:
        assert (await hub.answered(ask)).status is Status.ANSWERED
        await hub.settled(card)
        assert hub.trouble is None
    (answer,) = scene.api.calls("answerCallbackQuery")
    assert answer.status == 400
    assert lines(caplog, logging.INFO) == [f"telegram: {scene.api.bot.username}, chats: 1"]


@pytest.mark.parametrize("after_effect", [False, True])
async def test_a_cut_connection_is_tried_again_once_to_answer_a_tap(
    scene: Scene, caplog: pytest.LogCaptureFixture, after_effect: bool
) -> None:
    async with scene.hub() as hub:
        await hub.ask()
        card = await hub.sees()
        scene.api.cut("answerCallbackQuery", after_effect=after_effect)
        assert await hub.tap(card) == SENT
        await hub.until(lambda: len(scene.api.calls("answerCallbackQuery")) == 2)
        await hub.settled(card)
    assert warnings(caplog) == []


# ── no network ────────────────────────────────────────────────────────────────────────────────────


async def test_a_hub_that_starts_without_network_sends_everything_later(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "chatbridge.hub")
    scene.api.go_down()
    async with scene.hub(up=False) as hub:
        await hub.until(lambda: hub.trouble)
        await hub.ask(1)
        await hub.web_goes_on()
        await hub.passes(300)
        assert hub.trouble == "telegram cannot be reached (httpx.ConnectError)"
        scene.api.come_back()
        await hub.in_time(hub.sees(1))
        await hub.works(2)
    assert len(scene.api.calls("sendMessage")) == 2, "what ended meanwhile is not shown"
    assert lines(caplog, logging.INFO) == [
        "telegram is not available: telegram cannot be reached (httpx.ConnectError)",
        "telegram is available again",
    ]


async def test_a_network_that_goes_and_comes_back_loses_nothing(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    async with scene.hub() as hub:
        ask = await hub.ask(1)
        card = await hub.sees(1)
        await hub.until_noted(ask)
        scene.api.go_down()
        await hub.until(lambda: hub.trouble)
        missed = await hub.ask(2)
        await hub.web_goes_on()
        scene.phone.tap(card, "blue")  # the phone has a network of its own
        await hub.passes(300)
        assert "telegram cannot be reached" in (hub.trouble or "")
        scene.api.come_back()
        assert (await hub.in_time(hub.answered(ask))).status is Status.ANSWERED
        await hub.in_time(hub.settled(card))
        assert await hub.tap(await hub.in_time(hub.sees(2))) == SENT
        assert (await hub.now(missed)).status is Status.ANSWERED
        assert hub.trouble is None
    reading = [it for it in warnings(caplog) if it.startswith("telegram ")]
    sending = [it for it in warnings(caplog) if it.startswith("telegram:")]
    assert 1 <= len(reading) <= 2, "the broken connection, and that there is no new one"
    assert len(sending) == 1


async def test_a_network_that_is_back_is_noticed_though_nobody_does_anything(
    scene: Scene,
) -> None:
    async with scene.hub() as hub:
        scene.api.go_down()
        await hub.until(lambda: hub.trouble)
        scene.api.come_back()
        await hub.until(lambda: hub.trouble is None, step=0.5)


# ── one request fails ─────────────────────────────────────────────────────────────────────────────

FAULTS: dict[str, Callable[[BotApi, str], object]] = {
    "500": lambda api, method: api.fail(method, status=500),
    "a gateway's page": lambda api, method: api.fail(method, status=502),
    "ok, and no JSON": lambda api, method: api.garble(method),
    "cut before": lambda api, method: api.cut(method, after_effect=False),
    "cut after": lambda api, method: api.cut(method, after_effect=True),
    "429": lambda api, method: api.fail(method, status=429, retry_after=3),
    "no answer": lambda api, method: api.hold(method),
    "no answer, but an effect": lambda api, method: api.hold(method, after_effect=True),
}
WITH_EFFECT = ("cut after", "no answer, but an effect")
DONE = "ok, and no JSON"
each_fault = pytest.mark.parametrize("fault", FAULTS)


@each_fault
async def test_a_card_arrives_though_sending_it_fails_once(
    scene: Scene, caplog: pytest.LogCaptureFixture, fault: str
) -> None:
    async with scene.hub(patience=1.0) as hub:
        FAULTS[fault](scene.api, "sendMessage")
        ask = await hub.ask()
        await hub.in_time(hub.until_noted(ask))
        cards = [card for card in scene.phone.messages if "Number 1." in card.text]
        assert len(cards) == (2 if fault in WITH_EFFECT else 1)
        assert await hub.tap(cards[-1]) == SENT
        await hub.web_goes_on()
    (said,) = warnings(caplog)
    not_shown = f"telegram:{scene.chat.id}: ask {ask.id} not shown yet: telegram "
    assert said.startswith("telegram said ok" if fault == DONE else not_shown)


@each_fault
async def test_a_card_is_right_in_the_end_though_its_edit_fails_once(
    scene: Scene, caplog: pytest.LogCaptureFixture, fault: str
) -> None:
    async with scene.hub(patience=1.0) as hub:
        ask = await hub.ask()
        card = await hub.sees()
        await hub.until_noted(ask)
        FAULTS[fault](scene.api, "editMessageText")
        assert await hub.tap(card) == SENT
        await hub.in_time(hub.until_noted(await hub.now(ask)))
        now = scene.phone.now(card)
        assert now.text.startswith("✅")
        assert "red" not in [key.text for key in now.keys]
    assert len(scene.api.calls("sendMessage")) == 1
    assert len(warnings(caplog)) == (0 if fault == DONE else 1)


@pytest.mark.parametrize("fault", [name for name in FAULTS if "no answer" not in name])
async def test_a_tap_counts_once_though_reading_it_fails(
    scene: Scene, caplog: pytest.LogCaptureFixture, fault: str
) -> None:
    caplog.set_level(logging.INFO, "chatbridge.channels.chat.poll_loop")
    async with scene.hub(patience=1.0) as hub:
        ask = await hub.ask()
        card = await hub.sees()
        FAULTS[fault](scene.api, "getUpdates")
        scene.phone.say("/help")  # ends the request that hangs; the next one fails
        scene.phone.tap(card, "blue")
        assert (await hub.in_time(hub.answered(ask))).status is Status.ANSWERED
        await hub.until(lambda: hub.trouble is None, step=0.5)
        await hub.works(2)
    assert len(scene.api.calls("answerCallbackQuery")) == 2
    said = lines(caplog, logging.INFO)
    assert len(said) <= 2
    assert all("telegram" in line for line in said)


async def test_a_request_that_is_never_answered_is_made_again(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    async with scene.hub(patience=1.0) as hub:
        ask = await hub.ask()
        card = await hub.sees()
        dead = scene.api.hold("getUpdates")
        draining = asyncio.ensure_future(hub.line_up.drained())
        await asyncio.to_thread(dead.arrived)
        scene.phone.tap(card, "blue")
        await hub.in_time(asyncio.wait_for(draining, PATIENCE))
        assert (await hub.now(ask)).status is Status.ANSWERED
        await hub.until(lambda: hub.trouble is None)
    assert warnings(caplog) == ["telegram did not answer in time"]


async def test_a_gateway_that_is_down_all_night_is_one_line(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    async with scene.hub() as hub:
        await hub.until(lambda: scene.api.polling)
        before = len(scene.api.requests)
        scene.api.fail("*", status=502, times=10_000)
        scene.phone.say("/help")
        await hub.until(lambda: hub.trouble)
        assert hub.trouble == "telegram cannot be reached (Bad Gateway)"
        await hub.ask(1)
        await hub.passes(3600)
        await hub.web_goes_on()
        assert len(scene.api.requests) - before < 200, "about one a minute for each of us"
        scene.api.heal()
        await hub.works(2)
        await hub.sees(1)
    said = [record.getMessage() for record in caplog.records if record.levelno > logging.INFO]
    assert len(said) <= 3, said  # nothing is read; nothing is sent; the answer to /help


# ── pauses that Telegram asks for ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("method", ["sendMessage", "editMessageText", "getUpdates"])
async def test_a_pause_that_telegram_asks_for_is_kept(scene: Scene, method: str) -> None:
    async with scene.hub() as hub:
        ask = await hub.ask()
        card = await hub.sees()
        await hub.until_noted(ask)
        scene.api.fail(method, status=429, retry_after=30)
        scene.phone.tap(card, "blue")
        if method == "sendMessage":
            await hub.ask(2)
        await hub.until(lambda: any(it.status == 429 for it in scene.api.calls(method)))
        refused = len(scene.api.calls(method))
        await hub.passes(29)
        assert len(scene.api.calls(method)) == refused
        await hub.until(lambda: len(scene.api.calls(method)) > refused, step=0.5)
        await hub.settled(card)


# ── the end ───────────────────────────────────────────────────────────────────────────────────────


async def test_a_hub_that_ends_while_telegram_is_slow_leaves_nothing_behind(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    before = len(asyncio.all_tasks())
    async with scene.hub() as hub:
        slow = scene.api.hold("sendMessage", times=3)
        for number in (1, 2):
            await hub.ask(number)
        scene.phone.say("/help")
        await asyncio.to_thread(slow.arrived, 2)
    await asyncio.sleep(0)  # who was cancelled last ends now
    assert len(asyncio.all_tasks()) == before
    assert warnings(caplog) == []
