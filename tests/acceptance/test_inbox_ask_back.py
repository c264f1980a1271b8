"""Asking back, and notices, in a real browser."""

from __future__ import annotations

from playwright.async_api import Page, expect

from chatbridge.core.model import Level
from tests.acceptance.browser import (
    AT_EACH_SIZE,
    DESKTOP,
    IN_BROWSER,
    PHONE,
    Visit,
    outcome_of,
    select,
    visit_on_a_phone,
)

pytestmark = IN_BROWSER
visit = visit_on_a_phone

WHICH = select("Which database?", "PostgreSQL", "SQLite")


async def tap(page: Page, name: str) -> None:
    await page.get_by_role("button", name=name).click()


# ── asking back ───────────────────────────────────────────────────────────────────────────────────


async def test_what_is_unclear_can_be_said_in_a_sheet(visit: Visit) -> None:
    ask = await visit.inbox.ask(WHICH)
    page = await visit.open(ask)
    await tap(page, "Ask back…")
    sheet = page.get_by_role("dialog", name="What should the agent explain?")
    await expect(page.get_by_label("What is unclear (optional)")).to_be_focused()
    await sheet.get_by_role("button", name="Back").click()
    await expect(page.get_by_role("dialog")).to_have_count(0)
    assert await visit.inbox.now(ask) == ask
    await tap(page, "Ask back…")
    await page.get_by_label("What is unclear (optional)").fill("Why not both?")
    await sheet.get_by_role("button", name="Explain this").click()
    reason = (await outcome_of(visit, ask)).reason
    assert reason == "Please explain this in more detail. Why not both?"
    await expect(page.get_by_role("heading", name="Cancelled")).to_be_visible()
    await expect(page.get_by_text(f"“{reason}”")).to_be_visible()
    await expect(page.get_by_label("Your unsent text")).to_be_hidden()


async def test_nothing_needs_to_be_said(visit: Visit) -> None:
    ask = await visit.inbox.ask(WHICH)
    page = await visit.open(ask)
    await tap(page, "Ask back…")
    await page.keyboard.press("Control+Enter")
    assert (await outcome_of(visit, ask)).reason == "Please explain this in more detail."


async def test_it_can_be_asked_differently(visit: Visit) -> None:
    ask = await visit.inbox.ask(WHICH)
    page = await visit.open(ask)
    await tap(page, "Ask back…")
    await tap(page, "Ask it differently")
    assert (await outcome_of(visit, ask)).reason == "Please rephrase this in a different way."
    await expect(page.get_by_role("heading", name="Cancelled")).to_be_visible()


# ── notices ───────────────────────────────────────────────────────────────────────────────────────


async def test_a_notice_appears_by_itself_and_is_still_there_later(visit: Visit) -> None:
    page = await visit.open()
    await expect(page.locator("#notices")).to_be_hidden()
    await visit.inbox.notify("All **412** pass.", title="Night run")
    await visit.inbox.notify("<script>window.hacked = 1</script>", level=Level.ERROR)
    notices = page.locator(".notice")
    await expect(notices).to_have_count(2)
    await expect(notices.first).to_contain_text("❌ Error")
    await expect(notices.first).to_contain_text("<script>window.hacked = 1</script>")
    await expect(notices.last).to_contain_text("Night run")
    await expect(notices.last.locator("strong")).to_have_text("412")
    for width, height in (DESKTOP, PHONE):
        await page.set_viewport_size({"width": width, "height": height})
        await expect(notices.last).to_be_in_viewport()
    later = await visit.open_tab("/?all")
    await expect(later.locator(".notice")).to_have_count(2)
    assert await page.evaluate("window.hacked") is None
    assert visit.errors == []


async def test_a_dismissed_notice_goes_on_every_page_and_the_next_has_the_focus(
    visit: Visit,
) -> None:
    page, other = await visit.open(), await visit.open_tab()
    for message in ("First.", "Second.", "Third."):
        await visit.inbox.notify(message)
    await expect(page.locator(".notice")).to_have_count(3)
    await page.bring_to_front()
    await page.get_by_role("button", name="Dismiss this notice").first.click()
    for each in (page, other):
        await expect(each.locator(".notice")).to_have_count(2)
        await expect(each.get_by_text("Third.")).to_have_count(0)
    await expect(page.get_by_role("button", name="Dismiss this notice").first).to_be_focused()
    await page.get_by_role("button", name="Dismiss all").click()
    for each in (page, other):
        await expect(each.locator("#notices")).to_be_hidden()
    await visit.open("/history")
    await expect(page.locator(".notice")).to_have_count(3)
    assert visit.errors == []


@AT_EACH_SIZE
async def test_a_notice_leaves_the_question_that_is_open_alone(visit: Visit) -> None:
    ask = await visit.inbox.ask(WHICH)
    page = await visit.open(ask)
    await tap(page, "Other…")
    await page.locator("#answer").fill("MariaDB")
    await visit.inbox.notify("Done.")
    on_phone = page.viewport_size == {"width": PHONE[0], "height": PHONE[1]}
    told = page.locator("#toast" if on_phone else "#announcer")
    await expect(told).to_have_text("Notice from shop-api")
    await expect(page.locator("#answer")).to_be_focused()
    await expect(page.locator("#answer")).to_have_value("MariaDB")
    await expect(page.locator(".notice").filter(visible=True)).to_have_count(0 if on_phone else 1)
