"""Answering in the web inbox: each type of question, and declining."""

from __future__ import annotations

from playwright.async_api import Page, expect

from chatbridge.core.model import Answer, Status
from tests.acceptance.browser import (
    AT_EACH_SIZE,
    IN_BROWSER,
    Visit,
    confirm,
    multi,
    outcome_of,
    select,
    text,
    visit_on_a_phone,
)

pytestmark = IN_BROWSER
visit = visit_on_a_phone

DATABASE = select(
    "Which database?", "PostgreSQL (recommended) | In Docker", "SQLite", "Testcontainers"
)
CHECKS = multi("Which checks must pass?", "Unit tests", "Contract tests", "Load test")
BRANCH = text("Which branch is released?")
NOTES = text("Anything for the notes?", required=False)

BUTTON_UNDER_THE_THUMB_AFTER_A_TAP = """() => new Promise((done) => {
  const card = document.querySelector("#card");
  const { left, top } = document.querySelector("#option-1").getBoundingClientRect();
  new MutationObserver(() => {
    if (card.dataset.number !== "2") return;
    done(Boolean(document.elementFromPoint(left + 9, top + 9).closest("button")));
  }).observe(card, { attributes: true });
  document.querySelector("#option-1").click();
})"""


async def tap(page: Page, name: str) -> None:
    # "Ask back…" is another.
    await page.get_by_role("button", name=name, exact=name == "Back").click()


@AT_EACH_SIZE
async def test_a_tap_on_an_option_answers_and_the_page_says_when_the_agent_has_it(
    visit: Visit,
) -> None:
    ask = await visit.inbox.ask(DATABASE)
    page = await visit.open()  # the only open question opens itself
    await expect(page.get_by_text("A tap sends your answer.")).to_be_visible()
    await tap(page, "SQLite")
    heading = page.get_by_role("heading", level=1, name="Answer sent, waiting for Claude Code…")
    await expect(heading).to_be_focused()
    assert (await outcome_of(visit, ask)).answers == (Answer(values=("SQLite",)),)
    await visit.inbox.hand_over(ask)
    await expect(page.locator("#outcome")).to_have_text("Answered: SQLite")
    await expect(page.get_by_text("Delivered.")).to_be_visible()


async def test_other_of_a_select_takes_a_text_of_ones_own(visit: Visit) -> None:
    ask = await visit.inbox.ask(DATABASE)
    page = await visit.open(ask)
    await tap(page, "Other…")
    await expect(page.locator("#answer")).to_be_focused()
    await page.locator("#answer").fill("MariaDB")
    await tap(page, "Send answer")
    assert (await outcome_of(visit, ask)).answers == (Answer(custom_text="MariaDB"),)


async def test_a_multi_select_sends_what_is_ticked_and_the_text_of_other(visit: Visit) -> None:
    ask = await visit.inbox.ask(CHECKS)
    page = await visit.open(ask)
    for name in ("Load test", "Unit tests", "Contract tests", "Contract tests"):
        await page.get_by_role("checkbox", name=name).click()
    await expect(page.get_by_role("checkbox", name="Contract tests")).not_to_be_checked()
    await page.get_by_text("Other…").click()
    await page.get_by_label("Other", exact=True).fill("The licence check")
    await tap(page, "Send answer (3 chosen)")
    (answer,) = (await outcome_of(visit, ask)).answers
    assert answer == Answer(values=("Unit tests", "Load test"), custom_text="The licence check")


async def test_a_multi_select_without_a_choice_says_what_is_missing(visit: Visit) -> None:
    ask = await visit.inbox.ask(CHECKS)
    page = await visit.open(ask)
    await tap(page, "Send answer")
    await expect(page.locator("#toast")).to_have_text("Pick at least one, or use Other.")
    assert (await visit.inbox.now(ask)).open


async def test_a_text_question_shows_its_placeholder_and_sends_the_text(visit: Visit) -> None:
    ask = await visit.inbox.ask(text("What should the commit say?", placeholder="feat: …"))
    page = await visit.open(ask)
    await page.get_by_placeholder("feat: …").fill("fix: keep anchors\n\nيعمل")
    await tap(page, "Send answer")
    (answer,) = (await outcome_of(visit, ask)).answers
    assert answer == Answer(values=("fix: keep anchors\n\nيعمل",))


async def test_a_text_that_is_too_long_is_marked_and_kept(visit: Visit) -> None:
    ask = await visit.inbox.ask(BRANCH)
    page = await visit.open(ask)
    await page.locator("#answer").fill("x" * 10_001)
    await tap(page, "Send answer")
    await expect(page.get_by_role("alert")).to_have_text(
        "This answer is too long (10,001 of 10,000)."
    )
    await expect(page.locator("#answer")).to_have_value("x" * 10_001)
    assert (await visit.inbox.now(ask)).open


async def test_a_confirm_is_answered_with_one_tap(visit: Visit) -> None:
    ask = await visit.inbox.ask(confirm("Delete the old fixtures?"))
    page = await visit.open(ask)
    await tap(page, "No")
    assert (await outcome_of(visit, ask)).answers == (Answer(values=("no",)),)


