"""How a browser becomes the owner's: the terminal's link, and one button."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio
from playwright.async_api import Browser, expect

from tests.acceptance.browser import IN_BROWSER, PHONE, Visit, login_link, visiting

pytestmark = IN_BROWSER


@pytest_asyncio.fixture(loop_scope="session")
async def stranger(browser: Browser, tmp_path: Path) -> AsyncIterator[Visit]:
    async with visiting(browser, tmp_path, PHONE, logged_in=False) as visit:
        yield visit


async def test_the_terminals_link_and_one_button_open_the_inbox(stranger: Visit) -> None:
    page = stranger.page
    await page.goto(await login_link(stranger))
    await page.get_by_role("button", name="Log in").click()
    await page.wait_for_url(f"{stranger.inbox.address}/")
    await expect(page.locator("#live")).to_have_text("Live")
    assert stranger.errors == []


async def test_a_link_that_was_used_says_so_and_opens_nothing(stranger: Visit) -> None:
    page, link = stranger.page, await login_link(stranger)
    await page.goto(link)
    await page.get_by_role("button", name="Log in").click()
    await page.wait_for_url(f"{stranger.inbox.address}/")
    await stranger.context.clear_cookies()
    await page.goto(link)
    await page.get_by_role("button", name="Log in").click()
    await expect(page.get_by_text("This link has already been used.")).to_be_visible()
    await page.goto(f"{stranger.inbox.address}/")
    await expect(page).to_have_url(f"{stranger.inbox.address}/login")
