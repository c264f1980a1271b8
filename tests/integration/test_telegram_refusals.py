"""When Telegram does not want us: the token, a chat, or another program that reads. The owner is
told what to do, once; the web inbox, the other chats and the agents go on."""

from __future__ import annotations

from pathlib import Path

import pytest

from chatbridge.core.model import Status
from tests.fakes.telegram_hub import Scene
from tests.fakes.telegram_log import warnings

SENT = "Sent: blue"


# ── a token that is not taken ─────────────────────────────────────────────────────────────────────

REJECTED = (
    "telegram rejected the bot token (401). Check telegram.token in config.toml, then run: "
    "chatbridge restart"
)


async def test_a_rejected_token_is_said_from_the_start_and_hurts_nobody_else(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    scene.api.revoke_token()
    async with scene.hub(up=False) as hub:
        await hub.until(lambda: hub.trouble)
        assert hub.trouble == REJECTED
        assert REJECTED in (await hub.web.get("/api/status")).text
        await hub.web_goes_on()
        await hub.passes(3600)
        assert len(scene.api.requests) < 80, "about one a minute"
        scene.api.restore_token()
        await hub.works(1)
    assert warnings(caplog) == [f"telegram is not available: {REJECTED}"]


async def test_a_token_that_is_revoked_while_the_hub_runs_is_said_and_taken_again(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    async with scene.hub() as hub:
        ask = await hub.ask(1)
        card = await hub.sees(1)
        await hub.until_noted(ask)
        scene.api.revoke_token()
        await hub.until(lambda: hub.trouble)
        before = len(scene.api.requests)
        assert hub.trouble == REJECTED
        missed = await hub.ask(2)
        await hub.web_goes_on()
        await hub.passes(3600)
        assert len(scene.api.requests) - before < 80
        scene.phone.tap(card, "blue")
        scene.api.restore_token()
        assert (await hub.in_time(hub.answered(ask))).status is Status.ANSWERED
        assert await hub.tap(await hub.in_time(hub.sees(2))) == SENT
        assert (await hub.now(missed)).status is Status.ANSWERED
        await hub.until(lambda: hub.trouble is None)
    assert warnings(caplog) == [f"telegram is not available: {REJECTED}"]


# ── chats that cannot be written to ───────────────────────────────────────────────────────────────


async def test_a_blocked_bot_says_so_and_its_cards_arrive_once_it_is_let_in_again(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    async with scene.hub() as hub:
        await hub.works(1)
        await hub.until(lambda: scene.api.polling)
        scene.phone.block()
        await hub.ask(2)
        await hub.until(lambda: hub.trouble)
        assert f"may not write to the chat {scene.chat.id} (403" in (hub.trouble or "")
        assert "press Start or Unblock" in (hub.trouble or "")
        before = len(scene.api.requests)
        await hub.passes(1800)
        await hub.web_goes_on()
        assert len(scene.api.requests) - before < 60
        scene.phone.unblock()
        await hub.works(3)
        await hub.sees(2)
    assert len(warnings(caplog)) == 1


async def test_a_chat_that_is_not_there_is_named_and_the_other_one_gets_its_cards(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    nobody = 12345
    async with scene.hub(chats=[nobody, scene.chat.id]) as hub:
        await hub.ask(1)
        assert await hub.tap(await hub.sees(1)) == SENT
        await hub.until(lambda: hub.trouble)
        assert hub.trouble == (
            "telegram does not know the chat 12345 (400). Check telegram.chat_id; its owner has "
            "to press Start in the bot's chat first"
        )
        await hub.passes(600)
    assert len(warnings(caplog)) == 1


async def test_a_group_that_lets_the_bot_not_write_is_named(tmp_path: Path) -> None:
    with Scene.set(tmp_path, group=True) as scene:
        says = "Bad Request: not enough rights to send text messages to the chat"
        scene.api.fail("sendMessage", status=400, description=says, times=3)
        async with scene.hub() as hub:
            await hub.ask(1)
            await hub.until(lambda: hub.trouble)
            assert "Let an administrator of the group allow it" in (hub.trouble or "")
            await hub.in_time(hub.sees(1))
            await hub.until(lambda: hub.trouble is None)


async def test_a_question_that_telegram_does_not_take_delays_no_other(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    async with scene.hub() as hub:
        scene.api.fail(
            "sendMessage",
            status=400,
            description="Bad Request: message text is strange",
            times=1000,
            when=lambda params: "Number 1." in params["text"],
        )
        await hub.ask(1)
        await hub.until(lambda: warnings(caplog))
        await hub.passes(200)  # its pauses are a minute long by now
        for number in (2, 3):
            await hub.ask(number)
            assert await hub.tap(await hub.sees(number)) == SENT
        scene.api.heal()
        await hub.in_time(hub.sees(1))
    assert len(warnings(caplog)) == 1


# ── somebody else reads ───────────────────────────────────────────────────────────────────────────


async def test_another_program_that_polls_is_named_and_when_it_ends_taps_count(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    async with scene.hub() as hub:
        scene.api.another_poller(on=True)
        await hub.until(lambda: hub.trouble)
        assert "another program polls this bot (409)" in (hub.trouble or "")
        assert "look for a second chatbridge, also on another computer" in (hub.trouble or "")
        ask = await hub.ask()
        card = await hub.sees()  # sending goes on
        await hub.web_goes_on()
        before = len(scene.api.requests)
        await hub.passes(600)
        assert len(scene.api.requests) - before < 60
        scene.phone.tap(card, "blue")
        scene.api.another_poller(on=False)
        assert (await hub.in_time(hub.answered(ask))).status is Status.ANSWERED
        await hub.until(lambda: hub.trouble is None)
    assert len(warnings(caplog)) == 1


async def test_another_program_that_polls_at_the_first_start_is_named_too(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    scene.api.another_poller(on=True)
    async with scene.hub(up=False) as hub:
        await hub.until(lambda: hub.trouble)
        assert "another program polls this bot (409)" in (hub.trouble or "")
        await hub.web_goes_on()
        await hub.passes(600)
        scene.api.another_poller(on=False)
        await hub.works(1)
    assert len(warnings(caplog)) == 1


async def test_a_webhook_is_named_and_taken_away_by_its_owner(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    async with scene.hub() as hub:
        ask = await hub.ask()
        card = await hub.sees()
        scene.api.set_webhook("https://example.org/hook")
        await hub.until(lambda: "this bot has a webhook" in (hub.trouble or ""), step=0.5)
        await hub.web_goes_on()
        scene.phone.tap(card, "blue")
        scene.api.set_webhook("")
        assert (await hub.in_time(hub.answered(ask))).status is Status.ANSWERED
        await hub.until(lambda: hub.trouble is None)
    assert len(warnings(caplog)) == 1
    assert not scene.api.calls("deleteWebhook"), "it may be somebody's"
