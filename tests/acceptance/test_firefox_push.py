"""Web Push in a real Firefox, with a push service of our own: it subscribes, decrypts and shows
what the hub has sent with code that is not ours."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from chatbridge.channels.web.push.settings import Push
from chatbridge.core.model import Answer
from tests.acceptance.browser import PATIENCE_MS, running_inbox, select
from tests.fakes.firefox import running_firefox
from tests.fakes.notifications import Desktop
from tests.fakes.push_service import PushService


@pytest.mark.dbus
@pytest.mark.firefox
@pytest.mark.asyncio(loop_scope="session")
async def test_firefox_rings_answers_closes_and_keeps_its_address_until_it_is_turned_off(
    desktop: Desktop, tmp_path: Path
) -> None:
    """One test, for the price of a start."""
    desktop.shown.clear()
    path = shutil.which("firefox-esr")
    assert path
    with PushService.running() as service:
        async with (
            running_inbox(tmp_path, push=Push(services=(service.address,))) as inbox,
            running_firefox(tmp_path / "profile", path, service, bus=desktop.bus) as firefox,
        ):
            await firefox.open(f"{inbox.address}/login/{await inbox.codes.new(by_token=False)}")
            await firefox.press(".primary")
            await firefox.open(f"{inbox.address}/push")
            await firefox.press("#push-on:not([hidden])")
            await firefox.sees("#push-off:not([hidden])")
            # No page is open that could do what the worker has to do, or counts as a visit.
            await firefox.open("about:blank")

            ask = await inbox.ask(select("And where?", "Here", "There"))
            await firefox.delivered()
            await desktop.one("shop-api asks")
            await inbox.answer_elsewhere(ask, "There")
            await firefox.delivered()
            assert (await desktop.one("shop-api")).text == "Answered"
            await desktop.until(lambda shown: not shown)

            ask = await inbox.ask(select("Which 🐘 – or none?", "PostgreSQL", "SQLite"))
            await firefox.delivered()
            shown = await desktop.one("shop-api asks")
            assert shown.text == "Which 🐘 – or none?"
            await desktop.press(shown, "PostgreSQL")
            async with asyncio.timeout(PATIENCE_MS / 1000):
                ended = await inbox.broker.ended(ask.id)
            assert ended.outcome
            assert ended.outcome.answers == (Answer(values=("PostgreSQL",)),)
            await desktop.until(lambda shown: not shown)
            assert not service.over

            await firefox.open(f"{inbox.address}/push")
            await firefox.press("#push-off:not([hidden])")
            await asyncio.to_thread(service.wait, lambda: service.over == set(service.browsers))
            assert not service.faults
            assert firefox.pushed.acknowledged.empty()
