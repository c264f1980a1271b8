"""What the bot says beside cards: about the set-up, about a gap, and when it has to wait."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from chatbridge.core.cards.phrases import clock_time
from tests.fakes.telegram_hub import Scene

REMARK = "The agent in <shop> was started with settings that this hub does not use."


def said(scene: Scene) -> list[str]:
    return [message.text for message in scene.phone.messages if message.from_bot]


async def test_a_remark_about_the_set_up_is_said_once_and_silently(scene: Scene) -> None:
    async with scene.hub(up=False) as hub:
        hub.line_up.tell(REMARK)  # perhaps before Telegram is up
        seen = await asyncio.to_thread(scene.phone.sees, REMARK)
        assert seen.silent
        hub.line_up.tell(REMARK)
        hub.line_up.tell("Something else.")
        await asyncio.to_thread(scene.phone.sees, "Something else.")
    assert [REMARK in text for text in said(scene)] == [True, False]


async def test_a_remark_that_cannot_be_said_hurts_nobody(scene: Scene) -> None:
    async with scene.hub() as hub:
        scene.phone.block()
        hub.line_up.tell(REMARK)
        await asyncio.to_thread(scene.api.until, lambda it: it.calls("sendMessage"))
        scene.phone.unblock()
        await hub.works(1)


async def test_a_chat_that_cannot_be_told_keeps_a_remark_from_no_other(tmp_path: Path) -> None:
    with Scene.set(tmp_path) as scene:
        async with scene.hub(chats=[12345, scene.chat.id]) as hub:
            hub.line_up.tell(REMARK)
            await asyncio.to_thread(scene.phone.sees, REMARK)


async def test_a_remark_is_not_repeated_in_one_chat_while_another_asks_for_a_pause(
    tmp_path: Path,
) -> None:
    with Scene.set(tmp_path) as scene:
        bob = scene.api.person("Bob")
        other = scene.api.private(bob)
        chats = [scene.chat.id, other.id]

        def to_bob(params: dict[str, Any]) -> bool:
            return int(params["chat_id"]) == other.id

        scene.api.fail("sendMessage", status=429, retry_after=30, times=3, when=to_bob)
        async with scene.hub(chats=chats) as hub:
            hub.line_up.tell(REMARK)
            await hub.until(lambda: len(scene.api.calls("sendMessage")) >= 3, step=1.0)
        async with scene.hub(chats=chats) as hub:  # the next hub knows nothing of it
            hub.line_up.tell_again("Something else.")
            seen = asyncio.to_thread(other.phone(bob).sees, "Something else.")
            await hub.in_time(seen)
            await asyncio.to_thread(scene.phone.sees, "Something else.")
    assert [REMARK in text for text in said(scene)] == [True, False]


async def test_a_remark_reaches_all_though_the_first_chat_has_become_a_supergroup(
    tmp_path: Path,
) -> None:
    with Scene.set(tmp_path, group=True) as scene:
        bob = scene.api.person("Bob")
        other = scene.api.private(bob)
        async with scene.hub(chats=[scene.chat.id, other.id]) as hub:
            moved = scene.chat.migrate().phone(scene.phone.person)
            scene.api.heal()
            hub.line_up.tell(REMARK)
            await hub.in_time(asyncio.to_thread(moved.sees, REMARK))
            await hub.in_time(asyncio.to_thread(other.phone(bob).sees, REMARK))


async def test_a_remark_waits_for_the_network(scene: Scene) -> None:
    async with scene.hub() as hub:
        scene.api.go_down()
        hub.line_up.tell(REMARK)
        await hub.until(lambda: hub.trouble)
        scene.api.come_back()
        await hub.in_time(asyncio.to_thread(scene.phone.sees, REMARK))


async def test_agents_cannot_flood_a_chat_with_remarks_about_themselves(scene: Scene) -> None:
    async with scene.hub() as hub:
        for number in range(50):
            hub.line_up.tell(f"Remark {number}.")
        await asyncio.to_thread(scene.phone.sees, "Remark 9.")
        await hub.works(1)
    assert len([text for text in said(scene) if "Remark" in text]) == 10


async def test_the_menu_is_set_though_telegram_asks_for_a_pause_first(scene: Scene) -> None:
    scene.api.fail("setMyCommands", status=429, retry_after=30)
    async with scene.hub() as hub:
        await hub.until(lambda: scene.api.commands, step=0.5)


async def test_no_message_shows_a_preview_of_what_an_agent_links_to(scene: Scene) -> None:
    async with scene.hub() as hub:
        await hub.works(1)
        sent = (*scene.api.calls("sendMessage"), *scene.api.calls("editMessageText"))
        assert sent
        assert all(call.params["link_preview_options"]["is_disabled"] for call in sent)


async def test_the_first_card_after_a_long_gap_comes_with_an_explanation(scene: Scene) -> None:
    async with scene.hub() as hub:
        scene.api.go_down()
        await hub.ask(1)
        await hub.until(lambda: hub.trouble)
        since = hub.clock.time()
        await hub.passes(1800)
        await hub.ask(2)
        scene.api.come_back()
        await hub.in_time(hub.sees(1))
        await hub.in_time(hub.sees(2))
    explained, *cards = scene.phone.messages
    assert explained.silent
    assert explained.text.startswith(f"Telegram was unreachable from {clock_time(since)} to ")
    assert explained.text.endswith(". Shown now:")
    assert len(cards) == 2
    assert not any(card.silent for card in cards)


async def test_a_short_gap_needs_no_explanation(scene: Scene) -> None:
    async with scene.hub() as hub:
        scene.api.go_down()
        await hub.ask(1)
        await hub.until(lambda: hub.trouble)
        await hub.passes(60)
        scene.api.come_back()
        await hub.in_time(hub.sees(1))
    assert len(said(scene)) == 1


async def test_taps_count_while_the_bot_has_to_wait_before_it_may_say_something(
    scene: Scene,
) -> None:
    async with scene.hub() as hub:
        ask = await hub.ask(1)
        card = await hub.sees(1)
        await hub.until_noted(ask)
        scene.api.fail("sendMessage", status=429, retry_after=300)
        scene.phone.say("/pending")
        assert await hub.tap(card) == "Sent: blue"
        await hub.in_time(asyncio.to_thread(scene.phone.sees, "1 question is open"))


async def test_a_token_that_nobody_knows_points_to_the_servers_address_too(scene: Scene) -> None:
    scene.api.fail("getMe", status=404, description="Not Found", times=3)
    async with scene.hub(up=False) as hub:
        await hub.until(lambda: hub.trouble)
        assert hub.trouble == (
            "telegram does not know the bot token (404). Check telegram.token in config.toml and "
            "telegram.api_base, then run: chatbridge restart"
        )
