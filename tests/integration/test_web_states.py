"""Each state of an ask as its page says it, in the words of the design, at the time it applies."""

from __future__ import annotations

import asyncio
import html
import json
import re
from dataclasses import replace
from pathlib import Path

from chatbridge.channels.web.sessions import IN_A_BROWSER
from chatbridge.core.forms import form
from chatbridge.core.model import Answer, Ask, CallName, Person
from chatbridge.core.policy import Policy
from tests.fakes.inbox import CONFIRM, SELECT, TEXT
from tests.fakes.web import Web, running_web

TELEGRAM = Person(name="Robin", channel="telegram")
SQLITE = (Answer(values=("SQLite",)),)
LINK = "link"


async def words(web: Web, path: str) -> str:
    """A page as a person reads it."""
    page = (await web.browser.get(path)).text
    shown = re.sub(r"<(title|dialog)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", shown)).split())


async def card(web: Web, ask: Ask) -> str:
    return await words(web, f"/asks/{ask.id}/card")


async def delivered(web: Web, number: int) -> None:
    await web.desk.broker.waiting_calls.delivered(CallName(link=LINK, request=str(number)))


async def after(web: Web, ask: Ask, seconds: float) -> None:
    """Let time pass, and wait until the ask shows a change."""
    before = (await web.desk.inbox.ask(ask.id)).revision
    web.clock.advance(seconds)
    async with asyncio.timeout(20):
        while (await web.script.get(f"/api/asks/{ask.id}")).json()["revision"] == before:
            pass


async def test_an_answer_waits_for_the_agent_until_the_agent_has_it(web: Web) -> None:
    ask = await web.desk.ask(SELECT)
    await web.desk.inbox.answer(ask.id, SQLITE, person=IN_A_BROWSER)
    assert "Answer sent, waiting for Claude Code …" in await card(web, ask)
    await delivered(web, 1)
    shown = await card(web, ask)
    assert "Answered: SQLite" in shown
    assert "Delivered." in shown


async def test_an_answer_from_elsewhere_says_from_where(web: Web) -> None:
    ask = await web.desk.ask(SELECT)
    await web.desk.inbox.answer(ask.id, SQLITE, person=TELEGRAM)
    on_its_way = await card(web, ask)
    await delivered(web, 1)
    handed_over = await card(web, ask)
    for shown in (on_its_way, handed_over):
        assert " answered on Telegram, " in shown
        assert "SQLite" in shown
        assert "Robin answered on Telegram," in shown
    assert "On its way." in on_its_way
    assert "Delivered." in handed_over


async def test_an_answer_that_no_agent_takes_is_called_kept_with_the_time_it_is_kept_until(
    web: Web,
) -> None:
    ask = await web.desk.ask(SELECT)
    await web.desk.inbox.answer(ask.id, SQLITE, person=IN_A_BROWSER)
    await after(web, ask, Policy().handover_within)
    shown = await card(web, ask)
    assert "The answer is kept" in shown
    assert re.search(
        r"The agent had stopped waiting\. The answer is kept until \d\d:\d\d \.", shown
    )
    assert "Discard" in shown
    web.clock.advance(Policy().late_answer_ttl)
    shown = await card(web, ask)
    assert "The answer was kept" in shown
    assert "The agent did not ask again." in shown
    assert "Discard" not in shown


async def test_two_minutes_after_its_agent_left_the_card_and_the_list_say_so(web: Web) -> None:
    ask = await web.desk.ask(SELECT)
    said = "The agent is not waiting now. An answer is kept for its next call."
    await web.desk.broker.waiting_calls.link_closed(LINK)
    assert said not in await card(web, ask)
    await after(web, ask, 120)
    assert said in await card(web, ask)
    assert "Agent stopped waiting" in await words(web, "/rows")
    await web.desk.ask(SELECT)  # the same words: the agent is back
    assert said not in await card(web, ask)
    assert "Agent stopped waiting" not in await words(web, "/rows")


async def test_a_timed_out_question_says_that_silence_was_all_the_agent_got(web: Web) -> None:
    ask = await web.desk.ask(CONFIRM)
    await web.desk.time_out(ask)
    shown = await card(web, ask)
    assert "Not answered in time" in shown
    assert re.search(r"Ended \d\d:\d\d \. The agent was told that nobody answered\.", shown)
    assert "Answer anyway" in shown


async def test_a_cancelled_question_shows_the_reason(web: Web) -> None:
    ask = await web.desk.ask(CONFIRM)
    await web.desk.inbox.cancel(ask.id, reason="Not before the review", person=IN_A_BROWSER)
    shown = await card(web, ask)
    assert "Cancelled" in shown
    assert "“Not before the review”" in shown
    assert "The agent was told." in shown


async def test_a_declared_default_is_on_the_card_from_the_start_and_named_when_it_was_used(
    tmp_path: Path,
) -> None:
    declared = replace(SELECT, on_timeout=Answer(values=("SQLite",)))
    async with running_web(tmp_path, policy=Policy(declared_defaults=True)) as web:
        ask = await web.desk.ask(declared)
        shown = await card(web, ask)
        assert re.search(r"Used if nobody answers by \d\d:\d\d : SQLite", shown)
        await web.desk.time_out(ask)
        shown = await card(web, ask)
        assert "Used, as agreed beforehand" in shown
        assert "SQLite" in shown
        assert "Answer anyway" not in shown


async def test_answers_that_were_put_in_are_shown_beside_the_defaults_that_completed_them(
    tmp_path: Path,
) -> None:
    declared = replace(SELECT, on_timeout=Answer(values=("SQLite",)))
    async with running_web(tmp_path, policy=Policy(declared_defaults=True)) as web:
        ask = await web.desk.ask(TEXT, declared)
        await web.desk.inbox.put(ask.id, form.Text(text="fix: typo", step=0), person=IN_A_BROWSER)
        await web.desk.time_out(ask)
        shown = await card(web, ask)
        assert "Used, as agreed beforehand." in shown
        assert "fix: typo" in shown
        assert "SQLite" in shown


async def test_the_list_and_the_card_show_the_time_that_is_left(web: Web) -> None:
    ask = await web.desk.ask(TEXT, timeout=25 * 60)
    await web.desk.ask(CONFIRM, timeout=1800)
    for passed, left in ((0, "25 min left"), (17 * 60, "8:00 left"), (412, "1:08 left")):
        web.clock.advance(passed)
        assert left in await card(web, ask)
        assert left in await words(web, "/rows")


async def test_the_manifest_makes_it_an_app_of_its_own_on_the_home_screen(web: Web) -> None:
    page = (await web.stranger.get("/login")).text
    found = re.search(r'rel="manifest" href="([^"]+)"', page)
    assert found
    manifest = json.loads((await web.stranger.get(found[1])).text)
    assert (manifest["display"], manifest["start_url"]) == ("standalone", "/")
    for icon in manifest["icons"]:
        reply = await web.stranger.get(icon["src"])
        assert (reply.status_code, reply.headers["content-type"]) == (200, icon["type"])


async def test_nobody_is_said_to_have_been_told_when_no_agent_was_waiting(web: Web) -> None:
    waited_for = await web.desk.ask(SELECT)
    await web.desk.inbox.cancel(waited_for.id, reason=None, person=IN_A_BROWSER)
    assert "The agent was told." in await card(web, waited_for)
    left = await web.desk.ask(TEXT)
    await web.desk.broker.waiting_calls.link_closed(LINK)
    await web.desk.inbox.cancel(left.id, reason=None, person=IN_A_BROWSER)
    assert "No agent was waiting." in await card(web, left)
