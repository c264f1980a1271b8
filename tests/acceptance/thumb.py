"""Somebody with a phone in front of a real chatbridge: sees an ask's card and fills it in."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.acceptance.bridge import Connection, Home, Json, new_home, question_of
from tests.fakes.chat_settings import telegram_settings
from tests.fakes.machine import until_noted
from tests.fakes.telegram.people import Card, Phone
from tests.fakes.telegram.server import BotApi

MARKS = re.compile(r"^(?:[☐☑]\ufe0e )?(?:\d+ · )?")
"""What may stand before an option's label on its button."""


# ── the person ────────────────────────────────────────────────────────────────────────────────────


class Thumb:
    """Somebody who fills in one ask's card, and waits for what each tap leads to."""

    def __init__(self, phone: Phone, card: Card, database: Path) -> None:
        self.phone = phone
        self.card = card
        self.database = database

    def shows(self, *words: str) -> Card:
        """The card once all of this is in its text or on its buttons."""

        def there(card: Card) -> bool:
            return all(
                word in card.text or any(word in key.text for key in card.keys) for word in words
            )

        self.card = self.phone.until(self.card, there)
        return self.card

    def taps(self, label: str) -> str:
        """What pops up."""
        now = self.phone.now(self.card)
        (key,) = (it for it in now.keys if MARKS.sub("", it.text) == label)
        assert key.data
        return self.phone.press(self.card, key.data).answered()

    def writes(self, text: str) -> None:
        """Reply to the prompt that has opened the keyboard."""
        prompt = self.phone.sees(
            lambda it: it.force_reply is not None and it.reply_to == self.card.id
        )
        self.replies(text, to=prompt)
        self.phone.gone(prompt)

    def replies(self, text: str, *, to: Card) -> None:
        """Nobody types faster than the hub hears that its message has arrived."""
        until_noted(self.database, to)
        sent = self.phone.say(text, reply_to=to)
        self.phone.until(sent, lambda it: it.reactions == ("👍",))

    def answers(self, question: Json, given: Json) -> None:
        """Fill in one question that is shown now."""
        values: Sequence[str] = given.get("values", ())
        other = given.get("customText")
        match question.get("type", "text"):
            case "text":
                self.writes(values[0]) if values else self.taps("Skip")
            case "confirm":
                self.taps(values[0].capitalize())
            case "select" if other:
                self.taps("Other…")
                self.shows("Write your own answer.")
                self.writes(other)
            case "select":
                self.taps(values[0]) if values else self.taps("Skip")
            case "multi-select":
                for value in values:
                    self.taps(value)
                if other:
                    self.taps("Other…")
                    self.shows("Write your own answer.")
                    self.writes(other)
                count = len(values) + bool(other)
                self.shows(f"Done ({count})")
                self.taps(f"Done ({count})")

    def fills_in(self, questions: Sequence[Json], given: Sequence[Json]) -> None:
        for i, (question, answer) in enumerate(zip(questions, given, strict=True), 1):
            if len(questions) > 1:
                self.shows(f"{i} of {len(questions)}")
            self.answers(question, answer)
        if len(questions) > 1:
            self.shows("Nothing has been sent yet.")
            assert self.taps("Send answers") == f"Sent: {len(questions)} answers"

    def cancels(self, reason: str | None = None) -> None:
        self.taps("Cancel…")
        self.shows("Cancel without a reason")
        if reason is None:
            assert self.taps("Cancel without a reason") == "Cancelled."
        else:
            self.replies(reason, to=self.card)


def questions_of(arguments: Json) -> list[Json]:
    """The single form as a list of one."""
    if "questions" in arguments:
        found: list[Json] = arguments["questions"]
        return found
    several = "multi-select" if arguments.get("multiSelect") else "select"
    return [{**arguments, "type": several if arguments.get("options") else "text"}]


# ── the agent and its person ──────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Telegram:
    connection: Connection
    phone: Phone

    @asynccontextmanager
    async def asking(self, arguments: Json) -> AsyncIterator[tuple[asyncio.Task[Any], Thumb]]:
        """The waiting call, and somebody who sees its card."""
        known = {card.id for card in self.phone.messages}
        call = asyncio.create_task(self.connection.ask(arguments))
        asked = question_of(arguments)
        try:
            card = await asyncio.to_thread(
                self.phone.sees, lambda it: asked in it.text and it.id not in known
            )
            yield call, Thumb(self.phone, card, self.connection.home.state / "chatbridge.db")
        finally:
            call.cancel()
            await asyncio.wait({call})

    async def result(self, arguments: Json, action: Callable[[Thumb], None]) -> Any:
        """What the agent gets after the person did this; the card has no buttons then."""
        async with self.asking(arguments) as (call, thumb):
            await asyncio.to_thread(action, thumb)
            result = await call
            ended = await asyncio.to_thread(thumb.shows, "You ", " here, ")
            assert ended.rows == ()
        return result


@contextmanager
def telegram_home(**settings: str) -> Iterator[tuple[Home, Phone]]:
    with BotApi.running() as api:
        ada = api.person("Ada")
        with new_home(**settings) as home:
            home.settings |= telegram_settings(api, ada)
            yield home, api.private(ada).phone(ada)
