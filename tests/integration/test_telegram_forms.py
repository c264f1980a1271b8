"""Several questions in one card: step by step, back, skipped, reviewed, sent; and what is too long
for a card."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from chatbridge.channels.chat.keyboard import OFF, ON
from chatbridge.core.forms import form
from chatbridge.core.model import Answer, Ask, Status, View
from tests.fakes.clock import StillClock
from tests.fakes.inbox import CONFIRM, MULTI, OPTIONAL, SELECT, TEXT
from tests.fakes.telegram.people import Card
from tests.fakes.telegram.server import BotApi
from tests.fakes.telegram_desk import Telegram, data_of, read, running_telegram

LONG = replace(SELECT, text="\n\n".join(f"Paragraph {i}: " + "word " * 150 for i in range(8)))
CODE = "\n".join(f"line {i}" for i in range(50))
WITH_CODE = replace(CONFIRM, text=f"Run this?\n\n```python\n{CODE}\n```")
HUGE = replace(CONFIRM, text="\n\n".join("word " * 500 for _ in range(12)))


async def filled(telegram: Telegram) -> Ask:
    """A form of three questions, up to its review."""
    ask = await telegram.desk.ask(SELECT, MULTI, OPTIONAL, title="Release 2.4")
    await telegram.step(ask, "2 ·", f"{OFF} Unit tests", "Done (1)", "Skip")
    return ask


# ── step by step ──────────────────────────────────────────────────────────────────────────────────


async def test_each_step_is_an_edit_of_the_same_card(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(SELECT, MULTI, OPTIONAL, title="Release 2.4")
    first = await telegram.card(ask)
    assert read(first).splitlines()[1] == "Release 2.4 · 1 of 3"
    assert "‹ Back" not in str(first.rows)
    assert await telegram.tap(first, "2 ·") == ""
    second = await telegram.current(ask)
    assert second.id == first.id
    assert read(second).splitlines()[1] == "Release 2.4 · 2 of 3"
    assert ("‹ Back", "Done (0)") in second.rows
    await telegram.step(ask, f"{OFF} Unit tests")
    third = await telegram.step(ask, "Done (1)")
    assert "Anything else?" in third.text
    assert ("‹ Back", "Skip") in third.rows
    review = await telegram.step(ask, "Skip")
    assert read(review) == (
        "❓ shop-api · Claude Code\nRelease 2.4 · check and send\n\n"
        "1. Which database should the integration tests use?\nSQLite\n\n"
        "2. Which checks must pass?\nUnit tests\n\n"
        "3. Anything else?\nskipped\n\n"
        f"Nothing has been sent yet.\n{read(first).splitlines()[-1]}"
    )
    assert review.rows == (
        ("Edit 1", "Edit 2", "Edit 3"),
        ("Send answers",),
        ("More time…", "Ask back…", "Cancel…"),
    )
    assert (await telegram.now(ask)).open
    assert await telegram.tap(review, "Send answers") == "Sent: 3 answers"
    assert await telegram.answers(ask) == (
        Answer(values=("SQLite",)),
        Answer(values=("Unit tests",)),
        Answer(),
    )
    summary = await telegram.current(ask)
    assert summary.id == first.id
    assert "1. Which database should the integration tests use?\nSQLite" in read(summary)


async def test_back_shows_what_was_put_in_before(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(MULTI, TEXT)
    await telegram.step(ask, f"{OFF} Load test", "Done (1)")
    card = await telegram.step(ask, "‹ Back")
    assert f"{ON} Load test" in [key.text for key in card.keys]


async def test_edit_leads_to_one_question_and_back_to_the_review(telegram: Telegram) -> None:
    ask = await filled(telegram)
    card = await telegram.step(ask, "Edit 1")
    assert "Which database" in card.text
    card = await telegram.step(ask, "1 ·")
    assert "check and send" in card.text
    await telegram.step(ask, "Edit 3")
    await telegram.say("Nothing", reply_to=await telegram.sees("Your answer for"))
    card = await telegram.step(ask, "Send answers")
    answers = await telegram.answers(ask)
    assert answers[0].values == ("PostgreSQL in Docker (recommended)",)
    assert answers[2].values == ("Nothing",)


async def test_editing_can_be_left_without_a_change(telegram: Telegram) -> None:
    ask = await filled(telegram)
    card = await telegram.step(ask, "Edit 2", "‹ Back")
    assert "check and send" in card.text
    assert (await telegram.now(ask)).draft.entries[1].picked == (0,)


async def test_a_form_is_cancelled_as_a_whole(telegram: Telegram) -> None:
    ask = await filled(telegram)
    card = await telegram.step(ask, "Cancel…")
    assert "Cancel all 3 questions?" in card.text
    card = await telegram.step(ask, "‹ Keep")
    assert "check and send" in card.text
    await telegram.step(ask, "Cancel…", "Cancel without")
    assert (await telegram.now(ask)).status is Status.CANCELLED


async def test_a_button_of_an_older_step_says_so_and_changes_nothing(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(CONFIRM, SELECT, CONFIRM)
    first = await telegram.card(ask)
    second = await telegram.step(ask, "Yes")
    before = (await telegram.now(ask)).draft
    for key in first.keys[:2]:
        assert key.data
        assert await telegram.press(second, key.data) == form.STALE.why
    assert (await telegram.now(ask)).draft == before
    assert (await telegram.current(ask)).text == second.text


async def test_a_button_of_a_step_that_is_shown_again_is_stale_all_the_same(
    telegram: Telegram,
) -> None:
    ask = await telegram.desk.ask(CONFIRM, SELECT)
    first = await telegram.card(ask)
    no = data_of(first, 1)
    card = await telegram.step(ask, "Yes", "‹ Back")
    assert await telegram.press(card, no) == form.STALE.why
    assert (await telegram.now(ask)).draft.at == 0


async def test_a_half_filled_form_survives_a_restart(tmp_path: Path) -> None:
    clock = StillClock()
    with BotApi.running(clock=clock) as api:
        async with running_telegram(tmp_path, api=api, clock=clock) as telegram:
            ask = await filled(telegram)
            card = await telegram.current(ask)
        async with running_telegram(
            tmp_path, api=api, clock=clock, chat=telegram.chat, phone=telegram.phone
        ) as again:
            assert await again.tap(card, "Send answers") == "Sent: 3 answers"
            assert (await again.current(ask)).id == card.id
            assert len(again.said()) == 1


async def test_a_late_form_of_several_questions_is_filled_in_the_same_way(
    telegram: Telegram,
) -> None:
    ask = await telegram.desk.ask(CONFIRM, SELECT)
    await telegram.step(ask, "Yes")
    await telegram.desk.time_out(ask)
    card = await telegram.step(ask, "Answer anyway")
    assert read(card).startswith("⌛ Late answer · shop-api\n2 of 2")
    card = await telegram.step(ask, "2 ·")
    assert "check and send" in card.text
    assert await telegram.tap(card, "Send answers") == "Kept: 2 answers"
    assert read(await telegram.current(ask)).startswith("✅ Answered · shop-api")


async def test_text_steps_have_a_prompt_each(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(TEXT, OPTIONAL)
    await telegram.card(ask)
    first = await telegram.sees("Your answer for")
    assert first.force_reply == "feat: …"
    await telegram.say("fix: it", reply_to=first)
    await telegram.gone(first)
    second = await telegram.sees(lambda card: card.force_reply is not None and card.id != first.id)
    assert second.force_reply == "Your answer"
    await telegram.current(ask)
    await telegram.say("no", reply_to=second)
    await telegram.gone(second)
    assert (await telegram.now(ask)).draft.view is View.REVIEW
    assert [card.id for card in telegram.phone.messages if card.force_reply is not None] == []


# ── what is too long for a card ───────────────────────────────────────────────────────────────────


def shown(telegram: Telegram) -> list[Card]:
    return [card for card in telegram.phone.messages if card.from_bot]


async def test_a_long_question_comes_before_its_card_silently(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(LONG)
    card = await telegram.card(ask)
    *leaflets, last = shown(telegram)
    assert last.id == card.id
    assert not card.silent
    assert [leaflet.silent for leaflet in leaflets] == [True] * len(leaflets)
    assert read(leaflets[0]).startswith(f"1/{len(leaflets)} of the question for shop-api")
    for i in range(8):
        assert any(f"Paragraph {i}: " in leaflet.text for leaflet in leaflets)
    assert "The whole question is above." in card.text
    await telegram.step(ask, "2 ·")
    assert await telegram.answers(ask) == (Answer(values=("SQLite",)),)


async def test_what_was_sent_is_not_repeated_when_the_card_fails(telegram: Telegram) -> None:
    telegram.api.fail("sendMessage", status=500, when=lambda params: "Ends " in params["text"])
    ask = await telegram.desk.ask(LONG, timeout=1500)
    await telegram.in_time(telegram.card(ask))
    *leaflets, _ = shown(telegram)
    assert [read(it).split(" of the question")[0] for it in leaflets] == [
        f"{i}/{len(leaflets)}" for i in range(1, len(leaflets) + 1)
    ]


async def test_a_reply_to_a_part_of_a_long_question_is_understood(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(LONG)
    await telegram.card(ask)
    await telegram.say("sqlite", reply_to=shown(telegram)[0])
    assert await telegram.answers(ask) == (Answer(values=("SQLite",)),)


async def test_long_code_comes_whole_as_a_silent_file(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(WITH_CODE)
    card = await telegram.card(ask)
    assert "… 32 lines …" in card.text
    first, file = shown(telegram)
    assert first.id == card.id
    assert file.document
    assert file.document.name == f"question-{ask.id[:8]}.txt"
    assert CODE in file.document.content.decode()
    assert file.silent
    assert file.reply_to == card.id


async def test_a_file_that_could_not_be_sent_is_sent_later(telegram: Telegram) -> None:
    telegram.api.fail("sendDocument", status=500)
    ask = await telegram.desk.ask(WITH_CODE, timeout=1500)
    await telegram.in_time(telegram.card(ask))
    assert [it.document is not None for it in shown(telegram)] == [False, True]


async def test_a_question_that_is_longer_than_four_messages_comes_as_a_file(
    telegram: Telegram,
) -> None:
    ask = await telegram.desk.ask(HUGE)
    card = await telegram.card(ask)
    file, last = shown(telegram)
    assert last.id == card.id
    assert file.document
    assert HUGE.text in file.document.content.decode()


async def test_a_file_before_the_card_is_not_repeated(telegram: Telegram) -> None:
    telegram.api.fail("sendMessage", status=500, when=lambda params: "Ends " in params["text"])
    ask = await telegram.desk.ask(HUGE, LONG, timeout=1500)
    card = await telegram.in_time(telegram.card(ask))
    *leaflets, file, last = shown(telegram)
    assert file.document
    assert last.id == card.id
    assert all(it.document is None for it in leaflets)
