"""A page of the inbox that is open while something happens: nothing typed is lost, all is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from chatbridge.core.model import Answer, Ask, Status
from tests.acceptance.browser import (
    IN_BROWSER,
    PHONE,
    Visit,
    confirm,
    multi,
    select,
    text,
    visit_on_a_phone,
    visiting,
)

pytestmark = IN_BROWSER
visit = visit_on_a_phone

COMMIT = text("What should the commit say?")
TYPED = "fix: keep anchors stable"


async def typing(visit: Visit, ask: Ask) -> Page:
    """The ask's page with a half-written answer, and the caret in its middle."""
    page = await visit.open(ask)
    await page.locator("#answer").fill(TYPED)
    for _ in range(4):
        await page.keyboard.press("ArrowLeft")
    return page


async def test_a_question_that_times_out_while_open_keeps_the_text_for_a_late_answer(
    visit: Visit,
) -> None:
    ask = await visit.inbox.ask(COMMIT)
    page = await typing(visit, ask)
    await visit.inbox.time_out(ask)
    await expect(page.get_by_role("heading", name="Not answered in time")).to_be_focused()
    await expect(page.get_by_label("Your unsent text")).to_have_value(TYPED)
    await page.get_by_role("button", name="Answer anyway").click()
    await expect(page.get_by_text("Your answer is kept for it.")).to_be_visible()
    await expect(page.locator("#answer")).to_have_value(TYPED)
    await page.get_by_role("button", name="Send answer").click()
    await expect(page.get_by_role("heading", name="The answer is kept")).to_be_visible()
    late = (await visit.inbox.now(ask)).late
    assert late is not None
    assert late.answers == (Answer(values=(TYPED,)),)
    await expect(page.get_by_label("Your unsent text")).to_be_hidden()


async def test_an_answer_given_elsewhere_replaces_the_form_and_leaves_the_text_to_copy(
    visit: Visit,
) -> None:
    other = await visit.inbox.ask(confirm("Delete the fixtures?"))
    ask = await visit.inbox.ask(COMMIT)
    page = await typing(visit, ask)
    await visit.inbox.answer_elsewhere(ask, "fix: anchors")
    await visit.inbox.hand_over(ask)
    await expect(page.get_by_role("heading", name="Answered")).to_be_focused()
    await expect(page.get_by_text("Robin answered on Telegram")).to_be_visible()
    await expect(page.get_by_label("Your unsent text")).to_have_value(TYPED)
    await visit.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await page.get_by_role("button", name="Copy my text").click()
    assert await page.evaluate("navigator.clipboard.readText()") == TYPED
    await page.get_by_role("link", name="Next question (1)").click()
    await page.wait_for_url(f"**/asks/{other.id}")


async def test_an_answer_in_another_tab_shows_in_this_one(visit: Visit) -> None:
    ask = await visit.inbox.ask(select("Which database?", "PostgreSQL", "SQLite"))
    page, tab = await visit.open(ask), await visit.open_tab(ask)
    await tab.get_by_role("button", name="SQLite").click()
    await visit.inbox.hand_over(ask)
    for each in (page, tab):
        await expect(each.locator("#outcome")).to_have_text("Answered: SQLite")


async def test_a_live_change_disturbs_neither_the_text_nor_the_caret(visit: Visit) -> None:
    ask = await visit.inbox.ask(COMMIT)
    page = await typing(visit, ask)
    field = await page.query_selector("#answer")
    await visit.inbox.agent_leaves(ask)
    await expect(page.get_by_text("The agent is not waiting now.")).to_be_visible()
    await expect(page.locator("#answer")).to_be_focused()
    await page.keyboard.type("!")
    await expect(page.locator("#answer")).to_have_value("fix: keep anchors st!able")
    # The very same field: a replaced one would break off what an input method is composing.
    assert field is not None
    assert await field.evaluate("field => field.isConnected")


async def test_what_is_typed_survives_a_reload_and_other_questions(visit: Visit) -> None:
    ask = await visit.inbox.ask(multi("Which checks?", "Unit", "Load"), COMMIT)
    page = await visit.open(ask)
    await page.get_by_text("Other…").click()
    await page.get_by_label("Other", exact=True).fill("The licence check")
    await page.get_by_role("checkbox", name="Load").click()
    await expect(page.get_by_role("checkbox", name="Load")).to_be_checked()
    await page.reload()
    await expect(page.get_by_label("Other", exact=True)).to_have_value("The licence check")
    await expect(page.get_by_role("button", name="Next (2 chosen)")).to_be_visible()


async def test_a_new_question_is_announced_and_moves_nothing(visit: Visit) -> None:
    ask = await visit.inbox.ask(COMMIT)
    page = await typing(visit, ask)
    await visit.inbox.ask(confirm("Delete the fixtures?"), project="billing")
    await expect(page.locator("#announcer")).to_have_text("New question from billing")
    await expect(page).to_have_title("(2) chatbridge")
    await expect(page.locator("#answer")).to_be_focused()
    await expect(page.locator("#answer")).to_have_value(TYPED)


