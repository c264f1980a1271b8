"""Approvals in a real browser: allow, allow more, deny."""

from __future__ import annotations

from pathlib import Path

from playwright.async_api import Browser, expect

from chatbridge.core.forms.form import AskMore, Pick
from chatbridge.core.model import Answer, Person
from tests.acceptance.browser import (
    DESKTOP,
    IN_BROWSER,
    PHONE,
    Visit,
    approval,
    outcome_of,
    select,
    visit_on_a_phone,
    visiting,
)
from tests.fakes.inbox import more_time

pytestmark = IN_BROWSER
visit = visit_on_a_phone

TELEGRAM = Person(name="Robin", channel="telegram")
COMMAND = approval(
    "Run this command?",
    "terraform apply -lock-timeout=60s -var-file=prod.tfvars plan.out",
    language="bash",
    folder="~/code/infra",
)
DESTRUCTIVE = approval(
    "Run this command?",
    "git push --force-with-lease origin 'release/2.0' --push-option=ci.skip",
    language="bash",
    folder="~/code/infra",
    destructive=True,
)
EVERY = (
    "Allowing it allows every git push of this agent, with any arguments, until its session ends."
)
BEYOND = approval(
    "Run this command?", "git push origin main", language="bash", folder="~/a", beyond=EVERY
)
LONG = approval(
    "Run this command?",
    "\n".join(f"echo line {i:03}" for i in range(300)),
    language="bash",
    whole_first=True,
)
CHANGE = approval(
    "Change this file?",
    "@@ -1,60 +1,60 @@\n-old first\n+new first\n"
    + "".join(f" line {i}\n" for i in range(50))
    + "-old last\n+new last",
    language="diff",
    file="deploy/prod.tf",
)
ALLOWED, SESSION, DENIED = (Answer(values=(v,)) for v in ("allow", "session", "deny"))

LAST_SCREEN = (AskMore(step=0), Pick(step=1, option=2))
BROKEN_ARGUMENTS = """() => [...document.querySelectorAll(".command span")]
  .filter((each) => each.getClientRects().length > 1 || each.scrollWidth > each.clientWidth + 1)
  .map((each) => each.textContent)"""


async def test_one_tap_allows_and_the_page_says_when_the_agent_has_it(visit: Visit) -> None:
    ask = await visit.inbox.ask(COMMAND)
    page = await visit.open(ask)
    await expect(page.locator(".command")).to_have_text(
        "terraform apply -lock-timeout=60s -var-file=prod.tfvars plan.out"
    )
    for width, height in (PHONE, DESKTOP):
        await page.set_viewport_size({"width": width, "height": height})
        assert await page.evaluate(BROKEN_ARGUMENTS) == []
        allow = await page.locator("#allow").bounding_box()
        deny = await page.locator("#deny").bounding_box()
        assert allow
        assert deny
        assert allow["y"] + allow["height"] <= deny["y"]
        assert allow["width"] == deny["width"]
    await page.get_by_role("button", name="Allow once").click()
    assert (await outcome_of(visit, ask)).answers == (ALLOWED,)
    await expect(page.get_by_role("heading", name="Allowed once")).to_be_focused()
    await expect(page.get_by_text("On its way.")).to_be_visible()
    await visit.inbox.hand_over(ask)
    await expect(page.get_by_text("Delivered.")).to_be_visible()


async def test_more_is_allowed_in_three_taps_and_taken_back_with_one(visit: Visit) -> None:
    ask = await visit.inbox.ask(COMMAND)
    page = await visit.open(ask)
    await page.get_by_role("button", name="Allow more…").click()
    await page.get_by_role("button", name="Until the session ends").click()
    await expect(page.get_by_text("without asking until its session ends.")).to_be_visible()
    await page.get_by_role("button", name="Back").click()
    await expect(page.get_by_text("How long may it run this exact command")).to_be_visible()
    await page.get_by_role("button", name="For 1 h").click()
    await expect(page.get_by_role("button", name="Allow once")).to_have_count(0)
    await page.get_by_role("button", name="Yes", exact=True).click()
    assert (await outcome_of(visit, ask)).answers == (SESSION,)
    await expect(page.get_by_role("heading", name="Allowed for 1 h")).to_be_visible()
    await page.get_by_role("button", name="Take back").click()
    await expect(page.get_by_text("Taken back")).to_be_visible()
    await expect(page.get_by_role("button", name="Take back")).to_have_count(0)
    assert visit.errors == []


