"""The chats whose cards the tests of the kit read: each draws, and is read, in its own way."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any

import pytest

from chatbridge.channels.chat.capabilities import Capabilities, Seen
from chatbridge.channels.chat.document import Document
from chatbridge.channels.matrix.render.card import MATRIX as MATRIX_CAN
from chatbridge.channels.matrix.render.html import INDENT, Words
from chatbridge.channels.telegram.render.card import TELEGRAM as TELEGRAM_CAN
from chatbridge.core.cards.build import build_card
from chatbridge.core.cards.card import Card
from chatbridge.core.forms.emoji_shortcuts import reactions
from chatbridge.core.model import Ask, Person
from tests import matrix_drawings as matrix
from tests import telegram_drawings as telegram
from tests.matrix_asks import check, plain
from tests.telegram_asks import NOW, labels, later, read_plainly
from tests.telegram_html import write


class Chat(ABC):
    capabilities: Capabilities[Any]

    def __init__(self, name: str, place: str) -> None:
        self.name = name
        self.me = Person(name="Ada", channel=name.lower(), place=place)
        self.private = Seen(now=NOW, viewer=place)
        self.group = Seen(now=NOW, private=False)

    @abstractmethod
    def text(self, written: Any) -> str:
        """What a person reads. Fails on what the service does not take."""

    @abstractmethod
    def markup(self, written: Any) -> str: ...

    @abstractmethod
    def draw(self, card: Card, seen: Seen) -> Any: ...

    @abstractmethod
    def offers(self, shown: Ask, seen: Seen | None = None) -> list[list[str]]:
        """Labels of the buttons, or the reactions."""

    @property
    def soon(self) -> Seen:
        return replace(self.private, now=NOW + 55 * 60)

    def card(self, shown: Ask, **more: Any) -> Card:
        return build_card(shown, channel=self.me.channel, later=later(shown), **more)

    def read(self, shown: Ask | Card, seen: Seen | None = None) -> list[str]:
        """The lines of a card. What is between them, and before code, is the writer's."""
        card = shown if isinstance(shown, Card) else self.card(shown)
        return self.lines(self.draw(card, seen or self.private))

    def lines(self, written: Any) -> list[str]:
        return [line.removeprefix(INDENT) for line in self.text(written).split("\n") if line]

    def write(self, document: Document, now: float = NOW) -> Any:
        return self.capabilities.write(document, now=now)


class Telegram(Chat):
    capabilities = TELEGRAM_CAN

    def write(self, document: Document, now: float = NOW) -> str:
        return write(document, now=now)

    def text(self, written: str) -> str:
        return read_plainly(written)

    def markup(self, written: str) -> str:
        return plain(written)

    def draw(self, card: Card, seen: Seen) -> str:
        return telegram.draw_card(card, seen).html

    def offers(self, shown: Ask, seen: Seen | None = None) -> list[list[str]]:
        return labels(telegram.draw_card(self.card(shown), seen or self.private).rows)


class Matrix(Chat):
    capabilities = MATRIX_CAN

    def text(self, written: Words) -> str:
        check(written)
        return plain(written.body)

    def markup(self, written: Words) -> str:
        return plain(written.html)

    def draw(self, card: Card, seen: Seen) -> Words:
        return matrix.draw_card(card, seen)

    def offers(self, shown: Ask, seen: Seen | None = None) -> list[list[str]]:
        seeds = [key.emoji for key in reactions(self.card(shown))]
        return [seeds] if seeds else []


TELEGRAM, MATRIX = Telegram("Telegram", "7"), Matrix("Matrix", "@ada:example.org")
TYPED = replace(MATRIX.private, reactions=False)
each_chat = pytest.mark.parametrize("chat", [TELEGRAM, MATRIX], ids=lambda chat: chat.name)
