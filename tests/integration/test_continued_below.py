"""In a busy chat the next step of a form comes to the bottom, where somebody sees it."""

from __future__ import annotations

from chatbridge.channels.chat.surface import FAR_ABOVE
from chatbridge.core.model import Answer, Person
from tests.fakes.inbox import CONFIRM, SELECT, TEXT
from tests.fakes.telegram.people import Card
from tests.fakes.telegram_desk import Telegram, read

ADA = Person(name="Ada", channel="web")
LINE = "❓ shop-api · continued below"


async def busy(telegram: Telegram, messages: int = FAR_ABOVE) -> None:
    """Other agents ask meanwhile."""
    for _ in range(messages):
        await telegram.card(await telegram.desk.ask(CONFIRM))


def is_second(card: Card) -> bool:
    return card.from_bot and "2 of 2" in card.text


async def test_the_next_step_comes_to_the_bottom_and_the_old_card_says_so(
    telegram: Telegram,
) -> None:
    ask = await telegram.desk.ask(CONFIRM, SELECT)
    card = await telegram.card(ask)
    await busy(telegram)
    await telegram.tap(card, "Yes")
    below = await telegram.sees(is_second)
    assert below.id > card.id
    assert below.silent
    old = await telegram.until(card, lambda card: "continued" in card.text)
    assert read(old) == LINE
    assert old.rows == ()
    await telegram.tap(below, "2 · SQLite")
    await telegram.until(below, lambda card: "Nothing has been sent yet." in card.text)
    assert await telegram.tap(below, "Send answers") == "Sent: 2 answers"
    assert await telegram.answers(ask) == (Answer(values=("yes",)), Answer(values=("SQLite",)))
    assert read(telegram.phone.now(card)) == LINE


async def test_also_after_a_typed_answer(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(TEXT, CONFIRM)
    card = await telegram.card(ask)
    await busy(telegram)
    await telegram.say("fix: it", reply_to=card)
    below = await telegram.sees(is_second)
    assert below.id > card.id
    await telegram.tap(below, "No")
    await telegram.until(below, lambda card: "Nothing has been sent yet." in card.text)


async def test_with_few_messages_below_it_the_card_shows_the_next_step_itself(
    telegram: Telegram,
) -> None:
    ask = await telegram.desk.ask(CONFIRM, SELECT)
    card = await telegram.card(ask)
    await busy(telegram, FAR_ABOVE - 1)
    await telegram.tap(card, "Yes")
    await telegram.until(card, is_second)


async def test_a_screen_beside_the_question_and_more_time_stay_on_the_card(
    telegram: Telegram,
) -> None:
    ask = await telegram.desk.ask(CONFIRM, SELECT)
    card = await telegram.card(ask)
    await busy(telegram)
    await telegram.tap(card, "Cancel…")
    await telegram.until(card, lambda card: "Cancel all 2 questions?" in card.text)
    await telegram.tap(card, "‹ Keep it open")
    await telegram.until(card, lambda card: "1 of 2" in card.text)
    await telegram.tap(card, "More time…")
    await telegram.until(card, lambda card: "How much more time?" in card.text)
    await telegram.tap(card, "+15 min")
    await telegram.until(card, lambda card: "1 of 2" in card.text)
    assert "continued" not in telegram.phone.now(card).text


async def test_an_old_card_that_somebody_deletes_holds_nothing_up(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(CONFIRM, SELECT)
    card = await telegram.card(ask)
    await busy(telegram)
    telegram.api.fail(
        "editMessageText", status=400, description="Bad Request: message to edit not found"
    )
    await telegram.tap(card, "Yes")
    below = await telegram.sees(is_second)
    await telegram.tap(below, "2 · SQLite")
    await telegram.until(below, lambda card: "Nothing has been sent yet." in card.text)


async def test_without_the_new_card_the_old_one_says_how_it_ended(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(CONFIRM, SELECT)
    card = await telegram.card(ask)
    await busy(telegram)
    telegram.api.fail("editMessageText", status=429, retry_after=30)
    await telegram.tap(card, "Yes")
    below = await telegram.sees(is_second)
    telegram.phone.delete(below)
    await telegram.desk.inbox.cancel(ask.id, reason=None, person=ADA)
    ended = await telegram.in_time(telegram.until(card, lambda card: "Cancelled" in card.text))
    assert ended.rows == ()


async def test_a_tap_on_the_new_card_before_its_number_is_known_takes_nothing_away(
    telegram: Telegram,
) -> None:
    ask = await telegram.desk.ask(CONFIRM, SELECT)
    card = await telegram.card(ask)
    await busy(telegram)
    held = telegram.api.hold("sendMessage", after_effect=True)
    await telegram.tap(card, "Yes")
    below = await telegram.sees(is_second)
    await telegram.tap(below, "2 · SQLite")
    held.release()
    review = await telegram.sees(lambda card: "Nothing has been sent yet." in card.text)
    await telegram.tap(review, "Send answers")
    await telegram.until(review, lambda card: "Answered" in card.text)
    await telegram.gone(card)
    assert read(await telegram.until(below, lambda card: not card.rows)) == LINE
