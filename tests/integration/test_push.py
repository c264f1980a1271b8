"""Browsers that ring: what rings, what a tap does, and when a notification goes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.inbox import SELECT
from tests.fakes.push_desk import running_push
from tests.fakes.push_service import PushService


@pytest.fixture
def service() -> Iterator[PushService]:
    with PushService.running() as found:
        yield found


async def test_a_tap_answers_wakes_the_agent_and_counts_once(
    tmp_path: Path, service: PushService
) -> None:
    async with running_push(tmp_path, service) as push:
        phone, other = await push.phone(), await push.phone()
        ask = await push.desk.ask(SELECT)
        shown = await phone.sees("Which database")
        assert shown["title"] == "shop-api asks"
        assert shown["navigate"] == f"{push.address}/asks/{ask.id}"
        labels = [action["title"] for action in shown["actions"]]
        assert labels == ["PostgreSQL in Docker", "SQLite"]
        await other.sees("Which database")
        waiting = asyncio.create_task(push.desk.broker.ended(ask.id))
        response = await phone.tap(shown, "SQLite")
        assert (response.status_code, response.json()) == (200, {"text": "Answered: SQLite"})
        async with asyncio.timeout(20):
            ended = await waiting
        assert ended.outcome is not None
        assert ended.outcome.answers[0].values == ("SQLite",)
        await other.until_empty()
        again = await phone.tap(shown, "PostgreSQL in Docker")
        assert again.status_code == 409
        assert again.json()["error"].startswith("Already answered")
        assert len(phone.browser.received) == 1, "it closed its notification itself"
    assert service.faults == []
