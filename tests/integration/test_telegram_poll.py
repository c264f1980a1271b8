"""What people do in Telegram is put in exactly once: whenever a hub ends, whatever the store does,
however long nobody read."""

from __future__ import annotations

import asyncio

import pytest

from chatbridge.channels.chat.callback_data import Tap, encode
from chatbridge.core.forms.form import Extend
from chatbridge.core.model import Ask, Status
from chatbridge.core.policy import DAY
from tests.fakes.inbox import MULTI, TEXT
from tests.fakes.telegram.people import Card
from tests.fakes.telegram_hub import LONG, PATIENCE, Scene, TelegramHub
from tests.fakes.telegram_log import warnings

SOON = 600.0
QUARTER = 900.0


async def soon_over(hub: TelegramHub) -> tuple[Ask, Card]:
    """A question for `more_time`."""
    ask = await hub.desk.ask(TEXT, title="Number 1.", timeout=SOON)
    card = await hub.sees()
    return ask, card


def more_time(ask: Ask) -> str:
    """A button of an earlier version: the one that counts twice if it is put in twice."""
    return encode(Tap(ask_id=ask.id, question=0, action=Extend(minutes=15)))


def more(ask: Ask) -> float:
    assert ask.deadline is not None
    return ask.deadline - ask.created_at - SOON


def offsets(scene: Scene) -> list[object]:
    return [call.params.get("offset") for call in scene.api.calls("getUpdates")]


# ── one hub ends, the next begins ─────────────────────────────────────────────────────────────────


async def test_what_was_tapped_while_no_hub_was_there_counts(scene: Scene) -> None:
    async with scene.hub() as hub:
        ask, card = await soon_over(hub)
    scene.phone.press(card, more_time(ask))
    async with scene.hub() as hub:
        await asyncio.to_thread(scene.api.until_confirmed)
        assert more(await hub.now(ask)) == QUARTER


async def test_quiet_hours_are_not_switched_by_what_was_written_while_no_hub_was_there(
    scene: Scene,
) -> None:
    async with scene.hub():
        pass
    scene.phone.say("/quiet until 08:00")
    scene.clock.step(12 * 3600.0)
    async with scene.hub() as hub:
        await asyncio.to_thread(scene.api.until_confirmed)
        assert hub.desk.inbox.nights.switch is None
        scene.phone.say("/quiet 2h")
        await asyncio.to_thread(scene.api.until_confirmed)
        assert hub.desk.inbox.nights.switch is not None


async def test_quiet_hours_are_not_switched_by_a_button_that_was_tapped_while_no_hub_was_there(
    scene: Scene,
) -> None:
    async with scene.hub():
        scene.phone.say("/quiet")
        buttons = await asyncio.to_thread(scene.phone.sees, "No regular quiet hours.")
    scene.phone.tap(buttons, "Quiet for 2 h")
    scene.clock.step(12 * 3600.0)
    async with scene.hub() as hub:
        await asyncio.to_thread(scene.api.until_confirmed)
        assert hub.desk.inbox.nights.switch is None
        assert (await hub.tap(buttons, "Quiet for 2 h")).startswith("Quiet until ")
        assert hub.desk.inbox.nights.switch is not None


async def test_a_tap_whose_commit_failed_in_one_hub_counts_in_the_next(scene: Scene) -> None:
    async with scene.hub() as hub:
        ask, card = await soon_over(hub)
        async with scene.failing("notes"):
            scene.phone.press(card, more_time(ask))
            await hub.until(lambda: hub.trouble)
            assert more(await hub.now(ask)) == 0
    async with scene.hub() as hub:
        await asyncio.to_thread(scene.api.until_confirmed)
        assert more(await hub.now(ask)) == QUARTER


async def test_a_tap_that_was_committed_but_not_confirmed_is_not_put_in_again(
    scene: Scene,
) -> None:
    async with scene.hub() as hub:
        ask, card = await soon_over(hub)
        next_one = scene.api.hold("getUpdates")  # for ever: this one would confirm it
        await asyncio.to_thread(scene.phone.press(card, more_time(ask)).answered)
        await asyncio.to_thread(next_one.arrived)
        assert scene.api.pending
        assert more(await hub.now(ask)) == QUARTER
    async with scene.hub() as hub:
        await asyncio.to_thread(scene.api.until_confirmed)
        assert not scene.api.pending
        assert more(await hub.now(ask)) == QUARTER


