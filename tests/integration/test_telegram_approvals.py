"""Approvals in a chat: given by a tap that was meant, refused in every way, and never by words."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from chatbridge.channels.chat.callback_data import Tap, encode
from chatbridge.channels.chat.inbound import TAKEN_BACK
from chatbridge.core.cards.card import AskAction
from chatbridge.core.cards.phrases import UNSENT, clock_time
from chatbridge.core.forms import form
from chatbridge.core.forms.approval_form import TAP_IT, UNREAD
from chatbridge.core.forms.form import AskMore
from chatbridge.core.model import ALLOW, Answer, Ask, Question, Status
from chatbridge.core.policy import Policy
from tests.fakes.clock import StillClock
from tests.fakes.inbox import COMMAND, LONG_COMMAND, SELECT
from tests.fakes.telegram.people import Card
from tests.fakes.telegram.server import BotApi
from tests.fakes.telegram_desk import Telegram, data_of, read, running_telegram

ROWS = (("Allow once",), ("Deny", "Deny, say why…"), ("Allow more…",))
ALLOWED, DENIED = Answer(values=("allow",)), Answer(values=("deny",))
EARLY = "That was very quick. Tap again if you mean it."
A_WHILE = 2.0


async def asked(telegram: Telegram, question: Question = COMMAND, timeout: float = 3600.0) -> Ask:
    return await telegram.desk.ask(question, timeout=timeout)


async def read_by(telegram: Telegram, ask: Ask) -> Card:
    """The card as it is now, once somebody has had the time to read it."""
    card = await telegram.current(ask)
    telegram.clock.advance(A_WHILE)
    return card


def verdict(ask: Ask) -> Answer | None:
    return ask.outcome.answers[0] if ask.outcome and ask.outcome.answers else None


# ── allowed ───────────────────────────────────────────────────────────────────────────────────────


async def test_one_tap_allows_once_and_the_card_says_so(telegram: Telegram) -> None:
    ask = await asked(telegram)
    card = await read_by(telegram, ask)
    assert read(card).startswith("🔐 shop-api · Claude Code\n\nRun this command?\nterraform apply")
    assert card.parts("pre") == ("terraform apply -var-file=prod.tfvars plan.out",)
    assert card.rows == ROWS
    assert not card.silent
    assert await telegram.tap(card, "Allow once") == "Allowed once."
    assert verdict(await telegram.now(ask)) == ALLOWED
    over = await telegram.current(ask)
    assert over.id == card.id
    assert over.rows == ()
    assert read(over).startswith("✅ Allowed once · shop-api\n\nterraform apply")


async def test_more_is_allowed_with_a_last_tap_that_was_not_the_echo_of_another(
    telegram: Telegram,
) -> None:
    ask = await asked(telegram)
    assert await telegram.tap(await read_by(telegram, ask), "Allow more…") == ""
    card = await telegram.current(ask)
    assert "How long may it run this exact command without asking?" in card.text
    times = (("For 1 h",), ("For 8 h",), ("Until the session ends",))
    assert card.rows == (*times, ("‹ Back", "Deny"))
    card = await telegram.step(ask, "For 1 h")
    assert " may run this exact command without asking until " in card.text
    assert card.rows == (("Yes",), ("‹ Back", "Deny"))
    assert await telegram.tap(card, "Yes") == EARLY
    assert (await telegram.now(ask)).open
    telegram.clock.advance(1.0)
    assert await telegram.tap(card, "Yes") == "Allowed for 1 h."
    after = await telegram.now(ask)
    assert verdict(after) == Answer(values=("session",))
    assert after.grant
    assert after.grant.until == telegram.clock.time() - 1.0 + 3600.0, "as the screen said"


async def test_what_was_allowed_is_taken_back_on_its_card(telegram: Telegram) -> None:
    ask = await asked(telegram)
    await read_by(telegram, ask)
    card = await telegram.step(ask, "Allow more…", "For 1 h")
    telegram.clock.advance(1.0)
    await telegram.tap(card, "Yes")
    over = await telegram.current(ask)
    assert over.rows == (("Take back",),)
    assert "without asking until" in over.text
    assert await telegram.tap(over, "Take back") == TAKEN_BACK
    taken = await telegram.current(ask)
    assert taken.rows == ()
    assert read(taken).startswith("✅ Allowed once · shop-api")
    assert "Taken back" in taken.text
    assert await telegram.press(over, _take_back(ask)) == TAKEN_BACK


def _take_back(ask: Ask) -> str:
    return encode(Tap(ask_id=ask.id, question=0, action=AskAction.TAKE_BACK))


async def test_what_is_over_cannot_be_taken_back_any_more(telegram: Telegram) -> None:
    ask = await asked(telegram)
    await read_by(telegram, ask)
    card = await telegram.step(ask, "Allow more…", "For 1 h")
    telegram.clock.advance(1.0)
    await telegram.tap(card, "Yes")
    over = await telegram.current(ask)
    telegram.clock.advance(3600.0)
    assert await telegram.tap(over, "Take back") == "That is over already."
    after = await telegram.now(ask)
    assert after.grant
    assert after.grant.taken_back_at is None


async def test_the_session_can_be_thought_better_of(telegram: Telegram) -> None:
    ask = await asked(telegram)
    await read_by(telegram, ask)
    card = await telegram.step(ask, "Allow more…", "‹ Back")
    assert card.rows == ROWS
    assert (await telegram.now(ask)).open


async def test_a_card_that_came_up_under_the_thumb_is_not_allowed_by_it(
    telegram: Telegram,
) -> None:
    ask = await asked(telegram)
    card = await telegram.card(ask)
    telegram.clock.advance(0.9)
    assert await telegram.tap(card, "Allow once") == EARLY
    assert await telegram.tap(card, "Allow more…") == EARLY
    assert await telegram.now(ask) == ask
    telegram.clock.advance(0.1)
    assert await telegram.tap(card, "Allow once") == "Allowed once."


async def test_a_tap_that_overtakes_telegrams_word_for_the_card_is_too_quick(
    telegram: Telegram,
) -> None:
    held = telegram.api.hold("sendMessage", after_effect=True)
    ask = await asked(telegram)
    card = await telegram.sees("Run this command?")
    assert await telegram.tap(card, "Allow once") == EARLY
    held.release()
    await read_by(telegram, ask)
    assert await telegram.tap(card, "Allow once") == "Allowed once."


async def test_who_denies_may_be_quick(telegram: Telegram) -> None:
    ask = await asked(telegram)
    assert await telegram.tap(await telegram.card(ask), "Deny") == "Denied."
    assert verdict(await telegram.now(ask)) == DENIED
    assert read(await telegram.current(ask)).startswith("🚫 Denied · shop-api")


# ── all of it first ───────────────────────────────────────────────────────────────────────────────


async def test_a_long_command_is_allowed_only_after_all_of_it_was_sent(
    telegram: Telegram,
) -> None:
    ask = await asked(telegram, LONG_COMMAND)
    card = await read_by(telegram, ask)
    assert card.rows == (("Show all",), ("Deny",))
    allow = encode(Tap(ask_id=ask.id, question=0, action=form.Choose(step=0, option=ALLOW)))
    assert await telegram.press(card, allow) == UNREAD.why
    held = telegram.api.hold("sendDocument")
    assert await telegram.tap(card, "Show all") == ""
    card = await telegram.until(card, lambda card: len(card.rows) == 1)
    assert card.rows == (("Deny", "Deny, say why…"),), "the file is not out yet"
    held.release()
    card = await telegram.until(card, lambda card: len(card.rows) > 1)
    assert card.rows == ROWS
    file = await telegram.sees(lambda message: message.document is not None)
    assert file.document
    assert LONG_COMMAND.subject
    assert file.document.content.decode() == LONG_COMMAND.subject.code
    assert file.silent
    assert file.reply_to == card.id
    await read_by(telegram, ask)
    assert await telegram.tap(card, "Allow once") == "Allowed once."


async def test_a_file_that_cannot_be_sent_keeps_a_long_command_from_being_allowed(
    telegram: Telegram,
) -> None:
    ask = await asked(telegram, LONG_COMMAND)
    card = await read_by(telegram, ask)
    telegram.api.fail("sendDocument", status=500, times=1000)
    assert await telegram.tap(card, "Show all") == ""
    card = await telegram.until(card, lambda card: len(card.rows) == 1)
    await telegram.in_time(asyncio.to_thread(telegram.api.until, lambda it: _tries(it) > 3))
    assert telegram.phone.now(card).rows == (("Deny", "Deny, say why…"),)
    telegram.api.heal()
    card = await telegram.in_time(telegram.until(card, lambda card: card.rows == ROWS))


def _tries(api: BotApi) -> int:
    return len(api.calls("sendDocument"))


async def test_a_card_that_is_posted_anew_comes_after_all_of_it(telegram: Telegram) -> None:
    ask = await asked(telegram, LONG_COMMAND)
    first = await read_by(telegram, ask)
    await telegram.tap(first, "Show all")
    await telegram.current(ask)
    await telegram.say("/pending")
    await telegram.tap(await telegram.sees("1 question is open"), "1")
    await telegram.gone(first)
    card = await telegram.current(ask)
    assert card.rows == ROWS
    before = [message for message in telegram.phone.messages if message.id < card.id]
    assert before[-1].document is not None


async def test_a_long_change_can_be_allowed_and_is_sent_whole(telegram: Telegram) -> None:
    assert COMMAND.subject
    diff = "\n".join(f"+line {i}" for i in range(60))
    subject = replace(
        COMMAND.subject, code=diff, language="diff", folder=None, file="deploy/prod.tf"
    )
    ask = await asked(telegram, replace(COMMAND, text="Change this file?", subject=subject))
    card = await read_by(telegram, ask)
    assert "deploy/prod.tf · 60 lines added" in read(card)
    assert "+line 13\n… 38 lines …\n+line 52\n" in card.text
    assert card.rows == ROWS
    file = await telegram.sees(lambda message: message.document is not None)
    assert file.document
    assert file.document.content.decode() == diff
    assert await telegram.tap(card, "Allow once") == "Allowed once."


async def test_a_long_change_whose_file_cannot_be_sent_is_not_allowed(telegram: Telegram) -> None:
    assert COMMAND.subject
    diff = "\n".join(f"+line {i}" for i in range(60))
    subject = replace(COMMAND.subject, code=diff, language="diff", folder=None, file="prod.tf")
    telegram.api.fail("sendDocument", status=500, times=1000)
    ask = await asked(telegram, replace(COMMAND, text="Change this file?", subject=subject))
    card = await telegram.sees("Change this file?")
    await telegram.in_time(asyncio.to_thread(telegram.api.until, lambda it: _tries(it) > 3))
    card = telegram.phone.now(card)
    assert card.rows == (("Deny", "Deny, say why…"),)
    assert UNSENT in card.text
    for action in (form.Choose(step=0, option=ALLOW), AskMore(step=0)):
        tapped = encode(Tap(ask_id=ask.id, question=0, action=action))
        assert await telegram.press(card, tapped) == UNSENT
    assert await telegram.now(ask) == ask
    telegram.api.heal()
    card = await telegram.in_time(telegram.until(card, lambda card: card.rows == ROWS))
    assert UNSENT not in card.text
    await read_by(telegram, ask)
    assert await telegram.tap(card, "Allow once") == "Allowed once."


async def test_who_denies_with_a_reason_is_asked_for_it_though_a_file_cannot_be_sent(
    telegram: Telegram,
) -> None:
    assert COMMAND.subject
    diff = "\n".join(f"+line {i}" for i in range(60))
    subject = replace(COMMAND.subject, code=diff, language="diff", folder=None, file="prod.tf")
    telegram.api.fail("sendDocument", status=400, times=1000)
    await asked(telegram, replace(COMMAND, text="Change this file?", subject=subject))
    card = await telegram.sees("Change this file?")
    await telegram.in_time(asyncio.to_thread(telegram.api.until, lambda it: _tries(it) > 1))
    assert await telegram.tap(card, "Deny, say why…") == ""
    prompt = await telegram.in_time(telegram.sees("Your reason for"))
    assert prompt.force_reply == "Your reason"


# ── denied ────────────────────────────────────────────────────────────────────────────────────────


async def test_a_denial_with_a_reason_is_typed_into_a_prompt(telegram: Telegram) -> None:
    ask = await asked(telegram)
    await read_by(telegram, ask)
    card = await telegram.step(ask, "Deny, say why…")
    assert card.rows == (("‹ Back",),)
    prompt = await telegram.sees("Your reason for")
    assert prompt.force_reply == "Your reason"
    assert prompt.reply_to == card.id
    sent = await telegram.say("allow it on Monday", reply_to=prompt)
    await telegram.until(sent, lambda sent: sent.reactions == ("👍",))
    assert verdict(await telegram.now(ask)) == replace(DENIED, custom_text="allow it on Monday")
    assert "The agent was told: “allow it on Monday”" in read(await telegram.current(ask))
    await telegram.gone(prompt)


async def test_silence_denies_and_leaves_nothing_to_tap(telegram: Telegram) -> None:
    ask = await asked(telegram)
    card = await telegram.card(ask)
    allow = data_of(card, 1)
    over = await telegram.desk.time_out(ask)
    assert over.deadline
    at = clock_time(over.deadline)
    card = await telegram.current(ask)
    assert read(card).startswith("⌛ Denied · shop-api\n\nterraform apply")
    assert read(card).endswith(f"\n\nNobody answered by {at}.")
    assert card.rows == ()
    assert await telegram.press(card, allow) == f"Timed out at {at}."
    await telegram.say("yes", reply_to=card)
    assert await telegram.now(ask) == over


async def test_a_tap_after_the_end_changes_nothing(telegram: Telegram) -> None:
    ask = await asked(telegram)
    card = await read_by(telegram, ask)
    allow = data_of(card, 1)
    await telegram.tap(card, "Deny")
    over = await telegram.now(ask)
    assert (await telegram.press(card, allow)).startswith("Already answered at")
    assert await telegram.now(ask) == over


async def test_an_allow_of_an_older_step_changes_nothing(telegram: Telegram) -> None:
    ask = await asked(telegram)
    card = await read_by(telegram, ask)
    allow = data_of(card, 1)
    await telegram.step(ask, "Deny, say why…")
    before = await telegram.now(ask)
    assert await telegram.press(card, allow) == form.STALE.why
    assert await telegram.now(ask) == before


# ── not by words, not by others, not elsewhere ────────────────────────────────────────────────────


@pytest.mark.parametrize("words", ["allow", "1", "2", "yes", "Allow once", "deny"])
async def test_typed_words_neither_allow_nor_deny(telegram: Telegram, words: str) -> None:
    ask = await asked(telegram)
    card = await read_by(telegram, ask)
    await telegram.say(words, reply_to=card)
    assert read(await telegram.sees(TAP_IT.why)) == TAP_IT.why
    assert await telegram.now(ask) == ask


async def test_a_message_beside_an_approval_is_told_to_tap(telegram: Telegram) -> None:
    ask = await asked(telegram)
    await read_by(telegram, ask)
    await telegram.say("yes, go on")
    told = await telegram.sees(TAP_IT.why)
    assert read(told).startswith(
        f"{TAP_IT.why}\n\n1. shop-api: Run this command? terraform apply -var-file=prod.…"
    )
    assert told.rows == (("1",),)
    assert await telegram.now(ask) == ask


async def test_a_message_beside_an_approval_and_a_question_is_offered_to_the_question_alone(
    telegram: Telegram,
) -> None:
    approval, question = await asked(telegram), await asked(telegram, SELECT)
    await read_by(telegram, approval)
    await telegram.card(question)
    await telegram.say("SQLite")
    about = await telegram.sees("Use this as your answer to")
    assert about.rows == (("Use it", "No"),)
    assert (await telegram.now(approval)).open
    assert (await telegram.now(question)).open


async def test_an_approval_is_not_cancelled_but_denied(telegram: Telegram) -> None:
    ask = await asked(telegram)
    first = await read_by(telegram, ask)
    await telegram.say("/cancel")
    await telegram.sees("This one can be denied instead. Tap Deny.")
    await telegram.gone(first)
    card = await telegram.current(ask)
    assert card.rows == ROWS
    assert (await telegram.now(ask)).open


async def test_history_tells_how_an_approval_ended(telegram: Telegram) -> None:
    await telegram.tap(await telegram.card(await asked(telegram)), "Deny")
    await telegram.say("/history")
    told = await telegram.sees("🚫 \u2068shop-api")
    assert read(told).startswith(
        "🚫 shop-api: Run this command? terraform apply -var-file=prod.…\nDenied · "
    )


async def test_a_strangers_allow_does_nothing_and_tells_nothing(tmp_path: Path) -> None:
    clock = StillClock()
    with BotApi.running(clock=clock) as api:
        ada, eve = api.person("Ada"), api.person("Eve")
        team = api.group("team", ada, eve)
        async with running_telegram(
            tmp_path, api=api, clock=clock, chat=team, phone=team.phone(ada)
        ) as telegram:
            ask = await asked(telegram)
            card = await read_by(telegram, ask)
            stranger = team.phone(eve)
            for label in ("Allow once", "Allow more…", "Deny"):
                assert await telegram.tap(card, label, phone=stranger) == ""
            await telegram.say("allow", reply_to=card, phone=stranger)
            assert await telegram.now(ask) == ask
            assert await telegram.tap(card, "Allow once") == "Allowed once."


async def test_where_it_cannot_be_settled_a_tap_or_a_word_says_where_it_can(
    tmp_path: Path,
) -> None:
    policy = Policy(approval_channels=frozenset({"matrix"}))
    elsewhere = "Allow or deny this in Matrix."
    async with running_telegram(tmp_path, policy=policy) as telegram:
        ask = await asked(telegram)
        card = await read_by(telegram, ask)
        assert elsewhere in card.text
        assert card.rows == ()
        allow = encode(Tap(ask_id=ask.id, question=0, action=form.Choose(step=0, option=ALLOW)))
        assert await telegram.press(card, allow) == elsewhere
        for action in (form.Extend(minutes=15), form.Snooze(step=0, minutes=60)):
            more = encode(Tap(ask_id=ask.id, question=0, action=action))
            assert await telegram.press(card, more) == elsewhere
        await telegram.say("deny", reply_to=card)
        await telegram.sees(lambda message: message.text == elsewhere)
        await telegram.say("/cancel")
        await telegram.dealt_with()
        now = await telegram.now(ask)
        assert (now.status, now.deadline) == (Status.OPEN, ask.deadline)
