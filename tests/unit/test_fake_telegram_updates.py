"""The test server's updates: polling, offsets, conflicts, and who may see what."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from telegram import Bot, InlineKeyboardButton, InlineKeyboardMarkup
from telegram.error import Conflict

from tests.fakes.telegram.conversation import Conversation, conversation

DAY = 24 * 3600


@pytest.fixture
async def here() -> AsyncIterator[Conversation]:
    async with conversation() as here:
        yield here


async def test_updates_come_again_until_a_higher_offset_confirms_them(here: Conversation) -> None:
    here.phone.say("one")
    here.phone.say("two")

    first, second = await here.poll()
    assert (first.message and first.message.text) == "one"
    assert second.update_id == first.update_id + 1
    assert await here.texts(first.update_id) == ["one", "two"]
    assert not here.telegram.confirmed(first.update_id)

    assert await here.texts(second.update_id) == ["two"]
    assert here.telegram.confirmed(first.update_id)
    assert [update.id for update in here.telegram.pending] == [second.update_id]


async def test_who_asks_for_the_same_at_once_gets_a_single_update(here: Conversation) -> None:
    here.phone.say("one")
    here.phone.say("two")

    assert await here.texts() == ["one", "two"]
    assert await here.texts() == ["one"]


async def test_a_limit_and_a_negative_offset_are_obeyed(here: Conversation) -> None:
    for text in ("one", "two", "three"):
        here.phone.say(text)

    assert await here.texts(limit=2) == ["one", "two"]
    assert await here.texts(-1) == ["three"]
    assert len(here.telegram.pending) == 1


async def test_no_more_than_a_hundred_come_at_once(here: Conversation) -> None:
    for number in range(120):
        here.phone.say(str(number))

    assert len(await here.poll(limit=1000)) == 100


async def test_a_waiting_poll_ends_with_the_first_update(here: Conversation) -> None:
    waiting = await here.waiting()

    here.phone.say("hello")

    (update,) = await waiting
    assert update.message is not None
    assert update.message.text == "hello"
    assert update.effective_user is not None
    assert update.effective_user.id == here.ada.id


async def test_updates_are_kept_for_a_day(here: Conversation) -> None:
    here.phone.say("yesterday")
    here.clock.advance(DAY / 2)
    here.phone.say("today")
    here.clock.advance(DAY / 2 + 1)

    assert await here.texts() == ["today"]


async def test_a_second_poller_ends_the_first_with_409(here: Conversation) -> None:
    first = await here.waiting()
    async with Bot(here.telegram.token, base_url=here.telegram.address + "/bot") as other:
        second = asyncio.create_task(other.get_updates(timeout=10))

        with pytest.raises(Conflict, match="terminated by other getUpdates request"):
            await first

        here.phone.say("hello")
        assert len(await second) == 1


async def test_another_program_takes_every_poll_until_it_stops(here: Conversation) -> None:
    waiting = await here.waiting()

    here.telegram.another_poller(on=True)

    for poll in (waiting, here.poll(), here.poll()):
        with pytest.raises(Conflict, match="make sure that only one bot instance is running"):
            await poll
    here.telegram.another_poller(on=False)
    here.phone.say("hello")
    assert await here.texts() == ["hello"]


async def test_a_webhook_and_polling_exclude_each_other(here: Conversation) -> None:
    waiting = await here.waiting()

    here.telegram.set_webhook("https://elsewhere.example/hook")

    with pytest.raises(Conflict, match="terminated by setWebhook request"):
        await waiting
    with pytest.raises(Conflict, match="can't use getUpdates method while webhook is active"):
        await here.poll()
    assert (await here.bot.get_webhook_info()).url == "https://elsewhere.example/hook"
    await here.bot.delete_webhook()
    here.phone.say("hello")
    assert await here.texts() == ["hello"]


async def test_a_poller_that_has_gone_takes_nothing_along(here: Conversation) -> None:
    waiting = await here.waiting()
    waiting.cancel()
    await asyncio.to_thread(here.telegram.until, lambda telegram: not telegram.polling)

    here.phone.say("hello")

    assert await here.texts() == ["hello"]


async def test_allowed_updates_are_remembered(here: Conversation) -> None:
    await here.bot.get_updates(allowed_updates=["callback_query"], timeout=0)
    here.phone.say("not wanted")
    card = here.phone.say("a message")

    here.phone.press(card, "x")

    (update,) = await here.poll()
    assert update.callback_query is not None
    assert update.callback_query.data == "x"


async def test_ids_that_restart_below_an_old_offset_are_still_delivered(here: Conversation) -> None:
    here.phone.say("before")
    (update,) = await here.poll()
    old = update.update_id + 1
    assert await here.texts(old, limit=1) == []
    here.telegram.restart_update_ids(at=1000)
    here.phone.say("after")

    (update,) = await here.poll(old)

    assert update.update_id == 1000


async def test_a_tap_brings_the_message_and_who_tapped(here: Conversation) -> None:
    markup = InlineKeyboardMarkup([[InlineKeyboardButton("Yes", callback_data="y:1")]])
    sent = await here.bot.send_message(here.chat.id, "?", reply_markup=markup)
    card = here.phone.sees("?")
    here.phone.tap(card, "Yes")
    here.phone.delete(card)
    here.phone.press(card, "y:0")

    first, second = await here.poll()

    assert first.callback_query is not None
    assert second.callback_query is not None
    assert first.callback_query.from_user.id == here.ada.id
    assert first.callback_query.message is not None
    assert first.callback_query.message.message_id == sent.message_id
    assert first.callback_query.message.is_accessible
    assert first.callback_query.data == "y:1"
    assert second.callback_query.message is not None
    assert not second.callback_query.message.is_accessible


async def test_a_reply_carries_what_it_replies_to_one_level_deep(here: Conversation) -> None:
    await here.bot.send_message(here.chat.id, "card")
    first = here.phone.say("reply", reply_to=here.phone.sees("card"))
    here.phone.say("again", reply_to=first)

    _, update = await here.poll()

    assert update.message is not None
    assert update.message.reply_to_message is not None
    assert update.message.reply_to_message.text == "reply"
    assert update.message.reply_to_message.reply_to_message is None


async def test_a_group_with_privacy_hides_what_is_not_for_the_bot(here: Conversation) -> None:
    team = here.telegram.group("team", here.ada)
    phone = team.phone(here.ada)
    await here.bot.send_message(team.id, "card")
    phone.say("chatter")
    phone.say("/pending")
    phone.say(f"/help@{here.telegram.bot.username}")
    phone.say("/help@another_bot")
    phone.say("answer", reply_to=phone.sees("card"))

    assert await here.texts() == ["/pending", f"/help@{here.telegram.bot.username}", "answer"]


async def test_a_group_without_privacy_hides_nothing(here: Conversation) -> None:
    team = here.telegram.group("team", here.ada, privacy=False)
    team.phone(here.ada).say("chatter")

    assert await here.texts() == ["chatter"]


async def test_migration_is_told_in_both_chats(here: Conversation) -> None:
    team = here.telegram.group("team", here.ada)
    moved = team.migrate()

    to, origin = await here.poll()

    assert to.message is not None
    assert origin.message is not None
    assert (to.message.chat.id, to.message.migrate_to_chat_id) == (team.id, moved.id)
    assert (origin.message.chat.id, origin.message.migrate_from_chat_id) == (moved.id, team.id)


async def test_blocking_is_told(here: Conversation) -> None:
    here.phone.block()

    (update,) = await here.poll()

    assert update.my_chat_member is not None
    assert update.my_chat_member.new_chat_member.status == "kicked"


async def test_an_edited_message_is_told(here: Conversation) -> None:
    said = here.phone.say("helo")
    here.phone.edit(said, "hello")

    _, update = await here.poll()

    assert update.edited_message is not None
    assert update.edited_message.text == "hello"


async def test_a_message_in_a_topic_says_so(here: Conversation) -> None:
    forum = here.telegram.group("team", here.ada, forum=True, privacy=False)
    thread = forum.open_topic("shop-api", by=here.ada)
    forum.phone(here.ada).say("hello", thread=thread)

    opened, update = await here.poll()

    assert opened.message is not None
    assert opened.message.forum_topic_created is not None
    assert update.message is not None
    assert update.message.message_thread_id == thread
    assert update.message.is_topic_message
    assert update.message.reply_to_message is not None
    assert update.message.reply_to_message.forum_topic_created is not None


async def test_a_malformed_update_is_delivered_as_it_is(here: Conversation) -> None:
    here.telegram.raw_update({"message": {"message_id": "what?"}})

    with pytest.raises(KeyError):
        await here.poll()


async def test_a_poll_that_has_begun_before_is_not_the_next_one(here: Conversation) -> None:
    earlier = await here.waiting()

    def wait() -> None:
        # The server can take no request as long as the lock is held, and waiting releases it.
        with here.telegram.service.changed:
            here.phone.say("hello")
            here.telegram.until_polled()

    waited = asyncio.create_task(asyncio.to_thread(wait))
    await earlier
    assert await here.texts(-1) == ["hello"]
    await waited


async def test_confirmation_can_be_waited_for(here: Conversation) -> None:
    here.phone.say("hello")
    (update,) = await here.poll()
    confirmed = asyncio.create_task(asyncio.to_thread(here.telegram.until_confirmed))

    assert await here.poll(update.update_id + 1) == []

    await confirmed
    assert here.telegram.pending == ()