async def test_a_tap_that_a_dying_hub_did_not_answer_is_shown_by_the_next(scene: Scene) -> None:
    async with scene.hub() as hub:
        ask = await hub.ask()
        card = await hub.sees()
        edit = scene.api.hold("editMessageText")
        scene.api.hold("answerCallbackQuery")
        scene.phone.tap(card, "blue")
        await asyncio.to_thread(edit.arrived)
        assert (await hub.now(ask)).status is Status.ANSWERED
    async with scene.hub() as hub:
        assert (await hub.shows(card, "Answered")).rows == ()


async def test_what_was_written_before_the_first_start_is_not_for_this_hub(scene: Scene) -> None:
    for number in range(150):
        scene.phone.say(f"hello {number}")
    scene.phone.say("/pending")
    async with scene.hub():
        await asyncio.to_thread(scene.api.until_confirmed)
        scene.phone.say("/help")
        await asyncio.to_thread(scene.api.until_confirmed)
        (said,) = [card.text for card in scene.phone.messages if card.from_bot]
        assert "/pending shows what is open" in said, "only the last one was answered"


# ── the cursor ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("days", "used"), [(5.9, True), (6.1, False)])
async def test_a_cursor_is_used_for_six_days(scene: Scene, days: float, used: bool) -> None:
    """After a week without updates their numbers begin anew, perhaps just below the old ones."""
    async with scene.hub() as hub:
        ask = await hub.ask()
        card = await hub.sees()
        scene.phone.say("/help")
        await asyncio.to_thread(scene.api.until_confirmed)
    last = offsets(scene)[-1]
    before = len(offsets(scene))
    assert isinstance(last, int)
    scene.clock.advance(days * DAY)
    if not used:
        scene.api.restart_update_ids(last - 5)
    scene.phone.tap(card, "blue")
    async with scene.hub() as hub:
        assert offsets(scene)[before] == (last if used else None)
        assert (await hub.answered(ask)).status is Status.ANSWERED


async def test_numbers_that_begin_anew_while_a_hub_reads_lose_nothing(scene: Scene) -> None:
    async with scene.hub() as hub:
        ask = await hub.ask()
        card = await hub.sees()
        scene.api.restart_update_ids(1000)
        assert await hub.tap(card) == "Sent: blue"
        scene.phone.say("/help")
        await asyncio.to_thread(scene.api.until_confirmed)
        assert (await hub.now(ask)).status is Status.ANSWERED


async def test_every_request_says_which_updates_are_wanted(scene: Scene) -> None:
    for number in (1, 2):
        async with scene.hub() as hub:
            await hub.ask(number)
            await hub.tap(await hub.sees(number))
            await hub.line_up.drained()
    wanted = [call.params.get("allowed_updates") for call in scene.api.calls("getUpdates")]
    assert len(wanted) > 4
    assert wanted == [["message", "callback_query"]] * len(wanted)


# ── many, unreadable, and bugs ────────────────────────────────────────────────────────────────────


async def test_a_backlog_of_any_length_is_in_before_draining_is_over(scene: Scene) -> None:
    async with scene.hub() as hub:
        ask = await hub.desk.ask(MULTI, title="Number 1.", timeout=LONG)
        card = await hub.sees()
    data = {key.text: key.data or "" for key in card.keys}
    unit, load = (data[label] for label in data if "Unit" in label or "Load" in label)
    taps = [scene.phone.press(card, unit) for _ in range(101)]  # one reply has 100
    taps.append(scene.phone.press(card, load))
    async with scene.hub(up=False) as hub:
        async with asyncio.timeout(PATIENCE):
            await hub.line_up.drained()
        assert (await hub.now(ask)).draft.entries[0].picked == (0, 2)
        assert not scene.api.pending
        for tap in taps:
            await asyncio.to_thread(tap.answered)