async def test_the_list_fills_and_empties_by_itself_sorted_by_deadline(visit: Visit) -> None:
    page = await visit.open()
    await expect(page.get_by_role("heading", name="Nothing is waiting")).to_be_visible()
    late = await visit.inbox.ask(confirm("Later?"), project="later", timeout=9000)
    await visit.inbox.ask(confirm("Sooner?"), project="sooner", timeout=700)
    await expect(page.locator(".row .headline")).to_have_text(["Sooner?", "Later?"])
    await visit.inbox.time_out(late)
    await expect(page.locator(".row .headline")).to_have_text(["Sooner?"])


async def test_the_page_of_a_demo_says_that_it_is_over_when_its_hub_has_gone(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHATBRIDGE_DEMO", "1")
    async with visiting(browser, tmp_path, PHONE) as visit:
        page = await visit.open()
        await expect(page.get_by_text("The demo is over.")).to_be_hidden()
        await visit.context.set_offline(True)
        await expect(page.get_by_text("The demo is over.")).to_be_visible()
        await expect(page.get_by_text("Next, on your computer: chatbridge setup")).to_be_visible()
        await expect(page.get_by_role("button", name="Try now")).to_be_hidden()


async def test_a_lost_connection_is_shown_and_nothing_is_sent_or_lost(visit: Visit) -> None:
    ask = await visit.inbox.ask(COMMIT)
    page = await typing(visit, ask)
    await visit.context.set_offline(True)
    await expect(page.locator("#live")).to_have_text("Reconnecting…")
    await expect(page.get_by_text("No connection to your computer")).to_be_visible()
    await expect(page.get_by_role("button", name="Waiting for connection…")).to_be_disabled()
    await page.keyboard.press("Control+Enter")
    async with page.expect_request("**/rows"):
        await page.get_by_role("button", name="Try now").click()
    await visit.context.set_offline(False)
    await expect(page.locator("#live")).to_have_text("Live")
    await expect(page.locator("#answer")).to_have_value(TYPED)
    assert (await visit.inbox.now(ask)).open
    await page.get_by_role("button", name="Send answer").click()
    await expect(page.get_by_role("heading", name="Answer sent")).to_be_visible()


async def test_a_stream_that_falls_silent_is_opened_again(visit: Visit) -> None:
    ask = await visit.inbox.ask(COMMIT)
    await visit.page.clock.install()
    page = await typing(visit, ask)
    await expect(page.locator("#live")).to_have_text("Live")
    async with page.expect_request("**/api/events?alive&brief"):
        await page.clock.run_for(42_000)  # no sign of life for so long, and the pause before a try
    await expect(page.locator("#live")).to_have_text("Live")
    await expect(page.locator("#answer")).to_have_value(TYPED)


async def test_what_ended_while_the_page_was_cut_off_shows_when_it_is_back(visit: Visit) -> None:
    ask = await visit.inbox.ask(COMMIT)
    page = await typing(visit, ask)
    await visit.context.set_offline(True)
    await expect(page.locator("#live")).to_have_text("Reconnecting…")
    await visit.inbox.time_out(ask)
    await visit.context.set_offline(False)
    await expect(page.get_by_role("heading", name="Not answered in time")).to_be_visible()
    await expect(page.get_by_label("Your unsent text")).to_have_value(TYPED)


async def test_a_kept_answer_can_be_discarded(visit: Visit) -> None:
    ask = await visit.inbox.ask(confirm("Delete the fixtures?"))
    await visit.inbox.agent_leaves(ask)
    page = await visit.open(ask)
    await page.get_by_role("button", name="Yes").click()
    await expect(page.get_by_text("The agent had stopped waiting.")).to_be_visible()
    await page.get_by_role("button", name="Discard").click()
    await expect(page.get_by_role("heading", name="Answer discarded")).to_be_visible()
    assert (await visit.inbox.now(ask)).discarded


@pytest.mark.parametrize("first", ["answer", "live"])
async def test_someone_logged_out_is_told_what_to_do(visit: Visit, first: str) -> None:
    ask = await visit.inbox.ask(COMMIT)
    page = await typing(visit, ask)
    await visit.context.clear_cookies()
    if first == "answer":
        await page.keyboard.press("Control+Enter")
    else:
        await visit.context.set_offline(True)
        await expect(page.locator("#live")).to_have_text("Reconnecting…")
        await visit.context.set_offline(False)
    await expect(page.get_by_text("You are logged out.").first).to_be_visible()
    await expect(page.locator("#banner-text")).to_have_text(
        "Run chatbridge inbox on your computer."
    )
    await expect(page.locator("#answer")).to_have_value(TYPED)
    assert (await visit.inbox.now(ask)).status is Status.OPEN
