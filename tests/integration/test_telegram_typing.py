"""Answers in a person's own words, as a reply: prompts, numbers and labels, steps that are over."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from chatbridge.channels.chat.keyboard import ON
from chatbridge.core.forms import form
from chatbridge.core.model import Answer, Ask, Person
from tests.fakes.clock import StillClock
from tests.fakes.core_env import OWNER
from tests.fakes.inbox import CONFIRM, MULTI, OPTIONAL, SELECT, TEXT, more_time
from tests.fakes.telegram.people import Card
from tests.fakes.telegram.server import BotApi
from tests.fakes.telegram_desk import Telegram, read, running_telegram

WEB = Person(name="Ada", channel="web")


@pytest.fixture
async def team(tmp_path: Path) -> AsyncIterator[Telegram]:
    """The same in a group, with Ada's phone."""
    clock = StillClock()
    with BotApi.running(clock=clock) as api:
        ada, bob = api.person("Ada"), api.person("Bob")
        group = api.group("team", ada, bob)
        async with running_telegram(
            tmp_path, api=api, clock=clock, chat=group, phone=group.phone(ada), allowed=[bob]
        ) as telegram:
            yield telegram


def prompts(telegram: Telegram) -> list[Card]:
    return [card for card in telegram.phone.messages if card.force_reply is not None]


# ── prompts ───────────────────────────────────────────────────────────────────────────────────────


async def test_a_text_question_opens_the_keyboard_by_itself(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(TEXT)
    card = await telegram.card(ask)
    assert "Type your answer and send it." in card.text
    assert card.rows == (("More time…", "Ask back…", "Cancel…"),)
    (prompt,) = prompts(telegram)
    assert read(prompt) == "Your answer for shop-api:"
    assert prompt.force_reply == "feat: …"
    assert prompt.silent
    assert prompt.reply_to == card.id
    sent = await telegram.say("feat: größer\nund mehr", reply_to=prompt)
    assert await telegram.answers(ask) == (Answer(values=("feat: größer\nund mehr",)),)
    await telegram.until(sent, lambda sent: sent.reactions == ("👍",))
    await telegram.gone(prompt)
    assert len(telegram.said()) == 1


async def test_no_prompt_comes_by_itself_while_another_ask_waits_for_text(
    telegram: Telegram,
) -> None:
    first = await telegram.desk.ask(TEXT)
    await telegram.card(first)
    (prompt,) = prompts(telegram)
    second = await telegram.desk.ask(OPTIONAL)
    card = await telegram.card(second)
    assert card.rows[0] == ("Write answer…",)
    assert prompts(telegram) == [prompt]
    assert await telegram.tap(card, "Write answer…") == ""
    card = await telegram.current(second)
    assert "Write answer…" not in str(card.rows)
    ours = prompts(telegram)[-1]
    assert ours.reply_to == card.id
    await telegram.say("second", reply_to=ours)
    await telegram.say("first", reply_to=prompt)
    assert await telegram.answers(first) == (Answer(values=("first",)),)
    assert await telegram.answers(second) == (Answer(values=("second",)),)
    await telegram.gone(prompt)
    await telegram.gone(ours)


async def test_an_open_cancel_screen_counts_as_waiting_for_text(telegram: Telegram) -> None:
    other = await telegram.desk.ask(SELECT)
    await telegram.step(other, "Cancel…")
    ask = await telegram.desk.ask(TEXT)
    assert (await telegram.card(ask)).rows[0] == ("Write answer…",)
    assert prompts(telegram) == []


async def test_in_a_group_only_a_tap_opens_the_keyboard_and_only_for_who_tapped(
    team: Telegram,
) -> None:
    ask = await team.desk.ask(TEXT)
    card = await team.card(ask)
    assert "Reply to this message with your answer." in card.text
    assert prompts(team) == []
    bob = next(person for person in team.api.service.people.values() if person.name == "Bob")
    phone = team.chat.phone(bob)
    await team.tap(card, "Write answer…", phone=phone)
    await team.current(ask)
    (prompt,) = prompts(team)
    assert read(prompt) == "Bob, your answer for shop-api:"
    assert [entity.user for entity in prompt.entities if entity.user] == [bob.id]
    (call,) = [it for it in team.api.calls("sendMessage") if "force_reply" in str(it.params)]
    assert call.params["reply_markup"]["selective"] is True
    assert prompt.silent
    await team.say("fix: ours", reply_to=prompt, phone=phone)
    ended = await team.now(ask)
    assert ended.outcome
    assert ended.outcome.by
    assert ended.outcome.by.name == "Bob"
    await team.gone(prompt)


async def test_other_in_a_group_opens_the_keyboard_of_who_tapped(team: Telegram) -> None:
    ask = await team.desk.ask(SELECT)
    card = await team.step(ask, "Other…")
    assert "Reply with your own answer." in card.text
    (prompt,) = prompts(team)
    assert read(prompt) == "Ada, your answer for shop-api:"
    await team.say("MariaDB", reply_to=prompt)
    assert await team.answers(ask) == (Answer(custom_text="MariaDB"),)


async def test_write_answer_during_another_change_still_opens_the_keyboard(
    team: Telegram,
) -> None:
    ask = await team.desk.ask(TEXT)
    card = await team.card(ask)
    held = team.api.hold("editMessageText")
    await more_time(team.desk.inbox, ask.id, person=OWNER)
    await asyncio.to_thread(held.arrived)
    await team.tap(card, "Write answer…")
    held.release()
    await team.current(ask)
    assert [read(prompt) for prompt in prompts(team)] == ["Ada, your answer for shop-api:"]


async def test_a_prompt_that_could_not_be_noted_is_answered_with_a_question(
    team: Telegram,
) -> None:
    ask = await team.desk.ask(TEXT, timeout=1500)
    card = await team.card(ask)
    team.api.cut("sendMessage", after_effect=True, when=lambda params: "force_reply" in str(params))
    await team.tap(card, "Write answer…")
    await team.in_time(team.current(ask))
    stray, noted = prompts(team)
    await team.say("fix: stray", reply_to=stray)
    asked = await team.sees("Use this as your answer to")
    await team.tap(asked, "Use it")
    assert await team.answers(ask) == (Answer(values=("fix: stray",)),)
    await team.gone(noted)


# ── replies ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("2", Answer(values=("SQLite",))),
        ("sqlite", Answer(values=("SQLite",))),
        ("postgresql in docker", Answer(values=("PostgreSQL in Docker (recommended)",))),
        ("3", Answer(custom_text="3")),
        ("Use DuckDB", Answer(custom_text="Use DuckDB")),
    ],
)
async def test_a_reply_picks_by_number_or_label_and_is_other_otherwise(
    telegram: Telegram, said: str, answer: Answer
) -> None:
    ask = await telegram.desk.ask(SELECT)
    sent = await telegram.say(said, reply_to=await telegram.card(ask))
    assert await telegram.answers(ask) == (answer,)
    await telegram.until(sent, lambda sent: sent.reactions == ("👍",))