async def test_an_update_that_cannot_be_read_is_said_and_passed_over(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    async with scene.hub() as hub:
        ask = await hub.ask()
        card = await hub.sees()
        number = scene.api.raw_update({"message": {"message_id": "?", "date": "yesterday"}})
        assert await hub.tap(card) == "Sent: blue"
        assert (await hub.now(ask)).status is Status.ANSWERED
        await asyncio.to_thread(scene.api.until_confirmed)
        assert scene.api.confirmed(number)
        assert hub.trouble is None
    (said,) = warnings(caplog)
    assert f"update {number} cannot be read" in said


async def test_an_update_that_meets_a_bug_is_passed_over(
    scene: Scene, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def buggy(*given: object) -> None:
        raise KeyError("shown_on")

    monkeypatch.setattr("chatbridge.channels.chat.inbound.shown_on", buggy)
    async with scene.hub() as hub:
        ask = await hub.ask(2)
        card = await hub.sees(2)
        scene.phone.say("hello?")
        assert await hub.tap(card) == "Sent: blue"
        assert (await hub.now(ask)).status is Status.ANSWERED
    (said,) = warnings(caplog)
    assert "was passed over" in said


# ── the store ─────────────────────────────────────────────────────────────────────────────────────


async def test_while_the_store_fails_nothing_is_confirmed_and_afterwards_it_counts_once(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    async with scene.hub() as hub:
        ask, card = await soon_over(hub)
        async with scene.failing("notes"):
            scene.phone.press(card, more_time(ask))
            await hub.until(lambda: hub.trouble)
            before = len(offsets(scene))
            await hub.until(lambda: len(offsets(scene)) >= before + 3, step=0.5)
            assert "telegram: nothing is read: the database" in (hub.trouble or "")
            assert scene.api.pending
            assert more(await hub.now(ask)) == 0
        await hub.until(lambda: not scene.api.pending, step=0.5)
        await hub.until(lambda: hub.trouble is None)
        assert more(await hub.now(ask)) == QUARTER
    assert len(warnings(caplog)) == 1, "it says so once"


async def test_a_tap_whose_effect_is_committed_is_not_repeated_when_the_store_fails_after_it(
    scene: Scene,
) -> None:
    async with scene.hub() as hub:
        ask, card = await soon_over(hub)
        await hub.until_noted(ask)
    async with scene.hub() as hub:
        async with scene.without("posts"):
            scene.phone.press(card, more_time(ask))
            await hub.until(lambda: "nothing is read" in (hub.trouble or ""))
            assert more(await hub.now(ask)) == QUARTER
        await hub.until(lambda: not scene.api.pending, step=0.5)
        assert more(await hub.now(ask)) == QUARTER


async def test_a_card_that_the_store_could_not_note_is_not_posted_again_and_again(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    async with scene.hub() as hub:
        async with scene.failing("posts"):
            ask = await hub.ask()
            card = await hub.sees()
            await hub.until(lambda: warnings(caplog))
            tried = scene.clock.time()
            await hub.until(lambda: scene.clock.time() > tried + 100, step=1.0)
        await hub.in_time(hub.until_noted(ask))
        await hub.tap(card)
        await hub.shows(card, "Answered")
    assert len(scene.api.calls("sendMessage")) == 1
    assert len(warnings(caplog)) == 1


async def test_a_store_that_fails_at_the_start_only_delays_what_was_missed(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    async with scene.hub():
        pass
    async with scene.hub() as hub:
        scene.api.revoke_token()  # so that the channel starts anew
        await hub.until(lambda: hub.trouble)
        await hub.ask()
        async with scene.without("posts"):
            scene.api.restore_token()
            await hub.until(lambda: "not known yet" in caplog.text, step=0.5)
        await hub.in_time(hub.sees())


async def test_the_cursor_does_not_move_without_the_effect(scene: Scene) -> None:
    async with scene.hub() as hub:
        ask = await hub.ask(1)
        card = await hub.sees(1)
        await hub.until_noted(ask)
        async with scene.failing("asks"):
            tap = scene.phone.tap(card, "blue")
            await hub.until(lambda: "nothing is read" in (hub.trouble or ""))
            assert await asyncio.to_thread(tap.answered) == ""
            assert (await hub.now(ask)).open
    async with scene.hub() as hub:
        await hub.until(lambda: not scene.api.pending)
        assert (await hub.now(ask)).status is Status.ANSWERED
