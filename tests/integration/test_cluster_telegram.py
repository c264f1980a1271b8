"""A bot that goes over from one hub to another: one answer, one card, and nothing from the hub that
led before. A card whose hub was stopped before it could note it is
sent once more, as after a crash: Telegram cannot be asked for it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass

import pytest

from tests.fakes.chat_settings import telegram_settings
from tests.fakes.cluster import Cluster, Member, cluster, until
from tests.fakes.machine import COLOURS, frozen
from tests.fakes.postgres import USER, Postgres
from tests.fakes.telegram.people import Card, Phone
from tests.fakes.telegram.server import BotApi

pytestmark = [pytest.mark.postgres, pytest.mark.process]

DATABASE = "bots"
QUESTION = COLOURS["questions"][0]["question"]


@dataclass(frozen=True)
class Scene:
    api: BotApi
    phone: Phone
    hubs: Cluster
    server: Postgres

    def cards(self) -> list[Card]:
        """One that its hub could not note is taken back by it, and sent anew by the next one."""
        return [it for it in self.phone.messages if QUESTION in it.text and not it.deleted]

    def open_card(self, before: list[Card]) -> Card:
        """The newest with buttons, once there is one that was not there before: one that its hub
        could not note keeps them after its question."""
        known = {it.id for it in before}
        return self.phone.sees(
            lambda it: QUESTION in it.text and bool(it.rows) and it.id not in known
        )

    def noted(self) -> bool:
        """Whether a question is open, and the hub knows where its card is."""
        noted = """SELECT count(*) FROM asks WHERE status = 'open' AND EXISTS (
            SELECT 1 FROM handles WHERE ask = seq)"""

        async def look() -> int:
            connection = await self.server.connect(DATABASE)
            try:
                return int(await connection.fetchval(noted))
            finally:
                await connection.close()

        return asyncio.run(look()) == 1


@pytest.fixture(scope="module")
def scene(postgres: Postgres) -> Iterator[Scene]:
    asyncio.run(postgres.sql(f"CREATE DATABASE {DATABASE}"))
    with BotApi.running() as api:
        ada = api.person("Ada")
        phone = api.private(ada).phone(ada)
        settings = telegram_settings(api, ada)
        with cluster(postgres.port, DATABASE, USER, hubs=2, **settings) as hubs:
            for member in hubs.members:
                member.start()
            hubs.leader()
            yield Scene(api, phone, hubs, postgres)
    asyncio.run(postgres.sql(f"DROP DATABASE {DATABASE} WITH (FORCE)"))


def cut_off(leader: Member) -> AbstractContextManager[object]:
    return leader.hole.closed()


def stands_still(leader: Member) -> AbstractContextManager[object]:
    return frozen(leader.pid)


@pytest.mark.parametrize("fault", [stands_still, cut_off])
@pytest.mark.parametrize("shown", [True, False], ids=["shown", "about to be shown"])
def test_a_tap_answers_through_whichever_hub_leads(
    scene: Scene, fault: Callable[[Member], AbstractContextManager[object]], shown: bool
) -> None:
    old = scene.hubs.leader()
    (other,) = scene.hubs.others(old)
    before = scene.cards()
    with other.house.agent() as agent:
        agent.initialize()
        agent.ask(1)
        if shown:
            scene.open_card(before)
            until(scene.noted, "the card was not noted")
        with fault(old):
            began = time.monotonic()
            scene.hubs.leader(among=[other])
            assert time.monotonic() - began < 5.0
            until(scene.noted, "the new leader shows no card")
            card = scene.open_card(before)
            scene.phone.tap(card, "blue")
            assert agent.result()["answers"] == [{"questionId": "c", "values": ["blue"]}]
            said = scene.phone.until(card, lambda it: "delivered" in it.text).text
        until(lambda: old.status()["cluster"]["leader"] == other.name, "the old one leads still")
        # Whatever the old one was about to do when it was stopped, it would have done by now.
        agent.request("end", "tools/list")
        assert agent.receive()["id"] == "end"
        assert len(scene.cards()) - len(before) in ((1,) if shown else (1, 2))
        assert scene.phone.now(card).text == said
