"""Notices in the inbox: on the list, in the API, over the event stream, and who counts as there."""

from __future__ import annotations

import asyncio
import re

from chatbridge.core.model import Level, Person, Project
from chatbridge.core.policy import DAY
from tests.fakes.core_env import OWNER
from tests.fakes.inbox import CONFIRM, TEXT, more_time
from tests.fakes.web import MARK, Web
from tests.fakes.web_stream import Stream, stream

ELSEWHERE = Person(name="Ada", channel="elsewhere")


# ── showing ───────────────────────────────────────────────────────────────────────────────────────


async def test_the_list_has_them_below_the_questions_newest_first(web: Web) -> None:
    await web.desk.ask(CONFIRM)
    await web.desk.notify("Older", level=Level.ERROR)
    web.clock.advance(60)
    await web.desk.notify("All **412** pass.", title="Night run")
    newest, older = await web.notices()
    assert "ℹ️ Info" in newest
    assert "Night run" in newest
    assert "<p>All <strong>412</strong> pass.</p>" in newest
    assert "<time " in newest
    assert "❌ Error" in older
    page = (await web.browser.get("/?all")).text
    assert page.index(CONFIRM.text) < page.index("Night run")


async def test_yesterdays_are_gone_and_twenty_are_enough(web: Web) -> None:
    await web.desk.notify("old")
    web.clock.advance(DAY + 1)
    for i in range(25):
        web.clock.advance(5)
        await web.desk.notify(f"number {i}")
    shown = await web.notices()
    assert len(shown) == 20
    assert "number 24" in shown[0]
    web.clock.advance(DAY + 1)
    assert await web.notices() == []
    assert (await web.script.get("/api/notices")).json() == []


async def test_without_any_the_list_says_nothing_of_them(web: Web) -> None:
    page = (await web.browser.get("/?all")).text
    assert re.search(r'<section class="notices"[^>]* hidden>', page)


async def test_what_an_agent_writes_in_one_is_only_text(web: Web) -> None:
    await web.desk.notify(
        "<img src=x> [click](javascript:alert(1)) \u202e",
        title="<b>\u200b",
        project=Project(key="/x", name="<i>x</i>", label="<u>"),
    )
    (shown,) = await web.notices()
    for tag in ("<img", "<b>⟨", "<i>", "<u>", "<a ", "href"):
        assert tag not in shown
    assert "&lt;img src=x&gt;" in shown
    assert "⟨U+202E⟩" in shown
    assert "&lt;b&gt;⟨U+200B⟩" in shown


async def test_the_api_lists_them_for_those_who_are_let_in(web: Web) -> None:
    notice = await web.desk.notify("The disk is full.", title="Disk", level=Level.WARNING)
    (found,) = (await web.script.get("/api/notices")).json()
    assert found == {
        "id": notice.id,
        "level": "warning",
        "title": "Disk",
        "message": "The disk is full.",
        "at": found["at"],
        "agent": {
            "name": "Claude Code",
            "client": "claude-code",
            "project": "shop-api",
            "label": None,
        },
        "operation": None,
    }
    for path in ("/api/notices", "/notices"):
        refused = await web.stranger.get(path)
        assert refused.status_code in (401, 303)
        assert "disk" not in refused.text.lower()


# ── dismissing ────────────────────────────────────────────────────────────────────────────────────


async def test_a_dismissed_notice_leaves_the_list_and_stays_in_the_history(web: Web) -> None:
    older, newer = await web.desk.notify("Older"), await web.desk.notify("Newer")
    page = (await web.browser.get("/?all")).text
    assert f'action="/notices/{older.id}/dismiss"' in page
    reply = await web.browser.post(f"/notices/{older.id}/dismiss")
    assert (reply.status_code, reply.headers["location"]) == (303, "/?all")
    (left,) = await web.notices()
    assert "Newer" in left
    rest = (await web.browser.post(f"/notices/{newer.id}/dismiss", headers=MARK)).text
    assert "<html" not in rest
    assert "Newer" not in rest
    past = (await web.browser.get("/history")).text
    assert past.index("Newer") < past.index("Older")
    assert "dismiss" not in past
    assert len((await web.script.get("/api/notices")).json()) == 2


