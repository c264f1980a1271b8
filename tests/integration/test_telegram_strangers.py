"""Every kind of update that Telegram knows, and updates that nobody's app would send: none of them
does anything but a person's own tap or words, and a stranger's never."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.fault_watch import FEW, unshaken
from tests.fakes.inbox import SELECT, TEXT
from tests.fakes.telegram.server import BotApi
from tests.fakes.telegram_desk import Telegram, running_telegram

Json = dict[str, Any]
EVE: Json = {"id": 666_000_666, "is_bot": False, "first_name": "Eve"}
CHANNEL: Json = {"id": -1001234567890, "type": "channel", "title": "news"}


def every_other_kind(telegram: Telegram, sender: Json, card: int) -> dict[str, Json]:
    """Updates beside messages and taps, with what would be an answer in each of them."""
    own = {"id": telegram.chat.id, "type": "private"}
    message = {
        "message_id": card,
        "date": int(telegram.clock.time()) + 5,
        "chat": own,
        "from": sender,
        "text": "fix: evil",
    }
    member = {"user": sender, "status": "member"}
    changed = {
        "chat": own,
        "from": sender,
        "date": 1,
        "old_chat_member": {**member, "status": "left"},
        "new_chat_member": member,
    }
    query = {"id": "1", "from": sender, "query": "fix: evil", "offset": ""}
    paid = {"id": "1", "from": sender, "invoice_payload": "fix: evil"}
    reaction = {"chat": own, "message_id": card, "user": sender, "date": 1, "old_reaction": []}
    poll = {"poll_id": "1", "user": sender, "option_ids": [1], "option_persistent_ids": ["1"]}
    order = {"currency": "EUR", "total_amount": 1}
    return {
        "edited_message": {**message, "edit_date": message["date"]},
        "channel_post": {**message, "chat": CHANNEL, "sender_chat": CHANNEL},
        "edited_channel_post": {**message, "chat": CHANNEL, "sender_chat": CHANNEL},
        "business_message": {**message, "business_connection_id": "b"},
        "edited_business_message": {**message, "business_connection_id": "b"},
        "inline_query": query,
        "chosen_inline_result": {**query, "result_id": "1", "inline_message_id": "1"},
        "shipping_query": {**paid, "shipping_address": {}},
        "pre_checkout_query": {**paid, **order},
        "poll_answer": poll,
        "my_chat_member": changed,
        "chat_member": changed,
        "chat_join_request": {"chat": own, "from": sender, "user_chat_id": 1, "date": 1},
        "message_reaction": {**reaction, "new_reaction": [{"type": "emoji", "emoji": "👍"}]},
    }


@pytest.mark.parametrize("who", ["stranger", "owner"])
async def test_nothing_but_messages_and_taps_does_anything(telegram: Telegram, who: str) -> None:
    ask = await telegram.desk.ask(TEXT)
    card = await telegram.card(ask)
    requests = len(telegram.api.calls("sendMessage"))
    sender = EVE if who == "stranger" else telegram.ada.json()
    for kind, body in every_other_kind(telegram, sender, card.id).items():
        telegram.api.raw_update({kind: body})
    await telegram.dealt_with()
    assert await telegram.now(ask) == ask
    assert len(telegram.api.calls("sendMessage")) == requests
    await telegram.say("feat: mine", reply_to=card)
    assert [answer.values for answer in await telegram.answers(ask)] == [("feat: mine",)]


def pressed(sender: Json, data: object, message: Json | None) -> Json:
    where: Json = {"message": message} if message else {"inline_message_id": "1"}
    return {
        "callback_query": {"id": "1", "from": sender, "chat_instance": "1", "data": data, **where}
    }


async def test_a_tap_on_a_message_that_was_sent_by_inline_query_is_nobodys(
    telegram: Telegram,
) -> None:
    ask = await telegram.desk.ask(SELECT)
    card = await telegram.card(ask)
    for sender in (EVE, telegram.ada.json()):
        for key in card.keys:
            telegram.api.raw_update(pressed(sender, key.data, None))
    await telegram.dealt_with()
    assert await telegram.now(ask) == ask


# ── whatever comes ────────────────────────────────────────────────────────────────────────────────

words = st.sampled_from(["1", "yes", "SQLite", "/start", "/cancel", "/start p_7Q4K2MXD", "\ud800"])
texts = words | st.text(max_size=30)
junk = st.none() | st.integers() | texts | st.lists(st.integers(), max_size=2)
damaged = st.tuples(st.integers(0, 60), st.integers(0, 60), st.text(max_size=3))
"""Where the data of a real button is cut, and what stands there instead."""
chats = st.sampled_from(["own", "theirs", "channel"])
known: Json = {"file_unique_id": "u", "width": 1, "height": 1, "duration": 1, "length": 1}
one_file = st.fixed_dictionaries(
    {"file_id": texts | junk}, optional={"file_name": junk, "file_size": junk, "mime_type": junk}
).map(lambda given: known | given)
files = st.dictionaries(
    st.sampled_from(["photo", "document", "voice", "video", "video_note", "audio", "sticker"]),
    one_file | st.lists(one_file, max_size=2) | junk,
    max_size=2,
)
updates = st.fixed_dictionaries(
    {"chat": chats, "tap": st.booleans(), "data": damaged | junk, "text": texts},
    optional={
        "reply": st.booleans(),
        "files": files,
        "more": st.dictionaries(
            st.sampled_from(["forward_origin", "via_bot", "sender_chat", "entities", "text"])
            | st.text(max_size=6),
            junk,
            max_size=3,
        ),
    },
)


def made(telegram: Telegram, sender: Json, given: Json, card: Json, button: str) -> Json:
    places: dict[str, int] = {
        "own": telegram.chat.id,
        "theirs": EVE["id"],
        "channel": CHANNEL["id"],
    }
    number = places[given["chat"]]
    chat = {"id": number, "type": "private"} if number > 0 else CHANNEL
    message = {**card, "chat": chat}
    if given["tap"]:
        data = given["data"]
        if isinstance(data, tuple):
            data = button[: data[0]] + data[2] + button[data[1] :]
        return pressed(sender, data, message)
    said = {**message, "message_id": 9000, "from": sender, "text": given["text"]}
    if given.get("reply"):
        said["reply_to_message"] = message
    return {"message": {**said, **given.get("more", {}), **given.get("files", {})}}


@FEW
@given(st.lists(updates, min_size=1, max_size=40), st.lists(updates, min_size=1, max_size=15))
def test_a_stranger_changes_nothing_and_the_owner_breaks_nothing(
    strangers: list[Json], owners: list[Json]
) -> None:
    async def scenario(folder: Path) -> None:
        with BotApi.running() as api:
            async with running_telegram(folder, api=api) as telegram:
                await both(telegram)

    async def both(telegram: Telegram) -> None:
        ask = await telegram.desk.ask(SELECT)
        shown = await telegram.card(ask)
        button = shown.keys[1].data or ""
        rows = [[{"text": "SQLite", "callback_data": button}]]
        card = {
            "message_id": shown.id,
            "date": int(telegram.clock.time()) + 60,
            "from": telegram.api.bot.json(),
            "text": shown.text,
            "reply_markup": {"inline_keyboard": rows},
        }
        written = len(telegram.api.requests)
        for update in strangers:
            telegram.api.raw_update(made(telegram, EVE, update, card, button))
        await telegram.dealt_with()
        assert await telegram.now(ask) == ask
        asked = [it.method for it in telegram.api.requests[written:]]
        at_the_start = {"setMyCommands"}
        assert set(asked) - at_the_start <= {"getUpdates", "answerCallbackQuery"}
        for update in owners:
            telegram.api.raw_update(made(telegram, telegram.ada.json(), update, card, button))
        await telegram.dealt_with()
        fresh = await telegram.desk.ask(SELECT)
        await telegram.tap(await telegram.card(fresh), "2 ·")
        assert not (await telegram.now(fresh)).open

    unshaken(scenario)
