"""A browser rings by Web Push, and questions are answered on its notifications: the whole way from
the page on which that is turned on to the agent that gets the answer. Only the way between the push
service and the browser is Chromium's DevTools protocol."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import pytest_asyncio
from playwright.async_api import BrowserContext, Page, expect

from chatbridge.channels.web.push.settings import Push
from chatbridge.core.model import Answer
from tests.acceptance.browser import (
    IN_BROWSER,
    Visit,
    approval,
    outcome_of,
    running_inbox,
    select,
    using_app,
)
from tests.fakes import push_service
from tests.fakes.notifications import Desktop
from tests.fakes.push_service import PushService

pytestmark = IN_BROWSER

DATABASE = select("Which database?", "PostgreSQL", "SQLite")
# Chromium's own needs a service of Google's.
SUBSCRIBE = """() => {
  const made = () => {
    const given = JSON.parse(localStorage.subscription ?? "null");
    const unsubscribe = async () => delete localStorage.subscription;
    return given && { ...given, toJSON: () => given, unsubscribe };
  };
  PushManager.prototype.getSubscription = async () => made();
  PushManager.prototype.subscribe = async ({ applicationServerKey }) => {
    localStorage.subscription = JSON.stringify(await window.subscribe(applicationServerKey));
    return made();
  };
}"""


@pytest.fixture
def service() -> Iterator[PushService]:
    with PushService.running() as running:
        yield running


@dataclass(slots=True)
class Phone:
    """The owner's, with the inbox as an app."""

    visit: Visit
    service: PushService
    desktop: Desktop
    hub: AsyncExitStack
    """Ends the hub."""
    _delivered: int = 0

    @property
    def _browser(self) -> push_service.Browser:
        (found,) = self.service.browsers.values()
        return found

    async def turn_on(self) -> Page:
        page = await self.visit.open("/push")
        await page.get_by_role("button", name="Turn on").click()
        await expect(page.get_by_text("It rings for new questions")).to_be_visible()
        return page

    async def put_down(self) -> None:
        """No page of the inbox is open that could do what the worker has to do."""
        await self.visit.page.goto("about:blank")

    async def gets(self, **content: Any) -> None:
        """Wait for the next message from the hub, with this in it, and let it ring."""
        await asyncio.to_thread(
            self._browser.until, lambda: len(self._browser.received) > self._delivered
        )
        message = self._browser.received[self._delivered]
        assert content.items() <= message.get("notification", message).items()
        self._delivered += 1
        await self.deliver(message)

    async def deliver(self, message: dict[str, Any]) -> None:
        origin, data = self.visit.inbox.address, json.dumps(message)
        session = await self.visit.context.new_cdp_session(self.visit.page)
        known: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        def note(event: dict[str, Any]) -> None:
            for each in event["registrations"]:
                if each["scopeURL"] == f"{origin}/" and not known.done():
                    known.set_result(each["registrationId"])

        session.on("ServiceWorker.workerRegistrationUpdated", note)
        await session.send("ServiceWorker.enable")
        async with asyncio.timeout(10):
            registration = await known
        await session.send(
            "ServiceWorker.deliverPushMessage",
            {"origin": origin, "registrationId": registration, "data": data},
        )
        await session.detach()


@pytest_asyncio.fixture(loop_scope="session")
async def phone(
    app: BrowserContext, desktop: Desktop, service: PushService, tmp_path: Path
) -> AsyncIterator[Phone]:
    desktop.shown.clear()
    async with AsyncExitStack() as hub:
        inbox = await hub.enter_async_context(
            running_inbox(tmp_path, push=Push(services=(service.address,)))
        )
        async with using_app(app, inbox) as visit:
            await visit.page.add_init_script(f"({SUBSCRIBE})()")
            await visit.page.expose_function(
                "subscribe", lambda key: service.browser(key).subscription
            )
            yield Phone(visit, service, desktop, hub)


