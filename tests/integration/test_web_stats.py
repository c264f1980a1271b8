"""The page with the statistics, as a browser gets it."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest

from chatbridge.channels.web.sessions import IN_A_BROWSER
from chatbridge.core.cards.phrases import local_time
from chatbridge.core.model import Agent, Answer, Project
from tests.fakes.inbox import COMMAND, CONFIRM, TEXT
from tests.fakes.web import Web

YES = (Answer(values=("yes",)),)


async def answer_after(web: Web, seconds: float, **given: Any) -> None:
    ask = await web.desk.ask(CONFIRM, **given)
    web.clock.advance(seconds)
    await web.desk.inbox.answer(ask.id, YES, person=IN_A_BROWSER)


def words(page: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page)).split())


async def test_the_page_counts_by_agent_and_by_hour_in_words_and_as_a_picture(web: Web) -> None:
    hour = local_time(web.clock.time()).hour
    await answer_after(web, 20.0)
    await answer_after(web, 250.0, project=Project(key="/infra", name="infra"))
    await web.desk.ask(COMMAND)
    page = (await web.browser.get("/stats")).text
    said = words(page)
    assert "2 questions: 2 answered · 1 approval" in said
    assert "Median answer after 20 s, worst after 4 min 10 s · Waited 4 min 30 s" in said
    assert "infra Claude Code 1 question: 1 answered" in said
    assert f"{hour:02}:00 2 2 0 4 min 30 s" in said
    assert f"The most is 4 min 30 s, from {hour:02}:00 on." in page
    (bar,) = re.findall(r"<rect [^>]*>", page)
    assert 'y="30.0"' in bar  # 270 of 300 s
    assert "Waiting counts from the question to its end" in said


async def test_the_picture_needs_nothing_that_the_security_policy_forbids(web: Web) -> None:
    await answer_after(web, 20.0)
    response = await web.browser.get("/stats")
    assert "style-src 'self'" in response.headers["content-security-policy"]
    assert not re.search(
        r"\sstyle=|\son[a-z]+=|<style|<script(?! type=\"module\" src=)", response.text
    )
    assert (
        '<svg viewBox="0 0 360 156" role="img" aria-label="Bars for the 24 hours' in response.text
    )


async def test_a_period_can_be_chosen_and_another_one_given(web: Web) -> None:
    await answer_after(web, 20.0)
    web.clock.advance(3 * 86400.0)
    await answer_after(web, 40.0)
    for since, asked, chosen in (("1d", "1 question", "1 day"), ("36h", "1 question", "1 d 12 h"),
                                 ("7d", "2 questions", "7 days")):  # fmt: skip
        page = (await web.browser.get("/stats", params={"since": since})).text
        assert f"{asked}: " in words(page)
        (current,) = re.findall(r'class="chip"[^>]*aria-current="page">([^<]*)<', page)
        assert current == chosen


async def test_the_history_leads_to_it_and_an_empty_one_says_so_kindly(web: Web) -> None:
    assert 'href="/stats"' in (await web.browser.get("/history")).text
    said = words((await web.browser.get("/stats")).text)
    assert "No agent has asked anything in the last 30 days." in said
    await web.desk.ask(TEXT)
    web.clock.advance(5.0)
    assert "1 question: 1 still open" in words((await web.browser.get("/stats")).text)


@pytest.mark.parametrize(
    "since", ["", "soon", "0", "-1d", "9999999d", "1e9", "<script>x</script>", "\u202e30d"]
)
async def test_a_period_that_is_none_is_refused_with_what_is_accepted(web: Web, since: str) -> None:
    response = await web.browser.get("/stats", params={"since": since})
    assert response.status_code == 422
    assert "give " in response.text
    assert "<script>x" not in response.text
    assert "\u202e" not in response.text


async def test_names_are_text_and_strangers_see_no_page(web: Web) -> None:
    hostile = Agent(client="x", name="<img src=x onerror=alert(1)>\u202e\n")
    await answer_after(web, 9.0, agent=hostile, project=Project(key="/x", name="</svg><script>1"))
    page = (await web.browser.get("/stats")).text
    assert "<img" not in page
    assert "<script>1" not in page
    assert "&lt;/svg&gt;&lt;script&gt;1" in page
    assert "⟨U+202E⟩" in page
    assert "\u202e" not in page
    refused = await web.stranger.get("/stats")
    assert "onerror" not in refused.text
    assert refused.status_code in (303, 401)
