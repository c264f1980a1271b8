"""The Bot API server of `make chaos`: killed at any moment, it comes back as Telegram would."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.bot_api import PHONE, Identity, Telegram
from tests.fakes.telegram.replies import Later, Reply

TOKEN = f"123456789:{'a' * 35}"
PERSON = 987654321
KEYBOARD = {"inline_keyboard": [[{"text": "blue", "callback_data": "b1"}]]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    Identity(token=TOKEN, person=PERSON).write(tmp_path)
    return tmp_path


def started(folder: Path) -> Telegram:
    """A new process, as far as the journal can tell: the one before it was told nothing."""
    return Telegram(folder, in_loop=lambda call: call())


def bot(telegram: Telegram, method: str, **params: Any) -> Any:
    reply = telegram.call(TOKEN, method, params, {})
    assert isinstance(reply, Reply), reply
    assert reply.status == 200, reply.description
    return json.loads(reply.body)["result"]


def phone(telegram: Telegram, method: str, *, status: int = 200, **params: Any) -> Any:
    reply = telegram.control(PHONE, method, params, {})
    assert isinstance(reply, Reply)
    assert reply.status == status, reply.body
    return json.loads(reply.body)


def test_messages_edits_and_numbers_outlive_a_kill(folder: Path) -> None:
    telegram = started(folder)
    card = bot(telegram, "sendMessage", chat_id=PERSON, text="Which?", reply_markup=KEYBOARD)
    bot(telegram, "editMessageText", chat_id=PERSON, message_id=card["message_id"], text="Done.")
    said = phone(telegram, "say", text="hello", reply_to=card["message_id"])
    gone = bot(telegram, "sendMessage", chat_id=PERSON, text="Not for long")
    bot(telegram, "deleteMessage", chat_id=PERSON, message_id=gone["message_id"])
    before = phone(telegram, "messages")
    assert [it["text"] for it in before] == ["Done.", "hello"]
    again = started(folder)
    assert phone(again, "messages") == before
    next_one = bot(again, "sendMessage", chat_id=PERSON, text="Next")
    assert next_one["message_id"] > gone["message_id"] > said["message"] > card["message_id"]


def test_what_the_bot_has_not_confirmed_is_told_again_and_the_rest_never(folder: Path) -> None:
    telegram = started(folder)
    for text in ("one", "two"):
        phone(telegram, "say", text=text)
    one, two = bot(telegram, "getUpdates")
    bot(telegram, "getUpdates", offset=two["update_id"])
    again = started(folder)
    assert [it["message"]["text"] for it in bot(again, "getUpdates")] == ["two"]
    phone(again, "say", text="three")
    both = bot(again, "getUpdates", offset=two["update_id"])
    assert [it["update_id"] for it in both] == [two["update_id"], two["update_id"] + 1]
    assert one["update_id"] < two["update_id"]


def test_a_tap_is_kept_before_a_waiting_poll_hears_of_it(folder: Path) -> None:
    async def tapped() -> dict[str, Any]:
        telegram = started(folder)
        card = bot(telegram, "sendMessage", chat_id=PERSON, text="Which?", reply_markup=KEYBOARD)
        poll = telegram.call(TOKEN, "getUpdates", {"timeout": 30}, {})
        assert isinstance(poll, Later)
        phone(telegram, "tap", message=card["message_id"], label="blue")
        assert isinstance(poll.outcome, Reply)
        (update,) = json.loads(poll.outcome.body)["result"]
        return dict(update)

    update = asyncio.run(tapped())
    again = started(folder)
    assert bot(again, "getUpdates") == [update]
    query = update["callback_query"]["id"]
    assert phone(again, "toast", query=query)["answered"] is False
    bot(again, "answerCallbackQuery", callback_query_id=query, text="Sent: blue")
    assert phone(started(folder), "toast", query=query)["text"] == "Sent: blue"


def test_a_record_that_the_kill_cut_off_is_forgotten(folder: Path) -> None:
    telegram = started(folder)
    phone(telegram, "say", text="whole")
    whole = (folder / "journal").stat().st_size
    phone(telegram, "say", text="half")
    with (folder / "journal").open("r+b") as file:
        file.truncate(whole + 20)
    again = started(folder)
    assert [it["text"] for it in phone(again, "messages")] == ["whole"]
    phone(again, "say", text="after")
    assert [it["text"] for it in phone(started(folder), "messages")] == ["whole", "after"]


def test_what_a_phone_cannot_do_is_refused(folder: Path) -> None:
    telegram = started(folder)
    phone(telegram, "tap", status=404, message=1, data="b1")
    phone(telegram, "say", status=404, text="to nobody", reply_to=1)
    card = bot(telegram, "sendMessage", chat_id=PERSON, text="Which?", reply_markup=KEYBOARD)
    phone(telegram, "tap", status=409, message=card["message_id"], label="green")
    assert bot(telegram, "getUpdates") == []
