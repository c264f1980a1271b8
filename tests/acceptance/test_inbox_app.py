"""The inbox as an app: it starts without a connection, and rings while a page of it is open."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Page, expect

from chatbridge.core.nights.hours import Period, Switch
from tests.acceptance.browser import (
    IN_BROWSER,
    PATIENCE_MS,
    PHONE,
    Visit,
    browsing,
    confirm,
    running_inbox,
    select,
    text,
    using_app,
)
from tests.fakes.notifications import Desktop

pytestmark = IN_BROWSER

CONTROLLED = "navigator.serviceWorker.controller !== null"
NOTES = "Number(localStorage.notes ?? 0)"
SOUNDS = """() => {
  if (window.badges) return;
  window.badges = [];
  const start = OscillatorNode.prototype.start;
  OscillatorNode.prototype.start = function (...given) {
    localStorage.notes = 1 + Number(localStorage.notes ?? 0); // of all tabs
    return start.apply(this, given);
  };
  navigator.setAppBadge = async (count) => { window.badges.push(count); };
}"""


@pytest_asyncio.fixture(loop_scope="session")
async def visit(app: BrowserContext, desktop: Desktop, tmp_path: Path) -> AsyncIterator[Visit]:
    desktop.shown.clear()
    async with running_inbox(tmp_path) as inbox, using_app(app, inbox) as visit:
        await visit.context.add_init_script(f"({SOUNDS})()")
        yield visit


async def ringing(visit: Visit) -> Page:
    """A page in a browser that was told to ring."""
    page = await visit.open()
    await until(page, CONTROLLED)
    await page.evaluate("localStorage.setItem('rings', '')")
    await page.locator("h1").first.tap()
    return page


async def until(page: Page, true: str) -> None:
    """Playwright's own waiting is stopped by the pages' policy against foreign scripts."""
    async with asyncio.timeout(PATIENCE_MS / 1000):
        await page.evaluate(
            f"async () => {{ while (!({true})) await new Promise((go) => setTimeout(go, 20)); }}"
        )


async def test_without_the_hub_the_app_says_so_and_comes_back_with_it(
    browser: Browser, tmp_path: Path
) -> None:
    async with AsyncExitStack() as hub:
        inbox = await hub.enter_async_context(running_inbox(tmp_path))
        address = inbox.address
        async with browsing(browser, inbox, PHONE, worker=True) as visit:
            page = await visit.open("/history")
            await until(page, CONTROLLED)
            await hub.aclose()
            await page.goto(f"{address}/asks/any")
            await expect(page.get_by_role("heading")).to_have_text("chatbridge is not running")
            await expect(page.get_by_text("chatbridge inbox", exact=True)).to_be_visible()
            colour = await page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert colour == "rgb(244, 246, 244)", "its style is kept, too"
            async with running_inbox(tmp_path, port=urlsplit(address).port or 0):
                await expect(page.get_by_role("heading")).to_have_text("Question not found")


@pytest.mark.dbus
async def test_a_page_that_is_open_rings_once_for_each_question(
    visit: Visit, desktop: Desktop
) -> None:
    page = await ringing(visit)
    await visit.open_tab()
    ask = await visit.inbox.ask(select("Which database?", "PostgreSQL", "SQLite"))
    await expect(page).to_have_title("(1) chatbridge")
    await until(page, "window.badges.at(-1) === 1")
    shown = await desktop.one("shop-api asks")
    assert shown.text.endswith("\n\nWhich database?")
    await visit.inbox.answer_elsewhere(ask, "SQLite")
    await until(page, "window.badges.at(-1) === 0")
    await desktop.until(lambda shown: not shown)
    await until(page, f"{NOTES} >= 2")
    assert await page.evaluate(NOTES) == 2, "one tab of the two has rung"


@pytest.mark.dbus
async def test_what_ends_while_it_is_being_shown_does_not_stay(
    visit: Visit, desktop: Desktop
) -> None:
    page = await ringing(visit)
    tell = """async (contents) => {
      const { active } = await navigator.serviceWorker.ready;
      for (const content of contents) active.postMessage(content);
    }"""
    first, last = (
        {"notification": {"title": tag, "tag": tag, "navigate": f"/asks/{tag}"}}
        for tag in ("first", "last")
    )
    await page.evaluate(tell, [first, {"close": "first"}, last])
    await desktop.one("last")


@pytest.mark.dbus
async def test_a_page_that_was_cut_off_rings_when_it_is_back(
    visit: Visit, desktop: Desktop
) -> None:
    page = await ringing(visit)
    await visit.context.set_offline(True)
    await expect(page.locator("#live")).to_have_text("Reconnecting…")
    await visit.inbox.ask(text("Which branch?"), project="billing")
    await visit.context.set_offline(False)
    await desktop.one("billing asks")
    await until(page, f"{NOTES} === 2")


@pytest.mark.dbus
async def test_nothing_rings_in_quiet_hours_or_unless_it_was_turned_on(
    visit: Visit, desktop: Desktop
) -> None:
    page = await visit.open()
    await page.locator("h1").first.tap()
    await until(page, CONTROLLED)
    await visit.inbox.ask(confirm("Delete the fixtures?"))
    await expect(page).to_have_title("(1) chatbridge")
    await page.evaluate("localStorage.setItem('rings', '')")
    now = time.time()
    visit.inbox.inbox.nights.switch = Switch(on=True, period=Period(now - 60, now + 3600))
    await visit.inbox.ask(text("What should the commit say?"))
    await until(page, "window.badges.at(-1) === 2")
    assert await page.evaluate(NOTES) == 0
    visit.inbox.inbox.nights.switch = None
    await visit.inbox.ask(text("Which branch?"), project="billing")
    await desktop.one("billing asks")


INSECURE = "Object.defineProperty(window, 'isSecureContext', { value: false })"
IPHONE = "Object.defineProperty(navigator, 'userAgent', { value: 'Mozilla/5.0 (iPhone)' })"
WITHOUT = "delete window.PushManager"


@pytest.mark.parametrize(
    ("lacks", "sentence"),
    [
        (INSECURE, "Run chatbridge inbox --phone on your computer"),
        (IPHONE, "Add to Home Screen"),
        (WITHOUT, "This browser has no notifications of pages."),
        ("", "Notifications are blocked here."),  # as this browser has them
    ],
    ids=["insecure", "iphone", "without push", "denied"],
)
async def test_where_push_is_impossible_the_page_says_what_to_do(
    browser: Browser, tmp_path: Path, lacks: str, sentence: str
) -> None:
    async with (
        running_inbox(tmp_path) as inbox,
        browsing(browser, inbox, PHONE, worker=True) as visit,
    ):
        await visit.page.add_init_script(lacks)
        page = await visit.open("/push")
        await expect(page.get_by_text(sentence)).to_be_visible()
        await expect(page.get_by_role("button", name="Turn on")).to_be_hidden()
        ring = page.get_by_role("switch", name="Ring while a page is open")
        await ring.click()
        await expect(ring).to_be_checked()
        assert visit.errors == []
