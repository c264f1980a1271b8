"""What goes wrong at the test server on purpose, its rate limits, and its thread."""

from __future__ import annotations

import asyncio
import http.client
import json
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
from telegram import InlineKeyboardButton, InlineKeyboardMarkup
from telegram.error import (
    BadRequest,
    Forbidden,
    InvalidToken,
    NetworkError,
    RetryAfter,
    TelegramError,
)

from tests.fakes.telegram.conversation import Conversation, conversation
from tests.fakes.telegram.server import BotApi


@pytest.fixture
async def here(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Conversation]:
    # Without it the library warns about itself with every RetryAfter.
    monkeypatch.setenv("PTB_TIMEDELTA", "1")
    async with conversation() as here:
        yield here


def raw(telegram: BotApi, path: str, **params: object) -> tuple[int, dict[str, Any], str | None]:
    """One request without a library in between: status, body, Retry-After."""
    where = urlsplit(telegram.address)
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=20)
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    try:
        connection.request("POST", path, urlencode(params), form)
        response = connection.getresponse()
        return response.status, json.loads(response.read()), response.getheader("Retry-After")
    finally:
        connection.close()


def test_refusals_look_like_the_real_ones() -> None:
    with BotApi.running() as telegram:
        assert raw(telegram, "/botnonsense/getMe") == (
            404,
            {"ok": False, "error_code": 404, "description": "Not Found"},
            None,
        )
        assert raw(telegram, f"/bot123:{'x' * 35}/getMe") == (
            401,
            {"ok": False, "error_code": 401, "description": "Unauthorized"},
            None,
        )
        telegram.fail("sendMessage", status=429, retry_after=3)
        assert raw(telegram, f"/bot{telegram.token}/sendMessage", chat_id=1, text="x") == (
            429,
            {
                "ok": False,
                "error_code": 429,
                "description": "Too Many Requests: retry after 3",
                "parameters": {"retry_after": 3},
            },
            "3",
        )
        assert raw(telegram, f"/bot{telegram.token}/sendMessage", chat_id=1, text="x")[1] == {
            "ok": False,
            "error_code": 400,
            "description": "Bad Request: chat not found",
        }


def test_every_bot_is_another_one() -> None:
    with BotApi.running() as one, BotApi.running() as two:
        assert one.bot.id != two.bot.id
        assert one.address != two.address
        assert raw(two, f"/bot{one.token}/getMe")[0] == 401


async def test_a_failure_happens_as_often_as_asked_and_only_where_it_fits(
    here: Conversation,
) -> None:
    here.telegram.fail(
        "sendMessage", status=500, times=2, when=lambda params: params["text"] == "b"
    )

    await here.send("a")
    for _ in range(2):
        with pytest.raises(NetworkError, match="Internal Server Error"):
            await here.send("b")
    await here.send("b")

    assert here.shown == ["a", "b"]
    assert [it.status for it in here.telegram.calls("sendMessage")] == [200, 500, 500, 200]


async def test_each_status_is_what_a_client_makes_of_it(here: Conversation) -> None:
    here.telegram.fail("*", status=429, retry_after=7)
    with pytest.raises(RetryAfter, match="Retry in 0:00:07"):
        await here.send()
    here.telegram.fail("*", status=502)
    with pytest.raises(NetworkError, match="Bad Gateway"):
        await here.send()
    here.telegram.fail("*", status=403)
    with pytest.raises(Forbidden, match="bot was blocked by the user"):
        await here.send()
    here.telegram.garble("sendMessage")
    with pytest.raises(TelegramError, match="Invalid server response"):
        await here.send("garbled")
    assert here.shown == ["garbled"]


async def test_a_cut_connection_leaves_an_effect_or_none(here: Conversation) -> None:
    here.telegram.cut("sendMessage", after_effect=False)
    with pytest.raises(NetworkError):
        await here.send("lost")
    here.telegram.cut("sendMessage", after_effect=True)
    with pytest.raises(NetworkError):
        await here.send("kept")

    assert here.shown == ["kept"]
    assert here.telegram.calls("sendMessage")[0].status is None


@pytest.mark.parametrize("after_effect", [False, True])
async def test_a_held_answer_waits_for_its_release(here: Conversation, after_effect: bool) -> None:
    hold = here.telegram.hold("sendMessage", after_effect=after_effect)
    sending = asyncio.create_task(here.send())
    await asyncio.to_thread(hold.arrived)

    assert here.shown == (["hello"] if after_effect else [])
    assert not sending.done()
    hold.release()

    await sending
    assert here.shown == ["hello"]


async def test_a_held_call_takes_effect_although_its_client_has_gone(here: Conversation) -> None:
    hold = here.telegram.hold("sendMessage")
    sending = asyncio.create_task(here.send("late"))
    await asyncio.to_thread(hold.arrived)
    here.telegram.go_down()
    here.telegram.come_back()

    hold.release()

    with pytest.raises(NetworkError):
        await sending
    await asyncio.to_thread(here.phone.sees, "late")


