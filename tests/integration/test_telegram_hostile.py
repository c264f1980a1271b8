"""What is meant to go wrong, or comes at the worst moment: a hub that ends while it posts a card
anew, words that are not the person's own, and a server that answers in other forms."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from chatbridge.core.model import Answer, Ask, Status
from tests.fakes.clock import StillClock
from tests.fakes.inbox import SELECT, TEXT
from tests.fakes.telegram.people import Card
from tests.fakes.telegram.server import BotApi
from tests.fakes.telegram_desk import Telegram, read, running_telegram
from tests.fakes.telegram_hub import Scene, TelegramHub

SENT = "Sent: blue"
HOUR = 3600.0
USE = f"Use this as your answer to “{TEXT.text}”?"
FOR_EVER = 10**9


# ── a hub that ends while it posts a card anew ────────────────────────────────────────────────────


async def listed(hub: TelegramHub) -> tuple[Ask, Card, Card]:
    """A question, its card, and the list of open questions below it."""
    ask = await hub.ask()
    card = await hub.sees()
    await hub.until_noted(ask)
    hub.phone.say("/pending")
    return ask, card, await asyncio.to_thread(hub.phone.sees, "1 question is open")


async def shown_again(hub: TelegramHub, pending: Card) -> None:
    """A tap in the list posts the card anew, and does not come again to the next hub."""
    await hub.tap(pending, "1")
    await asyncio.to_thread(hub.api.until_confirmed)


def living(scene: Scene) -> list[Card]:
    """The cards that can be answered, oldest first."""
    return [card for card in scene.phone.messages if any(key.text == "blue" for key in card.keys)]


async def test_a_hub_that_ends_before_the_new_card_is_out_leaves_one_that_works(
    scene: Scene,
) -> None:
    async with scene.hub() as hub:
        ask, _, pending = await listed(hub)
        held = scene.api.hold("sendMessage")
        await shown_again(hub, pending)
        await asyncio.to_thread(held.arrived)
    async with scene.hub() as hub:
        await hub.line_up.drained()
        (card,) = living(scene)
        assert await hub.tap(card) == SENT
        assert (await hub.now(ask)).status is Status.ANSWERED


async def test_a_new_card_that_is_refused_leaves_the_old_one_until_it_comes(scene: Scene) -> None:
    async with scene.hub() as hub:
        ask, old, pending = await listed(hub)
        scene.api.fail("sendMessage", status=500, times=FOR_EVER)
        await shown_again(hub, pending)
        await hub.until(lambda: hub.trouble, step=0.1)
        assert [card.id for card in living(scene)] == [old.id]
        scene.api.heal()
        await hub.in_time(asyncio.to_thread(scene.phone.gone, old))
        (card,) = living(scene)
        assert await hub.tap(card) == SENT
        assert (await hub.now(ask)).status is Status.ANSWERED


async def test_a_hub_that_ends_before_the_old_card_is_away_has_it_taken_away_by_the_next(
    scene: Scene,
) -> None:
    async with scene.hub() as hub:
        ask, old, pending = await listed(hub)
        held = scene.api.hold("deleteMessage")
        await shown_again(hub, pending)
        await asyncio.to_thread(held.arrived)
        assert len(living(scene)) == 2
    async with scene.hub() as hub:
        await asyncio.to_thread(scene.phone.gone, old)
        (card,) = living(scene)
        assert await hub.tap(card) == SENT
        assert (await hub.now(ask)).status is Status.ANSWERED


@pytest.mark.parametrize("after_effect", [False, True], ids=["not-sent", "not-noted"])
async def test_a_hub_that_ends_while_it_asks_again_after_a_day_leaves_a_card_that_works(
    scene: Scene, after_effect: bool
) -> None:
    async with scene.hub() as hub:
        ask = await hub.ask()
        await hub.sees()
        await hub.until_noted(ask)
    scene.clock.advance(25 * HOUR)
    held = scene.api.hold("sendMessage", after_effect=after_effect)
    async with scene.hub():
        await asyncio.to_thread(held.arrived)
    async with scene.hub() as hub:
        await hub.line_up.drained()
        card = living(scene)[-1]
        assert await hub.tap(card) == SENT
        assert (await hub.now(ask)).status is Status.ANSWERED


@pytest.mark.parametrize("first", [0, 1], ids=["the-old-one", "the-new-one"])
async def test_of_a_card_and_one_that_was_never_noted_both_work_and_none_stays(
    scene: Scene, first: int
) -> None:
    async with scene.hub() as hub:
        ask, old, pending = await listed(hub)
        held = scene.api.hold("sendMessage", after_effect=True)
        await shown_again(hub, pending)
        await asyncio.to_thread(held.arrived)
    async with scene.hub() as hub:
        await hub.line_up.drained()
        cards = living(scene)
        assert [card.id == old.id for card in cards] == [True, False]
        assert await hub.tap(cards[first]) == SENT
        assert (await hub.now(ask)).status is Status.ANSWERED
        await hub.settled(old)
        if first == 0:
            assert (await hub.tap(cards[1])).startswith("Already answered at ")
        await asyncio.to_thread(scene.phone.gone, cards[1])
        assert living(scene) == []


# ── words that may be meant otherwise ─────────────────────────────────────────────────────────────


async def offered(telegram: Telegram, ask: Ask, sent: Card) -> None:
    """The text is not taken, and one tap takes it."""
    about = await telegram.sees(lambda card: card.reply_to == sent.id)
    assert read(about) == USE
    assert (await telegram.now(ask)).open
    assert await telegram.tap(about, "Use it") == f"Sent: {sent.text}"
    assert await telegram.answers(ask) == (Answer(values=(sent.text,)),)


async def test_a_reply_to_the_help_is_asked_about(telegram: Telegram) -> None:
    await telegram.say("/help")
    said = await telegram.sees("/pending")
    ask = await telegram.desk.ask(TEXT)
    await telegram.card(ask)
    telegram.clock.advance(60)
    await offered(telegram, ask, await telegram.say("thanks", reply_to=said))


async def test_a_reply_to_a_prompt_of_an_ended_ask_is_asked_about(telegram: Telegram) -> None:
    telegram.api.cut("sendMessage", after_effect=True, when=lambda it: "force_reply" in str(it))
    ended = await telegram.desk.ask(TEXT)
    stray = await telegram.sees(lambda card: card.force_reply is not None)
    await telegram.in_time(telegram.card(ended))
    prompt = await telegram.sees(lambda card: card.force_reply is not None)
    assert prompt.id != stray.id
    telegram.clock.advance(5)
    await telegram.say("feat: this", reply_to=prompt)
    assert await telegram.answers(ended) == (Answer(values=("feat: this",)),)
    await telegram.gone(prompt)
    ask = await telegram.desk.ask(TEXT, title="Another one.")
    await telegram.card(ask)
    telegram.clock.advance(60)
    await offered(telegram, ask, await telegram.say("everything", reply_to=stray))


def written(telegram: Telegram, text: str, **more: Any) -> None:
    """A message of Ada's with anything else in it."""
    kind = {"type": "private"} if telegram.chat.id > 0 else {"type": "group", "title": "team"}
    message = {
        "message_id": 9001,
        "date": int(telegram.clock.time()),
        "chat": {"id": telegram.chat.id, **kind},
        "from": telegram.ada.json(),
        "text": text,
    }
    telegram.api.raw_update({"message": message | more})


