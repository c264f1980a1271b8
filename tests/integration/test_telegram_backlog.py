"""What Telegram kept while nobody read: it counts before any deadline does, and what Telegram has
forgotten is asked for again."""

from __future__ import annotations

import asyncio

from chatbridge.core.model import Status
from tests.fakes.inbox import TEXT
from tests.fakes.telegram_hub import PATIENCE, Scene

SOON = 600.0


# ── draining ──────────────────────────────────────────────────────────────────────────────────────


async def test_a_machine_that_slept_reads_what_was_tapped_before_it_applies_deadlines(
    scene: Scene,
) -> None:
    async with scene.hub() as hub:
        ask = await hub.desk.ask(TEXT, title="Number 1.", timeout=SOON)
        card = await hub.sees()
        dead = scene.api.hold("getUpdates")  # a connection that nobody will hear of again
        scene.phone.say("/help")
        await asyncio.to_thread(dead.arrived)
        scene.phone.say("feat: sleep", reply_to=card)
        scene.clock.step(3600)
        scene.clock.advance(30)  # the next look at the wall clock
        assert (await hub.answered(ask)).status is Status.ANSWERED


async def test_without_network_deadlines_wait_for_a_minute_at_most(scene: Scene) -> None:
    async with scene.hub() as hub:
        ask = await hub.desk.ask(TEXT, timeout=SOON)
        scene.api.go_down()
        await hub.until(lambda: hub.trouble)
        scene.clock.step(3600)
        scene.clock.advance(30)
        ended = asyncio.ensure_future(hub.answered(ask))
        await hub.web_goes_on()
        assert not ended.done()
        assert (await hub.in_time(asyncio.wait_for(ended, PATIENCE))).status is Status.TIMED_OUT


async def test_draining_ends_with_a_channel_that_cannot_read_any_more(scene: Scene) -> None:
    async with scene.hub() as hub:
        scene.api.go_down()
        await hub.until(lambda: hub.trouble)
        draining = asyncio.ensure_future(hub.line_up.drained())
        await hub.web_goes_on()
        assert not draining.done()
        scene.api.revoke_token()
        scene.api.come_back()
        await hub.in_time(asyncio.wait_for(draining, PATIENCE))


async def test_what_telegram_said_before_the_question_came_up_is_no_draining(scene: Scene) -> None:
    """An answer that is on its way may be older than the tap that draining is for."""
    async with scene.hub() as hub:
        ask = await hub.ask()
        card = await hub.sees()
        late = scene.api.hold("getUpdates", after_effect=True)
        first = asyncio.ensure_future(hub.line_up.drained())
        await asyncio.to_thread(late.arrived)  # an empty answer is on its way
        scene.phone.tap(card, "blue")
        second = asyncio.ensure_future(hub.line_up.drained())
        await asyncio.sleep(0)
        late.release()
        async with asyncio.timeout(PATIENCE):
            await second
            await first
        assert (await hub.now(ask)).status is Status.ANSWERED


# ── longer than Telegram keeps what people did ────────────────────────────────────────────────────

AGAIN = "Taps of more than a day ago were not kept. Tap again."


async def test_after_more_than_a_day_open_cards_are_posted_again_once(scene: Scene) -> None:
    async with scene.hub() as hub:
        first, second = await hub.ask(1), await hub.ask(2)
        old = [await hub.sees(1), await hub.sees(2)]
        await hub.until_noted(first, second)
    scene.clock.advance(24.5 * 3600)
    for _ in range(100):
        scene.phone.press(old[0], "nothing that this bot knows")
    scene.phone.tap(old[0], "blue")
    scene.clock.advance(1800)
    async with scene.hub() as hub:
        await hub.shows(old[0], "Answered")
        card = await asyncio.to_thread(scene.phone.sees, AGAIN)
        await asyncio.to_thread(scene.phone.gone, old[1])
        assert "Number 2." in card.text
        await hub.until_noted(await hub.now(second))
    async with scene.hub() as hub:
        await hub.line_up.drained()
        await hub.web_goes_on()
        assert await hub.tap(card) == "Sent: blue"
        assert (await hub.now(second)).status is Status.ANSWERED
        await hub.shows(card, "Answered")
    assert len([it for it in scene.api.calls("sendMessage") if AGAIN in it.params["text"]]) == 1


async def test_a_card_that_is_posted_again_is_the_reminder_that_was_due(scene: Scene) -> None:
    async with scene.hub() as hub:
        ask = await hub.ask()
        await hub.sees()
        await hub.until_noted(ask)
    scene.clock.advance(25 * 3600)
    async with scene.hub(reminders=[3600]) as hub:
        card = await asyncio.to_thread(scene.phone.sees, AGAIN)
        assert card.text.startswith("⏳")
        assert not card.silent
        await hub.line_up.drained()
        await hub.until_noted(await hub.now(ask))
        assert (await hub.now(ask)).attention.raised == 1
    assert len(scene.api.calls("sendMessage")) == 2


async def test_a_reminder_that_came_first_is_not_posted_again(scene: Scene) -> None:
    async with scene.hub() as hub:
        ask = await hub.ask()
        await hub.sees()
        await hub.until_noted(ask)
    scene.clock.advance(25 * 3600)
    backlog = scene.api.hold("getUpdates")
    async with scene.hub(reminders=[3600], up=False) as hub:
        await asyncio.to_thread(backlog.arrived)
        scene.clock.advance(60)  # for longer reminders do not wait
        await asyncio.to_thread(scene.phone.sees, "⏳")
        await hub.until_noted(await hub.now(ask))
        backlog.release()
        await hub.line_up.drained()
        await hub.until_noted(await hub.now(ask))
    assert len(scene.api.calls("sendMessage")) == 2


async def test_a_day_without_network_is_such_a_gap_too(scene: Scene) -> None:
    async with scene.hub() as hub:
        await hub.ask()
        old = await hub.sees()
        scene.api.go_down()
        await hub.until(lambda: hub.trouble)
        scene.clock.advance(50 * 3600)
        scene.api.come_back()
        card = await hub.in_time(asyncio.to_thread(scene.phone.sees, AGAIN))
        assert card.id != old.id
        now = await asyncio.to_thread(scene.phone.until, old, lambda it: not it.rows)
        assert not now.deleted, "Telegram lets nobody delete what is two days old"


async def test_less_than_a_day_is_none(scene: Scene) -> None:
    async with scene.hub() as hub:
        ask = await hub.ask()
        card = await hub.sees()
        await hub.until_noted(ask)
    scene.clock.advance(22 * 3600)
    async with scene.hub() as hub:
        await hub.line_up.drained()
        assert await hub.tap(card) == "Sent: blue"
    assert len(scene.api.calls("sendMessage")) == 1