async def test_a_form_goes_back_and_forth_and_sends_only_after_its_review(visit: Visit) -> None:
    ask = await visit.inbox.ask(BRANCH, CHECKS, NOTES, title="Release 2.4")
    page = await visit.open(ask)
    await page.locator("#answer").fill("release/2.3")
    await tap(page, "Next")
    await expect(page.get_by_text("question 2 of 3")).to_be_visible()
    await tap(page, "Back")
    await expect(page.locator("#answer")).to_have_value("release/2.3")
    await page.locator("#answer").fill("release/2.4")
    await tap(page, "Next")
    await page.get_by_role("checkbox", name="Unit tests").click()
    await tap(page, "Next (1 chosen)")
    await tap(page, "Skip")
    await expect(page.get_by_role("heading", name="Check your answers")).to_be_visible()
    await expect(page.get_by_text("Skipped")).to_be_visible()
    await expect(page.get_by_text("Nothing has been sent yet.")).to_be_visible()
    assert (await visit.inbox.now(ask)).open
    await tap(page, "Edit answer 3")
    await page.locator("#answer").fill("Thank the testers")
    await tap(page, "Next")
    await tap(page, "Send answers")
    assert (await outcome_of(visit, ask)).answers == (
        Answer(values=("release/2.4",)),
        Answer(values=("Unit tests",)),
        Answer(values=("Thank the testers",)),
    )


async def test_other_that_was_taken_back_is_not_sent(visit: Visit) -> None:
    ask = await visit.inbox.ask(CHECKS, NOTES)
    page = await visit.open(ask)
    await page.get_by_role("checkbox", name="Unit tests").click()
    await page.get_by_text("Other…").click()
    await page.get_by_label("Other", exact=True).fill("The licence check")
    await tap(page, "Next (2 chosen)")
    await tap(page, "Back")
    await page.get_by_label("Other", exact=True).fill("")
    await tap(page, "Next (1 chosen)")
    await tap(page, "Skip")
    await tap(page, "Send answers")
    assert (await outcome_of(visit, ask)).answers[0] == Answer(values=("Unit tests",))


async def test_cancelling_asks_first_and_takes_a_reason(visit: Visit) -> None:
    ask = await visit.inbox.ask(DATABASE)
    page = await visit.open(ask)
    await tap(page, "Cancel question…")
    await tap(page, "Keep it open")
    assert (await visit.inbox.now(ask)).open
    await tap(page, "Cancel question…")
    await page.get_by_label("Reason (optional)").fill("Not before the review")
    await page.get_by_role("dialog").get_by_role("button", name="Cancel question").click()
    await expect(page.get_by_role("heading", name="Cancelled")).to_be_focused()
    assert (await outcome_of(visit, ask)).reason == "Not before the review"
    assert (await visit.inbox.now(ask)).status is Status.CANCELLED


async def test_a_double_tap_sends_one_answer(visit: Visit) -> None:
    first, second = confirm("Delete the fixtures?"), confirm("Delete the backups?")
    ask = await visit.inbox.ask(first, second)
    page = await visit.open(ask)
    await page.get_by_role("button", name="Yes").dblclick()
    await expect(page.get_by_text("question 2 of 2")).to_be_visible()
    await expect(page.locator("#toast")).to_be_empty()
    assert [entry.picked for entry in (await visit.inbox.now(ask)).draft.entries] == [(0,), ()]


async def test_a_question_that_has_just_appeared_under_the_thumb_takes_no_tap(
    visit: Visit,
) -> None:
    ask = await visit.inbox.ask(confirm("Delete the fixtures?"), confirm("Delete the backups?"))
    page = await visit.open(ask)
    assert await page.evaluate(BUTTON_UNDER_THE_THUMB_AFTER_A_TAP) is False
    await tap(page, "No")
    await expect(page.get_by_role("heading", name="Check your answers")).to_be_visible()


async def test_more_time_and_snoozing_are_a_tap_away(visit: Visit) -> None:
    ask = await visit.inbox.ask(BRANCH, timeout=3600)
    page = await visit.open(ask)
    await page.locator("#answer").fill("release/2.4")
    await tap(page, "More time…")
    await expect(page.get_by_role("heading", name="How much more time?")).to_be_visible()
    await page.get_by_role("dialog").get_by_role("button", name="Back").click()
    await expect(page.get_by_role("dialog")).to_be_hidden()
    await tap(page, "More time…")
    await tap(page, "+1 h")
    await expect(page.locator("#card .left")).to_have_text("1 h 59 min left")
    assert ask.deadline is not None
    assert (await visit.inbox.now(ask)).deadline == ask.deadline + 3600
    await tap(page, "More time…")
    await tap(page, "Snooze 1 h")
    await expect(page.locator("#card .snoozed")).to_be_visible()
    assert (await visit.inbox.now(ask)).attention.snoozed_until is not None
    await tap(page, "Show now")
    await expect(page.locator("#card .snoozed")).to_be_hidden()
    assert (await visit.inbox.now(ask)).attention.snoozed_until is None
    await expect(page.locator("#answer")).to_have_value("release/2.4")
    await tap(page, "Send answer")
    assert (await outcome_of(visit, ask)).answers == (Answer(values=("release/2.4",)),)
