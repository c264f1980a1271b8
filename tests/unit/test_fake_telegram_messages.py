"""The test server's messages, through python-telegram-bot's own Bot: what it takes and refuses."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable

import pytest
from telegram import (
    BotCommand,
    ForceReply,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    LinkPreviewOptions,
    MessageEntity,
    ReplyParameters,
)
from telegram.error import BadRequest, ChatMigrated, Forbidden

from tests.fakes.telegram.conversation import Conversation, conversation

UNKNOWN = 999_999_999


@pytest.fixture
async def here() -> AsyncIterator[Conversation]:
    async with conversation() as here:
        yield here


def keyboard(*rows: list[tuple[str, str]]) -> InlineKeyboardMarkup:
    return InlineKeyboardMarkup(
        [[InlineKeyboardButton(text, callback_data=data) for text, data in row] for row in rows]
    )


YES_NO = keyboard([("Yes", "y"), ("No", "n")])


async def refusal(call: Awaitable[object]) -> str:
    with pytest.raises(BadRequest) as refused:
        await call
    return refused.value.message


async def test_the_bot_knows_itself(here: Conversation) -> None:
    me = await here.bot.get_me()

    assert (me.id, me.username) == (here.telegram.bot.id, here.telegram.bot.username)
    assert not me.has_topics_enabled


async def test_a_message_comes_back_as_it_is_shown(here: Conversation) -> None:
    first = await here.bot.send_message(here.chat.id, "first")
    sent = await here.bot.send_message(
        here.chat.id,
        "<b>Which</b> database?",
        parse_mode="HTML",
        reply_markup=YES_NO,
        reply_parameters=ReplyParameters(first.message_id),
        disable_notification=True,
        link_preview_options=LinkPreviewOptions(is_disabled=True),
    )

    assert sent.text == "Which database?"
    assert sent.entities == (MessageEntity(type="bold", offset=0, length=5),)
    assert sent.from_user is not None
    assert sent.from_user.id == here.bot.id
    assert sent.chat.first_name == "Ada"
    assert sent.date.timestamp() == here.clock.time()
    assert sent.reply_to_message is not None
    assert sent.reply_to_message.text == "first"
    assert sent.reply_markup == YES_NO
    assert sent.link_preview_options is not None
    card = here.phone.sees("Which")
    assert (card.id, card.rows, card.silent) == (sent.message_id, (("Yes", "No"),), True)
    assert (card.reply_to, card.html) == (first.message_id, "<b>Which</b> database?")
    assert card.parts("bold") == ("Which",)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "Message text is empty"),
        ("  ", "Text must be non-empty"),
        ("x" * 4097, "Message is too long"),
        ("😀" * 2049, "Message is too long"),
        ("x" * 32769, "Text is too long"),
        ("<x>", 'Can\'t parse entities: unsupported start tag "x" at byte offset 0'),
    ],
)
async def test_a_text_outside_the_limits_is_refused(
    here: Conversation, text: str, complaint: str
) -> None:
    sent = here.bot.send_message(here.chat.id, text, parse_mode="HTML")

    assert (await refusal(sent)).lower() == complaint.lower()


async def test_tags_do_not_count_for_the_limit(here: Conversation) -> None:
    await here.bot.send_message(here.chat.id, f" <b>{'x' * 4096}</b> \n", parse_mode="HTML")


@pytest.mark.parametrize(
    ("markup", "complaint"),
    [
        (keyboard([("x", "y" * 65)]), "BUTTON_DATA_INVALID"),
        (keyboard([("x", "é" * 33)]), "BUTTON_DATA_INVALID"),
        (
            keyboard([("x", "")]),
            "Can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard",
        ),
        (keyboard([(" ", "y")]), "Inline keyboard button text must be non-empty"),
        (keyboard([("x", "y")] * 9), "Reply markup is too long"),
        (keyboard(*[[("x", "y")]] * 101), "Reply markup is too long"),
        (
            InlineKeyboardMarkup([[InlineKeyboardButton("x", callback_data="y", style="pink")]]),
            "Can't parse inline keyboard button: invalid button style specified",
        ),
        (ForceReply(input_field_placeholder="x" * 65), "PLACEHOLDER_TOO_LONG"),
    ],
)
async def test_a_keyboard_outside_the_limits_is_refused(
    here: Conversation, markup: InlineKeyboardMarkup, complaint: str
) -> None:
    said = await refusal(here.bot.send_message(here.chat.id, "x", reply_markup=markup))

    assert said.lower() == complaint.lower()
    assert here.phone.messages == ()


async def test_the_largest_keyboard_is_taken(here: Conversation) -> None:
    markup = keyboard(*[[("x", "y" * 64)] * 8] * 12, [("x", "é" * 32)] * 4)

    await here.bot.send_message(here.chat.id, "x", reply_markup=markup)


async def test_chats_that_are_not_there_are_told_apart(here: Conversation) -> None:
    bob = here.telegram.person("Bob")
    here.telegram.group("team", here.ada, bob)

    assert await refusal(here.bot.send_message(UNKNOWN, "x")) == "Chat not found"
    with pytest.raises(Forbidden, match="bot can't initiate conversation with a user"):
        await here.bot.send_message(bob.id, "x")


async def test_who_blocked_the_bot_gets_nothing_until_unblocked(here: Conversation) -> None:
    here.phone.block()
    with pytest.raises(Forbidden, match="Forbidden: bot was blocked by the user"):
        await here.bot.send_message(here.chat.id, "x")

    here.phone.unblock()
    await here.bot.send_message(here.chat.id, "back")

    assert [card.text for card in here.phone.messages] == ["back"]


async def test_a_reply_to_nothing_is_refused_unless_it_may_go_alone(here: Conversation) -> None:
    lost = ReplyParameters(UNKNOWN)
    forgiving = ReplyParameters(UNKNOWN, allow_sending_without_reply=True)

    sent = here.bot.send_message(here.chat.id, "x", reply_parameters=lost)

    assert await refusal(sent) == "Message to be replied not found"
    await here.bot.send_message(here.chat.id, "x", reply_parameters=forgiving)


async def test_an_edit_replaces_text_and_buttons_and_leaves_a_trace(here: Conversation) -> None:
    sent = await here.bot.send_message(here.chat.id, "one", reply_markup=YES_NO)
    card = here.phone.sees("one")
    here.clock.advance(5)

    edited = await here.bot.edit_message_text("two", here.chat.id, sent.message_id)

    assert not isinstance(edited, bool)
    assert edited.edit_date is not None
    assert edited.edit_date.timestamp() == here.clock.time()
    assert edited.reply_markup is None
    now = here.phone.until(card, lambda card: card.text == "two")
    assert (now.rows, now.edits) == ((), ("one",))
    assert here.telegram.calls("editMessageText")[0].params["message_id"] == sent.message_id


async def test_an_edit_that_changes_nothing_is_refused(here: Conversation) -> None:
    sent = await here.bot.send_message(here.chat.id, "one", reply_markup=YES_NO)
    where = (here.chat.id, sent.message_id)

    said = await refusal(here.bot.edit_message_text("one ", *where, reply_markup=YES_NO))

    assert said == (
        "Message is not modified: specified new message content and reply markup are exactly the "
        "same as a current content and reply markup of the message"
    )
    assert "not modified" in await refusal(
        here.bot.edit_message_reply_markup(*where, reply_markup=YES_NO)
    )


async def test_what_cannot_be_edited_is_refused(here: Conversation) -> None:
    asking = await here.bot.send_message(here.chat.id, "?", reply_markup=ForceReply())
    theirs = here.phone.say("mine")
    gone = await here.bot.send_message(here.chat.id, "gone")
    here.phone.delete(here.phone.sees("gone"))
    file = await here.bot.send_document(here.chat.id, b"x", filename="x.txt")

    for message_id, complaint in (
        (asking.message_id, "Message can't be edited"),
        (theirs.id, "Message can't be edited"),
        (gone.message_id, "Message to edit not found"),
        (UNKNOWN, "Message to edit not found"),
        (file.message_id, "There is no text in the message to edit"),
    ):
        said = await refusal(here.bot.edit_message_text("new", here.chat.id, message_id))
        assert said == complaint


async def test_force_reply_is_shown_with_its_placeholder(here: Conversation) -> None:
    markup = ForceReply(input_field_placeholder="feat: …")
    await here.bot.send_message(here.chat.id, "Your answer", reply_markup=markup)

    assert here.phone.sees("Your answer").force_reply == "feat: …"


async def test_a_message_can_be_deleted_for_48_hours_and_once(here: Conversation) -> None:
    young = await here.bot.send_message(here.chat.id, "young")
    card = here.phone.sees("young")
    await here.bot.delete_message(here.chat.id, young.message_id)
    here.phone.gone(card)
    old = await here.bot.send_message(here.chat.id, "old")
    here.clock.advance(48 * 3600 + 1)

    again = here.bot.delete_message(here.chat.id, young.message_id)
    late = here.bot.delete_message(here.chat.id, old.message_id)

    assert await refusal(again) == "Message to delete not found"
    assert await refusal(late) == "Message can't be deleted for everyone"


async def test_only_known_emoji_can_be_reactions(here: Conversation) -> None:
    said = here.phone.say("thanks")

    await here.bot.set_message_reaction(here.chat.id, said.id, "👍")

    assert here.phone.until(said, lambda card: bool(card.reactions)).reactions == ("👍",)
    wrong = here.bot.set_message_reaction(here.chat.id, said.id, "🧊")
    assert await refusal(wrong) == "Reaction_invalid"
    unknown = here.bot.set_message_reaction(here.chat.id, UNKNOWN, "👍")
    assert await refusal(unknown) == "Message to react not found"


async def test_a_file_arrives_whole_with_its_caption(here: Conversation) -> None:
    content = bytes(range(256)) * 100
    sent = await here.bot.send_document(
        here.chat.id, content, filename="question-1.txt", caption="<i>whole</i>", parse_mode="HTML"
    )

    assert sent.document is not None
    assert (sent.document.file_name, sent.document.file_size) == ("question-1.txt", 25600)
    assert sent.caption == "whole"
    card = here.phone.sees("whole")
    assert card.document is not None
    assert card.document.content == content
    long = here.bot.send_document(here.chat.id, content, filename="x", caption="x" * 1025)
    assert await refusal(long) == "Message caption is too long"
    assert await refusal(here.bot.send_document(here.chat.id, b"")) == "File must be non-empty"


async def test_a_tap_is_answered_once_and_not_too_late(here: Conversation) -> None:
    await here.bot.send_message(here.chat.id, "?", reply_markup=YES_NO)
    card = here.phone.sees("?")
    first, second = here.phone.tap(card, "Yes"), here.phone.press(card, "old data")

    assert first.toast is None
    await here.bot.answer_callback_query(first.id, "Sent", show_alert=True)
    assert (first.answered(), first.alert) == ("Sent", True)

    late = "Query is too old and response timeout expired or query id is invalid"
    assert await refusal(here.bot.answer_callback_query(first.id)) == late
    assert await refusal(here.bot.answer_callback_query(second.id, "x" * 201)) == "Message_too_long"
    here.clock.advance(61)
    assert await refusal(here.bot.answer_callback_query(second.id)) == late
    third = here.phone.tap(card, "N")
    here.telegram.expire_queries()
    assert await refusal(here.bot.answer_callback_query(third.id)) == late


async def test_topics_exist_in_forums_until_they_are_deleted(here: Conversation) -> None:
    forum = here.telegram.group("team", here.ada, forum=True)
    phone = forum.phone(here.ada)

    topic = await here.bot.create_forum_topic(forum.id, "shop-api")
    thread = topic.message_thread_id
    sent = await here.bot.send_message(forum.id, "hello", message_thread_id=thread)

    assert (sent.message_thread_id, sent.is_topic_message) == (thread, True)
    assert phone.sees("hello").thread == thread
    forum.delete_topic(thread)
    again = here.bot.send_message(forum.id, "hello", message_thread_id=thread)
    assert await refusal(again) == "Message thread not found"
    assert phone.messages == ()
    plain = here.bot.create_forum_topic(here.chat.id, "x")
    assert await refusal(plain) == "The chat is not a forum"


async def test_a_private_chat_can_have_topics(here: Conversation) -> None:
    bob = here.telegram.person("Bob")
    chat = here.telegram.private(bob, topics=True)
    topic = await here.bot.create_forum_topic(chat.id, "shop-api")

    await here.bot.send_message(chat.id, "x", message_thread_id=topic.message_thread_id)
    await here.bot.delete_forum_topic(chat.id, topic.message_thread_id)

    assert chat.topics == {}
    nowhere = here.bot.send_message(here.chat.id, "x", message_thread_id=UNKNOWN)
    assert await refusal(nowhere) == "Message thread not found"


async def test_a_group_that_became_a_supergroup_says_where_it_is(here: Conversation) -> None:
    team = here.telegram.group("team", here.ada)
    sent = await here.bot.send_message(team.id, "x")

    moved = team.migrate()

    for call in (
        here.bot.send_message(team.id, "x"),
        here.bot.edit_message_text("y", team.id, sent.message_id),
    ):
        with pytest.raises(ChatMigrated) as migrated:
            await call
        assert migrated.value.new_chat_id == moved.id
    await here.bot.send_message(moved.id, "there")
    assert moved.phone(here.ada).sees("there").id > 0


async def test_commands_are_kept_and_checked(here: Conversation) -> None:
    await here.bot.set_my_commands([BotCommand("pending", "What waits")])

    assert await here.bot.get_my_commands() == (BotCommand("pending", "What waits"),)
    assert here.telegram.commands == (("pending", "What waits"),)
    wrong = here.bot.set_my_commands([BotCommand("Pending", "x")])
    assert await refusal(wrong) == "Bot_command_invalid"


async def test_get_chat_and_chat_actions_work(here: Conversation) -> None:
    assert (await here.bot.get_chat(here.chat.id)).first_name == "Ada"
    assert await here.bot.send_chat_action(here.chat.id, "typing")
    wrong = here.bot.send_chat_action(here.chat.id, "dancing")
    assert await refusal(wrong) == "Wrong parameter action in request"