async def test_a_poll_can_be_cut_after_it_has_confirmed(here: Conversation) -> None:
    here.phone.say("one")
    (update,) = await here.bot.get_updates(timeout=0)
    here.telegram.cut("getUpdates", after_effect=True)

    polling = asyncio.create_task(here.bot.get_updates(offset=update.update_id + 1, timeout=10))
    await asyncio.to_thread(here.telegram.until_confirmed)
    here.phone.say("two")

    with pytest.raises(NetworkError):
        await polling
    (update,) = await here.bot.get_updates(timeout=0)
    assert update.message is not None
    assert update.message.text == "two"


async def test_a_revoked_token_is_refused_everywhere_until_restored(here: Conversation) -> None:
    here.telegram.revoke_token()
    for _ in range(2):
        with pytest.raises(InvalidToken, match="Unauthorized"):
            await here.send()

    here.telegram.restore_token()

    await here.send()


async def test_an_unknown_method_is_not_found(here: Conversation) -> None:
    with pytest.raises(InvalidToken, match="Not Found: method not found"):
        await here.bot._post("nonsense")


async def test_a_server_that_is_down_refuses_connections_and_comes_back(here: Conversation) -> None:
    await here.send("before")
    waiting = await here.waiting()

    here.telegram.go_down()

    with pytest.raises(NetworkError):
        await waiting
    with pytest.raises(NetworkError, match="ConnectError"):
        await here.send()
    here.telegram.come_back()
    await here.send("after")
    assert here.shown == ["before", "after"]


async def test_faults_that_did_not_happen_can_be_taken_back(here: Conversation) -> None:
    here.telegram.fail("*", status=500, times=100)
    here.telegram.heal()

    await here.send()


async def test_a_private_chat_takes_a_burst_of_five_and_then_one_a_second(
    here: Conversation,
) -> None:
    here.telegram.limit_rates(on=True)
    for _ in range(5):
        await here.send()

    with pytest.raises(RetryAfter, match="Retry in 0:00:01"):
        await here.send()
    assert here.telegram.rate_limited == 1
    here.clock.advance(1)
    last = await here.send()
    here.clock.advance(0.5)
    await here.bot.edit_message_text("edited", here.chat.id, last)
    with pytest.raises(RetryAfter):
        await here.bot.edit_message_text("again", here.chat.id, last)


async def test_a_group_takes_twenty_a_minute_and_edits_count(here: Conversation) -> None:
    here.telegram.limit_rates(on=True)
    team = here.telegram.group("team", here.ada)
    sent = await here.bot.send_message(team.id, "card")
    for number in range(19):
        await here.bot.edit_message_text(str(number), team.id, sent.message_id)

    here.clock.advance(20)
    with pytest.raises(RetryAfter, match="Retry in 0:00:40"):
        await here.bot.send_message(team.id, "more")
    here.clock.advance(40)
    await here.bot.send_message(team.id, "more")


async def test_a_bot_takes_thirty_a_second_in_all(here: Conversation) -> None:
    here.telegram.limit_rates(on=True)
    chats = [here.telegram.private(here.telegram.person(f"P{n}")) for n in range(31)]
    for chat in chats[:30]:
        await here.bot.send_message(chat.id, "x")

    with pytest.raises(RetryAfter):
        await here.bot.send_message(chats[30].id, "x")
    here.clock.advance(1)
    await here.bot.send_message(chats[30].id, "x")


async def test_a_tap_on_a_label_that_is_not_there_says_what_is(here: Conversation) -> None:
    await here.send("no buttons")
    card = here.phone.sees("no buttons")

    with pytest.raises(AssertionError, match="0 buttons are 'Yes'; there are"):
        here.phone.tap(card, "Yes")


async def test_the_newest_fitting_message_is_seen(here: Conversation) -> None:
    await here.send("card 1")
    last = await here.send("card 2")
    here.phone.say("card 3")

    assert here.phone.sees("card").id == last
    assert here.phone.sees(lambda card: card.text.endswith("1")).text == "card 1"


async def test_a_wait_ends_when_the_message_comes(here: Conversation) -> None:
    seeing = asyncio.create_task(asyncio.to_thread(here.phone.sees, "later"))

    await here.send("later")

    assert (await seeing).text == "later"


async def test_two_people_in_a_group_tap_as_themselves(here: Conversation) -> None:
    bob = here.telegram.person("Bob")
    team = here.telegram.group("team", here.ada, bob)
    markup = InlineKeyboardMarkup([[InlineKeyboardButton("Yes", callback_data="y")]])
    await here.bot.send_message(team.id, "card", reply_markup=markup)
    for person in (here.ada, bob):
        phone = team.phone(person)
        phone.tap(phone.sees("card"), "Yes")

    updates = await here.poll()

    assert [it.effective_user and it.effective_user.first_name for it in updates] == ["Ada", "Bob"]


async def test_an_older_server_refuses_times(here: Conversation) -> None:
    time = '<tg-time unix="1794782700" format="t">22:45</tg-time>'
    sent = await here.bot.send_message(here.chat.id, f"Ends {time}", parse_mode="HTML")
    assert [it.type for it in sent.entities] == ["date_time"]

    here.telegram.service.features.times = False

    with pytest.raises(BadRequest, match="nsupported start tag"):
        await here.bot.send_message(here.chat.id, f"Ends {time}", parse_mode="HTML")