@pytest.mark.dbus
async def test_a_question_is_answered_on_its_notification_once(phone: Phone) -> None:
    await phone.turn_on()
    await phone.put_down()
    ask = await phone.visit.inbox.ask(DATABASE)
    await phone.gets(title="shop-api asks", tag=ask.id)
    shown = await phone.desktop.one("shop-api asks")
    assert shown.text.endswith("\n\nWhich database?")
    assert {"PostgreSQL", "SQLite"} <= shown.buttons.keys()
    await phone.desktop.press(shown, "PostgreSQL")
    assert (await outcome_of(phone.visit, ask)).answers == (Answer(values=("PostgreSQL",)),)
    await phone.desktop.until(lambda shown: not shown)

    phone._delivered = 0  # a phone that was off gets it late
    await phone.gets(tag=ask.id)
    await phone.desktop.press(await phone.desktop.one("shop-api asks"), "SQLite")
    refusal = await phone.desktop.one("Your answer was not taken")
    assert "nswered" in refusal.text
    async with phone.visit.context.expect_page() as opened:
        await phone.desktop.press(refusal)
    await phone.visit.inbox.hand_over(ask)
    await expect((await opened.value).locator("#outcome")).to_have_text("Answered: PostgreSQL")


@pytest.mark.dbus
async def test_what_is_answered_elsewhere_is_closed_and_approvals_have_no_buttons(
    phone: Phone,
) -> None:
    await phone.turn_on()
    await phone.put_down()
    ask = await phone.visit.inbox.ask(DATABASE)
    await phone.gets(tag=ask.id)
    await phone.desktop.one("shop-api asks")
    await phone.visit.inbox.answer_elsewhere(ask, "SQLite")
    await phone.gets(tag=ask.id, body="Answered", silent=True)
    assert (await phone.desktop.one("shop-api")).text.endswith("\n\nAnswered")
    await phone.desktop.until(lambda shown: not shown)
    allowed = await phone.visit.inbox.ask(approval("Run it?", "make"))
    await phone.gets(tag=allowed.id, actions=[])
    shown = await phone.desktop.one("shop-api asks for approval")
    async with phone.visit.context.expect_page() as opened:
        await phone.desktop.press(shown)
    await expect((await opened.value).get_by_role("button", name="Allow once")).to_be_visible()


@pytest.mark.dbus
async def test_an_answer_that_did_not_reach_the_computer_can_be_given_again(
    phone: Phone, tmp_path: Path
) -> None:
    address = phone.visit.inbox.address
    await phone.turn_on()
    await phone.put_down()
    ask = await phone.visit.inbox.ask(DATABASE)
    await phone.gets(tag=ask.id)
    shown = await phone.desktop.one("shop-api asks")
    await phone.hub.aclose()
    await phone.desktop.press(shown, "SQLite")
    shown = await phone.desktop.one("Not sent: your computer is not reachable")
    push = Push(services=(phone.service.address,))
    async with running_inbox(tmp_path, push=push, port=urlsplit(address).port or 0) as inbox:
        await phone.desktop.press(shown, "SQLite")
        async with asyncio.timeout(10):
            ended = await inbox.broker.ended(ask.id)
    assert ended.outcome is not None
    assert ended.outcome.answers == (Answer(values=("SQLite",)),)


@pytest.mark.dbus
async def test_browsers_are_listed_tested_and_removed(phone: Phone) -> None:
    page = await phone.turn_on()
    device = page.locator(".device")
    await expect(device).to_contain_text("This browser")
    await device.get_by_role("button", name="Test").click()
    await expect(page.get_by_text("Sent. It should ring")).to_be_visible()
    await phone.gets(title="chatbridge", body="It rings here.")
    await phone.desktop.one("chatbridge")
    await device.get_by_role("button", name="Remove").click()
    await expect(page.get_by_text("None yet.")).to_be_visible()
    await expect(page.get_by_role("button", name="Turn on")).to_be_visible()
    await page.get_by_role("button", name="Turn on").click()
    await page.get_by_role("button", name="Turn off").click()
    await expect(page.get_by_text("None yet.")).to_be_visible()
    assert await page.evaluate("localStorage.subscription") is None
    assert phone.visit.errors == []
