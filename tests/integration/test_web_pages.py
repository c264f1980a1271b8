"""The pages as a browser without their script uses them, and the fragments for the script."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from urllib.parse import unquote

import httpx2
import pytest

from chatbridge.channels.web.sessions import IN_A_BROWSER
from chatbridge.core.cards.phrases import local_time
from chatbridge.core.model import (
    Answer,
    Ask,
    Option,
    Question,
    QuestionType,
    Status,
    View,
)
from chatbridge.core.policy import DAY
from tests.fakes.inbox import CONFIRM, MULTI, OPTIONAL, SELECT, TEXT
from tests.fakes.web import MARK, Web


async def tap(web: Web, ask: Ask, do: str, **fields: str | int) -> httpx2.Response:
    """A tap as the script sends it; without a step, the one that is shown."""
    step = (await web.desk.inbox.ask(ask.id)).draft.step
    data = {"do": do, "step": str(step)} | {name: str(value) for name, value in fields.items()}
    return await web.browser.post(f"/asks/{ask.id}/form", data=data, headers=MARK)


async def test_the_only_open_ask_opens_itself_unless_told_to_stay(web: Web) -> None:
    assert "Nothing is waiting" in (await web.browser.get("/")).text
    ask = await web.desk.ask(SELECT)
    response = await web.browser.get("/")
    assert (response.status_code, response.headers["location"]) == (303, f"/asks/{ask.id}")
    stayed = await web.browser.get("/?stay")
    assert stayed.status_code == 200
    assert f"/asks/{ask.id}" in stayed.text
    await web.desk.ask(TEXT)
    assert (await web.browser.get("/")).status_code == 200


@pytest.mark.parametrize(
    ("troubles", "sentence"),
    [
        ({"web": None}, "To be told when it does"),
        ({"telegram": "It is down.", "web": None}, "To be told when it does"),
        ({"telegram": None, "web": None}, "appears here and on Telegram. You can close this page."),
        ({"matrix": None, "telegram": None}, "appears here and on Matrix and Telegram."),
    ],
)
async def test_the_empty_page_promises_only_what_will_ring(
    web: Web, troubles: dict[str, str | None], sentence: str
) -> None:
    web.channel.health = replace(web.channel.health, troubles=lambda: troubles)
    page = (await web.browser.get("/")).text
    assert sentence in page
    assert ("You can close this page." in page) != ("turn notifications on" in page)


async def test_every_page_has_one_main_landmark(web: Web) -> None:
    ask, ended = await web.desk.ask(SELECT), await web.desk.ask(CONFIRM)
    await tap(web, ended, "choose", option=0)
    for path in (
        "/?all",
        f"/asks/{ask.id}",
        f"/asks/{ended.id}",
        "/history",
        "/agents",
        "/summary",
        "/stats",
        "/login",
        "/login/K7Q2-M9XD-4TPA",
        "/address?to=https://x.org",
        "/address",
        "/asks/unknown",
        "/nowhere",
    ):
        page = (await web.browser.get(path)).text
        assert (page.count("<main"), page.count("</main>")) == (1, 1), path
    for refused in (
        await web.browser.get("/", headers={"Host": "evil.example"}),
        await web.browser.post("/logout", headers={"Origin": "https://evil.example"}),
    ):
        assert refused.status_code == 403
        assert refused.text.count("<main>") == 1


async def test_cancelling_has_the_same_place_on_every_screen(web: Web) -> None:
    for questions in ((SELECT,), (MULTI,), (TEXT,), (CONFIRM,), (SELECT, TEXT)):
        ask = await web.desk.ask(*questions)
        card = (await web.browser.get(f"/asks/{ask.id}/card")).text
        bar, rest = card[card.index('data-part="bar"') :].split('data-part="cancel"')
        assert "ancel" not in bar
        assert rest.index("Cancel question…") < rest.index("<dialog")


async def test_times_have_no_zero_before_the_hour(web: Web) -> None:
    web.clock.advance(-web.clock.time() % DAY + 9 * 3600 + 5 * 60 - _zone(web))
    ask = await web.desk.ask(CONFIRM)
    await web.desk.notify("Done.")
    await tap(web, ask, "choose", option=0)
    late = await tap(web, ask, "choose", option=1, step=0)
    assert unquote(late.headers["x-chatbridge-toast"]) == "Already answered at 9:05."
    for path in ("/?all", f"/asks/{ask.id}", "/history"):
        page = (await web.browser.get(path)).text
        assert ">9:05</time>" in page
        assert "09:05<" not in page


def _zone(web: Web) -> float:
    offset = local_time(web.clock.time()).utcoffset()
    assert offset is not None
    return offset.total_seconds()


async def test_the_empty_page_names_the_agents_that_are_connected(web: Web) -> None:
    assert "shop-api" in (await web.browser.get("/")).text


async def test_the_list_says_what_the_owner_should_know_about_the_agents(web: Web) -> None:
    await web.desk.ask(SELECT)
    for address in ("/?all", "/rows"):
        page = (await web.browser.get(address)).text
        assert "The agent in &lt;shop&gt; was started with other settings." in page


async def test_the_pages_buttons_alone_answer_an_ask(web: Web) -> None:
    """Every field comes out of the page: what a browser without scripts would send."""
    ask = await web.desk.ask(SELECT)
    page = (await web.browser.get(f"/asks/{ask.id}")).text
    forms = [
        (action, dict(re.findall(r'<input type="hidden" name="(\w+)" value="(\w+)">', inside)))
        for action, inside in re.findall(r'action="([^"]+)"[^>]*>(.*?)</form>', page, re.DOTALL)
    ]
    action, fields = next(f for f in forms if f[1] == {"do": "choose", "step": "0", "option": "1"})
    response = await web.browser.post(action, data=fields)
    assert (response.status_code, response.headers["location"]) == (303, f"/asks/{ask.id}")
    settled = await web.desk.inbox.ask(ask.id)
    assert settled.outcome
    assert settled.outcome.answers[0].values == ("SQLite",)
    assert settled.outcome.by == IN_A_BROWSER


async def test_a_tap_gives_the_next_card(web: Web) -> None:
    ask = await web.desk.ask(SELECT, MULTI)
    response = await tap(web, ask, "choose", option=0)
    assert response.status_code == 200
    assert "<html" not in response.text
    assert "Which checks must pass?" in response.text
    assert "Choose one or more." in response.text


async def test_a_form_goes_through_all_its_screens(web: Web) -> None:
    ask = await web.desk.ask(TEXT, MULTI, OPTIONAL, SELECT)
    await tap(web, ask, "text", text="feat: one\r\ntwo")
    await tap(web, ask, "toggle", option=2, on=1)
    await tap(web, ask, "toggle", option=0, on=1)
    await tap(web, ask, "toggle", option=2, on=0)
    await tap(web, ask, "done", text="Fuzzing")
    await tap(web, ask, "skip")
    await tap(web, ask, "other")
    await tap(web, ask, "back")
    await tap(web, ask, "choose", option=1)
    assert (await web.desk.inbox.ask(ask.id)).draft.view is View.REVIEW
    await tap(web, ask, "edit", question=3)
    await tap(web, ask, "choose", option=0)
    assert (await tap(web, ask, "submit")).status_code == 200
    ended = await web.desk.inbox.ask(ask.id)
    assert ended.outcome
    given = [(a.values, a.custom_text) for a in ended.outcome.answers]
    assert given == [
        (("feat: one\ntwo",), None),
        (("Unit tests",), "Fuzzing"),
        ((), None),
        (("PostgreSQL in Docker (recommended)",), None),
    ]


async def test_a_multi_selects_other_can_be_dropped_again(web: Web) -> None:
    ask = await web.desk.ask(MULTI)
    await tap(web, ask, "other")
    await tap(web, ask, "text", text="Fuzzing")
    await tap(web, ask, "drop_other")
    refused = await tap(web, ask, "done")
    assert refused.status_code == 422
    toast = unquote(refused.headers["x-chatbridge-toast"])
    assert toast == "Pick at least one, or use Other."
    assert "Which checks must pass?" in refused.text


async def test_cancelling_asks_first_and_takes_a_reason(web: Web) -> None:
    ask = await web.desk.ask(TEXT)
    await tap(web, ask, "ask_cancel")
    await tap(web, ask, "back")
    await tap(web, ask, "ask_cancel")
    assert (await tap(web, ask, "cancel", reason="Tomorrow")).status_code == 200
    ended = await web.desk.inbox.ask(ask.id)
    assert ended.outcome
    assert (ended.status, ended.outcome.reason) == (Status.CANCELLED, "Tomorrow")


async def test_a_tap_of_an_older_step_says_so_and_changes_nothing(web: Web) -> None:
    ask = await web.desk.ask(SELECT, CONFIRM)
    await tap(web, ask, "choose", option=0)
    before = await web.desk.inbox.ask(ask.id)
    stale = await tap(web, ask, "choose", option=1, step=0)
    assert stale.status_code == 409
    assert unquote(stale.headers["x-chatbridge-toast"]).startswith("That was an older step.")
    assert "Delete the old fixtures?" in stale.text
    assert await web.desk.inbox.ask(ask.id) == before


async def test_a_tap_on_an_ended_ask_says_how_it_ended(web: Web) -> None:
    ask = await web.desk.ask(CONFIRM)
    await tap(web, ask, "choose", option=0)
    second = await tap(web, ask, "choose", option=1, step=0)
    assert second.status_code == 409
    toast = unquote(second.headers["x-chatbridge-toast"])
    assert re.fullmatch(r"Already answered at \d?\d:\d\d\.", toast)
    ended = await web.desk.inbox.ask(ask.id)
    assert ended.outcome
    assert ended.outcome.answers[0].values == ("yes",)


async def test_without_the_script_a_refusal_is_a_whole_page(web: Web) -> None:
    ask = await web.desk.ask(MULTI)
    fields = {"do": "done", "step": "0"}
    response = await web.browser.post(f"/asks/{ask.id}/form", data=fields)
    assert response.status_code == 422
    assert "<html" in response.text


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"do": "nonsense"},
        {"do": "choose"},
        {"do": "choose", "step": "0"},
        {"do": "choose", "step": "0", "option": "-1"},
        {"do": "choose", "step": "0", "option": "9" * 5000},
        {"do": "choose", "step": "²", "option": "0"},
        {"do": "choose", "step": "0", "option": "7"},
        {"do": "toggle", "step": "0", "option": "0", "on": "yes"},
        {"do": "text", "text": "no step"},
        {"do": "edit", "step": "0", "question": "0"},
        {"do": "anyway", "step": "0"},
    ],
)
async def test_a_form_that_fits_nothing_is_422_with_the_card_as_it_is(
    web: Web, fields: dict[str, str]
) -> None:
    ask = await web.desk.ask(SELECT)
    response = await web.browser.post(f"/asks/{ask.id}/form", data=fields, headers=MARK)
    assert response.status_code == 422
    assert unquote(response.headers["x-chatbridge-toast"]) == "That does not fit this question."
    assert await web.desk.inbox.ask(ask.id) == ask


async def test_a_timed_out_ask_can_be_answered_anyway_and_the_answer_discarded(web: Web) -> None:
    ask = await web.desk.time_out(await web.desk.ask(CONFIRM, timeout=60))
    assert "Answer anyway" in (await web.browser.get(f"/asks/{ask.id}")).text
    await tap(web, ask, "anyway")
    await tap(web, ask, "choose", option=0)
    kept = await web.desk.inbox.ask(ask.id)
    assert kept.late
    assert kept.kept
    assert (await tap(web, ask, "discard")).status_code == 200
    assert (await web.desk.inbox.ask(ask.id)).discarded


async def test_more_time_moves_the_deadline(web: Web) -> None:
    ask = await web.desk.ask(CONFIRM, timeout=60)
    assert (await tap(web, ask, "extend", minutes=15)).status_code == 200
    moved = (await web.desk.inbox.ask(ask.id)).deadline
    assert ask.deadline
    assert moved == ask.deadline + 900


async def test_the_fragments_are_what_the_pages_hold(web: Web) -> None:
    ask = await web.desk.ask(SELECT)
    card = (await web.browser.get(f"/asks/{ask.id}/card", headers=MARK)).text
    rows = (await web.browser.get("/rows", headers=MARK)).text
    page = (await web.browser.get(f"/asks/{ask.id}")).text
    assert card.strip() in page
    assert "<html" not in rows
    assert f"/asks/{ask.id}" in rows


async def test_history_is_by_day_newest_first_and_can_be_searched(web: Web) -> None:
    old = await web.desk.ask(TEXT)
    await tap(web, old, "text", text="the needle")
    web.clock.advance(86400)
    new = await web.desk.ask(CONFIRM)
    await tap(web, new, "choose", option=0)
    page = (await web.browser.get("/history")).text
    places = [page.index(part) for part in ("Today", new.id, "Yesterday", old.id)]
    assert places == sorted(places)
    found = (await web.browser.get("/history", params={"q": "needle"})).text
    assert old.id in found
    assert new.id not in found


async def test_history_goes_on_where_a_page_ends(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chatbridge.channels.web.pages.HISTORY_PAGE", 2)
    asks = []
    for _ in range(3):
        web.clock.advance(1)
        asks.append(await web.desk.ask(CONFIRM))
        await tap(web, asks[-1], "choose", option=0)
    first = (await web.browser.get("/history")).text
    assert [ask.id in first for ask in asks] == [False, True, True]
    older = re.search(r'href="(/history\?before=[^"]+)"', first)
    assert older
    second = (await web.browser.get(older[1])).text
    assert [ask.id in second for ask in asks] == [True, False, False]


async def test_history_pages_hold_every_ask_that_ended_in_the_same_instant(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatbridge.channels.web.pages.HISTORY_PAGE", 2)
    asks = [await web.desk.ask(CONFIRM) for _ in range(5)]
    for ask in asks:
        await tap(web, ask, "choose", option=0)
    address, seen = "/history", ""
    for _ in range(3):
        page = (await web.browser.get(address)).text
        seen += page
        older = re.search(r'href="(/history\?before=[^"]+)"', page)
        address = older[1] if older else ""
    assert not address
    assert [seen.count(f"/asks/{ask.id}") for ask in asks] == [1] * 5


async def test_history_has_notices_among_the_questions_and_finds_their_words(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatbridge.channels.web.pages.HISTORY_PAGE", 2)
    names = []
    for i in range(3):
        ask = await web.desk.ask(CONFIRM)
        await tap(web, ask, "choose", option=0)
        names.append(f"/asks/{ask.id}")
        for j in range(2):
            names.append(f"Notice {i}{j}.")
            await web.desk.notify(names[-1], title="<b>")
        web.clock.advance(i)  # the first two rounds end in the same instant
    address, seen = "/history", ""
    for _ in range(5):
        page = (await web.browser.get(address)).text
        seen += page
        older = re.search(r'href="([^"]+)">Older</a>', page)
        address = html.unescape(older[1]) if older else ""
    assert not address
    assert [seen.count(name) for name in names] == [1] * 9
    assert seen.index(names[6]) < seen.index(names[0])
    assert "<b></p>" not in seen
    found = (await web.browser.get("/history?q=NOTICE 21")).text
    assert [name in found for name in names] == [name == "Notice 21." for name in names]
    assert "No question, answer or notice" in (await web.browser.get("/history?q=zzz")).text


def _back(page: str) -> str:
    found = re.search(r'<a class="back" href="([^"]*)"', page)
    assert found
    return html.unescape(found[1])


async def test_back_leads_to_where_an_ask_was_opened(web: Web) -> None:
    ask = await web.desk.ask(CONFIRM)
    assert _back((await web.browser.get(f"/asks/{ask.id}")).text) == "/?all"
    await tap(web, ask, "choose", option=0)
    listed = (await web.browser.get("/history?q=fixtures")).text
    link = re.search(r'href="(/asks/[^"]+)"', listed)
    assert link
    page = (await web.browser.get(html.unescape(link[1]))).text
    assert _back(page) == "/history?q=fixtures"
    assert 'aria-label="Back to History"' in page
    assert re.search(r'id="next" href="/history\?q=fixtures">Back to History<', page)
    assert re.search(r'href="/history"[^>]* aria-current="page"', page)


async def test_without_the_script_a_tap_keeps_the_way_back(web: Web) -> None:
    ask = await web.desk.time_out(await web.desk.ask(MULTI, timeout=60))
    page = f"/asks/{ask.id}?via=%2Fhistory%3Fq%3Da%2526b"
    sent = {"Referer": f"{web.address}{page}"}
    fields = {"do": "anyway", "step": "0"}
    reply = await web.browser.post(f"/asks/{ask.id}/form", data=fields, headers=sent)
    assert reply.headers["location"] == page
    step = str((await web.desk.inbox.ask(ask.id)).draft.step)
    fields = {"do": "done", "step": step}
    refused = await web.browser.post(f"/asks/{ask.id}/form", data=fields, headers=sent)
    assert refused.status_code == 422
    assert _back(refused.text) == "/history?q=a%26b"


@pytest.mark.parametrize(
    "via",
    [
        "https://evil.example/history",
        "//evil.example/history",
        "/\\evil.example",
        "javascript:alert(1)",
        "history",
        "/logout",
        "//[",
        "/history\nx",
        "",
    ],
)
async def test_an_address_that_somebody_made_leads_back_to_the_list(web: Web, via: str) -> None:
    ask = await web.desk.ask(CONFIRM)
    page = await web.browser.get(f"/asks/{ask.id}", params={"via": via})
    assert page.status_code == 200
    assert _back(page.text) == "/?all"


async def test_an_address_is_shown_whole_before_it_is_opened(web: Web) -> None:
    page = (await web.browser.get("/address", params={"to": "https://gооgle.com/ä?b&c"})).text
    assert 'It leads to <b dir="ltr" id="address-host">xn--ggle-55da.com</b>' in page
    assert '<code id="address-text">https://xn--ggle-55da.com/%C3%A4?b&amp;c</code>' in page
    assert (
        'href="https://xn--ggle-55da.com/%C3%A4?b&amp;c" target="_blank" rel="noopener noreferrer"'
        in page
    )
    assert (await web.stranger.get("/address?to=https://x.org")).status_code == 303
    for odd in ("javascript:alert(1)", "", "https://a@b.c/", "//x.org", "https://x.org/\u202e"):
        refused = await web.browser.get("/address", params={"to": odd})
        assert refused.status_code == 404
        assert "address-open" not in refused.text


async def test_links_of_earlier_versions_into_the_history_still_lead_there(web: Web) -> None:
    ask = await web.desk.ask(CONFIRM)
    await tap(web, ask, "choose", option=0)
    now = web.clock.time()
    assert ask.id in (await web.browser.get(f"/history?before={now + 1}")).text
    assert ask.id not in (await web.browser.get(f"/history?before={now}")).text


@pytest.mark.parametrize(
    "query", ["before=x", "before=nan", "before=inf", "before=1-x", "before=-1-1", "q=%ff", "q="]
)
async def test_history_survives_odd_queries(web: Web, query: str) -> None:
    assert (await web.browser.get(f"/history?{query}")).status_code == 200


async def test_unknown_pages_and_asks_are_404_pages(web: Web) -> None:
    for path in ("/nowhere", "/asks/none", "/asks/none/card"):
        response = await web.browser.get(path)
        assert response.status_code == 404
        assert "<html" in response.text
    response = await web.browser.post("/asks/none/form", data={"do": "discard"})
    assert response.status_code == 404


async def test_static_files_are_kept_for_ever_under_a_mark_and_so_is_what_they_import(
    web: Web,
) -> None:
    page = (await web.stranger.get("/login")).text
    address = re.search(r'href="(/static/\w+/)inbox\.css"', page)
    assert address
    marked = await web.stranger.get(f"{address[1]}inbox.css")
    assert "immutable" in marked.headers["cache-control"]
    assert marked.headers["content-type"].startswith("text/css")
    script = (await web.stranger.get(f"{address[1]}inbox.js")).text
    imported = re.search(r'from "\./(\w+\.js)"', script)
    assert imported
    beside = await web.stranger.get(f"{address[1]}{imported[1]}")
    assert "immutable" in beside.headers["cache-control"]
    for earlier in ("/static/inbox.css", "/static/0123456789ab/inbox.css"):
        plain = await web.stranger.get(earlier)
        assert plain.headers["cache-control"] == "no-cache"
        again = {"If-None-Match": plain.headers["etag"]}
        assert (await web.stranger.get(earlier, headers=again)).status_code == 304


# ── many questions, and long ones ─────────────────────────────────────────────────────────────────


async def test_a_page_has_a_bounded_list_beside_its_one_card(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatbridge.channels.web.pages.OPEN_PAGE", 3)
    asks = [await web.desk.ask(TEXT, timeout=60 + n) for n in range(5)]
    last = asks[-1]
    for address in ("/", "/rows", f"/asks/{last.id}"):
        page = (await web.browser.get(address)).text
        assert [f'href="/asks/{ask.id}"' in page for ask in asks] == [True] * 3 + [False] * 2
        assert "5 open questions" in page
        assert 'href="/?from=3"' in page
    rest = (await web.browser.get("/?from=3")).text
    assert [f'href="/asks/{ask.id}?' in rest for ask in asks] == [False] * 3 + [True] * 2
    assert "more</a>" not in rest


@pytest.mark.parametrize("query", ["from=x", "from=-1", "from=9999999999999", "from=%ff"])
async def test_the_list_survives_odd_queries(web: Web, query: str) -> None:
    await web.desk.ask(TEXT)
    assert "1 open question" in (await web.browser.get(f"/?{query}")).text


HIDDEN = "\u200b" * 98_000
WORST = Question(
    id="worst",
    text=f"Which{HIDDEN} one?",
    type=QuestionType.SELECT,
    options=tuple(Option(label=f"{n}", description=f"{n}{HIDDEN}") for n in range(3)),
)


async def test_pages_with_the_worst_questions_are_short_and_say_what_was_hidden(web: Web) -> None:
    asks = [await web.desk.ask(WORST) for _ in range(20)]
    for ask in asks[:5]:
        await tap(web, ask, "choose", option=0)
    for address in ("/", f"/asks/{asks[-1].id}", f"/asks/{asks[0].id}", "/history"):
        page = (await web.browser.get(address)).text
        assert len(page) < 100_000
        assert "Which⟨U+200B ×98000⟩ one?" in page
    assert len((await web.script.get("/api/asks")).content) < 100_000


async def test_a_long_question_is_cut_in_lists_and_whole_on_its_card(web: Web) -> None:
    long = Question(id="long", text="word " * 20_000)
    ask, _ = await web.desk.ask(long), await web.desk.ask(TEXT)
    assert len((await web.browser.get("/")).text) < 20_000
    assert len((await web.browser.get(f"/asks/{ask.id}")).text) > 100_000


async def test_a_yes_or_no_takes_a_remark(web: Web) -> None:
    ask = await web.desk.ask(CONFIRM)
    page = (await web.browser.get(f"/asks/{ask.id}")).text
    assert "Yes, with this remark" in page
    form = {"do": "choose", "step": "0", "option": "1", "remark": " Back up\r\nfirst "}
    await web.browser.post(f"/asks/{ask.id}/form", data=form, headers=MARK)
    ended = await web.desk.inbox.ask(ask.id)
    assert ended.outcome
    said = Answer(values=("no",), custom_text="Back up\nfirst")
    assert ended.outcome.answers == (said,)
    assert "No, Back up" in (await web.browser.get(f"/asks/{ask.id}")).text


async def test_a_remark_that_is_too_long_or_for_another_question_changes_nothing(web: Web) -> None:
    for question, remark in ((CONFIRM, "x" * 10_001), (SELECT, "why")):
        ask = await web.desk.ask(question)
        form = {"do": "choose", "step": "0", "option": "0", "remark": remark}
        sent = await web.browser.post(f"/asks/{ask.id}/form", data=form, headers=MARK)
        assert sent.status_code == 422
        assert await web.desk.inbox.ask(ask.id) == ask


# ── the summary ───────────────────────────────────────────────────────────────────────────────────
