"""Messages to agents in the web inbox: written on a phone, live, and with nothing typed lost."""

from __future__ import annotations

from pathlib import Path

from playwright.async_api import Browser, FilePayload, expect

from chatbridge.core.messages.agents import ConnectedAgent
from chatbridge.core.messages.message import Way
from chatbridge.core.model import Agent, CallName, Project
from tests.acceptance.browser import (
    IN_BROWSER,
    PHONE,
    TELEGRAM,
    Visit,
    confirm,
    visit_on_a_phone,
    visiting,
)

pytestmark = IN_BROWSER
visit = visit_on_a_phone

CLAUDE = Agent(client="claude-code", name="Claude Code")
CALL = CallName(link="link", request="7")


def comes(visit: Visit, link: str = "link", name: str = "shop-api") -> ConnectedAgent:
    project = Project(key=f"/code/{name}", name=name)
    return visit.inbox.inbox.messages.agents.seen(link, project, CLAUDE)


async def takes(visit: Visit, agent: ConnectedAgent) -> None:
    """The agent's next result has what waits for it, and its client has the result."""
    messages = visit.inbox.inbox.messages
    way = Way.RESULT
    assert await messages.hand_over(CALL, link=agent.link, project=agent.project, way=way)
    await messages.delivered(CALL)


async def test_a_message_is_typed_waits_and_is_delivered_before_the_persons_eyes(
    visit: Visit,
) -> None:
    page = await visit.open("/?all")
    agent = comes(visit)
    await page.get_by_role("link", name="Agents (1)").click()
    await expect(page.locator("#live")).to_have_text("Live")
    field = page.get_by_label("Message to shop-api")
    await field.fill("use tabs")
    notes = FilePayload(name="notes.txt", mimeType="text/plain", buffer=b"not spaces")
    await page.get_by_label("Files for shop-api").set_input_files(notes)
    chosen = page.locator(".chosen")
    await expect(chosen).to_have_text("notes.txt")
    await page.get_by_role("button", name="Send").click()
    waiting = page.get_by_role("list", name="Messages that wait for shop-api")
    await expect(waiting).to_contain_text("shop-api gets it with its next step.")
    await expect(waiting).to_contain_text("notes.txt")
    await expect(page.get_by_text("1 message waits")).to_be_visible()
    await expect(field).to_have_value("")
    await expect(chosen).to_be_empty()
    assert await page.get_by_label("Files for shop-api").evaluate("each => each.files.length") == 0
    (message,) = visit.inbox.inbox.messages.waiting()
    assert [each.name for each in message.attachments] == ["notes.txt"]
    await takes(visit, agent)
    await expect(page.get_by_text("Delivered to Claude Code in shop-api")).to_be_visible()
    await expect(waiting).to_be_empty()
    assert await page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
    assert visit.errors == []


async def test_what_is_typed_survives_agents_that_come_and_go_and_a_reload(visit: Visit) -> None:
    shop, billing = comes(visit), comes(visit, "other", "billing")
    page = await visit.open("/agents")
    field = page.get_by_label("Message to shop-api")
    await field.press_sequentially("use ")
    messages = visit.inbox.inbox.messages
    await messages.tell(shop, "stop after this", by=TELEGRAM)
    await expect(page.get_by_text("stop after this")).to_be_visible()
    messages.agents.closed(billing.link)
    await expect(page.get_by_label("Message to billing")).to_have_count(0)
    comes(visit, "third", "docs")
    await expect(page.get_by_label("Message to docs")).to_be_visible()
    await expect(field).to_be_focused()
    await page.keyboard.type("tabs")
    messages.agents.closed(shop.link)
    await expect(page.get_by_text("What you typed is still here.")).to_be_visible()
    await expect(page.get_by_text("stop after this")).to_have_count(1)
    await expect(field).to_have_value("use tabs")
    await page.keyboard.press("Control+Enter")
    await expect(page.locator("#toast")).to_contain_text("Nothing was sent.")
    await expect(field).to_have_value("use tabs")
    comes(visit)
    await expect(page.get_by_text("What you typed is still here.")).to_have_count(0)
    await visit.open("/agents")
    await expect(field).to_have_value("use tabs")
    await field.press("Control+Enter")
    await expect(page.get_by_text("use tabs")).to_be_visible()
    await expect(field).to_have_value("")
    await visit.open("/agents")
    await expect(field).to_have_value("")
    assert [each for each in visit.errors if "409" not in each] == []


async def test_a_message_is_taken_back_and_open_questions_are_counted_live(visit: Visit) -> None:
    comes(visit)
    page = await visit.open("/agents")
    await page.get_by_label("Message to shop-api").fill("use tabs")
    await page.get_by_role("button", name="Send").click()
    await page.get_by_role("button", name="Take back").click()
    await expect(page.get_by_text("Taken back. shop-api does not get it.")).to_be_visible()
    await expect(page.get_by_role("button", name="Take back")).to_have_count(0)
    await visit.inbox.ask(confirm("Go?"))
    await expect(page.get_by_role("link", name="1 open question")).to_be_visible()
    assert visit.errors == []


async def test_it_works_without_scripts(browser: Browser, tmp_path: Path) -> None:
    async with visiting(browser, tmp_path, PHONE, script=False) as visit:
        comes(visit)
        page = visit.page
        await page.goto(f"{visit.inbox.address}/agents")
        await page.get_by_label("Message to shop-api").fill("use tabs")
        notes = FilePayload(name="notes.txt", mimeType="text/plain", buffer=b"not spaces")
        await page.get_by_label("Files for shop-api").set_input_files(notes)
        await page.get_by_role("button", name="Send").click()
        await expect(page.get_by_text("shop-api gets it with its next step.")).to_be_visible()
        await expect(page.get_by_text("notes.txt")).to_be_visible()
        assert page.url.endswith("/agents")
        await page.get_by_role("button", name="Take back").click()
        await expect(page.get_by_text("Taken back.")).to_be_visible()