async def test_a_reply_with_a_list_picks_several_and_waits_for_done(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(MULTI)
    await telegram.say("1,3", reply_to=await telegram.card(ask))
    card = await telegram.current(ask)
    picked = [key.text for key in card.keys if key.text.startswith(ON)]
    assert picked == [f"{ON} Unit tests", f"{ON} Load test"]
    await telegram.say("Everything else, too", reply_to=card)
    await telegram.step(ask, "Done (3)")
    assert await telegram.answers(ask) == (
        Answer(values=("Unit tests", "Load test"), custom_text="Everything else, too"),
    )


async def test_a_reply_that_does_not_fit_is_told_so(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(CONFIRM)
    sent = await telegram.say("perhaps", reply_to=await telegram.card(ask))
    told = await telegram.sees("Is this yes or no to")
    assert told.silent
    assert told.reply_to == sent.id
    assert (await telegram.now(ask)).open
    await telegram.say("yes", reply_to=await telegram.card(ask))
    assert await telegram.answers(ask) == (Answer(values=("yes",)),)


async def test_a_reply_to_a_prompt_of_an_older_step_says_so_and_changes_nothing(
    telegram: Telegram,
) -> None:
    ask = await telegram.desk.ask(TEXT, OPTIONAL)
    await telegram.card(ask)
    (prompt,) = prompts(telegram)
    # Telegram has the next prompt out, but this phone was offline and still shows the old one.
    held = telegram.api.hold("deleteMessage")
    await telegram.say("fix: it", reply_to=prompt)
    await asyncio.to_thread(held.arrived)
    await telegram.say("fix: it again", reply_to=prompt)
    assert (await telegram.now(ask)).draft.entries[1].text is None
    assert form.STALE.why in telegram.said()
    held.release()
    await telegram.gone(prompt)
    await telegram.current(ask)


async def test_a_reply_to_the_card_from_before_the_step_was_shown_is_stale(
    telegram: Telegram,
) -> None:
    ask = await telegram.desk.ask(CONFIRM, TEXT)
    card = await telegram.card(ask)
    telegram.clock.advance(60)
    written = telegram.phone.say("yes", reply_to=card)  # read late, below
    await telegram.dealt_with()
    assert (await telegram.now(ask)).draft.at == 1
    card = await telegram.current(ask)
    late = {
        "message_id": written.id + 1000,
        "date": written.date - 30,
        "chat": {"id": telegram.chat.id, "type": "private", "first_name": "Ada"},
        "from": telegram.ada.json(),
        "text": "no, wait",
        "reply_to_message": {
            "message_id": card.id,
            "date": card.date,
            "chat": {"id": telegram.chat.id, "type": "private", "first_name": "Ada"},
            "from": telegram.api.bot.json(),
            "text": card.text,
        },
    }
    telegram.api.raw_update({"message": late})
    await telegram.sees(form.STALE.why)
    assert (await telegram.now(ask)).draft.entries[1].text is None


def reply_of_before(telegram: Telegram, old: Card, **content: object) -> None:
    """A reply to a message that may be gone meanwhile: it was on its way when that went."""
    chat = {"id": telegram.chat.id, "type": "private", "first_name": "Ada"}
    replied = {
        "message_id": old.id,
        "date": old.date,
        "chat": chat,
        "from": telegram.api.bot.json(),
        "text": old.text,
    }
    telegram.api.raw_update(
        {
            "message": {
                "message_id": old.id + 1000,
                "date": int(telegram.clock.time()) + 5,
                "chat": chat,
                "from": telegram.ada.json(),
                "reply_to_message": replied,
                **content,
            }
        }
    )


async def posted_anew(telegram: Telegram, ask: Ask) -> tuple[Card, Card]:
    """The card that was, and the one that is."""
    old = await telegram.current(ask)
    await telegram.say("/pending")
    await telegram.tap(await telegram.sees("1 question is open"), "1")
    await telegram.gone(old)
    return old, await telegram.current(ask)


async def test_a_reply_to_a_card_that_was_posted_anew_is_understood(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(SELECT)
    old, _ = await posted_anew(telegram, ask)
    reply_of_before(telegram, old, text="2")
    await telegram.dealt_with()
    assert await telegram.answers(ask) == (Answer(values=("SQLite",)),)


async def test_a_reply_to_a_card_that_was_posted_anew_is_stale_once_the_form_moved_on(
    telegram: Telegram,
) -> None:
    ask = await telegram.desk.ask(SELECT, TEXT)
    old, _ = await posted_anew(telegram, ask)
    await telegram.step(ask, "2")
    reply_of_before(telegram, old, text="2")
    await telegram.sees(form.STALE.why)
    assert (await telegram.now(ask)).draft.entries[1].text is None


async def test_a_reply_that_is_neither_text_nor_file_is_told_so(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(SELECT)
    card = await telegram.card(ask)
    reply_of_before(telegram, card, dice={"emoji": "🎲", "value": 3})
    await telegram.sees("Only text can be an answer here.")
    assert (await telegram.now(ask)).open


async def test_a_reply_to_a_list_is_not_meant_for_the_first_in_it(telegram: Telegram) -> None:
    asks = [await telegram.desk.ask(SELECT), await telegram.desk.ask(CONFIRM)]
    for ask in asks:
        await telegram.card(ask)
    await telegram.say("/pending")
    listed = await telegram.sees("2 questions are open")
    await telegram.say("yes", reply_to=listed)
    for ask in asks:
        assert (await telegram.now(ask)).open
    await telegram.sees("Which question is this for?")


async def test_a_command_from_the_menu_is_no_answer_even_where_the_keyboard_is_open(
    telegram: Telegram,
) -> None:
    """An app that shows a prompt sends everything as a reply to it."""
    ask = await telegram.desk.ask(TEXT)
    await telegram.card(ask)
    (prompt,) = prompts(telegram)
    await telegram.say("/pending", reply_to=prompt)
    await telegram.sees("1 question is open")
    assert (await telegram.now(ask)).open
    await telegram.say("/help is what it should print", reply_to=prompt)
    assert await telegram.answers(ask) == (Answer(values=("/help is what it should print",)),)