async def test_a_destructive_command_takes_a_second_tap_that_is_not_the_firsts_echo(
    visit: Visit,
) -> None:
    ask = await visit.inbox.ask(DESTRUCTIVE)
    page = await visit.open(ask)
    assert await page.evaluate(BROKEN_ARGUMENTS) == []
    await page.get_by_role("button", name="Allow once").dblclick()
    await expect(page.get_by_text("Really run this command?")).to_be_visible()
    await expect(page.get_by_text("It is marked as destructive")).to_be_visible()
    assert (await visit.inbox.now(ask)).open
    await page.get_by_role("button", name="Back").click()
    await expect(page.get_by_role("button", name="Allow once")).to_be_visible()
    await page.get_by_role("button", name="Allow once").click()
    await page.get_by_role("button", name="Yes, run it").click()
    assert (await outcome_of(visit, ask)).answers == (ALLOWED,)
    assert visit.errors == []


async def test_what_allows_more_than_itself_says_so_above_its_one_way_to_allow(
    visit: Visit,
) -> None:
    ask = await visit.inbox.ask(BEYOND)
    page = await visit.open(ask)
    await expect(page.get_by_text(EVERY)).to_be_visible()
    await expect(page.get_by_role("button", name="Allow more…")).to_have_count(0)
    await page.get_by_role("button", name="Allow", exact=True).click()
    await expect(page.get_by_role("heading", name="Allowed", exact=True)).to_be_visible()


async def test_a_denial_says_why_in_a_sheet_and_can_be_thought_over(visit: Visit) -> None:
    ask = await visit.inbox.ask(COMMAND)
    page = await visit.open(ask)
    await page.get_by_role("button", name="Deny, say why…").click()
    sheet = page.get_by_role("dialog", name="Deny with a reason")
    await expect(page.get_by_label("Reason", exact=True)).to_be_focused()
    await page.get_by_label("Reason", exact=True).fill("Not on a Friday.")
    await sheet.get_by_role("button", name="Back").click()
    await expect(sheet).to_be_hidden()
    assert (await visit.inbox.now(ask)).open
    await page.get_by_role("button", name="Deny, say why…").click()
    await expect(page.get_by_label("Reason", exact=True)).to_have_value("Not on a Friday.")
    await sheet.get_by_role("button", name="Deny").click()
    (answer,) = (await outcome_of(visit, ask)).answers
    assert answer == Answer(values=("deny",), custom_text="Not on a Friday.")
    await expect(page.get_by_role("heading", name="Denied")).to_be_visible()
    await expect(page.get_by_text("“Not on a Friday.”")).to_be_visible()


async def test_a_long_one_is_allowed_only_after_all_of_it_was_shown(visit: Visit) -> None:
    ask = await visit.inbox.ask(LONG)
    page = await visit.open(ask)
    code = page.locator(".command")
    await expect(code).to_contain_text("line 000")
    await expect(code).to_contain_text("line 299")
    await expect(code).not_to_contain_text("line 150")
    await expect(page.get_by_role("button", name="Allow once")).to_have_count(0)
    await page.get_by_role("button", name="Show all").click()
    await expect(code).to_contain_text("line 150")
    await page.get_by_role("button", name="Allow once").click()
    assert (await outcome_of(visit, ask)).answers == (ALLOWED,)


async def test_a_change_is_coloured_by_line_and_its_middle_opens_on_a_tap(visit: Visit) -> None:
    ask = await visit.inbox.ask(CHANGE)
    page = await visit.open(ask)
    await expect(page.get_by_text("2 lines added, 2 removed")).to_be_visible()
    await expect(page.locator(".added:visible")).to_have_text(["+new first\n", "+new last"])
    await expect(page.locator(".removed:visible")).to_have_text(["-old first\n", "-old last\n"])
    middle = page.locator(".same", has_text="line 25")
    await expect(middle).to_be_hidden()
    await page.get_by_text("33 lines not shown. Show all").click()
    await expect(middle).to_be_visible()
    # What is open stays open when something changes.
    await more_time(visit.inbox.inbox, ask.id, person=Person(name="you", channel="web"))
    await expect(page.locator("#card .left")).to_have_text("1 h 14 min left")
    await expect(middle).to_be_visible()
    await page.get_by_role("button", name="Deny", exact=True).click()
    assert (await outcome_of(visit, ask)).answers == (DENIED,)
    assert visit.errors == []


