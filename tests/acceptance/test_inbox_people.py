"""Taking a question and handing it over on the inbox's page, on a phone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.async_api import expect

from chatbridge.core.forms import form
from chatbridge.core.model import Person
from chatbridge.core.people.team import Member, Team
from tests.acceptance.browser import (
    IN_BROWSER,
    PHONE,
    Visit,
    approval,
    select,
    visit_on_a_phone,
)

pytestmark = IN_BROWSER
visit = visit_on_a_phone

DATABASE = select("Which database?", "PostgreSQL", "SQLite")
ANN = Person(name="ann@work", channel="telegram", id="1")
TEAM = Team(
    members=(
        Member(name="Ann", identities=(("telegram", "1"),)),
        Member(name="Bob", identities=(("telegram", "2"),)),
    )
)


@pytest.fixture
def team(visit: Visit) -> Iterator[None]:
    nights = visit.inbox.inbox.nights
    before, nights.team = nights.team, TEAM
    yield
    nights.team = before


@pytest.mark.usefixtures("team")
async def test_the_page_says_who_is_on_it_and_hands_it_over(visit: Visit) -> None:
    ask = await visit.inbox.ask(DATABASE)
    page = await visit.open(ask)
    await visit.inbox.inbox.put(ask.id, form.Take(step=0), person=ANN)
    card = page.locator("#card")
    await expect(card).to_contain_text("Ann is on it.")
    await page.get_by_role("button", name="Hand over…").tap()
    await expect(card).to_contain_text("Hand it over to whom?")
    await page.get_by_role("button", name="Bob").tap()
    await expect(card).to_contain_text("Somebody in the web inbox handed this to Bob.")
    await page.get_by_role("button", name="I'll take it").tap()
    await expect(card).to_contain_text("Somebody in the web inbox is on it.")
    await page.get_by_role("button", name="Let it go").tap()
    await expect(card).to_contain_text("handed this to Bob.")
    await page.get_by_role("button", name="SQLite").tap()
    await expect(card).to_contain_text("Answer sent")


@pytest.mark.usefixtures("team")
async def test_all_of_it_fits_a_phone(visit: Visit) -> None:
    for question in (DATABASE, approval("Run this?", "make", language="bash", folder="~/shop")):
        ask = await visit.inbox.ask(question)
        page = await visit.open(ask)
        for name in ("I'll take it", "Hand over…", "More time…"):
            box = await page.get_by_role("button", name=name).bounding_box()
            assert box
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= PHONE[0]