SOMEBODY = {"type": "hidden_user", "sender_user_name": "Mallory", "date": 1}
FOREIGN = {
    "forwarded": {"forward_origin": SOMEBODY},
    "by-a-bot": {"via_bot": {"id": 5, "is_bot": True, "first_name": "gif"}},
}


@pytest.mark.parametrize("how", FOREIGN)
async def test_words_of_somebody_else_are_asked_about(telegram: Telegram, how: str) -> None:
    ask = await telegram.desk.ask(TEXT)
    await telegram.card(ask)
    telegram.clock.advance(60)
    written(telegram, "not my words", **FOREIGN[how])
    assert read(await telegram.sees("Use this as your answer")) == USE
    await telegram.dealt_with()
    assert (await telegram.now(ask)).open
    written(telegram, "my words")
    await telegram.dealt_with()
    assert await telegram.answers(ask) == (Answer(values=("my words",)),)


async def test_a_reply_to_another_bot_with_our_buttons_answers_nothing(tmp_path: Path) -> None:
    with BotApi.running(clock=(clock := StillClock())) as api:
        team = api.group("team", ada := api.person("Ada"), privacy=False)
        phone = team.phone(ada)
        async with running_telegram(tmp_path, api=api, clock=clock, chat=team, phone=phone) as it:
            ask = await it.desk.ask(SELECT)
            card = await it.card(ask)
            clock.advance(60)
            rows = [[{"text": "Pizza", "callback_data": card.keys[1].data}]]
            copy = {
                "message_id": 9000,
                "date": int(clock.time()),
                "chat": {"id": team.id, "type": "group", "title": "team"},
                "from": {"id": 5, "is_bot": True, "first_name": "lunch"},
                "text": "Which lunch?",
                "reply_markup": {"inline_keyboard": rows},
            }
            written(it, "SQLite", reply_to_message=copy)
            await it.dealt_with()
            assert (await it.now(ask)).open
            written(it, "SQLite", reply_to_message=copy | {"from": api.bot.json()})
            await it.dealt_with()
            assert await it.answers(ask) == (Answer(values=("SQLite",)),)


