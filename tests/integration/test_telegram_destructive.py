"""A destructive command in a chat: two taps on two screens, and the second is no echo of the
first."""

from __future__ import annotations

from dataclasses import replace

from chatbridge.core.forms import form
from chatbridge.core.model import Ask, Subject
from tests.fakes.inbox import COMMAND
from tests.fakes.telegram_desk import Telegram, read
from tests.telegram_asks import ADA

DESTRUCTIVE = replace(
    COMMAND, subject=Subject(code="rm -r build", language="bash", folder="~/a", destructive=True)
)
BEYOND = replace(
    COMMAND,
    subject=Subject(code="git push", language="bash", folder="~/a", beyond="It allows more."),
)
EARLY = "That was very quick. Tap again if you mean it."


def verdict(ask: Ask) -> tuple[str, ...]:
    return ask.outcome.answers[0].values if ask.outcome else ()


async def test_a_destructive_command_takes_two_taps_that_were_both_meant(
    telegram: Telegram,
) -> None:
    ask = await telegram.desk.ask(DESTRUCTIVE, timeout=3600.0)
    first = await telegram.current(ask)
    telegram.clock.advance(2.0)
    assert await telegram.tap(first, "Allow once") == ""
    card = await telegram.current(ask)
    assert card.id == first.id
    assert read(card).startswith(
        "🔐 shop-api · Claude Code\n\nReally run this command?\nrm -r build\nin ~/a\n\n"
        "It is marked as destructive, so it takes a second tap.\n\n"
    )
    assert card.rows == (("Yes, run it",), ("‹ Back", "Deny"))
    assert await telegram.tap(card, "Yes") == EARLY
    assert (await telegram.now(ask)).open
    telegram.clock.advance(1.0)
    assert await telegram.tap(card, "Yes") == "Allowed once."
    assert verdict(await telegram.now(ask)) == ("allow",)


async def test_the_first_tap_can_be_taken_back_and_no_word_stands_for_the_second(
    telegram: Telegram,
) -> None:
    ask = await telegram.desk.ask(DESTRUCTIVE, timeout=3600.0)
    await telegram.current(ask)
    telegram.clock.advance(2.0)
    card = await telegram.step(ask, "Allow once", "‹ Back")
    assert card.rows[0] == ("Allow once",)
    card = await telegram.step(ask, "Allow once")
    for event in (form.Text(text="run it"), form.Text(text="yes")):
        step = await telegram.desk.inbox.put(ask.id, event, person=ADA)
        assert isinstance(step, form.Refused)
    assert await telegram.tap(card, "Deny") == "Denied."
    assert verdict(await telegram.now(ask)) == ("deny",)


async def test_what_allows_more_than_itself_is_allowed_with_words_that_fit(
    telegram: Telegram,
) -> None:
    ask = await telegram.desk.ask(BEYOND, timeout=3600.0)
    card = await telegram.current(ask)
    telegram.clock.advance(2.0)
    assert "\n\nIt allows more.\n\n" in read(card)
    assert card.rows == (("Allow",), ("Deny", "Deny, say why…"))
    assert await telegram.tap(card, "Allow") == "Allowed."
    assert read(await telegram.current(ask)).startswith("✅ Allowed · shop-api\n\ngit push")