async def test_a_step_taken_elsewhere_closes_the_sheet_that_belongs_to_the_one_before(
    visit: Visit,
) -> None:
    ask = await visit.inbox.ask(COMMAND)
    page = await visit.open(ask)
    await page.get_by_role("button", name="Deny, say why…").click()
    await page.get_by_label("Reason", exact=True).fill("No.")
    await visit.inbox.inbox.put(ask.id, *LAST_SCREEN, person=TELEGRAM)
    await expect(page.get_by_role("dialog")).to_have_count(0)
    await expect(page.get_by_role("button", name="Yes", exact=True)).to_be_visible()
    assert (await visit.inbox.now(ask)).open


async def test_allowing_takes_two_keys_and_denying_one(browser: Browser, tmp_path: Path) -> None:
    async with visiting(browser, tmp_path, DESKTOP) as visit:
        ask = await visit.inbox.ask(COMMAND)
        page = await visit.open(ask)
        await page.keyboard.press("a")
        await expect(page.locator("#allow")).to_be_focused()
        assert (await visit.inbox.now(ask)).open
        await page.keyboard.press("Enter")
        assert (await outcome_of(visit, ask)).answers == (ALLOWED,)
        ask = await visit.inbox.ask(COMMAND)
        page = await visit.open(ask)
        await page.keyboard.press("d")
        assert (await outcome_of(visit, ask)).answers == (DENIED,)


async def test_a_key_aimed_at_allowing_once_never_allows_the_session(
    browser: Browser, tmp_path: Path
) -> None:
    async with visiting(browser, tmp_path, DESKTOP) as visit:
        ask = await visit.inbox.ask(COMMAND)
        page = await visit.open(ask)
        await page.keyboard.press("a")
        await expect(page.locator("#allow")).to_be_focused()
        await visit.inbox.inbox.put(ask.id, *LAST_SCREEN, person=TELEGRAM)
        await expect(page.get_by_role("button", name="Yes", exact=True)).to_be_visible()
        await expect(page.locator("button:focus")).to_have_count(0)
        await page.keyboard.press("Enter")
        await page.keyboard.press("d")
        assert (await outcome_of(visit, ask)).answers == (DENIED,)


async def test_a_key_aimed_at_the_first_tap_is_not_the_second(
    browser: Browser, tmp_path: Path
) -> None:
    async with visiting(browser, tmp_path, DESKTOP) as visit:
        ask = await visit.inbox.ask(DESTRUCTIVE)
        page = await visit.open(ask)
        for key in ("a", "Enter"):
            await page.keyboard.press(key)
        await expect(page.get_by_role("button", name="Yes, run it")).to_be_visible()
        await page.keyboard.press("Enter")
        assert (await visit.inbox.now(ask)).open
        await page.keyboard.press("a")
        await expect(page.locator("#run-now")).to_be_focused()
        await page.keyboard.press("Enter")
        assert (await outcome_of(visit, ask)).answers == (ALLOWED,)


async def test_it_works_without_script(browser: Browser, tmp_path: Path) -> None:
    async with visiting(browser, tmp_path, PHONE, script=False) as visit:
        page = visit.page
        ask = await visit.inbox.ask(COMMAND)
        await page.goto(f"{visit.inbox.address}/asks/{ask.id}")
        for name in ("Allow more…", "Until the session ends", "Yes"):
            await page.get_by_role("button", name=name, exact=True).click()
        assert (await outcome_of(visit, ask)).answers == (SESSION,)
        ask = await visit.inbox.ask(COMMAND)
        await page.goto(f"{visit.inbox.address}/asks/{ask.id}")
        await page.get_by_role("button", name="Deny, say why…").click()
        await page.get_by_label("Reason", exact=True).fill("No.")
        await page.get_by_role("button", name="Deny", exact=True).click()
        (answer,) = (await outcome_of(visit, ask)).answers
        assert answer == Answer(values=("deny",), custom_text="No.")
        question = await visit.inbox.ask(select("Which one?", "This", "That"))
        await page.goto(f"{visit.inbox.address}/asks/{question.id}")
        await page.get_by_role("button", name="Ask back…").click()
        await page.get_by_label("What is unclear (optional)").fill("Which?")
        await page.get_by_role("button", name="Explain this").click()
        outcome = await outcome_of(visit, question)
        assert outcome.reason == "Please explain this in more detail. Which?"