# ── a server that answers in other forms ──────────────────────────────────────────────────────────


def refusal(status: int, **more: Any) -> tuple[int, bytes]:
    body = {"ok": False, "error_code": status, "description": "no", **more}
    return status, json.dumps(body).encode()


FORMS = {
    "result-object": (200, b'{"ok":true,"result":{"a":1}}'),
    "result-null": (200, b'{"ok":true,"result":null}'),
    "result-number": (200, b'{"ok":true,"result":5}'),
    "negative-update": (200, b'{"ok":true,"result":[{"update_id":-5}]}'),
    "nothing": (200, b"{}"),
    "nested": (200, b"[" * 100_000),
    "nested-whole": (200, b'{"ok":true,"result":' + b"[" * 5_000 + b"]" * 5_000 + b"}"),
    "description-number": refusal(400, description=7),
    "description-list": refusal(403, description=["a"]),
    "parameters-list": refusal(400, parameters=[1]),
    "pause-text": refusal(429, parameters={"retry_after": "soon"}),
    "pause-negative": refusal(429, parameters={"retry_after": -5}),
    "pause-endless": refusal(429, parameters={"retry_after": 10**18}),
    "group-text": refusal(400, parameters={"migrate_to_chat_id": "zz"}),
    "group-positive": refusal(400, parameters={"migrate_to_chat_id": 77}),
}


def cases(forms: Iterable[str]) -> list[tuple[str, str]]:
    """What says ok to a message is not only late: the message counts as sent."""
    silent = [form for form in forms if b'"ok":true' not in FORMS[form][1]]
    return [(form, "getUpdates") for form in forms] + [(form, "sendMessage") for form in silent]


STANDING = ("result-object", "result-null", "nested", "pause-negative", "group-text")


def unshaken(caplog: pytest.LogCaptureFixture) -> bool:
    return not any(it.exc_info or it.levelno >= logging.ERROR for it in caplog.records)


async def recovers(hub: TelegramHub, ask: Ask) -> None:
    """The question comes to the phone, and the next tap counts."""
    card = await hub.in_time(hub.sees(), step=20.0)
    hub.phone.tap(card, "blue")
    assert (await hub.in_time(hub.answered(ask), step=20.0)).status is Status.ANSWERED


@pytest.mark.parametrize(("form", "method"), cases(FORMS))
async def test_an_answer_of_another_form_only_delays(
    scene: Scene, form: str, method: str, caplog: pytest.LogCaptureFixture
) -> None:
    status, body = FORMS[form]
    async with scene.hub() as hub:
        scene.api.answer_with(method, body, status=status)
        if method == "getUpdates":
            scene.phone.say("/help")  # ends the request that waits
        await recovers(hub, await hub.ask())
    assert unshaken(caplog)
    assert b'"ok":true' in body or "said ok" not in caplog.text


@pytest.mark.parametrize(("form", "method"), cases(STANDING))
async def test_an_hour_of_other_forms_takes_about_a_request_a_minute(
    scene: Scene, form: str, method: str, caplog: pytest.LogCaptureFixture
) -> None:
    status, body = FORMS[form]
    async with scene.hub() as hub:
        scene.api.answer_with(method, body, status=status, times=FOR_EVER)
        ask = await hub.ask()
        if method == "getUpdates":
            scene.phone.say("/help")
        await hub.until(lambda: hub.trouble)
        before = len(scene.api.requests)
        await hub.passes(HOUR)
        assert 0 < len(scene.api.requests) - before < 100
        scene.api.heal()
        await recovers(hub, ask)
    assert unshaken(caplog)
    assert len(caplog.records) < 20


async def test_an_update_with_numbers_for_texts_is_passed_over(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    async with scene.hub() as hub:
        await hub.ask(7)
        card = await hub.sees(7)
        ada, chat = scene.phone.person.json(), {"id": scene.chat.id, "type": "private"}
        message = {"message_id": card.id, "date": int(scene.clock.time()), "chat": chat}
        query = {"id": "1", "from": ada, "chat_instance": "1", "data": 7, "message": message}
        scene.api.raw_update({"message": message | {"from": ada, "text": 7}})
        scene.api.raw_update({"callback_query": query})
        await asyncio.to_thread(scene.api.until_confirmed)
        await hub.works(1)
    assert unshaken(caplog)