async def test_all_that_are_shown_can_be_dismissed_at_once_and_no_newer_one(web: Web) -> None:
    for i in range(3):
        shown = await web.desk.notify(f"number {i}")
    await web.desk.notify("comes meanwhile")
    page = (await web.browser.get("/?all")).text
    assert page.count("Dismiss all") == 1
    await web.browser.post(f"/notices/{shown.id}/dismiss", data={"older": "1"})
    (left,) = await web.notices()
    assert "comes meanwhile" in left
    assert "Dismiss all" not in (await web.browser.get("/?all")).text


async def test_only_a_page_of_the_inbox_can_dismiss(web: Web) -> None:
    notice = await web.desk.notify("Done.")
    path = f"/notices/{notice.id}/dismiss"
    assert (await web.stranger.post(path)).status_code == 401
    assert (await web.script.post(path)).status_code == 401
    foreign = {"Origin": "https://evil.example"}
    assert (await web.browser.post(path, headers=foreign)).status_code == 403
    assert (await web.browser.get(path)).status_code == 405
    assert len(await web.notices()) == 1
    for odd in ("/notices/unknown/dismiss", f"/notices/{'x' * 5000}/dismiss"):
        assert (await web.browser.post(odd)).status_code == 303
    assert len(await web.notices()) == 1


async def test_other_pages_learn_of_a_dismissal_and_scripts_do_not(web: Web) -> None:
    notice = await web.desk.notify("Done.")
    async with stream(web, page=True) as page, stream(web) as script:
        await both_reading(web, page, script)
        await web.browser.post(f"/notices/{notice.id}/dismiss")
        assert await page.event() == ("dismissal", {"id": notice.id})
        after = await web.desk.notify("After.")
        name, told = await script.event()
        assert (name, told["id"]) == ("notice", after.id)


# ── live, and who is there ────────────────────────────────────────────────────────────────────────


async def test_an_open_page_is_told_and_a_notice_that_it_was_told_is_noted(web: Web) -> None:
    async with stream(web, page=True) as page, stream(web) as script:
        await both_reading(web, page, script)
        notice = await web.desk.notify("Done.")
        for reader in (page, script):
            name, told = await reader.event()
            assert (name, told["id"], told["message"]) == ("notice", notice.id, "Done.")
        assert await web.desk.shown_on(notice) == {"web"}


async def test_a_notice_that_only_a_script_reads_along_has_reached_nobody(web: Web) -> None:
    async with stream(web) as script:
        ask = await web.desk.ask(CONFIRM)
        assert (await script.next())["id"] == ask.id
        notice = await web.desk.notify("Done.")
        assert (await script.event())[0] == "notice"
        assert await web.desk.shown_on(notice) == set()
        assert await web.desk.inbox.post(ask.id, surface="web") is None


async def test_an_ask_that_an_open_page_shows_has_a_post(web: Web) -> None:
    async with stream(web, page=True) as page:
        await both_reading(web, page)
        ask = await web.desk.ask(TEXT)
        await page.next()
        await until_noted(web, ask.id)


async def test_a_page_that_opens_later_is_noted_for_each_open_ask_once(web: Web) -> None:
    first, second = await web.desk.ask(CONFIRM), await web.desk.ask(TEXT)
    ended = await web.desk.ask(CONFIRM)
    await web.desk.inbox.cancel(ended.id, reason=None, person=ELSEWHERE)
    async with stream(web) as script:
        await script.next()
    for ask in (first, second):
        assert await web.desk.inbox.post(ask.id, surface="web") is None
    async with stream(web, page=True):
        await until_noted(web, first.id)
        await until_noted(web, second.id)
    await until_unwatched(web)
    await more_time(web.desk.inbox, first.id, person=OWNER)
    async with stream(web, "Last-Event-ID: 1", page=True) as page:
        await page.next()
        await both_reading(web, page)
    post = await web.desk.inbox.post(first.id, surface="web")
    assert post is not None
    assert post.revision == first.revision
    assert await web.desk.inbox.post(ended.id, surface="web") is None


async def until_noted(web: Web, ask_id: str) -> None:
    async with asyncio.timeout(20):
        while True:
            if await web.desk.inbox.post(ask_id, surface="web") is not None:
                return
            await asyncio.sleep(0.002)


async def until_unwatched(web: Web) -> None:
    """Once the hub has noticed that no page is open."""
    async with asyncio.timeout(20):
        while web.channel.events.watched:  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0.002)


async def both_reading(web: Web, *readers: Stream) -> None:
    """Once all of them have been told of something new."""
    ask = await web.desk.ask(CONFIRM)
    for reader in readers:
        while (await reader.next())["id"] != ask.id:
            pass
