"""All screens of the inbox fit a narrow phone, need no mouse, and run nothing that agents wrote."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

from playwright.async_api import Browser, Page, expect

from chatbridge.channels.web.sessions import IN_A_BROWSER
from chatbridge.core.forms import form
from chatbridge.core.model import Agent, Answer, Ask, Project
from tests.acceptance.browser import (
    DESKTOP,
    IN_BROWSER,
    NARROW,
    PHONE,
    Visit,
    approval,
    confirm,
    multi,
    outcome_of,
    select,
    text,
    visiting,
)

pytestmark = IN_BROWSER

ME = IN_A_BROWSER
DATABASE = select(
    "Which database should the integration tests use?\n\nTwo tests need `SKIP LOCKED`.",
    "PostgreSQL in Docker (recommended) | One container for each run, about 9 s more",
    "Keep SQLite, mark the two tests as skipped",
    "Testcontainers with a shared server | Faster, but state leaks between runs",
)
CHECKS = multi("Which checks must pass?", "Unit tests", "Contract tests", required=False)
HOSTILE = select(
    "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'> "
    f"[a link](javascript:window.hacked=1) {'endless' * 60}",
    f"<b onmouseover='window.hacked=1'>{'wide' * 40}</b> | <style>body {{ display: none }}</style>",
    "\u202egnp.exe",
)
WIDE = text(
    "Which plan?\n\n| Plan | Notes |\n|---|---|\n"
    f"| A | {'word ' * 9} | \n| {'wide' * 30} | see https://example.org/{'a' * 60} |\n\n"
    f"[The docs](https://example.org/docs) say:\n\n```\n{'wide ' * 30}\n```\n\n```\nshort\n```"
)

COMMAND = approval(
    "Run this command?",
    f"terraform apply --var={'x' * 80} -lock-timeout=60s '<b>{'wide ' * 30}</b>'",
    language="bash",
    folder=f"~/{'folder/' * 20}",
)
CHANGE = approval(
    "Change this file?",
    "@@ -1,60 +1,60 @@\n" + "".join(f"+{i} {'wide ' * 30}\n-{i}\n" for i in range(30)),
    language="diff",
    file=f"deploy/{'prod/' * 20}prod.tf",
)

TOO_SMALL_OR_OUTSIDE = """() => {
  const width = document.documentElement.clientWidth;
  const found = [];
  if (document.documentElement.scrollWidth > width) found.push("the page is wider than the screen");
  for (const each of document.querySelectorAll("a, button, input, textarea, summary")) {
    if (!each.checkVisibility() || each.matches(".unseen, .skip-link, [type=hidden]")) continue;
    const { width: w, height: h, left, right } = each.getBoundingClientRect();
    const least = each.matches(".primary") ? 52 : 44;
    const outside = !each.closest(".table") && (left < -0.5 || right > width + 0.5);
    if (w < 44 || h < least || outside) {
      found.push(`${each.outerHTML.slice(0, 90)} ${w} x ${h}, ${left} to ${right}`);
    }
  }
  return found;
}"""


async def screens(visit: Visit) -> AsyncIterator[str]:
    """Brings the page to one screen after another, and says which."""
    inbox, page = visit.inbox, visit.page

    async def put(ask: Ask, event: Callable[[int], form.Event]) -> None:
        step = (await inbox.now(ask)).draft.step
        await inbox.inbox.put(ask.id, event(step), person=ME)

    await visit.open()
    yield "empty"
    asks = {
        "select": await inbox.ask(DATABASE, timeout=30),
        "text": await inbox.ask(text("What should the commit say?"), timeout=300),
        "confirm": await inbox.ask(confirm("Delete the old fixtures?"), timeout=700),
        "hostile": await inbox.ask(HOSTILE, project="p" * 60, agent="a" * 60, title="t" * 100),
        "wide": await inbox.ask(WIDE),
        "form": await inbox.ask(CHECKS, text("And why?", required=False), title="Release"),
    }
    await visit.open("/push")
    yield "notifications"
    await visit.open("/?all")
    yield "list"
    for name, ask in asks.items():
        await visit.open(ask)
        yield name
        if name == "wide":
            await page.locator("#card .address").first.click()
            yield "address"
    await page.get_by_text("Other…").click()
    yield "other of a multi-select"
    await page.get_by_role("button", name="Cancel question…").click()
    yield "cancel"
    await page.keyboard.press("Escape")
    await page.get_by_role("button", name="Ask back…").click()
    yield "explain"
    await page.keyboard.press("Escape")
    await put(asks["form"], lambda step: form.Skip(step=step))
    await expect(page.get_by_text("question 2 of 2")).to_be_visible()
    yield "second step"
    await put(asks["form"], lambda step: form.Skip(step=step))
    await expect(page.get_by_text("check and send")).to_be_visible()
    yield "review"
    await visit.open(asks["select"])
    await put(asks["select"], lambda step: form.Other(step=step))
    await expect(page.locator("#answer")).to_be_visible()
    yield "other of a select"
    await put(asks["select"], lambda step: form.AskCancel(step=step))
    await expect(page.get_by_role("heading", name="Cancel this question?")).to_be_visible()
    yield "cancel, from another channel"
    await put(asks["select"], lambda step: form.AskExplain(step=step))
    await expect(page.get_by_role("heading", name="What should the agent explain?")).to_be_visible()
    yield "explain, from another channel"
    await inbox.inbox.cancel(asks["select"].id, reason="No " * 200, person=ME)
    await expect(page.get_by_role("heading", name="Cancelled")).to_be_visible()
    yield "cancelled"
    await inbox.time_out(asks["confirm"])
    await visit.open(asks["confirm"])
    yield "timed out"
    await page.get_by_role("button", name="Answer anyway").click()
    yield "late answer"
    await visit.open(asks["text"])
    await page.locator("#answer").fill("typed")
    await inbox.answer_elsewhere(asks["text"], "done")
    await expect(page.get_by_label("Your unsent text")).to_be_visible()
    yield "answered elsewhere"
    async for name in approvals(visit):
        yield name
    await visit.open("/agents")
    yield "no agents"
    project = Project(key="/x", name="endless" * 20, label="label " * 20)
    agent = inbox.inbox.messages.agents.seen("link", project, Agent(client="x", name="n" * 80))
    await inbox.inbox.messages.tell(agent, "endless" * 60, by=ME)
    await expect(page.get_by_role("button", name="Take back")).to_be_visible()
    yield "agents"
    await visit.open("/history")
    yield "history"
    await visit.open("/stats")
    await page.get_by_text("As a table").click()
    yield "statistics"
    await visit.context.set_offline(True)
    await expect(page.locator("#banner")).to_be_visible()
    yield "offline"
    await visit.context.set_offline(False)
    long = f"/address?to=https://{'a.' * 60}org/{'x' * 300}"
    for path in ("/login", "/login/K7Q2-M9XD-4TPA", "/asks/unknown", long):
        await page.goto(f"{inbox.address}{path}")
        yield path


async def approvals(visit: Visit) -> AsyncIterator[str]:
    inbox, page = visit.inbox, visit.page
    command, change = await inbox.ask(COMMAND), await inbox.ask(CHANGE)
    await inbox.notify(f"{'endless' * 60}\n\n```\n{'wide ' * 60}\n```", title="t" * 100)
    await visit.open("/?all")
    yield "list with approvals and a notice"
    await visit.open(change)
    yield "approval of a change"
    await page.get_by_text("lines not shown. Show all").click()
    yield "all of a change"
    await visit.open(command)
    yield "approval of a command"
    await page.get_by_role("button", name="Deny, say why…").click()
    yield "deny with a reason"
    await page.keyboard.press("Escape")
    await page.get_by_role("button", name="Allow more…").click()
    await expect(page.get_by_role("button", name="For 8 h")).to_be_visible()
    yield "for how long"
    await page.get_by_role("button", name="For 8 h").click()
    await expect(page.get_by_role("button", name="Yes", exact=True)).to_be_visible()
    yield "last tap for more"
    await inbox.inbox.put(command.id, form.Other(step=2), person=ME)
    await expect(page.locator("#why:visible")).to_be_visible()
    yield "deny with a reason, from another channel"
    await inbox.inbox.put(command.id, form.Text(text="No " * 200), person=ME)
    await expect(page.get_by_role("heading", name="Denied")).to_be_visible()
    yield "denied"


async def test_every_screen_fits_a_narrow_phone_and_a_desktop_and_has_no_small_target(
    browser: Browser, tmp_path: Path
) -> None:
    found, size, other = {}, NARROW, DESKTOP
    async with visiting(browser, tmp_path, size) as visit:
        async for name in screens(visit):
            found[name, size] = await visit.page.evaluate(TOO_SMALL_OR_OUTSIDE)
            size, other = other, size
            await visit.page.set_viewport_size({"width": size[0], "height": size[1]})
            found[name, size] = await visit.page.evaluate(TOO_SMALL_OR_OUTSIDE)
    assert {screen: bad for screen, bad in found.items() if bad} == {}


async def test_what_an_agent_wrote_is_shown_as_text_and_never_runs(
    browser: Browser, tmp_path: Path
) -> None:
    async with visiting(browser, tmp_path, DESKTOP) as visit:
        ask = await visit.inbox.ask(HOSTILE, project="<i>shop</i>", agent="<script>1</script>")
        for path in ("/?all", f"/asks/{ask.id}"):
            page = await visit.open(path)
            for words in ("<script>window.hacked = 1</script>", "<i>shop</i>"):
                await expect(page.get_by_text(words).filter(visible=True).first).to_be_visible()
            assert await page.evaluate("window.hacked") is None
            assert await page.locator("script:not([src]), img, i, style").count() == 0
        await expect(page.get_by_text("⟨U+202E⟩gnp.exe")).to_be_visible()
        assert visit.errors == []


async def test_a_whole_form_can_be_answered_with_the_keyboard_alone(
    browser: Browser, tmp_path: Path
) -> None:
    async with visiting(browser, tmp_path, DESKTOP) as visit:
        await visit.inbox.ask(confirm("Later?"), timeout=5000)
        ask = await visit.inbox.ask(CHECKS, text("And why?"), title="Release", timeout=900)
        page = await visit.open()
        await page.keyboard.press("j")
        await page.keyboard.press("Enter")
        await expect(page.locator("#live")).to_have_text("Live")
        await page.keyboard.press("2")
        await expect(page.get_by_role("checkbox", name="Contract tests")).to_be_checked()
        await page.keyboard.press("o")
        await page.keyboard.type("12 xmh?")  # no single-key action while a field has the focus
        await page.keyboard.press("Control+Enter")
        await expect(page.locator("#answer")).to_be_focused()
        await page.keyboard.type("because")
        await page.keyboard.press("Control+Enter")
        await expect(page.get_by_role("heading", name="Check your answers")).to_be_focused()
        await page.keyboard.press("b")
        await expect(page.locator("#answer")).to_have_value("because")
        await page.keyboard.press("Control+Enter")
        await expect(page.get_by_role("heading", name="Check your answers")).to_be_focused()
        await page.keyboard.press("Control+Enter")
        assert (await outcome_of(visit, ask)).answers == (
            Answer(values=("Contract tests",), custom_text="12 xmh?"),
            Answer(values=("because",)),
        )
        await page.keyboard.press("?")
        await expect(page.get_by_role("heading", name="Keys")).to_be_visible()
        await page.keyboard.press("Escape")
        await page.keyboard.press("h")
        await expect(page.get_by_role("heading", name="History")).to_be_visible()


async def test_more_time_and_cancelling_have_keys_too(browser: Browser, tmp_path: Path) -> None:
    async with visiting(browser, tmp_path, DESKTOP) as visit:
        ask = await visit.inbox.ask(DATABASE, timeout=300)
        page = await visit.open(ask)
        await page.keyboard.press("m")
        await expect(page.get_by_role("button", name="+15 min")).to_be_focused()
        await page.keyboard.press("2")  # of no card that is behind it
        await page.keyboard.press("Enter")
        await expect(page.locator("#card .left")).to_have_text("19 min left")
        await page.keyboard.press("x")
        await page.keyboard.type("2mh")  # the reason, and no key of the page
        await page.keyboard.press("Control+Enter")
        assert (await outcome_of(visit, ask)).reason == "2mh"


async def test_keys_that_type_a_letter_are_no_hint_while_a_field_has_the_focus(
    browser: Browser, tmp_path: Path
) -> None:
    async with visiting(browser, tmp_path, DESKTOP) as visit:
        page = await visit.open(await visit.inbox.ask(text("Why?")))
        hints = page.locator("#card .hints")
        await expect(hints.get_by_text("all keys")).to_be_visible()
        await page.locator("#answer").focus()
        await expect(hints.get_by_text("all keys")).to_be_hidden()
        await expect(hints.get_by_text("Enter")).to_be_visible()
        await page.keyboard.type("?bh")
        await expect(page.locator("#answer")).to_have_value("?bh")
        await expect(page.locator("#keys")).to_be_hidden()


EDGE = """([selector, down, scrolled]) => {
  const box = document.querySelector(selector);
  box.scrollIntoView({ block: "center" });
  box.scrollLeft = scrolled;
  const { right, top } = box.getBoundingClientRect();
  return { x: right - 6, y: top + down, width: 4, height: 4 };
}"""


async def test_what_goes_on_beyond_the_edge_is_shaded_there_and_nothing_else_is(
    browser: Browser, tmp_path: Path
) -> None:
    change = approval("Change this file?", f"+{'wide ' * 30}\n+short\n ", language="diff")
    async with visiting(browser, tmp_path, PHONE, script=False) as visit:
        wide, diff = await visit.inbox.ask(WIDE), await visit.inbox.ask(change)
        page = visit.page

        async def edge(selector: str, scrolled: int, *, down: int = 3) -> bytes:
            clip = await page.evaluate(EDGE, [selector, down, scrolled])
            return await page.screenshot(clip=clip)

        await page.goto(f"{visit.inbox.address}/asks/{wide.id}")
        ground = await edge("#card pre:last-of-type", 0)
        for selector in ("#card .table", "#card pre"):
            assert await edge(selector, 0) != ground
            assert await edge(selector, 9999) == ground
        assert await page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
        await page.goto(f"{visit.inbox.address}/asks/{diff.id}")
        assert await edge(".diff", 0) != ground
        assert await edge(".diff", 9999) == ground
        short_line = 40
        assert await edge(".diff", 0, down=short_line) != await edge(".diff", 9999, down=short_line)
        lines = page.locator(".diff span")
        heights = [await each.evaluate("it => it.offsetHeight") for each in await lines.all()]
        assert heights[0] == heights[1] > heights[2] == 0


async def test_an_address_is_shown_whole_before_it_is_opened_and_can_be_copied(
    browser: Browser, tmp_path: Path
) -> None:
    async with visiting(browser, tmp_path, PHONE) as visit:
        written, address = (f"{visit.inbox.address}/login?{it}" for it in ("ä", "%C3%A4"))
        ask = await visit.inbox.ask(text(f"See [https://docs.example]({written})."))
        await visit.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page = await visit.open(ask)
        await page.locator("#answer").fill("typed")
        await page.locator("a.address").last.click()
        sheet = page.get_by_role("dialog", name="Open this address?")
        await expect(sheet.locator("#address-host")).to_have_text("127.0.0.1")
        await expect(sheet.locator("#address-text")).to_have_text(address)
        await page.keyboard.press("Control+Enter")  # does not send what is behind the sheet
        await sheet.get_by_role("button", name="Copy").click()
        await expect(sheet.get_by_role("button", name="Copied")).to_be_visible()
        assert await page.evaluate("navigator.clipboard.readText()") == address
        async with visit.context.expect_page() as opened:
            await sheet.get_by_role("link", name="Open").click()
        other = await opened.value
        await other.wait_for_load_state()
        assert other.url == address
        assert await other.evaluate("[document.referrer, window.opener]") == ["", None]
        await expect(sheet).to_be_hidden()
        await expect(page.locator("#answer")).to_have_value("typed")
        assert (await visit.inbox.now(ask)).open
        assert visit.errors == []


async def test_the_history_follows_what_is_typed_and_a_reload_and_back_keep_it(
    browser: Browser, tmp_path: Path
) -> None:
    async with visiting(browser, tmp_path, PHONE) as visit:
        asks = [await visit.inbox.ask(confirm(f"Delete {what}?")) for what in ("cats", "dogs")]
        for ask in asks:
            await visit.inbox.answer_elsewhere(ask, "yes")
        await visit.inbox.notify("The dogs are fed.")
        page = await visit.open("/history")
        await page.evaluate("window.same = true")
        found = page.locator("#found :is(.row, .notice)")
        await expect(found).to_have_count(3)
        await page.get_by_role("searchbox").press_sequentially("dogs")
        await expect(found).to_have_count(2)
        await expect(page.locator("#announcer")).to_have_text("2 found")
        assert await page.evaluate("window.same") is True
        assert page.url.endswith("/history?q=dogs")
        await page.reload()
        await expect(page.get_by_role("searchbox")).to_have_value("dogs")
        await expect(found).to_have_count(2)
        await page.locator("#found .row").click()
        await page.wait_for_url("**/asks/**")
        await page.reload()
        await expect(page.get_by_role("link", name="Back to History")).to_have_count(2)
        await page.locator(".back").click()
        await expect(found).to_have_count(2)
        await page.get_by_role("searchbox").fill("")
        await expect(found).to_have_count(3)
        assert page.url.endswith("/history")


async def test_a_form_works_without_script(browser: Browser, tmp_path: Path) -> None:
    async with visiting(browser, tmp_path, PHONE, script=False) as visit:
        ask = await visit.inbox.ask(CHECKS, text("And why?"))
        page = visit.page
        await page.goto(f"{visit.inbox.address}/asks/{ask.id}")
        await page.get_by_role("checkbox", name="Unit tests").click()
        await page.get_by_text("Other…").click()
        await page.get_by_label("Other", exact=True).fill("The licence check")
        await _press(page, "Next")
        await page.locator("#answer").fill("because")
        await _press(page, "Next")
        await _press(page, "Send answers")
        first, second = (await outcome_of(visit, ask)).answers
        assert first == Answer(values=("Unit tests",), custom_text="The licence check")
        assert second == Answer(values=("because",))


def _press(page: Page, name: str) -> Awaitable[None]:
    return page.get_by_role("button", name=name).click()


ICON_SIZES = """urls => Promise.all(urls.map(async (url) => {
  const icon = new Image();
  icon.src = url;
  await icon.decode();
  return `${icon.width}x${icon.height}`;
}))"""


async def test_the_inbox_can_be_installed(browser: Browser, tmp_path: Path) -> None:
    """All that Chromium wants to see before it offers that. Only one with windows does so itself,
    for three times the work."""
    async with visiting(browser, tmp_path, PHONE) as visit:
        page = await visit.open()
        session = await visit.context.new_cdp_session(page)
        found = await session.send("Page.getAppManifest")
        assert found["errors"] == []
        app = found["manifest"]
        assert (app["name"], app["display"]) == ("chatbridge inbox", "kStandalone")
        assert app["id"] == app["startUrl"] == app["scope"] == f"{visit.inbox.address}/"
        assert not app["preferRelatedApplications"]
        icons = [icon for icon in app["icons"] if icon["type"] == "image/png"]
        sizes = [icon["sizes"] for icon in icons]
        assert sizes == ["192x192", "512x512"]
        assert await page.evaluate(ICON_SIZES, [icon["url"] for icon in icons]) == sizes


async def test_the_picture_in_the_readme_is_a_page_of_the_inbox(
    browser: Browser, tmp_path: Path
) -> None:
    docs = Path(__file__).parents[2] / "docs"
    folder = docs if os.environ.get("CHATBRIDGE_WRITE_PICTURES") == "1" else tmp_path
    async with visiting(browser, tmp_path, PHONE) as visit:
        ask = await visit.inbox.ask(DATABASE, timeout=720)
        page = await visit.open(ask)
        await expect(page.get_by_role("button", name="PostgreSQL in Docker")).to_be_visible()
        await page.screenshot(path=folder / "inbox.png")
    assert (folder / "inbox.png").stat().st_size > 10_000
