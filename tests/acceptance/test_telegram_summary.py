"""A real hub with quiet hours that are over: the summary comes once, also after kill -9 while it is
sent."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from chatbridge.core.nights.summary import GLYPH
from chatbridge.store.sqlite.store import SqliteStore
from tests.contract.asks import an_ask, keep
from tests.fakes.chat_settings import telegram_settings
from tests.fakes.machine import House, house
from tests.fakes.telegram.people import Card, Phone
from tests.fakes.telegram.server import BotApi

HOUR = 3600.0
OVER_SINCE = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    api: BotApi
    home: House
    phone: Phone

    def summaries(self) -> list[Card]:
        return [card for card in self.phone.messages if card.text.startswith(GLYPH)]


def night() -> str:
    """Quiet hours of eight hours that ended some minutes ago, in UTC."""
    end = time.time() - OVER_SINCE
    start, over = (time.strftime("%H:%M", time.gmtime(at)) for at in (end - 8 * HOUR, end))
    return f"{start}-{over}"


@pytest.fixture
def scene() -> Iterator[Scene]:
    with BotApi.running() as api:
        ada = api.person("Ada")
        settings = telegram_settings(api, ada) | {
            "CHATBRIDGE_QUIET__HOURS": night(),
            "CHATBRIDGE_QUIET__ZONE": "UTC",
            "CHATBRIDGE_MAX_TIMEOUT": "24h",
        }
        with house(**settings) as home:
            asyncio.run(asked_at_night(home))
            yield Scene(api=api, home=home, phone=api.private(ada).phone(ada))


async def asked_at_night(home: House) -> None:
    home.state.mkdir(mode=0o700)
    store = await SqliteStore.open(home.state / "chatbridge.db")
    now = time.time()
    await keep(store, an_ask(created_at=now - HOUR, deadline=now + HOUR))
    await store.close()


@contextmanager
def hub(scene: Scene) -> Iterator[None]:
    with scene.home.service():
        yield


def is_summary(params: dict[str, object]) -> bool:
    return str(params.get("text", "")).startswith(GLYPH)


def test_a_hub_that_was_killed_while_it_sent_the_summary_sends_no_other(scene: Scene) -> None:
    held = scene.api.hold("sendMessage", after_effect=True, when=is_summary)
    with hub(scene):
        held.arrived()
        scene.home.kill_hub()
    held.release()
    (card,) = scene.summaries()
    assert "1 question is waiting" in card.text
    assert not card.silent
    with hub(scene):
        scene.home.run("notify", "The next hub is here.", "--level", "error")
        scene.phone.sees("The next hub is here.")
        scene.phone.tap(card, "1").answered()
        scene.phone.sees(lambda it: it.id > card.id and "Which port?" in it.text)
        assert [it.id for it in scene.summaries()] == [card.id]
