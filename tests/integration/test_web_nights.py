"""Nights on the pages: what is held or snoozed, more time, and the summary."""

from __future__ import annotations

import re
from dataclasses import replace
from urllib.parse import unquote

import pytest

from chatbridge.core.asks.serialize import iso
from chatbridge.core.cards.phrases import local_time
from chatbridge.core.model import (
    Level,
    QuietRule,
)
from chatbridge.core.nights.hours import Period, Switch
from chatbridge.core.nights.policy import NightPolicy
from chatbridge.core.policy import DAY, HOUR
from tests.fakes.clock import StillClock
from tests.fakes.inbox import CONFIRM, SELECT, TEXT
from tests.fakes.web import Web
from tests.integration.test_web_pages import tap


async def test_what_chats_hold_back_is_there_at_once_and_says_until_when(web: Web) -> None:
    nights, now = web.desk.inbox.nights, web.desk.clock.time()
    earlier = await web.desk.ask(TEXT, timeout=8 * HOUR)
    nights.policy = NightPolicy(quiet=QuietRule(hours=("",) * 7, hold=True))
    nights.switch = Switch(on=True, period=Period(now + 1, now + HOUR))
    assert isinstance(web.desk.clock, StillClock)
    web.desk.clock.advance(2)
    held = await web.desk.ask(SELECT, timeout=8 * HOUR)
    until = f"Held until {local_time(now + HOUR):%H:%M}"
    assert [await held_says(web, path) for path in (f"/asks/{held.id}", "/?all")] == [until, until]
    assert await held_says(web, f"/asks/{earlier.id}") == ""
    web.desk.clock.advance(HOUR)
    assert await held_says(web, f"/asks/{held.id}") == ""


async def held_says(web: Web, path: str) -> str:
    """What the card says, or the list if there is no card."""
    page = (await web.browser.get(path)).text
    part = page.partition('<article class="card"')[2] or page
    return "".join(re.findall(r"Held until \S{5}", re.sub(r"<[^>]+>", "", part)))


async def test_without_the_script_more_time_is_a_screen_with_a_way_back(web: Web) -> None:
    ask = await web.desk.ask(CONFIRM, timeout=60)
    for do, shows in (("ask_later", "How much more time?"), ("back", "A tap sends your answer.")):
        step = (await web.desk.inbox.ask(ask.id)).draft.step
        data = {"do": do, "step": str(step)}
        sent = await web.browser.post(f"/asks/{ask.id}/form", data=data)
        assert sent.status_code == 303
        page = (await web.browser.get(sent.headers["location"])).text
        assert shows in page
    menu = await tap(web, ask, "ask_later")
    assert menu.status_code == 200
    assert "For more time, raise max_timeout in config.toml." in menu.text
    refused = await tap(web, await web.desk.ask(SELECT, timeout=1800), "ask_later")
    assert refused.status_code == 422
    told = unquote(refused.headers["x-chatbridge-toast"])
    assert told == "This question can get no more time."


async def test_a_snoozed_question_is_marked_and_can_be_answered_or_shown(web: Web) -> None:
    ask = await web.desk.ask(CONFIRM, timeout=1800)
    mark = "💤 Snoozed until"
    assert mark in (await tap(web, ask, "snooze", minutes=10)).text
    assert mark in (await web.browser.get("/?all")).text
    shown = (await web.script.get(f"/api/asks/{ask.id}")).json()
    until = (await web.desk.inbox.ask(ask.id)).attention.snoozed_until
    assert until is not None
    assert shown["snoozedUntil"] == iso(until)
    assert mark not in (await tap(web, ask, "show_now")).text
    assert mark not in (await web.browser.get("/?all")).text
    await tap(web, ask, "snooze", minutes=10)
    assert (await tap(web, ask, "choose", option=0)).status_code == 200
    ended = await web.desk.inbox.ask(ask.id)
    assert not ended.open
    assert "snoozedUntil" not in (await web.script.get(f"/api/asks/{ask.id}")).json()


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"minutes": ""},
        {"minutes": "-5"},
        {"minutes": "1e3"},
        {"minutes": "9" * 30},
        {"minutes": "0"},
        {"minutes": "999999999"},
    ],
)
async def test_a_forged_snooze_changes_nothing(web: Web, fields: dict[str, str]) -> None:
    ask = await web.desk.ask(CONFIRM, timeout=1800)
    refused = await tap(web, ask, "snooze", **fields)
    assert refused.status_code == 422
    assert refused.headers["x-chatbridge-toast"]
    assert await web.desk.inbox.ask(ask.id) == ask


def slept(web: Web, *, until: float = 60.0) -> None:
    """Quiet hours that ended so many seconds ago."""
    now = web.clock.time()
    night = Period(now - 8 * 3600.0, now - until)
    web.desk.inbox.nights.switch = Switch(on=True, period=night)


async def test_the_summary_says_what_happened_and_what_waits(web: Web) -> None:
    await web.desk.notify("Done.", level=Level.INFO)
    over = await web.desk.time_out(await web.desk.ask(CONFIRM, timeout=60))
    ask = await web.desk.ask(SELECT)
    slept(web, until=0.0)
    page = (await web.browser.get("/summary")).text
    assert "While you were away, " in page
    assert "1 question timed out" in page
    assert "1 notice" in page
    assert f"/asks/{ask.id}" in page
    assert f"/asks/{over.id}" not in page


async def test_a_summary_of_nothing_says_so(web: Web) -> None:
    page = (await web.browser.get("/summary")).text
    assert "nothing else has happened" in page
    assert "Nothing is waiting" in page


async def test_the_list_leads_to_a_summary_where_there_is_a_recent_one(web: Web) -> None:
    link = 'href="/summary"'
    assert link not in (await web.browser.get("/?all")).text
    slept(web)
    assert link in (await web.browser.get("/?all")).text
    slept(web, until=0.0)
    web.clock.advance(DAY)
    assert link not in (await web.browser.get("/?all")).text


async def test_strangers_learn_nothing_from_the_summary(web: Web) -> None:
    ask = await web.desk.ask(SELECT)
    response = await web.stranger.get("/summary")
    assert response.status_code in (303, 401)
    assert ask.id not in response.text
    assert (await web.browser.post("/summary")).status_code == 405


async def test_a_summary_shows_tricks_as_text(web: Web) -> None:
    tricky = replace(SELECT, text="<script>alert(1)</script> \u202eesrever")
    await web.desk.ask(tricky)
    page = (await web.browser.get("/summary")).text
    assert "<script>alert" not in page
    assert "\u202e" not in page
