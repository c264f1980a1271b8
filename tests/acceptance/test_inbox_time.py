"""Time on an open page: the countdown, its announcements, clocks and the colours of the night."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, Route, expect

from tests.acceptance.browser import (
    IN_BROWSER,
    PHONE,
    Visit,
    confirm,
    select,
    visit_on_a_phone,
    visiting,
)

pytestmark = IN_BROWSER
visit = visit_on_a_phone

DATABASE = select("Which database?", "PostgreSQL", "SQLite")
BACKGROUNDS = {"light": "rgb(244, 246, 244)", "dark": "rgb(14, 19, 17)"}
LOCAL_TIMES = """async () => {
  const { showLocalTimes } = await import("/static/clock.js");
  const root = document.createElement("div");
  const day = new Date().toISOString().slice(0, 10);
  root.innerHTML = [`${day}T00:07`, `${day}T09:05`, `${day}T10:05`, "2026-01-06T09:05"]
    .map((time) => `<time datetime="${time}:00Z"></time>`).join("");
  showLocalTimes(root);
  return [...root.children].map((each) => each.textContent.replace("\\u202f", " "));
}"""


async def with_a_clock_of_its_own(page: Page) -> None:
    """From now on the page's time is the test's; nothing sets it right by the hub's again."""

    async def no_answer(_: Route) -> None:
        return None

    await page.route(re.compile(r"/(rows|card)$"), no_answer)
    await page.clock.install()


async def pass_time(page: Page, seconds: int) -> None:
    await page.clock.run_for(seconds * 1000)


async def test_the_countdown_runs_by_itself_and_warns_when_it_is_nearly_over(visit: Visit) -> None:
    ask = await visit.inbox.ask(DATABASE, timeout=605)
    await with_a_clock_of_its_own(visit.page)
    page = await visit.open(ask)
    left, announcer = page.locator("#card .left"), page.locator("#announcer")
    await expect(left).to_have_text(re.compile(r"10 min left|9:5\d left"))
    await expect(left).not_to_have_class(re.compile("soon"))
    await pass_time(page, 487)  # a fifth is left
    await expect(left).to_have_text(re.compile(r"1:5\d left"))
    await expect(left).to_have_class(re.compile("soon"))
    await expect(announcer).to_have_text("2 minutes left")
    await pass_time(page, 90)
    await expect(announcer).to_have_text("30 seconds left")
    await pass_time(page, 60)
    await expect(left).to_have_text("0:00 left")
    assert (await visit.inbox.now(ask)).open  # only the hub's clock ends a question


async def test_the_list_counts_down_too(visit: Visit) -> None:
    await visit.inbox.ask(confirm("Sooner?"), timeout=300)
    await visit.inbox.ask(confirm("Later?"), timeout=7 * 3600 + 3000)
    await with_a_clock_of_its_own(visit.page)
    page = await visit.open()
    left = page.locator("#rows .left")
    await expect(left).to_have_text([re.compile(r"[45]:\d\d left"), re.compile("7 h 49 min left")])
    await pass_time(page, 60)
    await expect(left).to_have_text([re.compile(r"3:\d\d left"), re.compile("7 h 48 min left")])


async def test_the_page_is_light_by_day_and_dark_by_night(browser: Browser, tmp_path: Path) -> None:
    async with visiting(browser, tmp_path, PHONE) as visit:
        ask = await visit.inbox.ask(DATABASE)
        page = await visit.open(ask)
        await page.emulate_media(color_scheme="light")
        light = await page.evaluate("getComputedStyle(document.body).backgroundColor")
        await page.emulate_media(color_scheme="dark")
        dark = await page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert {"light": light, "dark": dark} == BACKGROUNDS


async def test_times_of_day_are_those_of_the_reader(browser: Browser, tmp_path: Path) -> None:
    async with visiting(browser, tmp_path, PHONE) as visit:
        ask = await visit.inbox.ask(confirm("Delete the fixtures?"))
        assert ask.deadline is not None
        await visit.inbox.time_out(ask)
        # Of another day they would have a weekday.
        await visit.page.clock.set_fixed_time(datetime.fromtimestamp(ask.deadline, UTC))
        page = await visit.open(ask)
        shown = page.locator("#card time").first
        at = await shown.get_attribute("datetime")
        assert at is not None
        hour, minute = int(at[11:13]), at[14:16]  # the context's zone is UTC
        await expect(shown).to_have_text(f"{hour}:{minute}")


@pytest.mark.parametrize("locale", ["en-US", "de"])
async def test_hours_have_no_leading_zero_in_any_language(
    browser: Browser, tmp_path: Path, locale: str
) -> None:
    async with visiting(browser, tmp_path, PHONE, locale=locale) as visit:
        page = await visit.open()
        shown = await page.evaluate(LOCAL_TIMES)
    assert (
        shown
        == {
            "en-US": ["12:07 AM", "9:05 AM", "10:05 AM", "Tue 9:05 AM"],
            "de": ["0:07", "9:05", "10:05", "Di., 9:05"],
        }[locale]
    )
