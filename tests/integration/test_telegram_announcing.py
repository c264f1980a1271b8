"""Notices in a chat: silent or loud, lists instead of floods, sent later if need be, and once."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from chatbridge.core.model import Level, Project
from tests.fakes.clock import StillClock
from tests.fakes.inbox import SELECT, SHOP
from tests.fakes.telegram.server import BotApi
from tests.fakes.telegram_desk import Telegram, read, running_telegram, waiting
from tests.fakes.telegram_hub import Scene

DOCS = Project(key="/code/docs-site", name="docs-site")


async def told(
    telegram: Telegram, message: str, *, level: Level = Level.INFO, project: Project = SHOP
) -> None:
    """An agent says this, and the chat has it."""
    await telegram.desk.notify(message, level=level, project=project)
    await telegram.sees(message)


@pytest.mark.parametrize(
    ("level", "first", "silent"),
    [
        (Level.INFO, "ℹ️ shop-api · Claude Code", True),
        (Level.WARNING, "⚠️ Warning · shop-api · Claude Code", False),
        (Level.ERROR, "❌ Error · shop-api · Claude Code", False),
    ],
)
async def test_what_is_worth_a_sound_makes_one(
    telegram: Telegram, level: Level, first: str, silent: bool
) -> None:
    await telegram.desk.notify("The *tests* pass.", title="Night run", level=level)
    message = await telegram.sees("tests pass.")
    assert read(message) == f"{first}\nNight run\nThe tests pass."
    assert message.parts("italic") == ("tests",)
    assert message.silent is silent
    assert message.rows == ()


async def test_five_infos_of_one_project_within_a_minute_become_one_list(
    telegram: Telegram,
) -> None:
    for i in range(1, 5):
        await told(telegram, f"Step {i}.")
        telegram.clock.advance(10)
    assert len(telegram.said()) == 4
    await told(telegram, "Another project.", project=DOCS)
    await telegram.desk.notify("Step 5.")
    listed = await telegram.sees(lambda card: "Step 1." in card.text and "Step 5." in card.text)
    await told(telegram, "Step 6.")
    await telegram.until(listed, lambda card: "Step 6." in card.text)
    assert telegram.said() == [
        "ℹ️ shop-api · Claude Code\n\n" + "\n\n".join(f"• Step {i}." for i in range(1, 7)),
        "ℹ️ docs-site · Claude Code\nAnother project.",
    ]


async def test_after_a_quiet_minute_a_notice_stands_alone_again(telegram: Telegram) -> None:
    for i in range(1, 6):
        await told(telegram, f"Step {i}.")
    await telegram.sees(lambda card: "Step 1." in card.text and "Step 5." in card.text)
    telegram.clock.advance(61)
    await told(telegram, "Step 6.")
    assert len(telegram.said()) == 2


async def test_slow_infos_stay_single(telegram: Telegram) -> None:
    for i in range(1, 7):
        await told(telegram, f"Step {i}.")
        telegram.clock.advance(20)
    assert len(telegram.said()) == 6


async def test_a_list_that_somebody_deleted_begins_anew(telegram: Telegram) -> None:
    for i in range(1, 6):
        await told(telegram, f"Step {i}.")
    listed = await telegram.sees(lambda card: "Step 1." in card.text and "Step 5." in card.text)
    telegram.phone.delete(listed)
    await told(telegram, "Step 6.")
    assert telegram.said() == ["ℹ️ shop-api · Claude Code\nStep 6."]


async def test_a_list_that_is_tidied_up_only_minutes_later_has_its_notices_alone(
    telegram: Telegram,
) -> None:
    for i in range(1, 5):
        await told(telegram, f"Step {i}.")
    telegram.api.fail("deleteMessage", status=500, times=8)
    await telegram.desk.notify("Step 5.")
    await telegram.in_time(told(telegram, "Another project.", project=DOCS))
    assert telegram.said() == [
        "ℹ️ shop-api · Claude Code\n\n" + "\n\n".join(f"• Step {i}." for i in range(1, 6)),
        "ℹ️ docs-site · Claude Code\nAnother project.",
    ]


async def test_warnings_are_never_hidden_in_a_list(telegram: Telegram) -> None:
    for i in range(1, 7):
        await told(telegram, f"Step {i}.", level=Level.WARNING)
    assert len(telegram.said()) == 6


async def test_a_long_notice_is_cut_and_followed_by_all_of_it(telegram: Telegram) -> None:
    await telegram.desk.notify("word " * 2_000, level=Level.ERROR)
    file = await telegram.sees(lambda card: card.document is not None)
    assert file.document
    assert file.document.content.decode() == "word " * 2_000
    assert file.silent
    message = await telegram.sees("❌")
    assert file.reply_to == message.id
    assert len(message.text) < 1_100


async def test_a_file_that_comes_later_does_not_bring_its_notice_again(
    telegram: Telegram,
) -> None:
    telegram.api.fail("sendDocument", status=500)
    await telegram.desk.notify("word " * 2_000)
    await telegram.in_time(telegram.sees(lambda card: card.document is not None))
    assert len(telegram.api.calls("sendMessage")) == 1


async def test_notices_go_to_their_projects_topic(tmp_path: Path) -> None:
    clock = StillClock()
    with BotApi.running(clock=clock) as api:
        ada = api.person("Ada")
        forum = api.group("team", ada, forum=True)
        async with running_telegram(
            tmp_path, api=api, clock=clock, chat=forum, phone=forum.phone(ada), topics=True
        ) as telegram:
            card = await telegram.card(await telegram.desk.ask(SELECT))
            await telegram.desk.notify("Done.")
            assert (await telegram.sees("Done.")).thread == card.thread is not None
            assert card.thread is not None
            forum.delete_topic(card.thread)
            await telegram.desk.notify("Done again.")
            assert (await telegram.sees("Done again.")).thread is None


async def test_without_network_a_notice_is_sent_later_and_once(scene: Scene) -> None:
    async with scene.hub() as hub:
        scene.api.go_down()
        await hub.desk.notify("It is night.", level=Level.WARNING)
        await hub.until(lambda: hub.trouble, step=0.1)
        await hub.passes(60)
        assert hub.trouble == "telegram cannot be reached (httpx.ConnectError)"
        scene.api.come_back()
        await hub.in_time(asyncio.to_thread(hub.phone.sees, "It is night."))
        await hub.until(lambda: hub.trouble is None, step=0.5)
        await hub.works(2)
    async with scene.hub() as hub:
        await hub.works(3)
    night = [card for card in scene.phone.messages if "It is night." in card.text]
    assert len(night) == 1


@pytest.mark.parametrize("edited", [True, False])
async def test_a_notice_that_a_hub_was_listing_as_it_ended_comes_in_that_list_once(
    scene: Scene, *, edited: bool
) -> None:
    steps = [f"Step {i}." for i in range(1, 6)]
    async with scene.hub() as hub:
        for step in steps[:4]:
            await hub.desk.notify(step)
            await hub.in_time(asyncio.to_thread(hub.phone.sees, step))
        scene.api.cut("editMessageText", after_effect=edited, times=100)
        await hub.desk.notify(steps[4])
        await hub.until(lambda: scene.api.calls("editMessageText"))
    scene.api.heal()
    async with scene.hub() as hub:
        await hub.until(lambda: len(scene.phone.messages) == 1)
    said = [word.text for word in scene.phone.messages]
    assert [said[0].count(step) for step in steps] == [1] * 5


async def test_a_notice_that_no_hub_lived_to_send_comes_with_the_next_one(scene: Scene) -> None:
    scene.api.go_down()
    async with scene.hub(up=False) as hub:
        await hub.until(lambda: hub.trouble)
        await hub.desk.notify("It is night.")
    scene.api.come_back()
    async with scene.hub() as hub:
        await hub.in_time(asyncio.to_thread(hub.phone.sees, "It is night."))


async def test_a_notice_follows_a_group_that_becomes_a_supergroup(tmp_path: Path) -> None:
    with Scene.set(tmp_path, group=True) as scene:
        async with scene.hub() as hub:
            new = scene.chat.migrate()
            await hub.desk.notify("Moved.")
            await hub.in_time(asyncio.to_thread(new.phone(scene.phone.person).sees, "Moved."))


async def test_a_list_from_before_a_group_moved_overwrites_no_card_of_the_new_one(
    tmp_path: Path,
) -> None:
    clock = StillClock()
    with BotApi.running(clock=clock) as api:
        api.service.last_id = 0  # a new bot's messages have numbers like a new supergroup's
        group = api.group("team", ada := api.person("Ada"))
        async with running_telegram(
            tmp_path, api=api, clock=clock, chat=group, phone=group.phone(ada)
        ) as telegram:
            for i in range(1, 5):
                await told(telegram, f"Step {i}.")
            last = await telegram.sees("Step 4.")
            phone = group.migrate().phone(ada)
            await telegram.dealt_with()
            numbers = set[int]()
            while last.id not in numbers:
                card = await telegram.card(await telegram.desk.ask(SELECT), phone=phone)
                numbers.add(card.id)
            await telegram.desk.notify("Step 5.")
            await waiting(phone.sees)("Step 5.")
            assert phone.now(card).text == card.text
