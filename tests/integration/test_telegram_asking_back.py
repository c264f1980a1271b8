"""Asking back from a chat: explain or rephrase, for tools that take it as an answer and others."""

from __future__ import annotations

from dataclasses import replace

from chatbridge.core.model import Answer, Ask, AskBack, Status
from tests.fakes.inbox import CONFIRM, MULTI, SELECT
from tests.fakes.telegram_desk import Telegram, data_of, read

ASKING = ("Explain this", "Ask it differently")


async def reason(telegram: Telegram, ask: Ask) -> str | None:
    ended = await telegram.now(ask)
    assert ended.status is Status.CANCELLED
    return ended.outcome.reason if ended.outcome else None


async def test_a_question_is_asked_differently_with_two_taps(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(SELECT)
    card = await telegram.step(ask, "Ask back…")
    assert card.rows == (ASKING, ("‹ Back",))
    assert await telegram.tap(card, "Ask it differently") == "Sent."
    assert await reason(telegram, ask) == "Please rephrase this in a different way."
    over = await telegram.current(ask)
    assert read(over).startswith("🚫 Cancelled · shop-api")
    assert "The agent was told: “Please rephrase this in a different way.”" in read(over)


async def test_what_should_be_explained_is_typed_into_a_prompt(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(SELECT)
    card = await telegram.step(ask, "Ask back…")
    assert "What should the agent explain?\nSend it as text, or:" in card.text
    assert card.rows == (ASKING, ("‹ Back",))
    prompt = await telegram.sees("What to explain, for")
    assert prompt.force_reply == "What should the agent explain?"
    assert prompt.silent
    await telegram.say("What is a container?", reply_to=prompt)
    assert await reason(telegram, ask) == (
        "Please explain this in more detail. What is a container?"
    )
    await telegram.gone(prompt)


async def test_a_plain_message_on_that_screen_is_what_should_be_explained(
    telegram: Telegram,
) -> None:
    ask = await telegram.desk.ask(SELECT)
    await telegram.step(ask, "Ask back…")
    telegram.clock.advance(2)
    await telegram.say("2")
    assert await reason(telegram, ask) == "Please explain this in more detail. 2"


async def test_explaining_needs_no_words_and_can_be_thought_better_of(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(SELECT)
    card = await telegram.step(ask, "Ask back…", "‹ Back")
    assert card.rows[-1][-2:] == ("Ask back…", "Cancel…")
    card = await telegram.step(ask, "Ask back…")
    assert await telegram.tap(card, "Explain this") == "Sent."
    assert await reason(telegram, ask) == "Please explain this in more detail."


async def test_where_the_tool_takes_it_asking_back_answers_that_question_of_a_set(
    telegram: Telegram,
) -> None:
    first, second = (replace(each, takes_ask_back=True) for each in (SELECT, MULTI))
    ask = await telegram.desk.ask(first, second)
    await telegram.step(ask, "Ask back…")
    await telegram.say("Why Docker?", reply_to=await telegram.sees("What to explain, for"))
    review = await telegram.step(ask, "Ask back…", "Ask it differently")
    assert "use?\nasked to explain: Why Docker?\n\n2." in read(review)
    assert "pass?\nasked to rephrase\n" in read(review)
    assert await telegram.tap(review, "Send answers") == "Sent: 2 answers"
    assert await telegram.answers(ask) == (
        Answer(ask_back=AskBack.EXPLAIN, custom_text="Why Docker?"),
        Answer(ask_back=AskBack.REPHRASE),
    )
    assert "asked to explain: Why Docker?" in read(await telegram.current(ask))


async def test_a_single_question_that_takes_it_says_in_the_toast_what_was_sent(
    telegram: Telegram,
) -> None:
    ask = await telegram.desk.ask(replace(SELECT, takes_ask_back=True))
    card = await telegram.step(ask, "Ask back…")
    assert await telegram.tap(card, "Ask it differently") == "Sent: asked to rephrase"
    assert await telegram.answers(ask) == (Answer(ask_back=AskBack.REPHRASE),)


async def test_a_second_tap_of_an_older_screen_asks_nothing_back(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(CONFIRM)
    card = await telegram.step(ask, "Ask back…")
    rephrase = data_of(card, 2)
    await telegram.step(ask, "‹ Back")
    assert await telegram.press(card, rephrase) == (
        "That was an older step. Here is the current one."
    )
    assert (await telegram.now(ask)).open
